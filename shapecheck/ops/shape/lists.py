"""Ops on several tensors that neither `cat` nor `stack` covers."""

from __future__ import annotations

import shapecheck.dims as dims
from shapecheck.dims import IntSize, size_of
from shapecheck.ops.agree import counted, promote_all, tensors_of
from shapecheck.ops.call import UNKNOWN, Call, Repeated, Value, as_shape, rule
from shapecheck.ops.promotion import promoted
from shapecheck.ops.shape.joining import raised
from shapecheck.shapes import Shape, Tensor, mismatch


@rule("block_diag")
def block_diag(call: Call, tensors: Value, **rest: Value) -> Value:
    """Put matrices on the diagonal of a larger one."""
    parts = tensors_of(tensors)
    if not parts:
        return Tensor.unknown()
    rows: IntSize = 0
    columns: IntSize = 0
    for index, part in enumerate(parts):
        shape = call.facts.shape(part.shape)
        if shape.rank is None:
            return Tensor(Shape.of_rank(2), promote_all(parts))
        if shape.rank > 2:
            raise mismatch(
                f"operand {index + 1} has {counted(shape.rank, 'axis')}, at most 2 are expected",
                f"can't put {shape} on a diagonal",
            )
        padded = (*(1,) * (2 - shape.rank), *shape.dims)
        rows = rows + size_of(padded[0])  # type: ignore[arg-type]
        columns = columns + size_of(padded[1])  # type: ignore[arg-type]
    return Tensor(Shape((rows, columns)), promoted(*parts))


@rule("cartesian_prod")
def cartesian_prod(call: Call, tensors: Value, **rest: Value) -> Value:
    """Return all combinations of the elements of vectors, one a row."""
    parts = tensors_of(tensors)
    if not parts:
        return Tensor.unknown()
    sizes: list[IntSize] = []
    for index, part in enumerate(parts):
        shape = call.facts.shape(part.shape)
        if shape.rank is not None and shape.rank != 1:
            raise mismatch(
                f"operand {index + 1} has {counted(shape.rank, 'axis')}, 1 is expected",
                f"can't combine the elements of {shape}",
            )
        only = shape.at(0)
        sizes.append(dims.unknown() if only is None else size_of(only))
    kind = promote_all(parts)
    if len(parts) == 1:
        return Tensor(Shape((sizes[0],)), kind)
    return Tensor(Shape((dims.product(sizes), len(parts))), kind)


@rule("broadcast_tensors")
def broadcast_tensors(call: Call, tensors: Value, **rest: Value) -> Value:
    """Expand tensors to the shape that all of them broadcast to."""
    parts = tensors_of(tensors)
    if parts is None:
        return UNKNOWN
    if not parts:
        return ()
    shape = call.broadcast(parts, strict=False)
    return tuple(Tensor(shape, part.dtype) for part in parts)


@rule("broadcast_shapes")
def broadcast_shapes(call: Call, shapes: Value, **rest: Value) -> Value:
    """Return the shape that shapes broadcast to, as a tuple of sizes."""
    if not isinstance(shapes, (tuple, list)) or not shapes:
        return UNKNOWN
    if not all(isinstance(shape, (tuple, list)) for shape in shapes):
        return UNKNOWN
    return call.broadcast([Tensor(as_shape(shape)) for shape in shapes], strict=False).dims


@rule("each")
def each(call: Call, tensors: Value, **rest: Value) -> Value:
    """Return tensors like those of a list."""
    if isinstance(tensors, Repeated):
        return tensors
    parts = tensors_of(tensors)
    return UNKNOWN if parts is None else parts


@rule("atleast")
def atleast(call: Call, tensors: Value, **rest: Value) -> Value:
    """Raise tensors to a least rank: `atleast_1d`, `atleast_2d`, `atleast_3d`.

    The constants are what `raised` is told.
    """
    least, ahead = call.number(), call.number(1)
    parts = tensors_of(tensors)
    if parts is None:
        return UNKNOWN
    found = []
    for part in parts:
        shape = call.facts.shape(part.shape)
        known = shape.rank is not None or shape.least_rank >= least
        found.append(Tensor(raised(shape, least, ahead) if known else Shape.unknown(), part.dtype))
    return found[0] if len(found) == 1 else tuple(found)
