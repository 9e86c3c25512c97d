"""What iterating over a value gives."""

from __future__ import annotations

import ast
from typing import Final

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.kinds import Iterated, held_by, kind_of
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.values.model import ListContent
from shapecheck.dims import IntSize
from shapecheck.explain import Message
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import are_dims
from shapecheck.shapes import Shape, Tensor, has_run

UNROLL: Final = 64
"""As many items are gone over one by one."""


def iterated(frame: Frame, node: ast.expr) -> Value:
    """Return the value that a loop goes over; a 0-d tensor is an error."""
    value = frame.eval(node)
    if isinstance(value, Tensor) and frame.state.facts.shape(value.shape).rank == 0:
        text = f'"{frame.segment(node)}" can\'t be iterated over: a 0-d tensor has no axis'
        frame.error(node, Message(text))
        return UNKNOWN
    return value


def iterate(frame: Frame, value: Value) -> Iterated:
    """Return the items that iterating over a value gives, or None and what any item is."""
    held = held_by(frame, value)
    return kind_of(held).iterate(frame, value, held)


def spelled_out(frame: Frame, value: Value) -> tuple[Value, ...] | None:
    """Return the items of what has a star before it, runs among them; None where not known."""
    return listed(frame, value) or iterate(frame, value)[0]


def listed(frame: Frame, value: Value) -> tuple[Value, ...] | None:
    """Return the items of a tuple or a list, runs among them; None for anything else."""
    held = held_by(frame, value)
    if isinstance(held, ListContent):
        return held.items
    return held if isinstance(held, tuple) else None


def learned(frame: Frame, items: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return sizes with what has been learned of the runs among them."""
    if has_run(items) and are_dims(items):
        return frame.state.facts.shape(Shape(items)).dims
    return items


def first(frame: Frame, value: Value, element: Value) -> Value:
    """Return the first item that iterating over a value gives; `element` is what any item is."""
    held = held_by(frame, value)
    found = kind_of(held).first(held)
    return element if found is NOTHING else found


def last(frame: Frame, value: Value) -> Value:
    """Return the last item that iterating over a value gives, None where it is as the others."""
    held = held_by(frame, value)
    found = kind_of(held).last(held)
    return None if found is NOTHING else found


def another(frame: Frame, value: Value) -> Value:
    """Return one of several values of which `value` says what they have in common.

    Sizes that aren't known, and instances of which only the class is, are then different ones
    each time.
    """
    held = held_by(frame, value)
    return kind_of(held).another(frame, value, held)


def length(frame: Frame, value: Value) -> IntSize | None:
    """Return the length of a value, None where it isn't known."""
    held = held_by(frame, value)
    return kind_of(held).length(frame, value, held)


def as_list(frame: Frame, value: Value) -> ListContent:
    """Return the content of a list of what iterating over a value gives."""
    items, element = iterate(frame, value)
    items = listed(frame, value) if items is None else items
    return ListContent(items, element, count=length(frame, value) if items is None else None)
