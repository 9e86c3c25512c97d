"""Annotations as source text: their types, their names, and their place in a file.

`annotation_types` has the types (`TensorType`, `TupleType`, `Either` ...) in either style, `naming`
chooses names as a person would, `edit` puts annotations into a module's text and takes them out,
with what `imports` says that they need; `pieces` cuts the text.

Imports no other room: nothing is known here of where annotations come from.
"""
