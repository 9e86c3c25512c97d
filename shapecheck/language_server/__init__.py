"""The language server: what `check --only-shapes` says, and which shapes are known, in an editor.

`documents` are texts as an editor has them, `shifts` lead from one text of a file to the next.
`programs` has the modules of a folder over these texts, in an engine that stays; `workspace` has
the documents that are open. `diagnostics`, `hover`, `inlay_hints`, `completion`, `navigation` and
`actions` each answer one kind of question, and know nothing of the connection; `annotation_texts`
finds the dimension names in the texts of annotations for them, and `annotating` is a program of
its own. `worker` is the one thread in which all that is done, `settings` what an editor sets, and
`server` joins them to the protocol. Nothing here imports mypy or torch, or runs anything of the
user's.
"""
