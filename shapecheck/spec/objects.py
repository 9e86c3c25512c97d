"""Annotations that are made of dimension objects: `Float[Tensor, Batch, 2 * Time, 3]`."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import TypeAlias, TypeGuard

from shapecheck.dims import Dim, in_order
from shapecheck.dims.composites import symbols
from shapecheck.dims.objects import alone
from shapecheck.spec.nodes import Entry, Group, Spec
from shapecheck.spec.parser import SpecError, parse

Part: TypeAlias = "Dim | str | int | EllipsisType"
"""What stands in such an annotation: a dimension, a text with any number, a size, or `...`."""

Objects: TypeAlias = "tuple[tuple[str, Dim], ...]"
"""The dimensions that names in an annotation are, by name."""


def is_part(value: object) -> TypeGuard[Part]:
    """Whether a value may stand in an annotation that is made of dimension objects."""
    return isinstance(value, (Dim, str, int, EllipsisType)) and not isinstance(value, bool)


def of_objects(parts: Sequence[Part]) -> tuple[Spec, Objects]:
    """Return the annotation that dimension objects make, and which object each name in it is.

    Raises `SpecError`, also where two of the objects have one name.
    """
    entries: list[Entry] = []
    found: dict[str, Dim] = {}
    for part in parts:
        if part is ...:
            entries.append(Group(None))
            continue
        entries += parse(part.name if isinstance(part, Dim) else str(part)).entries
        for symbol in in_order(symbols(part.dim)) if isinstance(part, Dim) else ():
            dim = alone(symbol)
            if found.setdefault(symbol.name, dim) != dim:
                text, name = " ".join(map(str, entries)), symbol.name
                at = text.rindex(name)
                raise SpecError(f'two dimensions are called "{name}"', text, at, at + len(name))
    return Spec(tuple(entries)), tuple(found.items())
