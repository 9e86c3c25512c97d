"""Rules of ops that compute: elementwise, reductions, products, transforms, distributions.

Others use `ragged`, which says where padding is counted, and `form`, `drawn` and `scored` of
`distributions`.

Imports `shape` and the files beside the folders.
"""
