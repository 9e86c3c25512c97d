"""Ops that give one result for each axis, and tensors that are inverted as matrices are."""

from __future__ import annotations

from shapecheck import dtypes
from shapecheck.dims import DimExpr
from shapecheck.ops.agree import one_or_more
from shapecheck.ops.call import UNKNOWN, Call, Value, as_tensor, resolved, rule
from shapecheck.shapes import Shape, Tensor, has_run, mismatch


@rule("gradient")
def gradient(
    call: Call, input: Value, spacing: Value = None, dim: Value = None, **rest: Value
) -> Value:
    """Return the derivative along each of some axes, as many tensors of the input's shape."""
    tensor, shape = resolved(call, input)
    axes = call.axes(shape, dim)
    if axes is None:
        return UNKNOWN
    headline = f"can't differentiate {shape}"
    if not shape.dims:
        if axes:
            raise mismatch("a 0-d tensor has no axis", headline)
        return []
    steps = one_or_more(spacing) if isinstance(spacing, (tuple, list)) else None
    if steps is not None and len(steps) != len(axes):
        raise mismatch(f"{len(steps)} spacings are given for {len(axes)} axes", headline)
    order = rest.get("edge_order", 1)
    for axis in axes:
        found = shape.dims[axis]
        if isinstance(found, int) and isinstance(order, int) and found < order + 1:
            raise mismatch(f"axis {axis} is {found}, and at least {order + 1} is needed", headline)
    return [Tensor(shape, dtypes.to_float(tensor.dtype)) for _ in axes]


@rule("unravel_index")
def unravel_index(call: Call, indices: Value, shape: Value, **rest: Value) -> Value:
    """Return the coordinates of flat indices: a tensor like them for each axis."""
    if not isinstance(shape, (tuple, list)) or has_run(shape):
        return UNKNOWN
    return tuple(Tensor(as_tensor(indices).shape, dtypes.INT64) for _ in shape)


@rule("tensorinv")
def tensorinv(call: Call, A: Value, ind: Value = 2, **rest: Value) -> Value:
    """Invert a tensor whose first `ind` axes span as much as the others, which come first then."""
    tensor, shape = resolved(call, A)
    if not isinstance(ind, int) or shape.rank is None:
        return Tensor(Shape.unknown(), tensor.dtype)
    headline = f"can't invert {shape}"
    if ind <= 0:
        raise mismatch(f"ind is {ind}, and at least 1 is needed", headline)
    rows, columns = Shape(shape.dims[:ind]), Shape(shape.dims[ind:])
    _square(call, rows, columns, headline)
    return Tensor(Shape((*columns.dims, *rows.dims)), tensor.dtype)


@rule("tensorsolve")
def tensorsolve(call: Call, A: Value, B: Value, dims: Value = None, **rest: Value) -> Value:
    """Solve for the tensor that gives `B` when contracted with the last axes of `A`."""
    tensor, shape = resolved(call, A)
    right = call.facts.shape(as_tensor(B).shape)
    if shape.rank is None or right.rank is None:
        return Tensor(Shape.unknown(), tensor.dtype)
    moved = () if dims is None else call.axes(shape, dims)
    if moved is None:
        return Tensor(Shape.unknown(), tensor.dtype)
    kept = [axis for axis in range(shape.rank) if axis not in moved]
    order = (*kept, *moved) if shape.dims else ()  # to torch, a number has an axis 0
    items = tuple(shape.dims[axis] for axis in order)
    rows, columns = Shape(items[: right.rank]), Shape(items[right.rank :])
    _square(call, rows, columns, f"can't solve {shape} for {right}")
    return Tensor(columns, tensor.dtype)


def _square(call: Call, rows: Shape, columns: Shape, headline: str) -> None:
    first, second = rows.numel(), columns.numel()
    assert first is not None and second is not None
    sizes: tuple[DimExpr, DimExpr] = first, second
    if call.facts.differ(*sizes):
        raise mismatch(
            f"{rows} has {first} elements, and {columns} has {second}",
            headline,
            about=(rows, first, columns, second),
        )
