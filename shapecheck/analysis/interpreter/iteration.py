"""What iterating over a value gives."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

import shapecheck.dims as dims
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.values.model import DictContent, Instance, Items, ListContent, OneOf, Ref
from shapecheck.analysis.values.paths import one_of
from shapecheck.dims import IntSize, Kind, Size
from shapecheck.explain import Message
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import Opaque, as_shape
from shapecheck.shapes import Item, Run, Shape, Tensor

UNROLL = 64
_HERE = ast.Constant(None)


@dataclass(frozen=True, slots=True, repr=False)
class Range(Opaque):
    """`range(start, stop, step)`; `length` is the number of items, where it is known."""

    start: IntSize
    stop: IntSize
    step: int

    @property
    def length(self) -> IntSize:
        """The number of items, supposing that the bounds are in order."""
        if self.step == 1:
            return self.stop - self.start
        last = -1 if self.step > 0 else 1
        return dims.floordiv(self.stop - self.start + self.step + last, self.step)

    def __repr__(self) -> str:
        return f"range({self.start}, {self.stop}, {self.step})"


def iterated(frame: Frame, node: ast.expr) -> Value:
    """Return the value that a loop goes over; a 0-d tensor is an error."""
    value = frame.eval(node)
    if isinstance(value, Tensor) and frame.state.facts.shape(value.shape).rank == 0:
        text = f'"{frame.segment(node)}" can\'t be iterated over: a 0-d tensor has no axis'
        frame.error(node, Message(text))
        return UNKNOWN
    return value


def iterate(frame: Frame, value: Value) -> tuple[tuple[Value, ...] | None, Value]:
    """Return the items that iterating over a value gives, or None and what any item is."""
    if isinstance(value, tuple):
        if any(isinstance(item, Run) for item in value):
            return None, dims.unknown()
        return value, UNKNOWN
    if isinstance(value, Items):
        return value.items, another(frame, value.element)
    if isinstance(value, Range):
        return _range(value)
    if isinstance(value, Tensor):
        return _rows(frame, value)
    content = frame.state.content(value)
    if isinstance(content, Instance):
        made = frame.special(value, "__iter__", [], _HERE)
        if made is not NOTHING:
            return iterate(frame, made) if made != value else (None, _next(frame, value))
        item = frame.special(value, "__getitem__", [dims.unknown()], _HERE)
        return (None, UNKNOWN if item is NOTHING else item)
    if isinstance(content, ListContent):
        return content.items, another(frame, content.element)
    if isinstance(content, DictContent):
        if content.items is not None:
            return tuple(content.items), UNKNOWN
        return None, UNKNOWN
    return None, UNKNOWN


def _next(frame: Frame, value: Value) -> Value:
    """Return what any item of an iterator is."""
    made = frame.special(value, "__next__", [], _HERE)
    return UNKNOWN if made is NOTHING else made


def first(frame: Frame, value: Value, element: Value) -> Value:
    """Return the first item that iterating over a value gives; `element` is what any item is."""
    if isinstance(value, Range):
        return value.start
    if isinstance(value, Items) and value.first is not None:
        return value.first
    return element


def another(frame: Frame, value: Value) -> Value:
    """Return one of several values of which `value` says what they have in common.

    Sizes that aren't known, and instances of which only the class is, are then different ones
    each time.
    """
    if isinstance(value, Ref):
        content = frame.state.content(value)
        if not isinstance(content, Instance) or content.path is None:
            return value
        attrs = dict.fromkeys(content.attrs, UNKNOWN)
        like = content.like or value
        return frame.state.new(Instance(content.cls, attrs, one_of(content.path), like, fresh=True))
    if isinstance(value, OneOf):
        return OneOf(tuple(another(frame, option) for option in value.options))
    if isinstance(value, Tensor):
        items = frame.state.facts.items(value.shape.dims)
        return replace(value, shape=Shape(tuple(map(_other, items))))
    if isinstance(value, tuple):
        return tuple(another(frame, item) for item in value)
    return _other(value) if isinstance(value, Size) else value


def _other(item: Item) -> Item:
    if isinstance(item, Run):
        return Run(item.symbol.again()) if item.symbol.kind is Kind.UNKNOWN else item
    if any(symbol.varies for symbol in dims.symbols(item)):
        alone = item.symbol if isinstance(item, Size) else None
        return dims.unknown() if alone is None else Size.of(alone.again())
    return item


def _range(value: Range) -> tuple[tuple[Value, ...] | None, Value]:
    if isinstance(value.start, int) and isinstance(value.stop, int):
        count = value.length
        if isinstance(count, int) and count <= UNROLL:
            return tuple(range(value.start, value.stop, value.step)), UNKNOWN
    return None, dims.unknown()


def _rows(frame: Frame, tensor: Tensor) -> tuple[tuple[Value, ...] | None, Value]:
    shape = frame.state.facts.shape(tensor.shape)
    first = shape.at(0)
    if first is None:
        return None, Tensor.unknown()
    row = replace(tensor, shape=Shape(shape.dims[1:]), inserted=False)
    count = frame.state.facts.dim(first)
    if isinstance(count, int) and count <= UNROLL:
        return (row,) * count, row
    return None, row


def as_list(frame: Frame, value: Value) -> ListContent:
    """Return the content of a list of what iterating over a value gives."""
    items, element = iterate(frame, value)
    return ListContent(items, element, count=length(frame, value) if items is None else None)


def length(frame: Frame, value: Value) -> IntSize | None:
    """Return the length of a value, None where it isn't known."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Range):
        return value.length
    if isinstance(value, Tensor):
        first = frame.state.facts.reach(frame.state.facts.shape(value.shape).dims, 0)
        return None if first is None else dims.size_of(first)
    if isinstance(value, tuple) and any(isinstance(item, Run) for item in value):
        return frame.state.facts.shape(as_shape(value)).axes
    items = iterate(frame, value)[0]
    if items is not None:
        return len(items)
    content = value if isinstance(value, Items) else frame.state.content(value)
    return content.count if isinstance(content, (Items, ListContent)) else None
