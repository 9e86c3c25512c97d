"""Indexing as in `x[...]` and `x[...] = y`: ints, slices, None, Ellipsis, masks, index tensors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import DimExpr, Size
from shapecheck.ops.agree import counted, listed, loose
from shapecheck.ops.call import Call, Unknown, Value, as_tensor, is_size, rule
from shapecheck.ops.saying import written
from shapecheck.ops.shape.first_class import (
    as_operand,
    bind_axis,
    bind_pack,
    free_in,
    has_more,
    is_pack,
    union,
)
from shapecheck.ops.shape.slicing import sliced
from shapecheck.ops.shape.walk import check_index
from shapecheck.shapes import (
    Clash,
    Free,
    Item,
    Mismatch,
    Run,
    Shape,
    Tensor,
    broadcast_dim,
    either,
    has_run,
    mismatch,
)

_MASK: Final = dtypes.BOOL | dtypes.of("uint8")
_FEW: Final = 32
"""A list of as many is never a tuple to torch."""
_INDEX: Final = dtypes.INTEGER | dtypes.BOOL


@rule("getitem", takes_free=True)
def getitem(call: Call, input: Value, index: Value, **rest: Value) -> Value:
    """Return `input[index]`."""
    tensor = as_tensor(as_operand(call.facts, input))
    if tensor.free and _counts_otherwise(index):
        _loosen(call, index)
        free = union(tensor.free, free_in(index))
        return Tensor(Shape.unknown(), tensor.dtype, free=free, more=has_more(index))
    shape, inserted = indexed(call, call.facts.shape(tensor.shape), index)
    free = union(tensor.free, free_in(index))
    more = tensor.more or (bool(free) and has_more(index))
    return Tensor(shape, tensor.dtype, inserted, free, more)


@rule("setitem", takes_free=True)
def setitem(call: Call, input: Value, index: Value, value: Value, **rest: Value) -> None:
    """Judge `input[index] = value`: the value broadcasts into what is indexed."""
    tensor = as_tensor(input)
    target, _ = indexed(call, call.facts.shape(tensor.shape), index)
    value = as_tensor(as_operand(call.facts, value))
    free = union(tensor.free, free_in(index))
    stray = [dim for dim in value.free if dim not in free]
    if stray and not tensor.more and not has_more(index):
        names = listed([f'"{dim}"' for dim in stray])
        into = Tensor(target, free=free)
        raise mismatch(f"the target has no {names}", f"can't assign {value} to {into}")
    given = call.facts.shape(value.shape)
    fit_into(call, given, target, f"can't assign {given} to {target}", spare_ones=True)


def fit_into(
    call: Call, given: Shape, target: Shape, headline: str, spare_ones: bool = False
) -> None:
    """Make sure that a shape broadcasts into another without making it larger.

    `spare_ones`: leading axes of size 1 may be more than the target has.
    """
    items, places = list(given.dims), list(target.dims)
    axis = 0
    while items:
        axis -= 1
        item = items.pop()
        place = places.pop() if places else None
        if isinstance(item, Run) or isinstance(place, Run):
            return
        if place is None:
            size = call.facts.dim(item)
            if spare_ones and (size == 1 or loose(size) or (not items and _is_untold(size))):
                continue
            raise mismatch(
                f"the value has {counted(len(given.dims), 'axis')} "
                f"and the target {len(target.dims)}",
                headline,
                "shape",
                "squeeze",
            )
        if item != place and call.facts.dim(item) != 1:
            _meet(call, item, place, axis, headline)


def _is_untold(size: DimExpr) -> bool:
    """Whether an axis is that of a tensor without annotation: the batch in front may be 1."""
    return any(symbol.is_untold for symbol in dims.symbols(size))


def _meet(call: Call, item: DimExpr, place: DimExpr, axis: int, headline: str) -> None:
    problem = mismatch(
        f"axis {axis} is {item} in the value and {place} in the target",
        headline,
        "shape",
        "transpose",
        "unsqueeze",
        "keepdim",
        about=(item, place),
    )
    try:
        met = broadcast_dim(call.facts, item, place, call.operands, axis)
    except Clash:
        raise problem from None
    if call.facts.dim(place) == 1 and _surely_wide(call, met):
        raise problem


def _surely_wide(call: Call, dim: DimExpr) -> bool:
    """Whether a dimension is more than 1: a number that is, or one with a name."""
    if call.facts.differ(dim, 1):
        return True
    if call.facts.same(dim, 1):  # at run time
        return False
    found = dims.symbols(call.facts.dim(dim))
    return bool(found) and all(symbol.kind is dims.Kind.NAME for symbol in found)


# Reading an index ----------------------------------------------------------------------------


@dataclass(slots=True)
class _Reader:
    """Walks over the parts of an index and the axes of a shape at the same time.

    `out` gets the resulting items, `slots` the places in it that index tensors hold, and
    `picks` their shapes.
    """

    call: Call
    shape: Shape
    parts: Sequence[Value]
    out: list[Item] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)
    picks: list[Shape] = field(default_factory=list)
    inserted: bool = False

    @property
    def headline(self) -> str:
        """What was tried."""
        return f"can't index {self.shape} with [{', '.join(map(_spelled, self.parts))}]"

    def pick(self, shape: Shape) -> None:
        """Take note of an index tensor of this shape."""
        self.slots.append(len(self.out))
        self.picks.append(shape)
        self.out.append(1)


class _Lost(Exception):
    """The rank of the result can't be known."""


def indexed(call: Call, shape: Shape, index: Value) -> tuple[Shape, bool]:
    """Return the shape of `x[index]`, and whether the index inserts an axis of size 1."""
    parts = _parts(index)
    if parts is None:
        _loosen(call, index)
        return Shape.unknown(), False
    reader = _Reader(call, shape, parts)
    try:
        return _read(reader, parts), reader.inserted
    except _Lost:
        _loosen(call, index)
        return _each(call, shape, parts) or _masked(call, parts) or Shape.unknown(), False


def _each(call: Call, shape: Shape, parts: Sequence[Value]) -> Shape | None:
    """Index a shape as each of the several that it may be, if it may be one of several."""
    open_ = next((i.symbol for i in shape.dims if isinstance(i, Run) and i.symbol.options), None)
    if open_ is None:
        return None
    results: list[tuple[Item, ...]] = []
    failed: Mismatch | None = None
    for option in open_.options:
        known = call.facts.copy()
        known.learn_run(open_, option)
        one = _Reader(replace(call, facts=known), known.shape(shape), parts)
        try:
            results.append(_read(one, parts).dims)
        except _Lost:
            return None
        except Mismatch as mismatched:
            failed = failed or mismatched
    if failed is not None and not results:
        raise failed
    return Shape(either(*results))


def _masked(call: Call, parts: Sequence[Value]) -> Shape | None:
    """Return what is left by a mask of which it isn't known how many axes it covers."""
    only = parts[0]
    if len(parts) > 1 or not isinstance(only, Tensor) or not _is_mask(only):
        return None
    return Shape((dims.unknown(), *Shape.unknown().dims))


def _counts_otherwise(index: Value) -> bool:
    """Whether there is a `...` with something behind it, for which functorch counts dimensions."""
    return isinstance(index, tuple) and any(part is ... for part in index[:-1])


def _loosen(call: Call, index: Value) -> None:
    """Take note that the first-class dimensions in an index are bound to what isn't known."""
    for dim in free_in(index):
        call.facts.learn(dim.bound, 0)


def _parts(index: Value) -> tuple[Value, ...] | None:
    if isinstance(index, Unknown):
        return None
    parts: tuple[Value, ...] = (index,)
    if isinstance(index, tuple) or (isinstance(index, list) and _as_tuple(index)):
        parts = tuple(index)
    return None if any(isinstance(part, (Unknown, Run)) for part in parts) else parts


def _as_tuple(index: list[Value]) -> bool:
    """Whether torch takes a list for a tuple, as in `x[[rows, columns]]` and `x[[[0, 1], [2]]]`.

    That is `treatSequenceAsTuple` in torch's `python_variable_indexing.cpp`.
    """
    if len(index) >= _FEW:
        return False
    return any(
        part is None or part is ... or isinstance(part, (Tensor, Free, tuple, list, slice))
        for part in index
    )


def _spelled(part: Value) -> str:
    match part:
        case slice(start=start, stop=stop, step=step):
            text = ":".join("" if bound is None else written(bound) for bound in (start, stop))
            return text if step is None else f"{text}:{written(step)}"
        case Tensor():
            return f"{'mask' if _is_mask(part) else 'tensor'} {part.shape}"
        case _ if part is ...:
            return "..."
        case Free():
            return str(part)
        case _ if is_pack(part):
            return f"({', '.join(map(str, part))})"
        case _:
            return written(part)


def _is_mask(part: Tensor) -> bool:
    return not part.dtype & ~_MASK and not part.free


def _width(reader: _Reader, part: Value) -> int:
    """Return how many axes, or runs of them, a part of an index consumes."""
    if part is None or part is ... or isinstance(part, bool):
        return 0
    if type(part) is Free or is_pack(part):
        return 1
    if isinstance(part, Tensor):
        if not part.dtype & _INDEX:
            raise mismatch(
                f"an index tensor holds integers or bools, not {dtypes.describe(part.dtype)}",
                reader.headline,
                "shape-dtype",
            )
        rank = reader.call.facts.shape(part.shape).rank
        if _is_mask(part):
            return len(reader.call.facts.shape(part.shape).dims)
        if part.dtype & _MASK and rank != 1 and not part.free:
            raise _Lost
    elif isinstance(part, (tuple, list)):
        listed = _listed(part)
        return len(listed.shape.dims) if _is_mask(listed) else 1
    elif not isinstance(part, (int, Size, slice)):
        raise _Lost
    return 1


def _listed(part: Value) -> Tensor:
    """Return the tensor that a list as an index stands for."""
    sizes: list[Item] = []
    level: Value = part
    while isinstance(level, (tuple, list)):
        sizes.append(len(level))
        if not level:
            break
        level = level[0]
    if isinstance(level, Tensor):
        inner = level.shape.known
        whole = Shape.unknown() if inner is None else Shape((*sizes, *inner))
        return Tensor(whole, level.dtype)
    if isinstance(level, (Unknown, Run)):
        raise _Lost
    kind = dtypes.BOOL if isinstance(level, bool) else dtypes.INT64
    return Tensor(Shape(tuple(sizes)), kind)


def _read(reader: _Reader, parts: Sequence[Value]) -> Shape:
    widths = [_width(reader, part) for part in parts]
    if sum(part is ... for part in parts) > 1:
        raise _Lost
    total = sum(widths)
    spread = next((i for i, part in enumerate(parts) if part is ...), len(parts))
    before, after = sum(widths[:spread]), sum(widths[spread:])
    if not any(_ragged(reader.call, part) for part in parts):
        reader.shape = reader.call.facts.stretched(reader.shape, before, after)
    items = reader.shape.dims
    if reader.shape.rank is not None and any(_ragged(reader.call, part) for part in parts):
        raise _Lost
    if reader.shape.rank is not None and total > reader.shape.rank:
        rank = reader.shape.rank
        raise mismatch(
            f"the tensor has {rank} {'axis' if rank == 1 else 'axes'}, "
            f"and {total} {'is' if total == 1 else 'are'} indexed",
            reader.headline,
        )
    kept_back = len(items) - after
    if before > kept_back:
        raise _Lost
    places = [*itertools.accumulate(widths[:spread], initial=0)][:-1]
    places += [*itertools.accumulate(widths[spread:], initial=kept_back)][:-1]
    spans = list(zip(parts, places, widths, strict=True))
    if spread == len(parts) and reader.shape.rank is None:
        spans, before = _but_for_whole(spans, before)
        spread = len(spans)
    for part, at, width in spans:
        axes = items[at : at + width]
        if _ragged(reader.call, part) or has_run(axes):
            if not isinstance(part, Tensor) or reader.call.facts.shape(part.shape).dims != axes:
                raise _Lost
    for part, at, width in spans[:spread]:
        _take(reader, part, at, width)
    reader.out += items[before:kept_back]
    for part, at, width in spans[spread:]:
        if part is not ...:
            _take(reader, part, at, width)
    return _gathered(reader)


def _but_for_whole(
    spans: list[tuple[Value, int, int]], before: int
) -> tuple[list[tuple[Value, int, int]], int]:
    """Return the parts of an index without the `:` at its end, and how many axes those use."""
    count = len(spans)
    while count and spans[count - 1][0] == slice(None, None, None):
        count -= 1
    return spans[:count], before - (len(spans) - count)


def _take(reader: _Reader, part: Value, at: int, width: int) -> None:
    call, axes = reader.call, reader.shape.dims[at : at + width]
    known = [item for item in axes if not isinstance(item, Run)]
    if len(known) < len(axes):  # of a mask over just these
        reader.pick(Shape((dims.unknown(),)))
        return
    if part is None:
        reader.inserted = True
        reader.out.append(1)
    elif type(part) is Free:
        bind_axis(call, reader.shape, part, known[0], at)
    elif is_pack(part):
        bind_pack(call, part, known[0], f"axis {at} of {reader.shape}")
    elif isinstance(part, slice):
        try:
            reader.out.append(sliced(call, known[0], part))
        except Mismatch as error:
            raise Mismatch(replace(error.problem, headline=reader.headline)) from None
    elif is_size(part):
        check_index(call, reader.shape, at, known[0], part, f"can't take element {part}")
    else:
        _pick(reader, part, known, at)


def _ragged(call: Call, part: Value) -> bool:
    """Whether a part of an index is a mask of which it isn't known how many axes it covers."""
    if not isinstance(part, Tensor) or not _is_mask(part):
        return False
    return call.facts.shape(part.shape).rank is None


def _pick(reader: _Reader, part: Value, axes: Sequence[DimExpr], at: int) -> None:
    """Take elements by an index tensor, or by a mask of as many axes as it covers."""
    if isinstance(part, bool):
        reader.pick(Shape((int(part),)))
        return
    tensor = part if isinstance(part, Tensor) else _listed(part)
    shape = reader.call.facts.shape(tensor.shape)
    if _is_mask(tensor):
        for offset, (size, axis) in enumerate(zip(shape.dims, axes, strict=True)):
            assert not isinstance(size, Run)
            if not reader.call.unify(size, axis):
                raise mismatch(
                    f"axis {offset} of the mask is {size}, where axis {at + offset} "
                    f"of the tensor is {axis}",
                    reader.headline,
                    about=(size, axis),
                )
        shape = Shape((dims.unknown() if part is tensor else _trues(part),))
    elif tensor.dtype & _MASK and not tensor.free:
        shape = Shape((dims.unknown(),))
    elif shape.rank == 0:
        return
    reader.pick(shape)


def _trues(part: Value) -> DimExpr:
    """Return how many elements of a list of bools are true."""
    if isinstance(part, (tuple, list)):
        counts = [_trues(one) for one in part]
        known = [count for count in counts if isinstance(count, int)]
        return sum(known) if len(known) == len(counts) else dims.unknown()
    return int(part) if isinstance(part, bool) else dims.unknown()


def _gathered(reader: _Reader) -> Shape:
    """Put the axes that index tensors give in their place: the first's if all are neighbours."""
    if not reader.slots:
        return Shape(tuple(reader.out))
    picked = reader.picks[0]
    if len(reader.picks) > 1:
        tensors = [Tensor(pick) for pick in reader.picks]
        picked = reader.call.broadcast(tensors, reader.headline, strict=False)
    first, last = reader.slots[0], reader.slots[-1]
    together = last - first + 1 == len(reader.slots)
    kept = [item for i, item in enumerate(reader.out) if i not in reader.slots]
    place = first if together else 0
    return Shape((*kept[:place], *picked.dims, *kept[place:]))
