"""What may stand at a dimension in an index by name, `{"t": 0}`, and what is said of what may not.

`indices` are pairs of an axis and what is taken of it; `names` is what each axis was meant by, and
`sizes` how long each axis of the tensor is, where a program runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from shapecheck import dtypes
from shapecheck.dims import Size, size_of
from shapecheck.ops.call import Call, Other, Value
from shapecheck.ops.saying import written
from shapecheck.shapes import Mismatch, Run, Shape, Tensor, mismatch

_INTEGERS: Final = dtypes.of("bool") | dtypes.INTEGER


def check(
    call: Call,
    shape: Shape,
    indices: Sequence[tuple[int, Value]],
    names: Sequence[str],
    sizes: Sequence[int] | None = None,
) -> None:
    """Refuse what is no index, or is beyond a dimension. Raises `Mismatch`."""
    lengths: dict[str, int] = {}
    for (at, index), name in zip(indices, names, strict=True):
        if [one for one, _ in indices].count(at) > 1:
            raise mismatch("it is given twice", f'can\'t take "{name}" of {shape}')
        size = _size(call, shape, at) if sizes is None else sizes[at]
        length = _length(call, shape, size, index, name)
        if length is not None:
            lengths[name] = length
    if len({*lengths.values()} - {1}) > 1:
        each = " and ".join(f'{count} of "{name}"' for name, count in lengths.items())
        reason = f"there are {each}; take one behind the other, or as many of each"
        raise mismatch(reason, f"can't take indices of several dimensions of {shape} together")


def _length(call: Call, shape: Shape, size: Value, index: Value, name: str) -> int | None:
    """Return how many are taken by a list or a tensor with one axis, None for anything else."""
    match index:
        case bool() | None | float() | complex() | str() | bytes() | Mapping() | Other():
            reason = "an index is an int, a slice, a list or a tensor"
            raise _refused(shape, written(index), name, reason)
        case int() | Size():
            _within(call, shape, size, index, name)
        case list() | tuple() if all(type(one) is int for one in index):
            for one in index:
                if isinstance(one, int):
                    _within(call, shape, size, one, name)
            return len(index)
        case Tensor():
            return _of_tensor(call, shape, size, index, name)
    return None


def _of_tensor(call: Call, shape: Shape, size: Value, index: Tensor, name: str) -> int | None:
    own = call.facts.shape(index.shape)
    if own.rank is None:
        return None
    if not index.dtype & _INTEGERS:
        reason = "an index is of integers, or a mask"
        raise _refused(shape, f"{dtypes.describe(index.dtype)} {own}", name, reason)
    sizes = [None if isinstance(item, Run) else call.facts.size(size_of(item)) for item in own.dims]
    if index.dtype & ~dtypes.of("bool"):
        return sizes[0] if own.rank == 1 and isinstance(sizes[0], int) else None
    if own.rank != 1:
        reason = f"it has {own.rank} dimensions; masked_select takes what such a mask says"
        raise _refused(shape, f"a mask {own}", name, reason)
    if isinstance(size, int) and isinstance(sizes[0], int) and size != sizes[0]:
        raise _refused(shape, f"a mask {own}", name, f'"{name}" has {size} elements')
    return None


def _within(call: Call, shape: Shape, size: Value, index: int | Size, name: str) -> None:
    place = call.facts.size(index)
    if isinstance(size, int) and isinstance(place, int) and not -size <= place < size:
        elements = "1 element" if size == 1 else f"{size} elements"
        allowed = f", so that indices go from {-size} to {size - 1}" if size else ""
        reason = f'"{name}" has {elements}{allowed}'
        raise _refused(shape, f"element {written(index)}", name, reason)


def _size(call: Call, shape: Shape, at: int) -> Value:
    item = shape.at(at)
    return None if item is None else call.facts.size(size_of(item))


def _refused(shape: Shape, what: str, name: str, reason: str) -> Mismatch:
    return mismatch(reason, f'can\'t take {what} of "{name}" in {shape}')
