"""What a program asks of a tensor: its shape, rank, number of elements, a number inside."""

from __future__ import annotations

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import IntSize, size_of
from shapecheck.ops.call import UNKNOWN, Call, DType, Scalar, Sizes, Unknown, Value, resolved, rule
from shapecheck.ops.saying import written
from shapecheck.shapes import Item, Run, mismatch


@rule("shape")
def shape(call: Call, input: Value, dim: Value = None, **rest: Value) -> Value:
    """Return the sizes as a tuple, or the one of an axis."""
    _, found = resolved(call, input)
    if dim is None:
        return Sizes(found.dims)
    if isinstance(dim, Unknown):
        return dims.unknown()
    if found.rank == 0:
        raise mismatch("a 0-d tensor has no axis", f"has no axis {written(dim)} in {found}")
    if found.rank is None and isinstance(dim, int):
        reached = call.facts.reach(found.dims, dim)
        return dims.unknown() if reached is None else reached
    position = call.axis(found, dim)
    item = None if position is None else found.dims[position]
    return dims.unknown() if item is None or isinstance(item, Run) else item


@rule("rank")
def rank(call: Call, input: Value, **rest: Value) -> Value:
    """Return the number of axes."""
    return resolved(call, input)[1].axes


@rule("numel")
def numel(call: Call, input: Value, **rest: Value) -> Value:
    """Return the number of elements."""
    items = resolved(call, input)[1].dims
    return dims.product(count(item) for item in items)


def count(item: Item) -> IntSize:
    """Return how many elements an item of a shape spans."""
    return item.size if isinstance(item, Run) else size_of(item)


@rule("length")
def length(call: Call, input: Value, **rest: Value) -> Value:
    """Return `len(input)`: the first size."""
    _, found = resolved(call, input)
    if found.rank == 0:
        raise mismatch("a 0-d tensor has no length", "can't take the length of ()")
    item = call.facts.reach(found.dims, 0)
    return dims.unknown() if item is None else size_of(item)


@rule("item")
def item(call: Call, input: Value, **rest: Value) -> Value:
    """Return the only element as a Python number."""
    tensor, found = resolved(call, input)
    whole = found.numel()
    if whole is not None and call.facts.differ(whole, 1) and _certain(whole):
        raise mismatch(
            f"there are {whole} elements, not 1", f"can't take the item of {found}", about=(whole,)
        )
    if tensor.dtype and not tensor.dtype & ~dtypes.INTEGER:
        return dims.unknown()
    return UNKNOWN if tensor.dtype == dtypes.ANY else Scalar(tensor.dtype)


def _certain(size: IntSize) -> bool:
    return isinstance(size, int)


@rule("dtype")
def dtype(call: Call, input: Value, **rest: Value) -> Value:
    """Return the tensor's dtype."""
    kind = resolved(call, input)[0].dtype
    return DType(kind)


@rule("is_kind")
def is_kind(call: Call, input: Value, **rest: Value) -> Value:
    """Whether the dtype belongs to the category that the signature's constant names, if known."""
    kind = resolved(call, input)[0].dtype
    category = dtypes.CATEGORIES[call.word()]
    if not kind & category:
        return False
    return UNKNOWN if kind & ~category else True
