"""Ops that make tensors from sizes, numbers and lists."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf
from typing import Final

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import Composite, DimExpr, IntSize, Size
from shapecheck.ops.agree import counted, size
from shapecheck.ops.call import (
    UNKNOWN,
    Call,
    DType,
    Scalar,
    Sizes,
    Unknown,
    Value,
    as_shape,
    as_tensor,
    resolved,
    rule,
)
from shapecheck.shapes import Item, Shape, Tensor, has_run, mismatch

_DEFAULTS: Final = {
    "float": dtypes.DEFAULT_FLOAT,
    "int": dtypes.INT64,
    "bool": dtypes.BOOL,
    "any": dtypes.ANY,
}


def _dtype(given: Value, default: dtypes.DTypes) -> dtypes.DTypes:
    if given is None:
        return default
    return given.dtypes if isinstance(given, DType) else dtypes.ANY


def _sizes(call: Call, given: Value) -> Shape:
    """Return the shape that sizes describe; a negative one is refused."""
    shape = as_shape(given)
    for item in shape.dims:
        if isinstance(item, int) and item < 0:
            raise mismatch(f"{item} isn't a size", f"can't make a tensor of shape {shape}")
    return shape


@rule("filled")
def filled(call: Call, size: Value, dtype: Value = None, **rest: Value) -> Value:
    """Make a tensor of given sizes; the constant names its default dtype."""
    kind = _DEFAULTS[call.word() if call.extra else "float"]
    shape = _sizes(call, size)
    order = rest.get("physical_layout", UNKNOWN)
    if order is not UNKNOWN:
        axes = call.axes(shape, order)
        if axes is not None and shape.rank is not None and len(axes) != shape.rank:
            raise mismatch(f"{counted(len(axes), 'axis')} in order", f"can't lay out {shape}")
    return Tensor(shape, _dtype(dtype, kind))


@rule("arange")
def arange(
    call: Call,
    start: Value = None,
    end: Value = None,
    step: Value = 1,
    dtype: Value = None,
    **rest: Value,
) -> Value:
    """Count from `start` (0) up to `end` by `step`."""
    if end is None:
        end = start
        start = 0
    if start is None:
        start = 0
    whole = isinstance(dtype, DType) and not dtype.dtypes & ~dtypes.INTEGER
    start, end = _number(start, whole), _number(end, whole)
    step = _number(step, whole)
    whole_kinds = dtypes.INTEGER | dtypes.BOOL
    kinds = [as_tensor(value).dtype for value in (start, end, step)]
    if not any(kind & ~whole_kinds for kind in kinds):
        kind = dtypes.INT64
    elif any(not kind & whole_kinds for kind in kinds):
        kind = dtypes.FLOAT
    else:
        kind = dtypes.INT64 | dtypes.FLOAT
    return Tensor(Shape((_steps(call, start, end, step),)), _dtype(dtype, kind))


def _number(value: Value, whole: bool) -> Value:
    if whole and isinstance(value, float) and abs(value) != inf:
        return int(value)
    return dims.size_of(value) if isinstance(value, Composite) else value


def _steps(call: Call, start: Value, end: Value, step: Value) -> DimExpr:
    """Return `ceil((end - start) / step)`."""
    numbers = [n for n in (start, end, step) if isinstance(n, (int, float, Size))]
    if len(numbers) < 3 or any(isinstance(n, bool) for n in numbers):
        return dims.unknown()
    if numbers[2] == 0:
        raise mismatch("the step is 0", f"can't count from {numbers[0]} to {numbers[1]}")
    plain = [n for n in numbers if not isinstance(n, Size)]
    if len(plain) == 3:
        return _plain_steps(*plain)
    sizes = [n for n in numbers if not isinstance(n, float)]
    return _size_steps(*sizes) if len(sizes) == 3 else dims.unknown()


def _plain_steps(start: int | float, end: int | float, step: int | float) -> DimExpr:
    count = (end - start) / step
    if count < 0:
        raise mismatch(
            f"the step {step} leads away from the end", f"can't count from {start} to {end}"
        )
    if isinstance(start, int) and isinstance(end, int) and isinstance(step, int):
        return -((start - end) // step)
    return dims.unknown() if abs(count) == inf else ceil(count)


def _size_steps(start: IntSize, end: IntSize, step: IntSize) -> DimExpr:
    if step == 1:
        return end - start
    if isinstance(step, int) and step < 0:
        return dims.floordiv(start - end - step - 1, -step)
    return dims.floordiv(end - start + step - 1, step)


@rule("spaced")
def spaced(call: Call, steps: Value, dtype: Value = None, **rest: Value) -> Value:
    """Make a vector of that many numbers (`linspace`)."""
    count = dims.unknown() if isinstance(steps, (Unknown, Tensor)) else size(steps)
    for end in (rest.get("start"), rest.get("end")):
        if isinstance(end, Tensor) and end.shape.least_rank:
            raise mismatch(
                f"an end has shape {end.shape}, not ()",
                "can't space numbers evenly",
                about=(end.shape,),
            )
    return Tensor(_sizes(call, (count,)), _dtype(dtype, dtypes.DEFAULT_FLOAT | dtypes.COMPLEX))


@rule("eye")
def eye(call: Call, n: Value, m: Value = None, dtype: Value = None, **rest: Value) -> Value:
    """Make an identity matrix."""
    shape = _sizes(call, (n, n if m is None else m))
    if isinstance(n, (Unknown, Tensor)) and m is None:
        shape = Shape(shape.dims[:1] * 2)
    return Tensor(shape, _dtype(dtype, dtypes.DEFAULT_FLOAT))


@rule("tensor")
def tensor(call: Call, data: Value, dtype: Value = None, **rest: Value) -> Tensor:
    """Make a tensor of a number or of nested lists; a tensor keeps its shape.

    The constant: the dtype is that of this number, or that of another tensor ("like").
    """
    if call.extra:
        made = tensor(Call(call.facts, call.label, call.operands), data)
        like = rest.get("input") if call.extra[0] == "like" else call.extra[0]
        return Tensor(made.shape, _dtype(dtype, as_tensor(like).dtype))
    if isinstance(data, Unknown):
        return Tensor(Shape.unknown(), _dtype(dtype, dtypes.ANY))
    if isinstance(data, (tuple, list)):
        shape, kind = _nested(data)
        return Tensor(shape, _dtype(dtype, kind))
    if isinstance(data, (Tensor, int, float, complex, Size, Scalar, Composite)):
        made = as_tensor(size(data) if isinstance(data, Composite) else data)
        return Tensor(made.shape, _dtype(dtype, made.dtype))
    return Tensor(Shape.unknown(), _dtype(dtype, dtypes.ANY))


def _nested(data: Sequence[Value]) -> tuple[Shape, dtypes.DTypes]:
    """Return the shape and dtype of nested lists; raises where rows differ in length."""
    if has_run(data):
        return Shape((dims.unknown(),)), dtypes.INT64
    if not data:
        return Shape((0,)), dtypes.DEFAULT_FLOAT
    found: list[tuple[Shape, dtypes.DTypes]] = []
    for item in data:
        if isinstance(item, (tuple, list)):
            found.append(_nested(item))
        elif isinstance(item, Unknown):
            return Shape((len(data), *Shape.unknown().dims)), dtypes.ANY
        else:
            made = as_tensor(size(item) if isinstance(item, Composite) else item)
            found.append((made.shape, made.dtype))
    found = _as_numbers(data, found)
    first = found[0][0]
    for index, (shape, _) in enumerate(found):
        if shape.known is None:
            return Shape((len(data), *Shape.unknown().dims)), dtypes.ANY
        if first.known is not None and _ragged(first.known, shape.known):
            raise mismatch(
                f"element 0 has shape {first} and element {index} has shape {shape}",
                "can't make a tensor of lists of different lengths",
                about=(first, shape),
            )
    return Shape((len(data), *first.dims)), _widest([kind for _, kind in found])


def _as_numbers(
    data: Sequence[Value], found: Sequence[tuple[Shape, dtypes.DTypes]]
) -> list[tuple[Shape, dtypes.DTypes]]:
    """Return the items of a list as they count in it: a tensor of one element is a number.

    An array of one element isn't: where there are only such, it isn't known what they are.
    """
    is_single = [
        not isinstance(item, (tuple, list)) and set(shape.dims) == {1}
        for item, (shape, _) in zip(data, found, strict=True)
    ]
    if not any(is_single):
        return [*found]
    among_numbers = any(not shape.dims for shape, _ in found)
    number = Shape(()) if among_numbers else Shape.unknown()
    pairs = zip(is_single, found, strict=True)
    return [(number if single else shape, kind) for single, (shape, kind) in pairs]


def _ragged(first: tuple[DimExpr, ...], other: tuple[DimExpr, ...]) -> bool:
    if len(first) != len(other):
        return True
    pairs = zip(first, other, strict=True)
    return any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)


def _widest(kinds: list[dtypes.DTypes]) -> dtypes.DTypes:
    """Return the dtype that a list of numbers gets: the highest category among them."""
    if dtypes.ANY in kinds:
        return dtypes.ANY
    result = kinds[0]
    for kind in kinds[1:]:
        result = dtypes.promote(result, kind)
    return result


@rule("meshgrid")
def meshgrid(call: Call, tensors: Value, indexing: Value = None, **rest: Value) -> Value:
    """Return coordinate grids, one for each vector, all of the shape of the grid."""
    if not isinstance(tensors, (tuple, list)):
        return UNKNOWN
    if has_run(tensors):
        return UNKNOWN
    items: list[Item] = []
    for one in tensors:
        shape = resolved(call, one)[1]
        if shape.least_rank > 1:
            raise mismatch(
                f"a grid is made of vectors, and one has shape {shape}",
                "can't make a grid",
                about=(shape,),
            )
        item = shape.dims[0] if shape.rank == 1 else 1 if shape.rank == 0 else dims.unknown()
        items.append(item)
    if len(items) > 1:
        if indexing == "xy":
            items[0], items[1] = items[1], items[0]
        elif indexing not in (None, "ij"):
            items[:2] = [dims.unknown(), dims.unknown()]
    return tuple(Tensor(Shape(tuple(items)), as_tensor(one).dtype) for one in tensors)


@rule("normal")
def normal(call: Call, mean: Value, std: Value = 1.0, size: Value = None, **rest: Value) -> Value:
    """Draw normal numbers: of given sizes, or of the shape of mean and deviation."""
    if size is not None:
        return Tensor(_sizes(call, size), _dtype(rest.get("dtype"), dtypes.DEFAULT_FLOAT))
    shape = call.broadcast((as_tensor(mean), as_tensor(std)))
    return Tensor(shape, dtypes.FLOAT)


@rule("triangle")
def triangle(call: Call, row: Value, col: Value = None, offset: Value = 0, **rest: Value) -> Value:
    """Return the indices of a triangle of a matrix: two rows of coordinates."""
    count: DimExpr = dims.unknown()
    width = row if col is None else col
    if offset == 0 and isinstance(row, (int, Size)) and row == width and col != 0:
        count = dims.floordiv(row * (row + 1), 2)
    elif isinstance(row, int) and isinstance(width, int) and isinstance(offset, int):
        upper = not call.extra
        below = _triangle(row, width, offset - upper)  # the upper one is what is left of the rest
        count = dims.measured(row * width - below if upper else below)
    return Tensor(Shape((2, count)), _dtype(rest.get("dtype"), dtypes.INT64))


def _triangle(rows: int, columns: int, offset: int) -> int:
    """Return how many places of a matrix are on the diagonal at an offset or below it."""
    rows, columns = max(rows, 0), max(columns, 0)
    first = min(max(-offset, 0), rows)  # the rows above have none
    full = min(max(columns - offset, first), rows)  # the rows from here on have all
    growing = (full - first) * (first + full + 1 + 2 * offset) // 2
    return growing + (rows - full) * columns


@rule("sized")
def sized(call: Call, data: Value = None, args: Value = (), **rest: Value) -> Value:
    """Make a tensor as the old constructors do (`torch.LongTensor`): of sizes, or of a list.

    A `torch.Size` is sizes, any other tuple a list of numbers. The constant names the dtype, or
    it is that of another tensor ("like").
    """
    kind = as_tensor(rest["input"]).dtype if call.extra[0] == "like" else dtypes.of(call.word())
    if data is None:
        return Tensor(Shape((0,)), kind)
    if isinstance(data, Sizes):
        return Tensor(as_shape(data), kind)
    if isinstance(data, (tuple, list)):
        return Tensor(_nested(data)[0], kind)
    given = (data, *(args if isinstance(args, (tuple, list)) else (args,)))
    if isinstance(data, Tensor) and len(given) == 1:
        return Tensor(data.shape, kind)
    if len(given) > 1 or isinstance(data, (int, Size, Composite)):
        return Tensor(as_shape(given), kind)
    return Tensor(Shape.unknown(), kind)
