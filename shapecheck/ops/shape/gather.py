"""Ops that pick or put elements by index tensors along one axis."""

from __future__ import annotations

from collections.abc import Sequence

from shapecheck import dtypes
from shapecheck.dims import DimExpr, size_of
from shapecheck.ops.agree import apart, counted
from shapecheck.ops.call import Call, Value, as_dim, as_tensor, replace, resolved, rule
from shapecheck.ops.saying import written
from shapecheck.ops.shape.axes import of_rank
from shapecheck.ops.shape.indexing import fit_into
from shapecheck.shapes import Clash, Facts, Run, Shape, Tensor, broadcast_dim, mismatch


def _same_rank(
    call: Call, shape: Shape, index: Shape, headline: str, what: str = "tensor"
) -> tuple[Shape, Shape]:
    """Return two shapes of one rank, which is known where one's is; `what` the first is of."""
    if (shape.rank or index.rank or 0) > 1:
        shape = call.facts.stretched(shape, count=index.rank)
        index = call.facts.stretched(index, count=shape.rank)
    if _may_be_of_one_rank(shape, index) or index.numel() == 0:
        return shape, index
    are_known = shape.rank is not None and index.rank is not None
    fixes = ("unsqueeze", "squeeze") if are_known else ()
    axes = shape.rank if are_known else _axes_of(shape)
    raise mismatch(
        f"the index has {_axes_of(index)} and the {what} {axes}", headline, "shape", *fixes
    )


def _may_be_of_one_rank(shape: Shape, index: Shape) -> bool:
    """Whether two shapes may have as many axes; a number counts as one axis, and the reverse."""
    least = max(shape.least_rank, index.least_rank)
    return all(one.rank is None or least <= max(one.rank, 1) for one in (shape, index)) and (
        None in (shape.rank, index.rank) or shape.rank == index.rank or least <= 1
    )


def _axes_of(shape: Shape) -> str:
    """Return how many axes a shape has, or has at least."""
    least = "" if shape.rank is not None else "at least "
    return f"{least}{counted(shape.least_rank, 'axis')}"


def _no_larger(
    call: Call, shape: Shape, index: Shape, skip: int | None, what: str, headline: str
) -> None:
    """Refuse an index that doesn't run along the tensor on an axis other than `skip`.

    It may be shorter there, and so another dimension by name; but not certainly larger, nor one
    that is another axis of the tensor.
    """
    limits, sizes = shape.known, index.known
    if limits is None or sizes is None or len(limits) != len(sizes):
        return
    for axis, (limit, size) in enumerate(zip(limits, sizes, strict=True)):
        if axis == skip:
            continue
        excess = call.facts.size(size_of(size)) - call.facts.size(size_of(limit))
        larger = isinstance(excess, int) and excess > 0
        if larger or (
            apart(call.facts, limit, size) and _elsewhere(call.facts, limits, sizes, axis)
        ):
            raise mismatch(
                f"axis {axis} of the index is {size}, and {limit} {what}",
                headline,
                about=(size, limit),
            )


def _elsewhere(
    facts: Facts, limits: Sequence[DimExpr], sizes: Sequence[DimExpr], axis: int
) -> bool:
    """Whether what the index has at an axis is another axis of the tensor, or the reverse."""
    return any(
        (facts.same(sizes[axis], limits[at]) or facts.same(limits[axis], sizes[at]))
        and not facts.same(limits[at], sizes[at])
        for at in range(len(limits))
        if at != axis
    )


@rule("gather")
def gather(call: Call, input: Value, dim: Value, index: Value, **rest: Value) -> Value:
    """Pick along an axis by an index of the same rank; the result has the index's shape."""
    tensor, shape = resolved(call, input)
    _, picked = resolved(call, index)
    headline = f"can't gather {picked} from {shape} along axis {written(dim)}"
    _check_index_dtype(as_tensor(index), headline)
    shape, picked = _same_rank(call, shape, picked, headline)
    position = call.axis(shape, dim)
    _no_larger(call, shape, picked, position, "in the tensor", headline)
    return Tensor(picked, tensor.dtype)


def _check_index_dtype(index: Tensor, headline: str) -> None:
    if not index.dtype & dtypes.INTEGER:
        raise mismatch(
            f"the index holds {dtypes.describe(index.dtype)}, not integers",
            headline,
            "shape-dtype",
        )


@rule("scatter")
def scatter(
    call: Call, input: Value, dim: Value, index: Value, src: Value = None, **rest: Value
) -> Value:
    """Put values along an axis where an index of the same rank says; the shape stays."""
    tensor, shape = resolved(call, input)
    _, places = resolved(call, index)
    headline = f"can't scatter {places} into {shape} along axis {written(dim)}"
    position = call.axis(shape, dim)
    _check_index_dtype(as_tensor(index), headline)
    _same_rank(call, shape, places, headline)
    if places.numel() != 0:
        _no_larger(call, shape, places, position, "in the tensor", headline)
        source = src if isinstance(src, Tensor) else rest.get("value")
        if isinstance(source, Tensor) and source.shape.dims != ():
            values = call.facts.shape(source.shape)
            _same_rank(call, values, places, headline, "source")
            _no_larger(call, values, places, None, "in the source", headline)
    return tensor


@rule("index_select")
def index_select(call: Call, input: Value, dim: Value, index: Value, **rest: Value) -> Value:
    """Pick slices along an axis by a vector of indices."""
    tensor, shape = resolved(call, input)
    _, picked = resolved(call, index)
    headline = f"can't select {picked} from {shape} along axis {written(dim)}"
    _check_index_dtype(as_tensor(index), headline)
    if picked.least_rank > 1:
        raise mismatch(f"the index has {len(picked.dims)} axes, not 1", headline)
    position = call.axis(shape, dim)
    if shape.rank == 0 and picked.rank == 1 and isinstance(picked.dims[0], int):
        if picked.dims[0] != 1:
            raise mismatch(f"a number is selected {picked.dims[0]} times", headline)
    if position is None or not shape.dims:
        return Tensor(of_rank(shape), tensor.dtype)
    count = picked.dims[0] if picked.rank == 1 else 1
    size = as_dim(None) if picked.rank is None or isinstance(count, Run) else count
    return Tensor(replace(shape, position, size), tensor.dtype)


@rule("index_add")
def index_add(
    call: Call, input: Value, dim: Value, index: Value, source: Value = None, **rest: Value
) -> Value:
    """Add (or copy) slices along an axis to where a vector of indices says; the shape stays."""
    tensor, shape = resolved(call, input)
    _, places = resolved(call, index)
    headline = f"can't put slices at {places} into {shape} along axis {written(dim)}"
    _check_index_dtype(as_tensor(index), headline)
    if places.least_rank > 1:
        raise mismatch(f"the index has {len(places.dims)} axes, not 1", headline)
    position = call.axis(shape, dim)
    if not isinstance(source, Tensor):
        return tensor
    values = call.facts.shape(source.shape)
    if position is None or not shape.dims or not values.dims:
        return tensor
    values = call.facts.stretched(values, count=shape.rank)
    if values.known is not None and shape.known is not None:
        if len(values.known) != len(shape.known):
            raise mismatch(
                f"the source has {counted(len(values.known), 'axis')} "
                f"and the tensor {len(shape.known)}",
                headline,
            )
        axes = range(len(shape.known))
    else:
        axes = range(position, position + 1)
    for axis in axes:
        value = values.at(axis)
        expected = places.at(0) if axis == position else shape.at(axis)
        if value is not None and expected is not None and not call.unify(value, expected):
            raise mismatch(
                f"axis {axis} of the source is {value}, not {expected}",
                headline,
                about=(value, expected),
            )
    return tensor


@rule("take")
def take(call: Call, input: Value, index: Value, **rest: Value) -> Value:
    """Pick from the flat tensor; the result has the index's shape."""
    return Tensor(as_tensor(index).shape, as_tensor(input).dtype)


@rule("take_along_dim")
def take_along_dim(
    call: Call, input: Value, indices: Value, dim: Value = None, **rest: Value
) -> Value:
    """Pick along an axis, all other axes broadcasting."""
    tensor, shape = resolved(call, input)
    _, picked = resolved(call, indices)
    if dim is None:
        numel = picked.numel()
        return Tensor(Shape((as_dim(numel),)), tensor.dtype)
    headline = f"can't take {picked} from {shape} along axis {written(dim)}"
    position = call.axis(shape, dim)
    if shape.rank == 0:
        raise mismatch("a 0-d tensor has no axis", headline)
    if picked.rank == 0 and shape.rank is not None:
        raise mismatch(f"the index has 0 axes and the tensor {shape.rank}", headline)
    shape, picked = _same_rank(call, shape, picked, headline)
    if position is None or shape.known is None or picked.known is None:
        return Tensor(of_rank(shape), tensor.dtype)
    if len(picked.known) != len(shape.known):
        return Tensor(of_rank(shape), tensor.dtype)
    items = list(picked.known)
    for axis, (left, right) in enumerate(zip(shape.known, picked.known, strict=True)):
        if axis == position:
            continue
        try:
            items[axis] = broadcast_dim(call.facts, left, right, call.operands, axis)
        except Clash as clash:
            raise mismatch(
                f"axis {axis} is {clash.left} in the tensor and {clash.right} in the index",
                headline,
                about=(clash.left, clash.right),
            ) from None
    return Tensor(Shape(tuple(items)), tensor.dtype)


@rule("searchsorted")
def searchsorted(call: Call, sorted_sequence: Value, input: Value, **rest: Value) -> Value:
    """Return where values belong in sorted rows; the leading axes agree unless there is one row."""
    _, rows = resolved(call, sorted_sequence)
    _, values = resolved(call, input)
    if rows.rank is not None and values.rank is not None and rows.rank > 1:
        headline = f"can't search {values} in rows of {rows}"
        if values.rank != rows.rank:
            raise mismatch(f"the rows have {rows.rank} axes, the values {values.rank}", headline)
        pairs = zip(rows.known or (), values.known or (), strict=True)
        for axis, (left, right) in enumerate(list(pairs)[:-1]):
            if not call.unify(left, right):
                raise mismatch(
                    f"axis {axis} is {left} in the rows and {right} in the values",
                    headline,
                    about=(left, right),
                )
    return Tensor(values, dtypes.of("int32") if rest.get("out_int32") is True else dtypes.INT64)


@rule("masked_scatter")
def masked_scatter(call: Call, input: Value, mask: Value, **rest: Value) -> Value:
    """Fill the places under a mask from a source; the mask broadcasts."""
    tensor, shape = resolved(call, input)
    where, chosen = resolved(call, mask)
    if not where.dtype & dtypes.BOOL:
        raise mismatch(
            f"the mask must be Bool, not {dtypes.describe(where.dtype)}",
            f"can't mask {shape} by {chosen}",
            "shape-dtype",
        )
    if call.extra:
        fit_into(call, chosen, shape, f"can't mask {shape} by {chosen}")
        return tensor
    return Tensor(call.broadcast((tensor, as_tensor(mask))), tensor.dtype)
