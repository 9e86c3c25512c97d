"""First-class dimensions put in the place of others: `index`, `stack`, `cat` and `split`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import DimExpr, Size, size_of
from shapecheck.ops.agree import counted
from shapecheck.ops.call import UNKNOWN, Call, Repeated, Value, resolved, rule
from shapecheck.ops.shape.first_class import (
    as_operand,
    axis_there,
    bind,
    bind_pack,
    bound_to,
    is_pack,
    is_unbound,
    loosen,
    missing,
    union,
)
from shapecheck.ops.shape.joining import stack as stacked
from shapecheck.ops.shape.splitting import split as parted
from shapecheck.shapes import Free, Item, Run, Shape, Tensor, mismatch

_Place = Free | int
"""A dimension of a tensor: a first-class one, or the index of an axis."""


@rule("dim.index", takes_free=True)
def index(call: Call, input: Value, dims: Value, indices: Value, **rest: Value) -> Value:
    """Take what stands at indices of dimensions: `x.index(i, 0)`, `x.index((i, j), k)`.

    Another dimension takes the place of one, or of several that are merged; several take the
    place of one that is split. Two lists are taken pair by pair.
    """
    tensor = as_operand(call.facts, input)
    if not isinstance(tensor, Tensor):
        return UNKNOWN
    tensor, shape = resolved(call, tensor)
    tensor = tensor.with_shape(shape)
    pairs = [(dims, indices)]
    if isinstance(dims, (tuple, list)) and isinstance(indices, (tuple, list)):
        if len(dims) != len(indices):
            by = counted(len(indices), "index")
            headline = f"can't index {counted(len(dims), 'dimension')} by {by}"
            raise mismatch("each dimension has an index", headline)
        pairs = list(zip(dims, indices, strict=True))
    groups = [tuple(dim) if isinstance(dim, (tuple, list)) else (dim,) for dim, _ in pairs]
    places = [[_place(call, tensor, one) for one in group] for group in groups]
    known = [[one for one in group if one is not None] for group in places]
    result = _without(tensor, [one for group in known for one in group])
    for group, given, (_, at) in zip(known, places, pairs, strict=True):
        whole = _merged(call, tensor, group) if len(group) == len(given) else None
        found = None if whole is None else _put(call, result, group, whole, at)
        if found is None:
            _let_go(call, indices)
            return Tensor(Shape.unknown(), tensor.dtype, more=True)
        result = found
    return result


def _let_go(call: Call, value: Value) -> None:
    for dim in value if isinstance(value, (tuple, list)) else (value,):
        if type(dim) is Free:
            loosen(call.facts, dim)


def _merged(call: Call, tensor: Tensor, group: Sequence[_Place]) -> DimExpr | None:
    """Return what several dimensions of a tensor are together; None where one isn't known."""
    items = [item for one in group if (item := _item(call, tensor, one)) is not None]
    if not items or len(items) < len(group):
        return None
    return dims.merge(items) if len(items) > 1 else items[0]


def _put(
    call: Call, rest: Tensor, group: Sequence[_Place], whole: DimExpr, at: Value
) -> Tensor | None:
    """Return the rest of a tensor with an index in the place of `whole`; None if not known."""
    named = f'"{group[0]}"' if len(group) == 1 else f"({', '.join(map(str, group))})"
    if type(at) is Free:
        bind(call, at, whole, f'can\'t put "{at}" in the place of {named}', named)
        return replace(rest, free=union(rest.free, (at,)))
    if is_pack(at):
        bind_pack(call, at, whole, named)
        return replace(rest, free=union(rest.free, at))
    if isinstance(at, (int, Size)):
        return rest
    if isinstance(at, Tensor) and call.facts.shape(at.shape).rank == 0:
        return replace(rest, free=union(rest.free, at.free), more=rest.more or at.more)
    return None


def _place(call: Call, tensor: Tensor, dim: Value) -> _Place | None:
    if type(dim) is not Free:
        return axis_there(call, tensor.shape, dim) if isinstance(dim, int) else None
    if dim not in tensor.free:
        if tensor.more:
            return None
        raise missing(tensor, dim)
    return dim


def _item(call: Call, tensor: Tensor, place: _Place) -> DimExpr | None:
    item = bound_to(call.facts, place) if isinstance(place, Free) else tensor.shape.dims[place]
    return None if isinstance(item, Run) else item


def _without(tensor: Tensor, places: Sequence[_Place]) -> Tensor:
    rank = len(tensor.shape.dims)
    axes = {place % rank for place in places if isinstance(place, int)}
    free = tuple(dim for dim in tensor.free if dim not in places)
    return replace(tensor, shape=Shape(tensor.shape.without(axes)), free=free)


# Joining ----------------------------------------------------------------------------------------


@rule("dim.stack", takes_free=True)
def stack(call: Call, tensors: Value, new_dim: Value, dim: Value = 0, **rest: Value) -> Value:
    """Put tensors beside each other along a new dimension."""
    if type(new_dim) is not Free:
        return stacked(call, tensors, 0 if dim is None else dim)
    parts = _operands(call, tensors)
    count = tensors.count if isinstance(tensors, Repeated) else len(parts or ())
    if parts is None or not parts:
        loosen(call.facts, new_dim)
        return UNKNOWN
    if type(dim) is Free:
        _lacking(parts, dim)
    bind(call, new_dim, count, f'can\'t stack {count} tensors along "{new_dim}"')
    return _beside(call, parts, (new_dim,))


@rule("dim.cat", takes_free=True)
def cat(call: Call, tensors: Value, dim: Value, new_dim: Value, **rest: Value) -> Value:
    """Put tensors one behind the other along a dimension; a new one takes its place."""
    parts = _operands(call, tensors)
    if parts is None or not parts or type(dim) is not Free or type(new_dim) is not Free:
        _let_go(call, (new_dim,))
        return UNKNOWN
    _lacking(parts, dim)
    count = tensors.count if isinstance(tensors, Repeated) else len(parts)
    whole = call.facts.size(size_of(call.facts.dim(dim.size))) * count
    bind(call, new_dim, whole, f'can\'t join {count} tensors along "{dim}" as "{new_dim}"', "that")
    found = _beside(call, parts, (new_dim,))
    return replace(found, free=tuple(one for one in found.free if one != dim))


def _operands(call: Call, tensors: Value) -> list[Tensor] | None:
    if isinstance(tensors, Repeated):
        tensors = (tensors.element,)
    if not isinstance(tensors, (tuple, list)):
        return None
    found = [as_operand(call.facts, one) for one in tensors]
    known = [one for one in found if isinstance(one, Tensor)]
    return known if len(known) == len(found) else None


def _lacking(parts: Sequence[Tensor], dim: Free) -> None:
    """Refuse a dimension that no operand has."""
    if not any(dim in part.free or part.more for part in parts):
        raise missing(replace(parts[0], free=union(*(part.free for part in parts))), dim)


def _beside(call: Call, parts: Sequence[Tensor], new: tuple[Free, ...]) -> Tensor:
    """Return tensors together, with all the dimensions that one of them has."""
    dtype = parts[0].dtype
    for part in parts[1:]:
        dtype = dtypes.promote(dtype, part.dtype)
    items: list[Item] = list(call.facts.shape(parts[0].shape).dims)
    shapes = [call.facts.shape(part.shape) for part in parts]
    if len({len(shape.dims) for shape in shapes}) > 1 or any(s.rank is None for s in shapes):
        items = list(Shape.unknown().dims)
    else:
        for shape in shapes[1:]:
            for at, (one, other) in enumerate(zip(items, shape.dims, strict=True)):
                if isinstance(one, Run) or isinstance(other, Run) or call.unify(one, other):
                    continue
                reason = f"axis {at} is {one} in one and {other} in another"
                headline = f"can't put {shapes[0]} and {shape} together"
                raise mismatch(reason, headline, about=(one, other))
    free = union(new, *(part.free for part in parts))
    return Tensor(Shape(tuple(items)), dtype, free=free, more=any(part.more for part in parts))


# Splitting --------------------------------------------------------------------------------------


@rule("dim.split", takes_free=True)
def split(call: Call, input: Value, split_size_or_sections: Value, dim: Value = None) -> Value:
    """Take a dimension apart into blocks, each along a dimension of its own."""
    tensor, parts = as_operand(call.facts, input), split_size_or_sections
    if not is_pack(parts) or not isinstance(tensor, Tensor):
        if type(dim) is Free and isinstance(parts, (int, tuple, list)):
            raise mismatch("the sizes aren't dimensions", f'can\'t split "{dim}"')
        return parted(call, input, parts, 0 if dim is None else dim)
    tensor, shape = resolved(call, tensor)
    tensor = tensor.with_shape(shape)
    place = _place(call, tensor, 0 if dim is None else dim)
    whole = None if place is None else _item(call, tensor, place)
    if place is None or whole is None:
        for part in parts:
            loosen(call.facts, part)
        return UNKNOWN
    _bind_blocks(call, parts, whole, f'can\'t split "{place}" of {tensor} into {_text(parts)}')
    left = _without(tensor, (place,))
    return tuple(replace(left, free=union(left.free, (part,))) for part in parts)


def _text(parts: Sequence[Free]) -> str:
    return f"({', '.join(map(str, parts))})"


def _bind_blocks(call: Call, parts: Sequence[Free], whole: DimExpr, headline: str) -> None:
    """Bind dimensions to blocks of another; those without a size share what the others leave."""
    facts = call.facts
    size = facts.size(size_of(whole))
    open_ = [part for part in parts if is_unbound(facts, part)]
    left = size
    for part in parts:
        if part not in open_:
            left = left - facts.size(size_of(facts.dim(part.size)))
    if not open_:
        if not call.unify(left, 0):
            raise mismatch(
                f"their sizes add up to {size - left}, not {size}",
                headline,
                about=(size - left, size),
            )
        return
    if isinstance(left, int) and left < 0:
        raise mismatch(
            f"their sizes add up to {size - left}, more than {size}",
            headline,
            about=(size - left, size),
        )
    share = -(-left // len(open_)) if isinstance(left, int) else None
    for part in open_:
        if len(open_) == 1:
            bind(call, part, left, headline)
        elif share is None or not isinstance(left, int):
            loosen(facts, part)
        else:
            bind(call, part, min(share, left), headline)
            left -= min(share, left)
