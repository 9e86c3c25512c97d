"""Iterators, ranges, and what `with` binds."""

from __future__ import annotations

import ast
from typing import Final

import shapecheck.dims as dims
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import UNROLL, another
from shapecheck.analysis.interpreter.kinds import Iterated, Kind, Spelling, register
from shapecheck.analysis.interpreter.truth import any_equal
from shapecheck.analysis.kinds.tuples import item_of
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.values.model import Bound, Context, Items, Range
from shapecheck.dims import IntSize
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import is_size, is_within


class ItemsKind(Kind[Items]):
    """An iterator, or a loader."""

    def attribute(
        self, frame: Frame, value: Value, held: Items, name: str, node: ast.expr
    ) -> Value:
        return dict(held.attrs).get(name, UNKNOWN) if held.attrs else Bound(value, name)

    def iterate(self, frame: Frame, value: Value, held: Items) -> Iterated:
        return held.items, another(frame, held.element)

    def contains(self, frame: Frame, held: Items, item: Value) -> bool | None:
        return any_equal(frame, held.items, item)

    def first(self, held: Items) -> Value:
        return NOTHING if held.first is None else held.first

    def last(self, held: Items) -> Value:
        return NOTHING if held.last is None else held.last

    def length(self, frame: Frame, value: Value, held: Items) -> IntSize | None:
        return held.count if held.items is None else len(held.items)

    def item(
        self,
        frame: Frame,
        value: Value,
        held: Items,
        index: Value,
        node: ast.expr,
        source: ast.expr,
    ) -> Value:
        return UNKNOWN if held.items is None else item_of(frame, held.items, index)

    def plain(self, spelling: Spelling, value: Value, held: Items) -> Value:
        return spelling.list(held.items, held.element, held.count)


register(Items, ItemsKind())


_LONGEST: Final = 4096
"""As many numbers of a range are spelled out for a rule."""


class RangeKind(Kind[Range]):
    """A range of numbers."""

    def iterate(self, frame: Frame, value: Value, held: Range) -> Iterated:
        items = _numbers(held, UNROLL)
        return (None, dims.unknown()) if items is None else (tuple(items), UNKNOWN)

    def first(self, held: Range) -> Value:
        return held.start

    def length(self, frame: Frame, value: Value, held: Range) -> IntSize | None:
        return held.length

    def item(
        self,
        frame: Frame,
        value: Value,
        held: Range,
        index: Value,
        node: ast.expr,
        source: ast.expr,
    ) -> Value:
        return held.start + index * held.step if is_size(index) else UNKNOWN

    def plain(self, spelling: Spelling, value: Value, held: Range) -> Value:
        items = _numbers(held, _LONGEST)
        return UNKNOWN if items is None else list(items)


register(Range, RangeKind())


def _numbers(held: Range, most: int) -> range | None:
    """Return the numbers of a range, None where they aren't known or too many."""
    match held.start, held.stop:
        case int(start), int(stop) if is_within(held.length, most=most):
            return range(start, stop, held.step)
    return None


class ContextKind(Kind[Context]):
    """A context manager that a function under `@contextmanager` makes."""

    def enter(self, frame: Frame, value: Value, held: Context, node: ast.expr) -> Value:
        return held.value


register(Context, ContextKind())
