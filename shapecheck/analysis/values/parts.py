"""What values are made of, and how they are made of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import shapecheck.dims as dims
from shapecheck.analysis.program.model import Class, Function, Value
from shapecheck.analysis.values.model import (
    Array,
    Attributes,
    Bound,
    ByName,
    Context,
    Items,
    OneOf,
    OpInstance,
    Partial,
    Path,
    Range,
    Ref,
    Super,
    Table,
)
from shapecheck.dims import Composite, Kind, Size, Sym
from shapecheck.ops import UNKNOWN, Fields, Packed, Repeated, Sizes
from shapecheck.shapes import Free, Item, Run, Shape, Tensor


class Form(NamedTuple):
    """How values of one kind are taken apart, and put together of other parts.

    `parts` are the values in a value, without the heap; `rest` is all else about it. `made` is
    given a value and the parts of the one that is to be made like it.
    """

    parts: Callable[..., Sequence[Value]]
    rest: Callable[..., Hashable]
    made: Callable[..., Value]


def _nothing(value: Value) -> Hashable:
    return None


def _partial(value: Partial, parts: Sequence[Value]) -> Partial:
    end = len(value.args) + 1
    names = (name for name, _ in value.kwargs)
    return Partial(parts[0], tuple(parts[1:end]), tuple(zip(names, parts[end:], strict=True)))


def _tensor(value: Tensor, dims: Sequence[Item], free: Sequence[Free]) -> Tensor:
    made = value.with_shape(Shape(tuple(dims)))
    return replace(made, free=tuple(free)) if free else made


FORMS: Final[dict[type, Form]] = {
    tuple: Form(lambda v: v, _nothing, lambda v, parts: tuple(parts)),
    Sizes: Form(lambda v: v, _nothing, lambda v, parts: Sizes(parts)),
    Fields: Form(lambda v: v, lambda v: v.names, lambda v, parts: Fields.of(v.names, parts)),
    list: Form(lambda v: v, _nothing, lambda v, parts: list(parts)),
    dict: Form(
        lambda v: [*v.values()],
        lambda v: tuple((type(key), key) for key in v),
        lambda v, parts: dict(zip(v, parts, strict=True)),
    ),
    slice: Form(lambda v: (v.start, v.stop, v.step), _nothing, lambda v, parts: slice(*parts)),
    Tensor: Form(
        lambda v: (*v.shape.dims, *v.free) if v.free else v.shape.dims,
        lambda v: (v.dtype, v.inserted, len(v.free), v.more, v.blank, v.called),
        lambda v, parts: _tensor(v, parts[: len(v.shape.dims)], parts[len(v.shape.dims) :]),
    ),
    Array: Form(lambda v: (v.tensor,), _nothing, lambda v, parts: Array(parts[0])),
    ByName: Form(lambda v: (v.tensor,), _nothing, lambda v, parts: replace(v, tensor=parts[0])),
    Table: Form(
        lambda v: (v.tensor,), lambda v: v.place, lambda v, parts: Table(parts[0], v.place)
    ),
    Free: Form(
        lambda v: (v.size, Size.of(v.bound)),
        _nothing,
        lambda v, parts: Free(parts[0].symbol),
    ),
    OneOf: Form(lambda v: v.options, _nothing, lambda v, parts: OneOf(tuple(parts))),
    Bound: Form(
        lambda v: (v.receiver, v.function),
        lambda v: v.name,
        lambda v, parts: Bound(parts[0], v.name, parts[1]),
    ),
    Attributes: Form(lambda v: (v.owner,), _nothing, lambda v, parts: Attributes(parts[0])),
    Super: Form(lambda v: (v.owner, v.receiver), _nothing, lambda v, parts: Super(*parts)),
    Partial: Form(
        lambda v: (v.function, *v.args, *(given for _, given in v.kwargs)),
        lambda v: (len(v.args), *(name for name, _ in v.kwargs)),
        _partial,
    ),
    Items: Form(
        lambda v: (v.items, v.element, v.count, v.first, v.last, *(held for _, held in v.attrs)),
        lambda v: tuple(name for name, _ in v.attrs),
        lambda v, parts: replace(
            Items(*parts[:5]), attrs=tuple(zip((n for n, _ in v.attrs), parts[5:], strict=True))
        ),
    ),
    Range: Form(
        lambda v: (v.start, v.stop),
        lambda v: v.step,
        lambda v, parts: Range(parts[0], parts[1], v.step),
    ),
    Context: Form(
        lambda v: (v.value,),
        lambda v: (v.swallows, v.lower),
        lambda v, parts: Context(parts[0], v.swallows, v.lower),
    ),
    OpInstance: Form(
        lambda v: [*v.attrs.values()],
        lambda v: (v.cls.name, *v.attrs),
        lambda v, parts: OpInstance(v.cls, dict(zip(v.attrs, parts, strict=True))),
    ),
    Repeated: Form(lambda v: (v.element, v.count), _nothing, lambda v, parts: Repeated(*parts)),
    Packed: Form(lambda v: (v.data, v.batch), _nothing, lambda v, parts: Packed(*parts)),
}


def parts(value: Value) -> Iterator[Value]:
    """Yield what a value is made of, down to what has no parts; the heap isn't looked at."""
    form = FORMS.get(type(value))
    if form is None:
        yield value
    else:
        for one in form.parts(value):
            yield from parts(one)


def numbers_in(*values: Value) -> frozenset[int]:
    """Return the integers in some values."""
    return frozenset(one for value in values for one in parts(value) if type(one) is int)


def lasting(layer: OpInstance) -> frozenset[Sym] | None:
    """Return the symbols in a layer that is the same to all who see it; None where it isn't.

    There is nothing in it then that lies on the heap, sees variables, or is another one elsewhere.
    """
    if not layer.is_known:
        layer.is_known = True
        symbols: set[Sym] = set()
        for part in parts(layer):
            if isinstance(part, (Size, Composite)):
                symbols |= dims.symbols(part)
            elif isinstance(part, Run):
                symbols.add(part.symbol)
            elif isinstance(part, (Ref, Function, Class, Path)):
                return None
        if not any(symbol.kind is Kind.UNKNOWN or symbol.moves for symbol in symbols):
            layer.lasting = frozenset(symbols)
    return layer.lasting


GROWING: Final = frozenset((str, bytes, tuple, Items, Partial))
"""The kinds of values that a program can double again and again."""
MOST: Final = 1 << 12


def bounded(value: Value) -> Value:
    """Return a value, or `UNKNOWN` in the place of a text or nest of tuples that is too long."""
    left, waiting = MOST, [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, (str, bytes)):
            left -= len(one)
        elif type(one) in GROWING:
            parts = FORMS[type(one)].parts(one)
            left -= len(parts)
            waiting.extend(part for part in parts if type(part) in GROWING)
        if left < 0:
            return UNKNOWN
    return value
