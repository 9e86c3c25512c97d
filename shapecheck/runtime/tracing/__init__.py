"""`trace`: which ops and modules a program runs, with shapes and names.

`recorder` watches it run, `model` is what is written down: a `Trace` of `ModuleRecord`, `OpRecord`
and `TensorRecord`, which `shapecheck trace` shows.

Imports `decorate`, so that names are carried, and rooms below; `model` imports none.
"""
