"""Annotations that are made of dimension objects: `Float[Tensor, Batch, 2 * Time, 3]`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from types import EllipsisType
from typing import TypeAlias, TypeGuard, TypeVar

from shapecheck.dims import Dim, Size, Sym, in_order
from shapecheck.dims.composites import symbols
from shapecheck.dims.layouts import Terms
from shapecheck.dims.objects import alone
from shapecheck.spec.nodes import (
    Axis,
    Binary,
    Call,
    Entry,
    Expr,
    Group,
    Merge,
    Name,
    Negate,
    Number,
    Spec,
    walk,
)
from shapecheck.spec.parser import SpecError, parse

Part: TypeAlias = "Dim | str | int | EllipsisType"
"""What stands in such an annotation: a dimension, a text with any number, a size, or `...`."""

Objects: TypeAlias = "tuple[tuple[str, Dim], ...]"
"""The dimensions that names in an annotation are, by name."""


def is_part(value: object) -> TypeGuard[Part]:
    """Whether a value may stand in an annotation that is made of dimension objects."""
    return isinstance(value, (Dim, str, int, EllipsisType)) and not isinstance(value, bool)


class ObjectName(str):
    """What a dimension object is called in an annotation: others that are called so are others.

    As a text it is the text.
    """

    __slots__ = ("symbol",)

    symbol: Sym

    def __new__(cls, symbol: Sym) -> ObjectName:
        """Return the name of the object that is a symbol."""
        made = super().__new__(cls, symbol.name)
        made.symbol = symbol
        return made

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ObjectName):
            return self.symbol == other.symbol
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return str.__hash__(self)

    def __reduce__(self) -> tuple[type[ObjectName], tuple[Sym]]:
        return ObjectName, (self.symbol,)


def is_of_objects(expr: Expr) -> bool:
    """Whether an expression is made of dimension objects: it has an order, a text has none."""
    return any(isinstance(one, Name) and isinstance(one.id, ObjectName) for one in walk(expr))


def of_objects(parts: Sequence[Part]) -> tuple[Spec, Objects]:
    """Return the annotation that dimension objects make, and which object each name in it is.

    Raises `SpecError`, also where two in one quotient are called alike.
    """
    entries: list[Entry] = []
    found: dict[str, Dim] = {}
    for part in parts:
        if part is ...:
            entries.append(Group(None))
        elif isinstance(part, Dim):
            entries.append(Axis(_sum(part.terms)))
            names = [ObjectName(one) for one in in_order(symbols(part.dim))]
            found |= {name: alone(name.symbol) for name in names}
        else:
            entries += parse(str(part)).entries
    return Spec(tuple(entries)), tuple(found.items())


def _sum(terms: Terms) -> Expr:
    """Return what a dimension is in an annotation: sums of multiples, products in their order."""
    found: Expr | None = None
    for count, factors in terms:
        inner = [_factor(one) for one in factors]
        term: Expr
        if len(terms) == count == 1 and len(inner) > 1:
            term = Merge(tuple([Axis(one) for one in inner]))
        else:
            parts = [Number(abs(count)), *inner] if abs(count) != 1 or not inner else inner
            term = reduce(partial(Binary, "*"), parts)
        if found is None:
            found = Negate(term) if count < 0 else term
        else:
            found = Binary("-" if count < 0 else "+", found, term)
    return Number(0) if found is None else found


def _factor(factor: int | Size | Terms) -> Expr:
    if isinstance(factor, int):
        return Number(factor)
    if not isinstance(factor, Size):
        return _sum(factor)
    [read] = parse(text := str(factor)).entries
    names = {one.name: ObjectName(one) for one in factor.symbols()}
    if len(names) < len(factor.symbols()):
        raise SpecError("two dimensions in it are called alike", text, 0, len(text))
    [entry] = in_objects((read,), names)
    assert isinstance(entry, Axis)
    return entry.expr


def in_objects(entries: Sequence[Entry], names: Mapping[str, str]) -> tuple[Entry, ...]:
    """Return entries of an annotation in which names are those of objects."""
    return tuple([_called(entry, names) for entry in entries])


Node = TypeVar("Node", bound=Entry | Expr)


def _called(node: Node, names: Mapping[str, str]) -> Node:
    """Return an entry or an expression in which names are those of objects."""
    match node:
        case Name(id):
            return replace(node, id=names.get(id, id))
        case Axis(expr=inner):
            return replace(node, expr=_called(inner, names))
        case Negate(inner):
            return replace(node, operand=_called(inner, names))
        case Binary(left=left, right=right):
            return replace(node, left=_called(left, names), right=_called(right, names))
        case Call(args=args):
            return replace(node, args=tuple([_called(one, names) for one in args]))
        case Merge(inside):
            return replace(node, parts=tuple([_called(one, names) for one in inside]))
    return node
