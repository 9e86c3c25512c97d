"""Ops that walk along one axis: `select`, `narrow`, windows."""

from __future__ import annotations

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import DimExpr, IntSize, Size, size_of
from shapecheck.ops.call import Call, Value, as_dim, replace, resolved, rule
from shapecheck.ops.saying import written
from shapecheck.ops.shape.axes import of_rank
from shapecheck.shapes import Run, Shape, Tensor, mismatch


@rule("select")
def select(call: Call, input: Value, dim: Value, index: Value, **rest: Value) -> Value:
    """Take one slice along an axis."""
    tensor, shape = resolved(call, input)
    if shape.rank == 0:
        raise mismatch("a 0-d tensor has no axis", f"can't select from {shape}")
    position = call.axis(shape, dim)
    if position is None:
        return Tensor(of_rank(shape, -1), tensor.dtype)
    item = shape.dims[position]
    if not isinstance(item, Run):
        check_index(call, shape, position, item, index, f"can't select {written(index)}")
    return Tensor(replace(shape, position), tensor.dtype)


def check_index(
    call: Call, shape: Shape, axis: int, item: DimExpr, index: Value, headline: str
) -> None:
    """Refuse an index that is certainly beyond the size of an axis."""
    if not isinstance(index, (int, Size)):
        return
    size = call.facts.size(size_of(item))
    index = call.facts.size(index)
    above = index - size
    below = -size - index - 1
    if (isinstance(above, int) and above >= 0) or (isinstance(below, int) and below >= 0):
        known = isinstance(size, int)
        allowed = f", so that indices go from {-size} to {size - 1}" if known else ""
        raise mismatch(
            f"axis {axis} has {item} elements{allowed}", f"{headline} of {shape}", about=(item,)
        )


@rule("narrow")
def narrow(
    call: Call, input: Value, dim: Value, start: Value, length: Value, **rest: Value
) -> Value:
    """Take a stretch of given length along an axis."""
    tensor, shape = resolved(call, input)
    if shape.rank == 0:
        raise mismatch("a 0-d tensor has no axis", f"can't narrow {shape}")
    position = call.axis(shape, dim)
    if position is None:
        return Tensor(of_rank(shape), tensor.dtype)
    item = shape.dims[position]
    headline = f"can't narrow {shape} to {written(length)} from {written(start)} on"
    if isinstance(length, int) and length < 0:
        raise mismatch("a length can't be negative", headline)
    if isinstance(start, Tensor):
        if call.facts.shape(start.shape).least_rank or not start.dtype & dtypes.INTEGER:
            kind = dtypes.describe(start.dtype)
            raise mismatch(
                f"the start is {kind} {start.shape}, where an int is needed",
                headline,
                about=(start.shape,),
            )
    if not isinstance(item, Run) and isinstance(length, (int, Size)):
        size = call.facts.size(size_of(item))
        if isinstance(start, int) and isinstance(size, int) and start < -size:
            raise mismatch(f"axis {written(dim)} has {item} elements", headline, about=(item,))
        first = start if isinstance(start, int) and start >= 0 else 0
        beyond = first + call.facts.size(length) - size
        if isinstance(beyond, int) and beyond > 0:
            raise mismatch(f"axis {written(dim)} has {item} elements", headline, about=(item,))
        if length == size:
            return Tensor(shape, tensor.dtype)
    return Tensor(replace(shape, position, as_dim(length)), tensor.dtype)


@rule("unfold")
def unfold(
    call: Call, input: Value, dimension: Value, size: Value, step: Value, **rest: Value
) -> Value:
    """Return all windows of an axis: their number in its place, their length as a new last axis."""
    tensor, shape = resolved(call, input)
    position = call.axis(shape, dimension)
    item = None if position is None or not shape.dims else shape.dims[position]
    if position is None or item is None or isinstance(item, Run):
        return Tensor(of_rank(shape, 1), tensor.dtype)
    count: IntSize = dims.unknown()
    if isinstance(size, (int, Size)) and isinstance(step, (int, Size)) and step != 0:
        room = call.facts.size(size_of(item)) - call.facts.size(size)
        if isinstance(room, int) and room < 0:
            raise mismatch(
                f"windows of {size} don't fit into the {item} elements of axis "
                f"{written(dimension)}",
                f"can't unfold {shape}",
                about=(size, item),
            )
        count = dims.floordiv(size_of(item) - size, step) + 1
    widened = replace(shape, position, count)
    return Tensor(Shape((*widened.dims, as_dim(size))), tensor.dtype)
