"""Operations by name on sequences of several lengths: their masks, packing and unpacking."""

from __future__ import annotations

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import Composite, Size
from shapecheck.ops.agree import are_given, counted
from shapecheck.ops.call import UNKNOWN, Call, Packed, Unknown, Value, resolved, rule
from shapecheck.ops.named.naming import called, wanted
from shapecheck.ops.named.operations import only
from shapecheck.ops.saying import said
from shapecheck.shapes import Item, Shape, Tensor, mismatch


def lengths_needed(dim: Value) -> None:
    """Refuse a name in the place of a dimension that has lengths."""
    if isinstance(dim, (Unknown, Size, Composite)):
        return
    reason = f"{said(dim)} has none; Time.with_lengths(lengths) gives a dimension lengths"
    raise mismatch(reason, "takes a dimension that has lengths")


@rule("named.mask")
def mask(call: Call, x: Value, dim: Value, **rest: Value) -> Value:
    """Return what is no padding: the dimension itself, those of its lengths, and 1 for others."""
    _, shape = resolved(call, x)
    lengths_needed(dim)
    at = only(call, shape, dim)
    if isinstance(at, Unknown) or shape.rank is None:
        return Tensor(Shape.unknown(), dtypes.BOOL)
    items: list[Item] = [dims.unknown() for _ in shape.dims]
    items[at] = shape.dims[at]
    return Tensor(Shape(tuple(items)), dtypes.BOOL)


@rule("named.pack")
def pack(call: Call, x: Value, dim: Value, **rest: Value) -> Value:
    """Pack sequences: one dimension is the batch, which only the lengths tell from the others."""
    tensor, shape = resolved(call, x)
    lengths_needed(dim)
    at = only(call, shape, dim)
    if isinstance(at, Unknown) or shape.rank is None:
        return Packed(Tensor(Shape.unknown(), tensor.dtype))
    if shape.rank < 2:
        raise mismatch("it has no dimension for the batch", f"can't pack {shape}")
    rest_of_it = [item for index, item in enumerate(shape.dims) if index != at % shape.rank]
    if shape.rank > 3:
        return Packed(Tensor(Shape.of_rank(shape.rank - 1), tensor.dtype))
    data = Tensor(Shape((dims.unknown(), *rest_of_it[1:])), tensor.dtype)
    return Packed(data, rest_of_it[0])


@rule("named.unpack")
def unpack(call: Call, packed: Value, dim: Value, batch: Value, others: Value) -> Value:
    """Pad what is packed, `(batch dim others...)`, and give it these names."""
    dtype = packed.data.dtype if isinstance(packed, Packed) else dtypes.ANY
    behind = others if isinstance(others, (tuple, list)) else (UNKNOWN,)
    given = (batch, dim, *behind)
    names = [wanted(one) for one in given]
    if any(many is None or len(many) != 1 for many in names):
        return Tensor(Shape.unknown(), dtype)
    items: list[Item] = [dims.unknown() for _ in names]
    if isinstance(packed, Packed):
        known = packed.data.shape.known
        if known is not None:
            other_count(len(known) + 1, len(names))
        items = [packed.batch, dims.unknown(), *(known or items[1:])[1:]]
    meant = [one if isinstance(one, (str, Size)) else str(one) for one in given]
    found = [called(call, item, name) for item, name in zip(items, meant, strict=True)]
    return Tensor(Shape(tuple(found)), dtype)


def other_count(count: int, names: int) -> bool:
    """Refuse another number of names than there are dimensions."""
    if count != names:
        raise mismatch(are_given(names, "name"), f"can't name {counted(count, 'dimension')}")
    return False
