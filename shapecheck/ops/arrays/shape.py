"""Functions of numpy that regroup, reorder, pick, join and repeat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import DimExpr, IntSize, size_of
from shapecheck.ops.agree import are_given, counted
from shapecheck.ops.arrays.create import as_array, of_dtype
from shapecheck.ops.arrays.promotion import promote
from shapecheck.ops.call import (
    RULES,
    UNKNOWN,
    Call,
    Repeated,
    Unknown,
    Value,
    are,
    as_shape,
    is_int,
    is_size,
    rule,
)
from shapecheck.ops.call import replace as put
from shapecheck.ops.saying import written
from shapecheck.shapes import Item, Run, Shape, Tensor, has_run, mismatch


def _run(call: Call, name: str, *extra: Value, **arguments: Value) -> Value:
    """Judge by another rule; `extra` are its constants."""
    return RULES[name](replace(call, extra=extra), **arguments)


def _shape(call: Call, value: Value) -> tuple[Tensor, Shape]:
    tensor = as_array(call, value)
    return tensor, call.facts.shape(tensor.shape)


@rule("array shape")
def array_shape(call: Call, a: Value, **rest: Value) -> Value:
    """Return the sizes, as a plain tuple."""
    return tuple(_shape(call, a)[1].dims)


@rule("array reshape")
def array_reshape(call: Call, a: Value, shape: Value, order: Value = "C", **rest: Value) -> Value:
    """Regroup all axes; in another order than rows first only the sizes are known."""
    tensor = as_array(call, a)
    shape = rest.get("newshape") or shape
    if shape is None or isinstance(shape, Tensor):
        return Tensor(Shape.unknown(), tensor.dtype)
    made = _run(call, "reshape", input=tensor, shape=shape)
    if order == "C" or not isinstance(made, Tensor):
        return made
    return Tensor(as_shape(tuple(map(_number, made.shape.dims))), tensor.dtype)


def _number(item: Item) -> Value:
    """Return a dimension that is a number, or a run; of any other what is in it isn't in order."""
    return item if isinstance(item, (int, Run)) else UNKNOWN


@rule("array transpose")
def array_transpose(call: Call, a: Value, axes: Value = None, **rest: Value) -> Value:
    """Reorder all axes, or reverse them."""
    tensor = as_array(call, a)
    if axes is None or axes == () or axes == (None,):
        return _run(call, "reverse_axes", input=tensor)
    given = axes if isinstance(axes, (tuple, list)) else (axes,)
    if any(isinstance(one, Tensor) for one in given):
        return Tensor(_of_any_sizes(call.facts.shape(tensor.shape)), tensor.dtype)
    return _run(call, "permute", input=tensor, dims=axes)


def _of_any_sizes(shape: Shape) -> Shape:
    """Return a shape with as many axes, in an order that isn't known."""
    if shape.rank is None:
        return Shape.unknown()
    return Shape(tuple(dims.unknown() for _ in shape.dims))


@rule("array squeeze")
def array_squeeze(call: Call, a: Value, axis: Value = None, **rest: Value) -> Value:
    """Drop axes of size 1: all, or those that are named, which must be that."""
    tensor, shape = _shape(call, a)
    if axis is None:
        return _run(call, "squeeze", input=tensor, dim=None)
    axes = call.axes(shape, axis)
    if axes is None:
        return Tensor(Shape.unknown(), tensor.dtype)
    for at in axes:
        item = shape.dims[at]
        if not isinstance(item, Run) and call.facts.differ(item, 1):
            raise mismatch(
                f"axis {at} is {item}, not 1", f"can't squeeze axis {at} of {shape}", about=(item,)
            )
    return Tensor(Shape(shape.without(axes)), tensor.dtype)


@rule("array expand")
def array_expand(call: Call, a: Value, axis: Value, **rest: Value) -> Value:
    """Put in axes of size 1, which are named as they are in the result."""
    tensor, shape = _shape(call, a)
    places = (axis,) if isinstance(axis, int) else axis
    if shape.rank is None or not isinstance(places, (tuple, list)) or not all(map(is_int, places)):
        return Tensor(Shape.unknown(), tensor.dtype)
    whole = Shape((*shape.dims, *(1 for _ in places)))
    found = call.axes(whole, places) or ()
    left = iter(shape.dims)
    items = tuple(1 if at in found else next(left) for at in range(len(whole.dims)))
    return Tensor(Shape(items), tensor.dtype, inserted=True)


@rule("array broadcast")
def array_broadcast(call: Call, array: Value, shape: Value, **rest: Value) -> Value:
    """Broadcast an array to a shape, which it has then."""
    tensor = as_array(call, array)
    wanted = as_shape(shape)
    if wanted.rank is None or isinstance(shape, Tensor):
        return Tensor(Shape.unknown(), tensor.dtype)
    call.broadcast((tensor, Tensor(wanted)))
    return Tensor(wanted, tensor.dtype)


@rule("array atleast")
def array_atleast(call: Call, ary: Value, **rest: Value) -> Value:
    """Return an array of at least so many axes."""
    return _run(call, "atleast", *call.extra, tensors=(as_array(call, ary),))


# Items --------------------------------------------------------------------------------------------


@rule("array item")
def array_item(call: Call, a: Value, index: Value, **rest: Value) -> Value:
    """Return `a[index]`."""
    if isinstance(index, str) or (isinstance(index, list) and _has_text(index)):
        return UNKNOWN  # of records
    return _run(call, "getitem", input=a, index=_index(call, index))


@rule("array assignment")
def array_assignment(call: Call, a: Value, index: Value, value: Value, **rest: Value) -> Value:
    """Judge `a[index] = value`: the value broadcasts into what is indexed; an object needn't."""
    if isinstance(index, str) or as_array(call, a).dtype == dtypes.ANY:
        return None
    return _run(call, "setitem", input=a, index=_index(call, index), value=value)


def _has_text(items: Sequence[Value]) -> bool:
    return any(isinstance(one, str) for one in items)


def _index(call: Call, index: Value) -> Value:
    """Return an index as torch would be given one that takes the same."""
    if isinstance(index, tuple):
        return tuple(_part(call, part) for part in index)
    return _part(call, index)


def _part(call: Call, part: Value) -> Value:
    match part:
        case list() | tuple():
            return _as_index(as_array(call, part)) if part else part
        case Tensor():
            return _as_index(part)
        case slice(start=start, stop=stop, step=int() as step) if step < 0:
            if start is None and stop is None:
                return slice(None, None, -step)
            return slice(UNKNOWN, UNKNOWN, None)
    return part


def _as_index(tensor: Tensor) -> Tensor:
    """Return an array as an index: bytes are numbers, and no mask as in torch."""
    byte = dtypes.of("uint8")
    return (
        replace(tensor, dtype=tensor.dtype & ~byte | dtypes.INT64)
        if tensor.dtype & byte
        else tensor
    )


@rule("array take")
def array_take(call: Call, a: Value, indices: Value, axis: Value = None, **rest: Value) -> Value:
    """Take elements along an axis; without one, of all."""
    tensor, shape = _shape(call, a)
    picked = as_array(call, indices)
    if axis is None:
        return Tensor(picked.shape, tensor.dtype)
    position = call.axis(shape, axis)
    if position is None:
        return Tensor(Shape.unknown(), tensor.dtype)
    return Tensor(put(shape, position, *picked.shape.dims), tensor.dtype)


# Joining ------------------------------------------------------------------------------------------


def _each(call: Call, arrays: Value) -> Value:
    """Return arrays that are to be joined, each as one."""
    if isinstance(arrays, (tuple, list)) and not has_run(arrays):
        return [as_array(call, one) for one in arrays]
    return arrays


def _joined(found: Value, parts: Value, dtype: Value) -> Value:
    """Return what was joined with the dtype that numpy gives it."""
    if not isinstance(found, Tensor):
        return found
    if isinstance(parts, list) and parts and are(parts, Tensor):
        kind = parts[0].dtype
        for one in parts[1:]:
            kind = promote(kind, one.dtype)
        found = replace(found, dtype=kind)
    elif not isinstance(parts, Repeated):
        found = replace(found, dtype=dtypes.ANY)
    return of_dtype(found, dtype)


def _elements(call: Call, parts: Value) -> IntSize:
    """Return how many elements arrays have together."""
    if not isinstance(parts, list) or not are(parts, Tensor):
        return dims.unknown()
    counts = [call.facts.shape(one.shape).numel() for one in parts]
    known = [count for count in counts if count is not None]
    return sum(known, start=0) if len(known) == len(counts) else dims.unknown()


@rule("array cat")
def array_cat(
    call: Call, arrays: Value, axis: Value = 0, dtype: Value = None, **rest: Value
) -> Value:
    """Concatenate arrays along an axis; without one, all of their elements."""
    parts = _each(call, arrays)
    if axis is None:
        return _joined(Tensor(Shape((_elements(call, parts),))), parts, dtype)
    return _joined(_run(call, "cat", tensors=parts, dim=axis), parts, dtype)


@rule("array stack")
def array_stack(
    call: Call, arrays: Value, axis: Value = 0, dtype: Value = None, **rest: Value
) -> Value:
    """Stack arrays of one shape along a new axis."""
    parts = _each(call, arrays)
    return _joined(_run(call, "stack", tensors=parts, dim=axis), parts, dtype)


@rule("array joined stack")
def array_joined_stack(call: Call, tup: Value, dtype: Value = None, **rest: Value) -> Value:
    """Concatenate arrays of at least so many axes: `vstack` and its like."""
    parts = _each(call, tup)
    return _joined(_run(call, "joined stack", *call.extra, tensors=parts), parts, dtype)


@rule("array append")
def array_append(call: Call, arr: Value, values: Value, axis: Value = None, **rest: Value) -> Value:
    """Concatenate two arrays; without an axis, their elements."""
    parts: list[Value] = [as_array(call, arr), as_array(call, values)]
    if axis is None:
        return _joined(Tensor(Shape((_elements(call, parts),))), parts, None)
    return _joined(_run(call, "cat", tensors=parts, dim=axis), parts, None)


@rule("array split")
def array_split(
    call: Call, ary: Value, indices_or_sections: Value, axis: Value = 0, **rest: Value
) -> Value:
    """Split along an axis, at indices or into a number of pieces, which may have to be "equal"."""
    tensor, shape = _shape(call, ary)
    places, position = indices_or_sections, call.axis(shape, axis)
    if call.extra and is_int(places) and position is not None and places > 0:
        item = shape.dims[position]
        whole = None if isinstance(item, Run) else call.facts.dim(item)
        if whole is not None and dims.indivisible(size_of(whole), places):
            raise mismatch(
                f"{whole} isn't divisible by {places}",
                f"can't split axis {written(axis)} of {shape} into {places} equal pieces",
            )
    return _run(call, "tensor_split", input=tensor, indices_or_sections=places, dim=axis)


@rule("array axis split")
def array_axis_split(call: Call, ary: Value, indices_or_sections: Value, **rest: Value) -> Value:
    """Split along a fixed axis: `hsplit`, `vsplit`, `dsplit`."""
    tensor = as_array(call, ary)
    places = indices_or_sections
    return _run(call, "axis split", *call.extra, input=tensor, indices_or_sections=places)


# Repeating and padding ----------------------------------------------------------------------------


@rule("array tile")
def array_tile(call: Call, A: Value, reps: Value, **rest: Value) -> Value:
    """Repeat an array along its axes, with new ones in front where there are more numbers."""
    tensor = as_array(call, A)
    if isinstance(reps, (Unknown, Tensor)):
        return Tensor(Shape.unknown(), tensor.dtype)
    times = reps if isinstance(reps, (tuple, list)) else (reps,)
    return _run(call, "repeat", "tile", input=tensor, repeats=times)


@rule("array repeat")
def array_repeat(call: Call, a: Value, repeats: Value, axis: Value = None, **rest: Value) -> Value:
    """Repeat each element, or each slice along an axis."""
    tensor = as_array(call, a)
    times = as_array(call, repeats) if isinstance(repeats, (tuple, list)) else repeats
    if isinstance(times, Tensor):
        times = Tensor(times.shape, dtypes.INT64)
    return _run(call, "repeat_interleave", input=tensor, repeats=times, dim=axis)


@rule("array pad")
def array_pad(call: Call, array: Value, pad_width: Value, **rest: Value) -> Value:
    """Pad the axes: all alike, or each by a number before and a number behind."""
    tensor, shape = _shape(call, array)
    if shape.rank is None:
        return Tensor(Shape.unknown(), tensor.dtype)
    widths = _widths(pad_width, shape.rank)
    if widths is None:
        return Tensor(Shape.of_rank(shape.rank), tensor.dtype)
    if len(widths) != shape.rank:
        raise mismatch(
            f"{are_given(len(widths), 'pair')} for {counted(shape.rank, 'axis')}",
            f"can't pad {shape} by {written(pad_width)}",
        )
    items = tuple(map(_padded, shape.dims, widths))
    return Tensor(Shape(items), tensor.dtype)


def _widths(given: Value, rank: int) -> list[Value] | None:
    """Return the pair of each axis by which it is padded, None where that isn't known."""
    if is_size(given):
        return [(given, given)] * rank
    if not isinstance(given, (tuple, list)) or not given:
        return None
    if all(isinstance(one, (tuple, list)) for one in given):
        return [given[0]] * rank if len(given) == 1 else list(given)
    if any(isinstance(one, (tuple, list)) for one in given) or len(given) > 2:
        return None
    return [(given[0], given[-1])] * rank if all(map(is_size, given)) else None


def _padded(item: Item, width: Value) -> DimExpr:
    pair = width if isinstance(width, (tuple, list)) else None
    if pair is None or isinstance(item, Run) or not all(map(is_size, pair)) or not pair:
        return dims.unknown()
    sizes = [one for one in (pair[0], pair[-1]) if is_size(one)]
    if all(one == 0 for one in sizes):
        return item
    return size_of(item) + sizes[0] + sizes[1]
