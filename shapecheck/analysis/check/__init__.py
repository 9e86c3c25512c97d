"""Checks one module: its annotations, each function by itself, then its own code as a script.

`module` is what hosts come to; `bare_parameters` says what is taken for a tensor or a size without
an annotation, by `tensor_evidence` and `size_evidence`. `groups` checks functions again with their
groups of dimensions spelled out, `defaults` methods with the defaults of the constructor;
`inspection` checks a module for what is known of it. Uses `coverage`, `library`, `interpreter` and
what is below them.
"""
