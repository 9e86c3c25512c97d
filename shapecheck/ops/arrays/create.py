"""Functions of numpy that make arrays: of numbers, of lists, of sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.ops.arrays.promotion import promote, strong
from shapecheck.ops.call import (
    RULES,
    UNKNOWN,
    Call,
    DType,
    Repeated,
    Scalar,
    Unknown,
    Value,
    as_shape,
    as_size,
    as_tensor,
    rule,
)
from shapecheck.shapes import Mismatch, Run, Shape, Tensor


def as_array(call: Call, value: Value) -> Tensor:
    """Return what numpy makes of an argument that is like an array: a list of lists, a number."""
    match value:
        case Tensor():
            return value
        case tuple() | list():
            return _of_list(call, value)
        case Repeated(element=Tensor() as one, count=count):
            return Tensor(Shape((count, *call.facts.shape(one.shape).dims)), one.dtype)
        case Mapping():
            return _of_image(value)
    return replace(as_tensor(value), dtype=strong(value))


MODES: Final[Mapping[str, tuple[int, str]]] = {
    "1": (0, "bool"),
    "L": (0, "uint8"),
    "P": (0, "uint8"),
    "I": (0, "int32"),
    "F": (0, "float32"),
    "LA": (2, "uint8"),
    "RGB": (3, "uint8"),
    "YCbCr": (3, "uint8"),
    "HSV": (3, "uint8"),
    "LAB": (3, "uint8"),
    "RGBA": (4, "uint8"),
    "CMYK": (4, "uint8"),
}
"""How many channels an image of PIL has in each mode, 0 for no axis of them, and which dtype."""


def _of_image(value: Mapping[str, Value]) -> Tensor:
    """Return the array that numpy makes of an image, given by its attributes."""
    mode = value.get("mode")
    if value.get("__class__") != "PIL.Image.Image":
        return Tensor.unknown()
    size = as_size(value.get("height")), as_size(value.get("width"))
    if not isinstance(mode, str) or mode not in MODES:
        return Tensor(Shape((*size, *Shape.unknown().dims)))
    channels, dtype = MODES[mode]
    return Tensor(Shape((*size, channels) if channels else size), dtypes.of(dtype))


def _of_list(call: Call, items: tuple[Value, ...] | list[Value]) -> Tensor:
    made = RULES["tensor"](call, items)
    assert isinstance(made, Tensor)
    if made.dtype == dtypes.ANY:
        return made
    kind: dtypes.DTypes | None = None
    for leaf in _leaves(items):
        kind = strong(leaf) if kind is None else promote(kind, strong(leaf))
    return replace(made, dtype=strong(0.0) if kind is None else kind)


def _leaves(value: Value) -> Iterator[Value]:
    if isinstance(value, (tuple, list)):
        for one in value:
            yield from _leaves(one)
    else:
        yield 0 if isinstance(value, Run) else value


def of_dtype(made: Tensor, dtype: Value) -> Tensor:
    """Return an array of the dtype that is asked for, if one is."""
    if dtype is None:
        return made
    return replace(made, dtype=dtype.dtypes if isinstance(dtype, DType) else dtypes.ANY)


@rule("array")
def array(call: Call, object: Value, dtype: Value = None, ndmin: Value = 0, **rest: Value) -> Value:
    """Make an array of what is like one; only one of objects may have rows of several lengths."""
    if ndmin not in (0, UNKNOWN) or ndmin is UNKNOWN:
        return of_dtype(Tensor.unknown(), dtype)
    if dtype is None or isinstance(dtype, DType):
        return of_dtype(as_array(call, object), dtype)
    with suppress(Mismatch):
        return of_dtype(as_array(call, object), dtype)
    return Tensor.unknown()


@rule("array range")
def array_range(
    call: Call,
    start: Value = None,
    stop: Value = None,
    step: Value = 1,
    dtype: Value = None,
    **rest: Value,
) -> Value:
    """Count from `start` (0) up to `stop` by `step`; nothing where that leads away."""
    numbers = [0 if one is None else one for one in (start, stop, step)]
    kind = strong(numbers[0])
    for one in numbers[1:]:
        kind = promote(kind, strong(one))
    try:
        made = RULES["arange"](call, start, stop, step)
    except Mismatch:
        made = Tensor(Shape((dims.unknown() if step == 0 else 0,)))
    assert isinstance(made, Tensor)
    return of_dtype(replace(made, dtype=kind), dtype)


@rule("array spaced")
def array_spaced(call: Call, num: Value, dtype: Value = None, **rest: Value) -> Value:
    """Make numbers from one end to the other; the ends may be arrays, and `axis` isn't 0."""
    ends = [as_array(call, rest.get(name)) for name in ("start", "stop")]
    shape = call.broadcast(ends)
    count = as_shape(num) if not isinstance(num, (Unknown, Tensor)) else Shape.of_rank(1)
    if rest.get("axis", 0) != 0 or rest.get("retstep", False) is not False:
        return UNKNOWN
    made = Tensor(Shape((*count.dims, *shape.dims)), strong(0.0))
    return of_dtype(made if len(count.dims) == 1 else Tensor.unknown(), dtype)


@rule("array grid")
def array_grid(
    call: Call, xi: Value, indexing: Value = "xy", sparse: Value = False, **rest: Value
) -> Value:
    """Return coordinate grids, the first two axes swapped unless they are indexed `ij`."""
    if sparse is not False or not isinstance(xi, (tuple, list)):
        return UNKNOWN
    vectors = [as_array(call, one) for one in xi]
    if any(vector.shape.rank != 1 for vector in vectors):
        return UNKNOWN
    return RULES["meshgrid"](call, vectors, indexing=indexing)


@rule("array drawn")
def array_drawn(call: Call, size: Value = None, **rest: Value) -> Value:
    """Draw numbers: of given sizes, of the shape of the parameters, or one.

    The constant names the dtype.
    """
    kind = dtypes.of(call.word())
    if isinstance(size, Unknown):
        return UNKNOWN
    if size is not None:
        return of_dtype(Tensor(as_shape(size), kind), rest.get("dtype"))
    given = [value for name, value in rest.items() if name not in ("self", "dtype")]
    parameters = [as_array(call, one) for one in given if _is_parameter(one)]
    shape = call.broadcast(parameters) if parameters else Shape(())
    if shape.rank is None:
        return UNKNOWN
    if shape.dims == ():
        return dims.unknown() if kind == dtypes.INT64 else Scalar(kind)
    return of_dtype(Tensor(shape, kind), rest.get("dtype"))


def _is_parameter(value: Value) -> bool:
    return value is not None and not isinstance(value, (bool, str))


@rule("array shuffled")
def array_shuffled(call: Call, x: Value, **rest: Value) -> Value:
    """Return the numbers up to one, or the rows of an array, in another order."""
    if isinstance(x, Unknown):
        return UNKNOWN
    if isinstance(x, (Tensor, tuple, list, Repeated)):
        whole = as_array(call, x)
        return whole if whole.shape.least_rank else Tensor.unknown()
    return Tensor(Shape((as_size(x),)), dtypes.INT64)


@rule("array chosen")
def array_chosen(call: Call, a: Value, size: Value = None, **rest: Value) -> Value:
    """Choose numbers up to one, or among the items of a vector."""
    if isinstance(size, Unknown) or isinstance(a, Unknown):
        return UNKNOWN
    whole = as_array(call, a)
    if whole.shape.rank == 0:
        kind = whole.dtype if not whole.dtype & ~dtypes.INTEGER else dtypes.ANY
        return dims.unknown() if size is None else Tensor(as_shape(size), kind)
    if whole.shape.rank != 1:
        return UNKNOWN
    return UNKNOWN if size is None else Tensor(as_shape(size), whole.dtype)
