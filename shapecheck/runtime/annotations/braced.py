"""Dimensions that `{self.d}` and `{n}` stand for: each is one of its own, not just a number.

It may be equal to a name, or to another of its kind, unless the annotations of the call have the
two side by side: two axes of one tensor are different dimensions. What one is beside of is a part
of its symbol, so that the op rules' cached results hold for all functions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from shapecheck import spec
from shapecheck.dims import DimExpr, Kind, Size, Sym
from shapecheck.dims.origins import Expression

Braced: TypeAlias = Mapping[str, tuple[Size, int]]
"""By the source of an expression, its dimension and its value."""


def braced(annotations: Iterable[spec.Spec], result: Iterable[spec.Spec], value: Any) -> Braced:
    """Return the dimensions of the expressions that the arguments' annotations have.

    `value` gives the value of an expression.
    """
    arguments = list(annotations)
    specs = [*arguments, *result]
    found: dict[str, tuple[Size, int]] = {}
    for source in dict.fromkeys(text for one in arguments for text in _sources(one)):
        beside = frozenset(
            other
            for one in specs
            if source in (entries := [*_names(one), *_sources(one)])
            for other in entries
            if other != source
        )
        symbol = Sym(source.removeprefix("self."), Kind.OWN, Expression(source, beside))
        found[source] = Size.of(symbol), value(source)
    return found


def stand_beside(a: DimExpr, b: DimExpr) -> bool:
    """Whether one of two dimensions is an expression's, and the annotations have both in a row."""
    return _knows(a, b) or _knows(b, a)


def _knows(braces: DimExpr, other: DimExpr) -> bool:
    symbol = braces.symbol if isinstance(braces, Size) else None
    name = other.symbol if isinstance(other, Size) else None
    if symbol is None or name is None:
        return False
    mine = name.origin
    written = mine.source if isinstance(mine, Expression) else name.name
    return isinstance(symbol.origin, Expression) and written in symbol.origin.beside


def _names(one: spec.Spec) -> Iterator[str]:
    for entry in one.entries:
        if isinstance(entry, spec.Axis) and isinstance(entry.expr, spec.Name):
            yield entry.expr.id


def _sources(one: spec.Spec) -> Iterator[str]:
    """Yield the expressions that are an axis by themselves and only name something."""
    for entry in one.entries:
        if isinstance(entry, spec.Axis) and isinstance(entry.expr, spec.Braces):
            if not entry.broadcast and not entry.leaf and _is_path(entry.expr.source):
                yield entry.expr.source


def _is_path(source: str) -> bool:
    node: ast.AST = ast.parse(source, mode="eval").body
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
