"""Sequences of different lengths: padded, and packed end to end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as changed

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import IntSize, Size, Sym, size_of
from shapecheck.ops.agree import counted, loose, promote_all, tensors_of
from shapecheck.ops.call import (
    UNKNOWN,
    Call,
    Packed,
    Repeated,
    Value,
    is_size,
    replace,
    rule,
)
from shapecheck.ops.shape.joining import same_shape
from shapecheck.shapes import Run, Shape, Tensor, mismatch


@rule("pad_sequence")
def pad_sequence(call: Call, sequences: Value, batch_first: Value = False, **rest: Value) -> Tensor:
    """Stack sequences of different lengths, padded to the longest."""
    if isinstance(sequences, Repeated) and isinstance(one := sequences.element, Tensor):
        return _pad_repeated(call, one, sequences.count, batch_first)
    parts = tensors_of(sequences)
    if not parts:
        return Tensor.unknown()
    shapes = [call.facts.shape(part.shape) for part in parts]
    kind = promote_all(parts)
    if any(shape.rank == 0 for shape in shapes):
        raise mismatch("a sequence needs an axis", f"can't pad {shapes[0]}")
    if not all(shape.at(0) is not None for shape in shapes) or not isinstance(batch_first, bool):
        return Tensor(Shape.unknown(), kind)
    lengths = [size_of(length) for shape in shapes if (length := shape.at(0)) is not None]
    rests = [Tensor(replace(shape, 0)) for shape in shapes]
    rest_shape = same_shape(call, rests, "can't pad sequences of elements {}")
    longest = _longest(lengths)
    front = (len(parts), longest) if batch_first else (longest, len(parts))
    return Tensor(Shape((*front, *rest_shape.dims)), kind)


def _pad_repeated(call: Call, one: Tensor, count: IntSize, batch_first: Value) -> Tensor:
    shape = call.facts.shape(one.shape)
    length = shape.at(0)
    if length is None or not isinstance(batch_first, bool):
        return Tensor(Shape.unknown(), one.dtype)
    longest = _some_length() if loose(length) else length
    front = (count, longest) if batch_first else (longest, count)
    return Tensor(Shape((*front, *shape.dims[1:])), one.dtype)


def _longest(lengths: Sequence[IntSize]) -> IntSize:
    return _some_length() if any(map(loose, lengths)) else dims.extreme("max", lengths)


def _some_length() -> Size:
    """Return how many steps the longest sequence has: what is beside them is another size."""
    return Size.of(Sym.count("_"))


@rule("packed")
def packed(
    call: Call, input: Value, lengths: Value, batch_first: Value = False, **rest: Value
) -> Value:
    """Pack a padded batch `t b *f` (`b t *f` if batch_first): the steps of all, end to end."""
    if not isinstance(input, Tensor):
        return Packed(Tensor.unknown())
    shape = call.facts.shape(input.shape)
    if shape.rank is not None and shape.rank < 2:
        raise mismatch(
            f"it has {counted(shape.rank, 'axis')}, at least 2 are needed", f"can't pack {shape}"
        )
    if shape.at(0) is None or shape.at(1) is None or not isinstance(batch_first, bool):
        return Packed(Tensor(Shape.unknown(), input.dtype))
    batch = shape.dims[0 if batch_first else 1]
    count = _count(call, lengths)
    if count is not None and not isinstance(batch, Run) and not call.unify(batch, count):
        name = "batch_first=True" if batch_first else "batch_first=False"
        raise mismatch(
            f"there are {count} lengths, and the batch is {batch} ({name})",
            f"can't pack {shape}",
            about=(count, batch),
        )
    return Packed(Tensor(Shape((dims.unknown(), *shape.dims[2:])), input.dtype), batch)


def _count(call: Call, lengths: Value) -> IntSize | None:
    """Return how many lengths there are, None where it isn't known."""
    if isinstance(lengths, Tensor):
        first = call.facts.shape(lengths.shape).at(0)
        return None if first is None else size_of(first)
    if isinstance(lengths, Repeated):
        return lengths.count
    return len(lengths) if isinstance(lengths, (tuple, list)) else None


@rule("packed list")
def packed_list(call: Call, sequences: Value, **rest: Value) -> Value:
    """Pack sequences `n *f`."""
    if isinstance(sequences, Repeated) and isinstance(one := sequences.element, Tensor):
        shape = call.facts.shape(one.shape)
        if shape.at(0) is None:
            return Packed(Tensor(Shape.unknown(), one.dtype), sequences.count)
        return Packed(Tensor(Shape((dims.unknown(), *shape.dims[1:])), one.dtype), sequences.count)
    whole = pad_sequence(call, sequences)
    parts = tensors_of(sequences)
    if not parts or whole.shape.at(1) is None:
        return Packed(Tensor.unknown())
    lengths = [call.facts.shape(part.shape).at(0) for part in parts]
    total = sum(size_of(one) for one in lengths if one is not None)
    return Packed(Tensor(Shape((total, *whole.shape.dims[2:])), whole.dtype), len(parts))


@rule("packed data")
def packed_data(call: Call, data: Value, **rest: Value) -> Value:
    """Make a packed sequence of its data."""
    return Packed(data if isinstance(data, Tensor) else Tensor.unknown())


@rule("unpacked")
def unpacked(
    call: Call,
    sequence: Value,
    batch_first: Value = False,
    padding_value: Value = 0.0,
    total_length: Value = None,
) -> Value:
    """Pad what is packed: `t b *f` (`b t *f` if batch_first), and the lengths."""
    given = sequence if isinstance(sequence, Packed) else Packed(Tensor.unknown())
    batch = dims.unknown() if isinstance(given.batch, Run) else given.batch
    longest = total_length if is_size(total_length) else dims.unknown()
    rest = given.data.shape.dims[1:] if given.data.shape.at(0) is not None else None
    if rest is None or not isinstance(batch_first, bool):
        shape = Shape.unknown()
    else:
        shape = Shape((batch, longest, *rest) if batch_first else (longest, batch, *rest))
    return Tensor(shape, given.data.dtype), Tensor(Shape((batch,)), dtypes.INT64)


@rule("unpacked list")
def unpacked_list(call: Call, sequence: Value) -> Value:
    """Return what is packed as a list of sequences `n *f`."""
    if not isinstance(sequence, Packed) or isinstance(sequence.batch, Run):
        return UNKNOWN
    shape = sequence.data.shape
    one = (dims.unknown(), *shape.dims[1:]) if shape.at(0) is not None else Shape.unknown().dims
    return Repeated(changed(sequence.data, shape=Shape(one)), size_of(sequence.batch))


@rule("unpadded")
def unpadded(
    call: Call, padded_sequences: Value, lengths: Value, batch_first: Value = False
) -> Value:
    """Return what is padded as a list of sequences `n *f`."""
    return unpacked_list(call, packed(call, padded_sequences, lengths, batch_first))


@rule("nested")
def nested(call: Call, tensor_list: Value, **rest: Value) -> Value:
    """Put tensors of different sizes beside each other: what isn't the same in all isn't known."""
    if isinstance(tensor_list, Repeated) and isinstance(one := tensor_list.element, Tensor):
        return Tensor(Shape((tensor_list.count, *call.facts.shape(one.shape).dims)), one.dtype)
    parts = tensors_of(tensor_list)
    if not parts:
        return Tensor.unknown()
    shapes = [call.facts.shape(part.shape) for part in parts]
    rank = shapes[0].rank
    if rank is None or any(shape.rank != rank for shape in shapes):
        return Tensor(Shape.unknown(), promote_all(parts))
    columns = zip(*(shape.dims for shape in shapes), strict=True)
    same = (c[0] if len(set(c)) == 1 else dims.unknown() for c in columns)
    return Tensor(Shape((len(parts), *same)), promote_all(parts))
