"""How other libraries write the shape of a tensor: a table of forms, each read into our language.

TensorType["batch": ..., "c", float]              torchtyping, in `HEADS`
Annotated[Tensor, dltype.FloatTensor["b c"]]      dltype, in `BESIDE`
Annotated[Tensor, TensorShape("b", 3, "h")]       vLLM, in `BESIDE`
Tensor[[B, T, 2 * D]]                             pyrefly, a tensor type with type variables

What such an annotation says is looked up by the package and the last name of what stands before
the brackets or parentheses, wherever in the package it is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from shapecheck import spec
from shapecheck.analysis.annotations.dialects import dltype, pyrefly, torchtyping, vllm
from shapecheck.analysis.annotations.dialects.pyrefly import indexed
from shapecheck.analysis.annotations.dialects.reading import Reading, Said, known_as
from shapecheck.analysis.program.declared import (
    Declared,
    ListDecl,
    TensorDecl,
    TupleDecl,
    UnionDecl,
)
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.program.syntax import called

__all__ = ["BARE", "Reading", "applied", "beside", "indexed", "subscripted"]

Head: TypeAlias = Callable[[Reading, ast.Subscript], Declared]
Beside: TypeAlias = Callable[[Reading, ast.expr], Said]

HEADS: Final[Mapping[str, Head]] = {
    "torchtyping.TensorType": torchtyping.tensor_type,
    "shape_extensions.Int": pyrefly.integer,
    "shape_extensions.SymInt": pyrefly.integer,
    "shape_extensions.Dim": pyrefly.integer,
}
"""What types of other libraries declare that have brackets of their own."""

BESIDE: Final[Mapping[str, Beside]] = {
    **{f"dltype.{name}": dltype.tensor for name in dltype.DTYPES},
    "vllm.TensorShape": vllm.tensor_shape,
}
"""What the objects of other libraries say that stand beside a type in `Annotated`."""

BARE: Final[Mapping[str, Declared]] = {"torchtyping.TensorType": TensorDecl()}
"""What types of other libraries declare without brackets."""


def subscripted(reading: Reading, head: Value, node: ast.Subscript) -> Declared | None:
    """Return what `head[...]` declares in one of the dialects, None if it is in none."""
    form = HEADS.get(known_as(head))
    return None if form is None else form(reading, node)


def beside(reading: Reading, extras: Sequence[ast.expr]) -> Said | None:
    """Return what another library's object says that stands beside a type in `Annotated`."""
    for extra in extras:
        node = reading.written(extra)
        head = node.value if isinstance(node, ast.Subscript) else called(node)
        form = BESIDE.get(known_as(reading.resolve(head))) if head is not node else None
        if form is not None:
            return form(reading, node)
    return None


def applied(said: Said, base: Declared, depth: int = 0) -> Declared:
    """Return a type with the shape that stands beside it, its alternatives each with it.

    `depth`: in how many lists it is, each of which has the place of a dimension in front.
    """
    match base:
        case TensorDecl(text=None):
            return TensorDecl(_without(said.text, depth), base.dtype & said.dtype or base.dtype)
        case UnionDecl(options=options):
            return UnionDecl(tuple(applied(said, option, depth) for option in options))
        case ListDecl(element=element) | TupleDecl(items=None, element=element) if said.is_stacked:
            return replace(base, element=applied(said, element, depth + 1))
    return base


def _without(text: spec.Spec | None, depth: int) -> spec.Spec | None:
    return None if text is None or depth > len(text.entries) else spec.Spec(text.entries[depth:])
