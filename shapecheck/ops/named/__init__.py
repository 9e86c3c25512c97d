"""Rules of operations by name, `shapecheck.named`: each is a positional op on the named axes.

`naming` says which axis a name means, and each operation hands the rest to the rule of `shape`,
`math` or `patterns` that it stands for. The analysis and the run time both ask these, with the
names that they know.

Imports every other room of `ops` but `nn`.
"""
