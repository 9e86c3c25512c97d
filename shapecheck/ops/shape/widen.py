"""Ops that lay copies along axes: `expand`, `repeat` and their relatives."""

from __future__ import annotations

from collections.abc import Sequence

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import Composite, DimExpr, IntSize, Size, size_of
from shapecheck.ops.agree import loose
from shapecheck.ops.call import Call, Value, as_dim, as_shape, is_size, replace, resolved, rule
from shapecheck.ops.saying import written
from shapecheck.ops.shape.axes import axis_count, left_open, of_rank
from shapecheck.shapes import Item, Run, Shape, Tensor, behind_runs, has_run, mismatch


@rule("expand")
def expand(call: Call, input: Value, size: Value, **rest: Value) -> Value:
    """Broadcast to a given shape, `-1` keeping a dimension."""
    tensor, shape = resolved(call, input)
    if is_size(size):
        size = (size,)
    if not isinstance(size, (tuple, list)):
        return Tensor(Shape.unknown(), tensor.dtype)
    return Tensor(_expanded(call, shape, size), tensor.dtype)


@rule("expand_as")
def expand_as(call: Call, input: Value, other: Value, **rest: Value) -> Value:
    """Broadcast to the shape of another tensor."""
    tensor, shape = resolved(call, input)
    return Tensor(_expanded(call, shape, resolved(call, other)[1].dims), tensor.dtype)


@rule("sum_to_size")
def sum_to_size(call: Call, input: Value, size: Value, **rest: Value) -> Value:
    """Sum over axes so that the sizes, broadcast, would be the tensor's again."""
    tensor, shape = resolved(call, input)
    wanted = as_shape(size)
    if shape.rank is None or wanted.rank is None:
        return Tensor(wanted, tensor.dtype)
    headline = f"can't sum {shape} to {wanted}"
    if wanted.rank > shape.rank:
        raise mismatch(axis_count(shape, wanted.rank, "size"), headline)
    for axis in range(-wanted.rank, 0):
        found, kept = shape.dims[axis], wanted.dims[axis]
        assert not isinstance(found, Run) and not isinstance(kept, Run)
        if kept != 1 and not call.unify(found, kept):
            raise mismatch(
                f"axis {axis} is {found}, which can't become {kept}", headline, about=(found, kept)
            )
    summed = dtypes.accumulate(tensor.dtype)
    if wanted.rank < shape.rank or not wanted.dims:
        return Tensor(wanted, summed)
    same = wanted.dims == shape.dims
    return Tensor(wanted, tensor.dtype if same else tensor.dtype | summed)


def _expanded(call: Call, shape: Shape, size: Sequence[Value]) -> Shape:
    headline = f"can't expand {shape} to ({' '.join(map(written, size))})"
    whole = not has_run(size)
    if whole and shape.least_rank > len(size):
        raise mismatch(axis_count(shape, len(size), "size"), headline)
    result: list[Item] = []
    facing = list(shape.dims)
    lost = False
    for axis in range(-1, -len(size) - 1, -1):
        wanted = size[axis]
        if isinstance(wanted, int) and wanted < -1:
            raise mismatch(f"{wanted} isn't a size", headline)
        given = facing.pop() if facing else None
        lost = lost or ((isinstance(given, Run) or isinstance(wanted, Run)) and given != wanted)
        if isinstance(wanted, Run):
            result.append(wanted)
        elif lost or isinstance(given, Run):
            result.append(dims.unknown() if wanted == -1 else as_dim(wanted))
        else:
            result.append(_widened(call, given, wanted, axis, headline))
    return Shape(tuple(reversed(result)))


def _widened(call: Call, given: DimExpr | None, wanted: Value, axis: int, headline: str) -> DimExpr:
    if isinstance(wanted, int) and wanted == -1:
        if given is None:
            raise mismatch(f"-1 keeps a dimension, and axis {axis} is new", headline)
        return given
    if not isinstance(wanted, (int, Size, Composite)):
        return dims.unknown() if given is None or given == 1 or loose(given) else given
    size = as_dim(wanted)
    if given is None or call.facts.dim(given) == 1:
        return size
    is_open = loose(call.facts.dim(given))
    if is_open and not call.facts.stand_together(given, size, call.operands):
        left_open(call, call.facts.dim(given))
        return size
    if is_open or not call.unify(given, size):
        raise mismatch(
            f"axis {axis} is {given}, which can't become {size}", headline, about=(given, size)
        )
    return given


@rule("repeat")
def repeat(call: Call, input: Value, repeats: Value, **rest: Value) -> Value:
    """Lay copies side by side along each axis; `tile` (extra) also takes fewer counts than axes."""
    tensor, shape = resolved(call, input)
    tile = bool(call.extra and call.extra[0])
    if isinstance(repeats, (int, Size)):
        repeats = (repeats,)
    if not isinstance(repeats, (tuple, list)) or has_run(repeats):
        return Tensor(Shape.unknown(), tensor.dtype)
    repeats = tuple(repeats)
    # Hardly anybody puts an axis of size 1 in front of a whole tensor by it; of `x[:, 0]` some do.
    is_told = shape.least_rank == len(repeats) or (repeats[:1] == (1,) and _is_whole(call, shape))
    if is_told and not tile:
        shape = call.facts.stretched(shape, count=len(repeats))
    if tile:
        repeats = (1,) * (shape.least_rank - len(repeats)) + repeats
    if len(repeats) < shape.least_rank:
        raise mismatch(
            axis_count(shape, len(repeats), "repeat"),
            f"can't repeat {shape} by ({', '.join(map(written, repeats))})",
        )
    if shape.rank is None and tile:
        return Tensor(Shape.unknown(), tensor.dtype)
    known = behind_runs(shape.dims)
    missing = len(repeats) - len(known)
    front = Shape.of_rank(missing).dims if shape.rank is None else (1,) * missing
    padded = (*front, *known)
    items: list[Item] = []
    for item, count in zip(padded, repeats, strict=True):
        assert not isinstance(item, Run)
        items.append(_copies(item, count))
    return Tensor(Shape(tuple(items)), tensor.dtype)


def _is_whole(call: Call, shape: Shape) -> bool:
    """Whether a tensor may have come as it is, without an axis taken away."""
    whole = (call.facts.items(items) for items in call.facts.runs.values())
    return len(shape.dims) == 1 or shape.dims in whole


def _copies(item: DimExpr, count: Value) -> DimExpr:
    if count == 1:
        return item
    if not isinstance(count, (int, Size)):
        return dims.unknown()
    return dims.copies(size_of(item), count)


def _each_repeated(item: DimExpr, count: IntSize) -> DimExpr:
    """Return a dimension of which each element is there a number of times.

    Of dimension objects it is known that these stand next to each other.
    """
    if dims.symbols(item) and all(symbol.origin.of_object for symbol in dims.symbols(item)):
        return dims.merge((item, count))
    return item if count == 1 else size_of(item) * count


@rule("repeat_interleave")
def repeat_interleave(
    call: Call, input: Value, repeats: Value = None, dim: Value = None, **rest: Value
) -> Value:
    """Repeat each element along an axis a number of times; of the flat tensor without one."""
    tensor, shape = resolved(call, input)
    output = rest.get("output_size")
    if repeats is None:
        return Tensor(Shape((as_dim(output) if output is not None else dims.unknown(),)))
    counted = repeats if isinstance(repeats, (int, Size)) else None
    if isinstance(repeats, Tensor) and repeats.shape.dims not in ((), (1,)):
        counted = None
    if dim is None:
        whole = shape.numel()
        size: IntSize = dims.unknown()
        if whole is not None and counted is not None:
            size = whole * counted
        return Tensor(Shape((size,)), tensor.dtype)
    position = call.axis(shape, dim)
    if shape.dims == ():
        raise mismatch(
            "a 0-d tensor has no axis", f"can't repeat {shape} along axis {written(dim)}"
        )
    item = None if position is None else shape.dims[position]
    if position is None or item is None or isinstance(item, Run):
        return Tensor(of_rank(shape), tensor.dtype)
    if isinstance(repeats, Tensor):
        counts = call.facts.shape(repeats.shape)
        if counts.rank == 1 and not isinstance(counts.dims[0], Run) and counts.dims[0] != 1:
            if not call.unify(counts.dims[0], item):
                raise mismatch(
                    f"there are {counts.dims[0]} counts for the {item} elements of axis "
                    f"{written(dim)}",
                    f"can't repeat {shape} by counts of {counts}",
                    about=(counts.dims[0], item),
                )
    merged: DimExpr
    if counted is not None:
        merged = _each_repeated(item, counted)
    else:
        merged = as_dim(output) if output is not None else dims.unknown()
    return Tensor(replace(shape, position, merged), tensor.dtype)
