"""Ops that take a tensor apart along an axis: `split`, `chunk`, `unbind` and their relatives.

Where it isn't known how many pieces there are, the result is `UNKNOWN`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import shapecheck.dims as dims
from shapecheck.dims import DimExpr, IntSize, Size, size_of
from shapecheck.ops.agree import MANY, loose, size
from shapecheck.ops.call import UNKNOWN, Call, Repeated, Unknown, Value, as_tensor, replace, rule
from shapecheck.ops.saying import written
from shapecheck.ops.shape.slicing import sliced
from shapecheck.shapes import Run, Shape, Tensor, has_run, mismatch


def _pieces(shape: Shape, position: int, sizes: Sequence[IntSize], kind: int) -> Value:
    if len(sizes) > MANY:
        return UNKNOWN
    return tuple(Tensor(replace(shape, position, one), kind) for one in sizes)


def _place(call: Call, input: Value, dim: Value) -> tuple[Tensor, Shape, int | None, DimExpr]:
    """Return the tensor, its shape, where the axis stands, and what stands there."""
    tensor = as_tensor(input)
    shape = call.facts.shape(tensor.shape)
    if shape.rank == 0:
        raise mismatch("a 0-d tensor has no axis", f"can't split {shape}")
    position = call.axis(shape, dim)
    item = dims.unknown() if position is None else shape.dims[position]
    assert not isinstance(item, Run)
    return tensor, shape, position, item


@rule("split")
def split(call: Call, input: Value, split_size: Value, dim: Value = 0, **rest: Value) -> Value:
    """Split into pieces of one size, the last possibly smaller, or of the sizes in a list."""
    tensor, shape, position, item = _place(call, input, dim)
    if isinstance(split_size, (Unknown, Tensor)):
        return UNKNOWN
    if isinstance(split_size, (tuple, list)):
        if has_run(split_size):
            return UNKNOWN
        sizes = [size(one) for one in split_size]
        total: IntSize = sum(sizes)
        if not call.unify(total, item, told=True):
            pieces = ", ".join(map(str, sizes))
            raise mismatch(
                f"the pieces add up to {total}, axis {written(dim)} is {item}",
                f"can't split axis {written(dim)} of {shape} into [{pieces}]",
                about=(total, item),
            )
        if position is None:
            return tuple(Tensor(_like(shape), tensor.dtype) for _ in sizes)
        return _pieces(shape, position, sizes, tensor.dtype)
    if position is None:
        return UNKNOWN
    whole, piece = size_of(call.facts.dim(item)), size(split_size)
    found = _equal_pieces(whole, call.facts.size(piece))
    if found is None:
        return _some_pieces(tensor, shape, position, (whole, piece))
    spelled = [piece if one == call.facts.size(piece) else one for one in found]
    return _pieces(shape, position, spelled, tensor.dtype)


def _some_pieces(tensor: Tensor, shape: Shape, position: int, sizes: Sequence[IntSize]) -> Value:
    """Return pieces of which the number isn't known; numbers make too many to list.

    Those of size 1 are as many as there is to split, of others the last one may be smaller.
    """
    if all(isinstance(one, int) for one in sizes):
        return UNKNOWN
    whole, piece = sizes
    each, count = (1, whole) if piece == 1 else (dims.unknown(), dims.unknown())
    return Repeated(Tensor(replace(shape, position, each), tensor.dtype), count)


def _like(shape: Shape) -> Shape:
    return Shape.unknown() if shape.rank is None else Shape.of_rank(shape.rank)


def _equal_pieces(whole: IntSize, piece: IntSize) -> list[IntSize] | None:
    """Return the sizes of the pieces, None where their number isn't known."""
    if piece == 0:
        if isinstance(whole, int) and whole:
            reason = f"only an axis of 0 has such, and this one is {whole}"
            raise mismatch(reason, "can't split into pieces of 0")
        return [0] if whole == 0 else None
    if isinstance(whole, int) and isinstance(piece, int):
        if piece < 0:
            raise mismatch("a size can't be negative", f"can't split into pieces of {piece}")
        if whole // piece > MANY:
            return None
        rest = [whole % piece] if whole % piece else []
        found: list[IntSize] = [*[piece] * (whole // piece), *rest]
        return found or [0]
    if loose_size(whole) or loose_size(piece):
        return None
    count = dims.divide(whole, piece)
    return [piece] * count if isinstance(count, int) and 0 < count <= MANY else None


def loose_size(value: IntSize) -> bool:
    """Whether a size isn't an integer and isn't known by name alone."""
    return isinstance(value, Size) and loose(value)


@rule("chunk")
def chunk(call: Call, input: Value, chunks: Value, dim: Value = 0, **rest: Value) -> Value:
    """Split into a number of pieces of one size, the last possibly smaller.

    A symbolic size that the number doesn't divide for certain gives as many pieces as asked for:
    torch may return fewer, but then the program's own unpacking fails.
    """
    tensor, shape, position, item = _place(call, input, dim)
    if isinstance(chunks, Size) and position is not None:
        return _some_pieces(tensor, shape, position, (size_of(item), chunks))
    if isinstance(chunks, bool) or not isinstance(chunks, int) or chunks > MANY:
        return UNKNOWN
    if chunks < 1:
        raise mismatch("at least one piece is needed", f"can't split {shape} into {chunks} pieces")
    if position is None:
        return tuple(Tensor(_like(shape), tensor.dtype) for _ in range(chunks))
    whole = size_of(call.facts.dim(item))
    if isinstance(whole, int):
        piece = -(-whole // chunks)
        sizes = _equal_pieces(whole, piece) if whole else [0] * chunks
        return UNKNOWN if sizes is None else _pieces(shape, position, sizes, tensor.dtype)
    unnamed = size_of(item)
    exact = dims.divide(unnamed, chunks)
    exact = dims.divide(whole, chunks) if exact is None else exact
    if exact is not None:
        return _pieces(shape, position, [exact] * chunks, tensor.dtype)
    if loose_size(whole):
        return tuple(
            Tensor(replace(shape, position, dims.unknown()), tensor.dtype) for _ in range(chunks)
        )
    most = dims.floordiv(whole + chunks - 1, chunks)
    sizes = [most] * (chunks - 1)
    return _pieces(shape, position, [*sizes, whole - most * (chunks - 1)], tensor.dtype)


@rule("tensor_split")
def tensor_split(
    call: Call, input: Value, indices_or_sections: Value, dim: Value = 0, **rest: Value
) -> Value:
    """Split into a number of pieces that differ by one at most, or at the given indices."""
    tensor, shape, position, item = _place(call, input, dim)
    places = indices_or_sections
    if isinstance(places, bool) or not isinstance(places, (int, tuple, list)):
        return UNKNOWN
    if not isinstance(places, int) and has_run(places):
        return UNKNOWN
    if isinstance(places, int):
        count = places
        if count > MANY:
            return UNKNOWN
        if count < 1:
            raise mismatch("at least one piece is needed", f"can't split {shape} into {count}")
    else:
        count = len(places) + 1
    if position is None:
        return tuple(Tensor(_like(shape), tensor.dtype) for _ in range(count))
    whole = size_of(call.facts.dim(item))
    if isinstance(places, int):
        if loose_size(whole):
            sizes: list[IntSize] = [dims.unknown() for _ in range(count)]
        else:
            sizes = [dims.floordiv(whole + count - 1 - index, count) for index in range(count)]
    else:
        bounds = [None, *map(size, places), None]
        sizes = [size_of(sliced(call, whole, slice(*pair))) for pair in pairwise(bounds)]
    return _pieces(shape, position, sizes, tensor.dtype)


@rule("axis split")
def axis_split(call: Call, input: Value, indices_or_sections: Value, **rest: Value) -> Value:
    """Split along a fixed axis, into equal pieces or at indices: `hsplit`, `vsplit`, `dsplit`."""
    axis, least = call.number(0), call.number(1)
    tensor = as_tensor(input)
    shape = call.facts.shape(tensor.shape)
    if shape.rank is not None and shape.rank < least:
        raise mismatch(f"it needs at least {least}", f"can't split {shape} along axis {axis}")
    if axis == 1 and shape.rank == 1:
        axis = 0
    places = indices_or_sections
    item = shape.at(axis)
    if isinstance(places, int) and not isinstance(places, bool) and item is not None and places > 0:
        whole = call.facts.dim(item)
        if dims.indivisible(size_of(whole), places):
            raise mismatch(
                f"{whole} isn't divisible by {places}",
                f"can't split axis {axis} of {shape} into {places} equal pieces",
            )
    return tensor_split(call, input, places, axis)


@rule("unbind")
def unbind(call: Call, input: Value, dim: Value = 0, **rest: Value) -> Value:
    """Take a tensor apart along an axis, dropping the axis."""
    tensor, shape, position, item = _place(call, input, dim)
    if position is None:
        return UNKNOWN
    count, piece = size_of(call.facts.dim(item)), Tensor(replace(shape, position), tensor.dtype)
    return (piece,) * count if isinstance(count, int) and count <= MANY else Repeated(piece, count)
