"""pyrefly's `Tensor[[B, T, 2 * D]]`, whose dimensions are type variables."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from shapecheck import spec
from shapecheck.analysis.annotations.dialects.reading import Reading, is_name
from shapecheck.analysis.program.declared import Declared, ScalarDecl, TensorDecl
from shapecheck.analysis.program.model import dotted
from shapecheck.analysis.program.syntax import elements, last_word, name_of

_UNPACKED: Final = frozenset(("Elements", "Unpack"))
_AROUND: Final = frozenset(("D", "Int", "SymInt", "Dim", "Literal"))


def indexed(reading: Reading, node: ast.Subscript, base: TensorDecl) -> Declared:
    """Read `Tensor[[B, T, 2 * D]]` and `Tensor[B, T]`, whose dimensions are type variables."""
    parts: Sequence[ast.expr] = elements(node.slice) or [node.slice]
    if parts and isinstance(parts[0], ast.List):
        parts = parts[0].elts
    found = [_dimension(reading, part) for part in parts]
    entries = [entry for entry in found if entry is not None]
    return replace(base, text=spec.Spec(tuple(entries))) if len(entries) == len(found) else base


def _dimension(reading: Reading, node: ast.expr) -> spec.Entry | None:
    match node:
        case ast.Starred(value=inner):
            return _unpacked(reading, inner)
        case ast.Subscript(value=head) if last_word(head) in _UNPACKED:
            return _unpacked(reading, node)
    name = name_of(node)
    if name is not None and reading.is_variable(name) and reading.is_row(name):
        return spec.Group(name)
    expr = _size(reading, node)
    return None if expr is None else spec.Axis(expr)


def _unpacked(reading: Reading, node: ast.expr) -> spec.Entry | None:
    """Read `*Ns`, `*Elements[Bs]`, `Unpack[Ns]`, and `*tuple[int, ...]`, which has no name."""
    match node:
        case ast.Subscript(value=head, slice=inner) if last_word(head) in _UNPACKED:
            return _unpacked(reading, inner)
        case ast.Subscript(value=head) if last_word(head) in ("tuple", "Tuple"):
            return spec.Group(None)
    name = name_of(node)
    return spec.Group(name) if name is not None and reading.is_variable(name) else None


def _size(reading: Reading, node: ast.expr) -> spec.Expr | None:
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _SIGNS:
            one, other = _size(reading, left), _size(reading, right)
            sign = _SIGNS[type(op)]
            return None if one is None or other is None else spec.Binary(sign, one, other)
        case ast.Subscript(value=head, slice=inner) if last_word(head) in _AROUND:
            return _size(reading, inner)
        case ast.Call(func=head, args=[inner]) if last_word(head) in _AROUND:
            return _size(reading, inner)
        case ast.Constant(value=str(name)) if name.isidentifier() and reading.is_variable(name):
            return spec.Name(name)
        case ast.Name(id=name) if reading.is_variable(name):
            return spec.Name(name)
    if is_name(node) and dotted(reading.resolve(node)) == "typing.Any":
        return spec.Wild()
    found = reading.value(node)
    return spec.Number(found) if isinstance(found, int) and found >= 0 else None


_SIGNS: Final[Mapping[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}


def integer(reading: Reading, node: ast.Subscript) -> Declared:
    """Read `Int[N]`, an int that is called like a dimension."""
    return ScalarDecl("int")
