"""Ops that put tensors together: `cat`, `stack` and their relatives."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Final, TypeGuard

import shapecheck.dims as dims
from shapecheck.dims import DimExpr, Extreme, IntSize, Size, size_of
from shapecheck.ops.agree import (
    counted,
    loose,
    meet,
    meet_items,
    pairs,
    promote_all,
    rank_of,
    spell,
    tensors_of,
    tidy,
)
from shapecheck.ops.call import Call, Repeated, Value, replace, rule
from shapecheck.ops.promotion import promoted
from shapecheck.ops.saying import written
from shapecheck.shapes import Clash, Item, Mismatch, Run, Shape, Tensor, behind_runs, mismatch


@rule("cat")
def cat(call: Call, tensors: Value, dim: Value, **rest: Value) -> Value:
    """Concatenate tensors: the sizes along `dim` add up, all other axes agree."""
    if isinstance(tensors, Repeated):
        return _cat_repeated(call, tensors, dim)
    parts = tensors_of(tensors)
    if parts is None:
        return Tensor.unknown()
    return concatenate(call, parts, dim)


def _cat_repeated(call: Call, tensors: Repeated, dim: Value) -> Tensor:
    """Concatenate tensors that are alike but for sizes that aren't known."""
    if not isinstance(tensors.element, Tensor):
        return Tensor.unknown()
    shape = call.facts.shape(tensors.element.shape)
    if shape.rank == 0:
        raise mismatch("they have no axis", "can't concatenate 0-d tensors")
    position = call.axis(shape, dim)
    if position is None:
        return Tensor(Shape.unknown(), tensors.element.dtype)
    item = shape.dims[position]
    each = None if isinstance(item, Run) else size_of(item)
    alike = each is not None and not loose(each)
    total = dims.copies(each, tensors.count) if alike and each is not None else dims.unknown()
    return Tensor(replace(shape, position, total), tensors.element.dtype)


def _refuse_nothing(call: Call, verb: str) -> None:
    """Refuse an empty list, unless a condition that can't be read may have kept it from here."""
    if not call.facts.asks_condition():
        raise mismatch("there is nothing in the list", f"can't {verb} no tensors")


def concatenate(call: Call, parts: Sequence[Tensor], dim: Value) -> Tensor:
    """Concatenate tensors along an axis; raises `Mismatch` where they don't fit."""
    if not parts:
        _refuse_nothing(call, "concatenate")
        return Tensor.unknown()
    kind = promote_all(parts)
    shapes = [call.facts.shape(part.shape) for part in parts]
    _refuse_scalars(shapes)
    if all(shape.dims == (0,) for shape in shapes):
        return Tensor(shapes[0], kind)
    whole = [i for i, shape in enumerate(shapes) if not _may_be_empty(call, shape, shapes)]
    if not whole:
        return Tensor(shapes[0], kind) if len(shapes) == 1 else Tensor(Shape.unknown(), kind)
    if any(shapes[i].dims != (0,) for i in range(len(shapes)) if i not in whole):
        return Tensor(_unsure(shapes, whole), kind)
    headline = f"can't concatenate {{}} along axis {written(dim)}"
    rank = _common_rank(shapes, whole, headline)
    if len(whole) == 1:
        call.axis(shapes[whole[0]], dim)
        return Tensor(shapes[whole[0]], kind)
    if rank is None:
        return Tensor(_cat_ragged(call, [shapes[i] for i in whole], dim, headline), kind)
    spelled = [spell(call.facts.stretched(shapes[i], count=rank), rank) for i in whole]
    rows = [shape for shape in spelled if shape is not None]
    position = call.axis(rows[0], dim)
    if position is None:
        return Tensor(Shape.of_rank(rank), kind)
    result: list[Item] = list(rows[0].dims)
    others = [axis for axis in range(rank) if axis != position]
    for (index, row), axis in itertools.product(enumerate(rows[1:], 1), others):
        one, other = result[axis], row.dims[axis]
        assert not isinstance(one, Run) and not isinstance(other, Run)
        try:
            result[axis] = meet(call, one, other)
        except Clash:
            raise _clash(call, shapes, whole, index, axis, headline) from None
    result[position] = tidy(call, _total(row.dims[position] for row in rows))
    return Tensor(Shape(tuple(result)), kind)


def _refuse_scalars(shapes: Sequence[Shape]) -> None:
    for index, shape in enumerate(shapes):
        if shape.rank == 0:
            raise mismatch(
                f"operand {index + 1} has no axis", f"can't concatenate {_both(shapes, 0, index)}"
            )


def _total(items: Iterable[Item]) -> IntSize:
    """Return the sum of dimensions: of the parts that an axis was cut into, the axis."""
    sizes = [dims.unknown() if isinstance(item, Run) else size_of(item) for item in items]
    clamps = {atom for s in sizes if isinstance(s, Size) for atom in s.atoms() if _is_clamp(atom)}
    for _ in clamps:
        sizes = _unclamped(sizes)
    return dims.joined(sizes)


def _is_clamp(atom: object) -> TypeGuard[Extreme]:
    return isinstance(atom, Extreme) and atom.function == "min"


_MOST_PIECES: Final = 64
"""Of more sizes, all that stand in a row aren't added up."""


def _unclamped(sizes: Sequence[IntSize]) -> list[IntSize]:
    """Return sizes with the minima decided that they decide together.

    `min(k,n)` beside `n-k` is `k`, as that is a size too, and so not negative.
    """
    if len(sizes) > _MOST_PIECES:
        return [*sizes]
    ends = itertools.combinations(range(len(sizes) + 1), 2)
    gaps = {sum(sizes[start:stop], start=0) for start, stop in ends}
    found = list(sizes)
    for at, size in enumerate(sizes):
        for atom in size.atoms() if isinstance(size, Size) else ():
            if _is_clamp(atom):
                least = [a for a in atom.args if not any(a - b in gaps for b in atom.args)]
                if least:
                    found[at] = dims.substitute(found[at], {atom: dims.extreme("min", least)})
    return found


def _may_be_empty(call: Call, shape: Shape, shapes: Sequence[Shape]) -> bool:
    """Whether a tensor may be an empty one of one axis, which torch skips beside larger ones."""
    if shape.rank != 1 or all(other.rank == 1 for other in shapes):
        return False
    only = shape.dims[0]
    if isinstance(only, Run):
        return False
    size = call.facts.dim(only)  # a size with a name is that of something
    return not call.facts.differ(size, 0) and (isinstance(size, int) or loose(size))


def _unsure(shapes: Sequence[Shape], whole: Sequence[int]) -> Shape:
    """Return the shape where it isn't known which operands count: that of the first is known."""
    rank = rank_of([shapes[i] for i in whole])
    return Shape.unknown() if rank is None else Shape.of_rank(rank)


def _common_rank(shapes: Sequence[Shape], whole: Sequence[int], headline: str) -> int | None:
    ranks_known = {shapes[i].rank for i in whole} - {None}
    least = max(shapes[i].least_rank for i in whole)
    if not ranks_known or ranks_known == {least}:
        return next(iter(ranks_known), None)
    for i, j in pairs(len(whole)):
        first, second = shapes[whole[i]], shapes[whole[j]]
        for one, other in ((first, second), (second, first)):
            if one.rank is not None and spell(other, one.rank) is None:
                most = "" if other.rank is not None else "at least "
                ranks = {id(one): counted(one.rank, "axis")}
                ranks[id(other)] = most + counted(other.least_rank, "axis")
                raise mismatch(
                    f"operand {whole[i] + 1} has {ranks[id(first)]}, "
                    f"operand {whole[j] + 1} has {ranks[id(second)]}",
                    headline.format(_both(shapes, whole[i], whole[j])),
                    "shape",
                    "unsqueeze",
                    "squeeze",
                )
    return rank_of([shapes[i] for i in whole])


def _both(shapes: Sequence[Shape], first: int, second: int) -> str:
    if first == second:
        return str(shapes[first])
    return f"{shapes[first]} and {shapes[second]}"


def _clash(
    call: Call, shapes: Sequence[Shape], whole: Sequence[int], index: int, axis: int, headline: str
) -> Mismatch:
    """Return the error for an axis on which an operand differs from one before it."""
    rank = rank_of(shapes)
    if rank is not None and axis >= 0 and any(shapes[i].at(axis) is None for i in whole):
        axis -= rank  # behind a run only the distance from the end is known
    wrong = shapes[whole[index]].at(axis)
    first = 0
    for earlier in range(index):
        other = shapes[whole[earlier]].at(axis)
        if other is not None and wrong is not None and call.facts.differ(other, wrong):
            first = earlier
            break
    right = shapes[whole[first]].at(axis)
    return mismatch(
        f"axis {axis} is {right} in operand {whole[first] + 1} "
        f"and {wrong} in operand {whole[index] + 1}",
        headline.format(_both(shapes, whole[first], whole[index])),
        "shape",
        "transpose",
        about=(right, wrong),
    )


def _cat_ragged(call: Call, shapes: Sequence[Shape], dim: Value, headline: str) -> Shape:
    """Concatenate tensors of unknown rank along an axis that is counted from a known end."""
    positions = [call.axis(shape, dim) for shape in shapes]
    if any(position is None for position in positions):
        return Shape((*Shape.unknown().dims, *_behind(call, shapes, dim, headline)))
    first = positions[0]
    assert first is not None
    before, after = shapes[0].dims[:first], shapes[0].dims[first + 1 :]
    total: IntSize = 0
    for index, (shape, position) in enumerate(zip(shapes, positions, strict=True)):
        assert position is not None
        item = shape.dims[position]
        assert not isinstance(item, Run)
        total = total + size_of(item)
        said = headline.format(_both(shapes, 0, index))
        tail = len(shape.dims) - position
        before = _beside(call, before, shape.dims[:position], tail, index, said)
        after = _beside(call, after, shape.dims[position + 1 :], 0, index, said)
    return Shape((*before, tidy(call, total), *after))


def _behind(call: Call, shapes: Sequence[Shape], dim: Value, headline: str) -> tuple[Item, ...]:
    """Return the last axes, which aren't the joined one whatever rank the tensors have.

    That is of `(... n k)` the last one where they are joined along axis 0.
    """
    if not isinstance(dim, int) or dim < 0:
        return ()
    most = max(0, max(shape.least_rank for shape in shapes) - dim - 1)
    found: tuple[Item, ...] = ()
    for index, shape in enumerate(shapes):
        known = behind_runs(shape.dims)
        row = known[max(0, len(known) - most) :]
        shared = min(len(found), len(row))
        longer = found if len(found) > len(row) else row
        ends = found[len(found) - shared :], row[len(row) - shared :]
        met = _beside(call, *ends, 0, index, headline.format(_both(shapes, 0, index)))
        found = (*longer[: len(longer) - shared], *met)
    return found


def _beside(
    call: Call,
    known: tuple[Item, ...],
    row: tuple[Item, ...],
    tail: int,
    index: int,
    headline: str,
) -> tuple[Item, ...]:
    """Make the axes before or behind (`tail` 0) the joined one equal to those of an operand."""
    try:
        return meet_items(call, known, row)
    except Clash as clash:
        axis = _named_axis(clash.axis, not tail, len(row), tail)
        raise mismatch(
            f"axis {axis} is {clash.left} in operand 1 and {clash.right} in operand {index + 1}",
            headline,
            about=(clash.left, clash.right),
        ) from None


def _named_axis(axis: int, behind: bool, length: int, tail: int) -> int:
    """Return the index of an axis by which a person finds it, from the end behind a run.

    `axis` counts in the row before or `behind` the joined axis, which stands `tail` from the end.
    """
    if behind:
        return axis if axis < 0 else axis - length
    return axis if axis >= 0 else axis - tail


@rule("stack")
def stack(call: Call, tensors: Value, dim: Value, **rest: Value) -> Tensor:
    """Stack tensors of one shape along a new axis."""
    if isinstance(tensors, Repeated) and isinstance(element := tensors.element, Tensor):
        shape = call.facts.shape(element.shape)
        return Tensor(_insert(call, shape, dim, tensors.count), element.dtype)
    parts = tensors_of(tensors)
    if parts is None:
        return Tensor.unknown()
    if not parts:
        _refuse_nothing(call, "stack")
        return Tensor.unknown()
    shape = same_shape(call, parts, "can't stack {}")
    return Tensor(_insert(call, shape, dim, len(parts)), promoted(*parts))


def same_shape(call: Call, parts: Sequence[Tensor], headline: str) -> Shape:
    """Return the one shape that tensors have; raises `Mismatch` where they have two."""
    shapes = [call.facts.shape(part.shape) for part in parts]
    whole = range(len(shapes))
    rank = _common_rank(shapes, whole, headline)
    result: tuple[Item, ...] = shapes[0].dims
    for index in range(1, len(shapes)):
        result = _agree(call, result, shapes, index, headline)
    if rank is not None and len(result) != rank:
        return Shape.of_rank(rank)
    return Shape(result)


def _agree(
    call: Call, known: tuple[Item, ...], shapes: Sequence[Shape], index: int, headline: str
) -> tuple[Item, ...]:
    """Make the axes of one operand equal to what is known of those before it."""
    try:
        return meet_items(call, known, shapes[index].dims)
    except Clash as clash:
        raise _clash(call, shapes, range(len(shapes)), index, clash.axis, headline) from None


def _insert(call: Call, shape: Shape, dim: Value, item: DimExpr) -> Shape:
    """Return the shape with a new axis where `dim` says."""
    if not isinstance(dim, int) or isinstance(dim, bool):
        return Shape.unknown() if shape.rank is None else Shape.of_rank(shape.rank + 1)
    position = call.axis(shape, dim, insert=True)
    if position is None:
        return Shape.unknown()
    return Shape((*shape.dims[:position], item, *shape.dims[position:]))


@rule("joined stack")
def joined_stack(call: Call, tensors: Value, **rest: Value) -> Value:
    """Concatenate after raising each tensor to a least rank: `hstack`, `vstack`, `dstack`.

    The constants are what `raised` is told, and the axis; a vector is joined along its only one.
    """
    least, ahead, axis = map(call.number, range(3))
    parts = tensors_of(tensors)
    if parts is None:
        return Tensor.unknown()
    found = []
    for part in parts:
        shape = call.facts.shape(part.shape)
        if shape.rank is None and shape.least_rank < least:
            return Tensor(Shape.unknown(), promote_all(parts))
        found.append(Tensor(raised(shape, least, ahead), part.dtype))
    shapes = [one.shape for one in found]
    rank = next((shape.rank for shape in shapes if shape.rank is not None), None)
    if rank == 1:
        axis = 0
    elif rank is None and shapes and min(shape.least_rank for shape in shapes) <= 1:
        return Tensor(Shape.unknown(), promote_all(parts))  # vectors, or not
    return concatenate(call, found, axis)


def raised(shape: Shape, least: int, ahead: int) -> Shape:
    """Return a shape of a rank of `least` or more: with axes of 1 put in, up to rank `ahead` first.

    Further ones come behind: `vstack` (2, 2) makes a row of a vector, `column_stack` (2, 1) a
    column.
    """
    if shape.rank is None:
        return shape
    first = (1,) * max(ahead - shape.rank, 0)
    last = (1,) * (least - max(shape.rank, ahead))
    return Shape((*first, *shape.dims, *last))
