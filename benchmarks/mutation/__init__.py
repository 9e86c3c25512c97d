"""What `benchmarks/mutate.py` is made of.

`edits` finds the single edits that can break shapes, `programs` runs an example's main, `calls`
calls one function with tensors made from its annotations, `lenient` loads code whose imports are
missing, and `static` asks the analysis.
"""
