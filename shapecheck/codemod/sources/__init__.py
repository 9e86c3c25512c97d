"""Where annotations come from: comments, docstrings, a record, torchtyping, the analysis.

`comments` and `docstrings` make claims of what `prose` reads, `records` of the calls in a record
(with `record_axes`, `record_groups` and `record_check`), `torchtyping` of its types, and `static`
says which of a function's values the analysis may speak of.

Each says what it finds; which of them is right is for `propose` to say. Imports `write`.
"""
