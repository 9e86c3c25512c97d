"""Rules of ops that read a pattern: einops, einx, `einsum`.

`pattern` reads einops patterns and says what is wrong with one. Others use `contract` of `einsum`,
the product over names.

Imports `shape` and the files beside the folders.
"""
