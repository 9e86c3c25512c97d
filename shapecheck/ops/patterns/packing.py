"""einops' `pack` and `unpack`."""

from __future__ import annotations

import shapecheck.dims as dims
from shapecheck.dims import IntSize, size_of
from shapecheck.ops.agree import counted, tensors_of
from shapecheck.ops.call import UNKNOWN, Call, Value, as_tensor, rule
from shapecheck.ops.patterns.pattern import as_length
from shapecheck.ops.shape.joining import concatenate
from shapecheck.shapes import Item, Run, Shape, Tensor, has_run, mismatch


def _star(pattern: str, headline: str) -> tuple[int, int]:
    """Return how many axes stand before and behind the `*` of a packing pattern."""
    axes = pattern.split()
    if axes.count("*") != 1:
        raise mismatch("the pattern needs one '*'", headline)
    if len(set(axes)) < len(axes):
        raise mismatch("a name is in it twice", headline)
    for axis in axes:
        if axis != "*" and (not axis.isidentifier() or axis[0] == "_" or axis[-1] == "_"):
            raise mismatch(f"'{axis}' isn't a name", headline)
    return axes.index("*"), len(axes) - axes.index("*") - 1


@rule("einops.pack")
def pack(call: Call, tensors: Value, pattern: Value) -> Value:
    """Judge `pack([x, y], "b * d")`: the packed tensor, and what the `*` was in each."""
    parts = tensors_of(tensors)
    if not isinstance(pattern, str):
        return (Tensor.unknown(), UNKNOWN)
    headline = f'can\'t pack by "{pattern}"'
    before, after = _star(pattern, headline)
    if not parts:
        count = before + after + 1
        return (Tensor(Shape.of_rank(count)), UNKNOWN)
    flat: list[Tensor] = []
    packed: list[tuple[Item, ...]] = []
    for index, part in enumerate(parts, 1):
        shape = call.facts.shape(part.shape)
        if shape.rank is not None and shape.rank < before + after:
            raise mismatch(
                f"operand {index} {shape} has {counted(shape.rank, 'axis')}, "
                f"at least {before + after} are expected",
                headline,
                about=(shape,),
            )
        items = shape.dims
        front, back = items[:before], items[len(items) - after :] if after else ()
        if len(items) < before + after or has_run((*front, *back)):
            flat.append(Tensor(Shape.of_rank(before + after + 1), part.dtype))
            packed.append(Shape.unknown().dims)
            continue
        middle = items[before : len(items) - after]
        packed.append(middle)
        one = (
            dims.unknown()
            if has_run(middle)
            else (dims.merge(i for i in middle if not isinstance(i, Run)))
        )
        flat.append(Tensor(Shape((*front, one, *back)), part.dtype))
    whole = concatenate(call, flat, before) if len(flat) > 1 else flat[0]
    return (whole, tuple(packed))


@rule("einops.unpack")
def unpack(call: Call, tensor: Value, packed_shapes: Value, pattern: Value) -> Value:
    """Judge `unpack(x, ps, "b * d")`: the tensors that were packed."""
    part = as_tensor(tensor)
    shape = call.facts.shape(part.shape)
    if not isinstance(pattern, str):
        return UNKNOWN
    headline = f'can\'t unpack {shape} by "{pattern}"'
    before, after = _star(pattern, headline)
    count = before + after + 1
    if shape.least_rank > count or (shape.rank is not None and shape.rank < count):
        raise mismatch(
            f"the tensor has {counted(shape.least_rank, 'axis')}, the pattern {count}", headline
        )
    rows = _packed_rows(packed_shapes)
    if rows is None:
        return UNKNOWN
    known = shape.rank is not None
    front = shape.dims[:before] if known else Shape.of_rank(before).dims
    back = shape.dims[before + 1 :] if known else Shape.of_rank(after).dims
    middle = shape.dims[before] if known else dims.unknown()
    assert not isinstance(middle, Run)
    open_rows = [row for row in rows if row is None or any(item == -1 for item in row)]
    if len(open_rows) > 1 and not any(row is None for row in open_rows):
        raise mismatch("more than one size is -1", headline)
    lengths = [Shape(row).numel() for row in rows if row is not None and -1 not in row]
    plain = [length for length in lengths if length is not None]
    left: IntSize | None = None
    if len(plain) == len(rows) and not call.unify(sum(plain), middle):
        raise mismatch(
            f"the pieces add up to {sum(plain)}, axis {before} is {middle}",
            headline,
            about=(*plain, middle),
        )
    if len(open_rows) == 1 and open_rows[0] is not None and len(plain) == len(rows) - 1:
        left = size_of(call.facts.dim(middle)) - sum(plain)
        if call.facts.below_none(left) or (isinstance(left, int) and left < 0):
            raise mismatch(
                f"the pieces beside -1 add up to {sum(plain)}, axis {before} is {middle}",
                headline,
                about=(*plain, middle),
            )
    found = []
    for row in rows:
        items = Shape.unknown().dims if row is None else _fill(row, left)
        found.append(Tensor(Shape((*front, *items, *back)), part.dtype))
    return tuple(found)


def _packed_rows(value: Value) -> list[tuple[Item, ...] | None] | None:
    """Return the shapes of an `unpack`, None for one (or all) that isn't known."""
    if not isinstance(value, (tuple, list)):
        return None
    rows: list[tuple[Item, ...] | None] = []
    for one in value:
        if isinstance(one, (tuple, list)):
            rows.append(tuple(item if isinstance(item, Run) else as_length(item) for item in one))
        elif isinstance(one, (int, dims.Size)):
            rows.append((one,))
        else:
            rows.append(None)
    return rows


def _fill(row: tuple[Item, ...], left: IntSize | None) -> tuple[Item, ...]:
    """Put what is left for the one size that is -1."""
    if -1 not in row:
        return row
    rest = Shape(tuple(item for item in row if item != -1)).numel()
    size = None if left is None or rest is None or rest == 0 else dims.exact_quotient(left, rest)
    return tuple((dims.unknown() if size is None else size) if i == -1 else i for i in row)
