"""What comments and docstrings say of the fields of classes that are annotated as tensors."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

import libcst as cst

from shapecheck.codemod.propose.proposals import Proposal
from shapecheck.codemod.sources import docstrings
from shapecheck.codemod.sources.comments import Claim, Comments
from shapecheck.codemod.write.annotation_types import TensorType
from shapecheck.codemod.write.edit import FIELD, Slot, classes, fields_of
from shapecheck.codemod.write.imports import TENSOR_TYPES, Bindings


def proposals(text: str, origins: Collection[str]) -> Iterator[Proposal]:
    """Yield shapes for the fields of a module's classes that are tensors, or tensors or None."""
    tree = ast.parse(text)
    every = [(node, name, nth, fields_of(node)) for node, name, nth in classes(tree)]
    if not any(fields for *_, fields in every):
        return
    bindings = Bindings(text)
    comments = Comments(text) if "comments" in origins else None
    for node, name, nth, fields in every:
        kinds = {field: _category(one.annotation, bindings) for field, one in fields.items()}
        tensors = [field for field, kind in kinds.items() if kind is not None]
        said: dict[str, tuple[Claim, str]] = {}
        for field in tensors if comments is not None else ():
            claim = comments.behind(fields[field]) if comments is not None else None
            if claim is not None:
                said[field] = claim, "comments"
        if "docstrings" in origins and tensors:
            for field, claim in docstrings.of_fields(node, tensors).items():
                said.setdefault(field, (claim, "docstrings"))
        for field, (claim, origin) in said.items():
            kind = TensorType(kinds[field] or "Shaped", str(claim.text))
            yield Proposal(Slot(name, nth, field, FIELD), kind, origin, claim.line)


def _category(annotation: ast.expr, bindings: Bindings) -> str | None:
    """Return of which elements a tensor is that has no shape yet; None for any other type."""
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        sides = [annotation.left, annotation.right]
        some = [one for one in sides if ast.unparse(one) != "None"]
        return _category(some[0], bindings) if len(some) == 1 else None
    if isinstance(annotation, ast.Subscript):
        outer = cst.parse_expression(ast.unparse(annotation.value))
        is_optional = bindings.meaning(outer).endswith(".Optional")
        return _category(annotation.slice, bindings) if is_optional else None
    if not isinstance(annotation, (ast.Name, ast.Attribute)):
        return None
    spelled = cst.parse_expression(ast.unparse(annotation))
    if not bindings.is_tensor(spelled):
        return None
    return TENSOR_TYPES[bindings.meaning(spelled)]
