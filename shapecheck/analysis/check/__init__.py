"""Checks one module: its annotations, each function by itself, then its own code as a script.

`module` is what hosts come to; `groups` checks functions again with their groups of dimensions
spelled out. Uses `library`, `interpreter` and what is below them.
"""
