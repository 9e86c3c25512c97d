"""`trace`: which ops and modules a program runs, with shapes and names.

`recorder` watches it run, `records` are what is written down, of a `Trace` in `model`, which
`rows` and `markup` show, in notebooks and to `shapecheck trace`.

Imports `decorate`, so that names are carried, and rooms below; `records` imports none.
"""
