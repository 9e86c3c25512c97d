"""The axes in front that vary in number: where they end, and which tensors have the same ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final, TypeAlias

from shapecheck.dims import Sym

Sizes: TypeAlias = tuple[int, ...]

_FURTHER: Final = 2
"""So many more axes than are known of may stand behind a group."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The sizes of one tensor in calls, by their numbers; `behind`: axes that aren't of a group.

    `front`: nor are so many of the first ones. `spans` are the rows of dimensions that its own one
    is made from, by the analysis.
    """

    rows: Sequence[tuple[int, Sizes]]
    behind: int
    spans: frozenset[Sym] = frozenset()
    front: int = 0

    @property
    def least(self) -> int:
        """The least number of axes that the tensor had."""
        return min(len(sizes) for _, sizes in self.rows)

    @property
    def varies(self) -> bool:
        """Whether the tensor had now more, now fewer axes."""
        return len({len(sizes) for _, sizes in self.rows}) > 1


@dataclass(frozen=True, slots=True)
class Group:
    """Where the group in a tensor stands, and which it is; `broadcasts`: parts of it may be 1.

    One that is several things in one call is open: a list's items may be of any shape.
    """

    front: int
    behind: int
    number: int
    broadcasts: bool = False
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class _Part:
    """Part of a tensor: what is left without the axes in front and behind."""

    front: int
    behind: int
    rows: tuple[tuple[int, Sizes], ...]


def groups(tensors: Sequence[Rows], meeting: Collection[frozenset[Sym]] = ()) -> dict[int, Group]:
    """Return the groups of the tensors whose number of axes varies, by their positions.

    Tensors are of one group if the same axes are in all of them, or broadcast to those of one.
    `meeting` are rows of dimensions that the analysis saw broadcast to each other.
    """
    waiting = [at for at, one in enumerate(tensors) if one.varies]
    fronts = {at: _front(tensors[at], tensors) for at in waiting}
    found: dict[int, Group] = {}
    number = 0
    while waiting:
        best: dict[int, Group] = {}
        score: tuple[int, ...] = ()
        for at, whole in _wholes(tensors, waiting, fronts):
            of_call: dict[int, Sizes] = {}
            is_open = any(of_call.setdefault(call, sizes) != sizes for call, sizes in whole.rows)
            mine = Group(whole.front, whole.behind, number, is_open=is_open)
            linked = {} if at is None else {at: mine}
            for other in waiting:
                ends = {0, whole.front, fronts[other]}
                told = tensors[other].spans
                around = meeting if at is None else [tensors[at].spans]
                is_told = bool(told) and any(told <= spans for spans in around)
                if other != at and (link := _linked(tensors[other], ends, whole, number, is_told)):
                    linked[other] = link
            behind = sum(group.behind for group in linked.values())
            exact = sum(not group.broadcasts for group in linked.values())
            rank = (len(linked), exact, -behind, whole.front)
            if rank > score:
                best, score = linked, rank
        found |= best
        waiting = [at for at in waiting if at not in best]
        number += 1
    return found


def _wholes(
    tensors: Sequence[Rows], waiting: Sequence[int], fronts: Mapping[int, int]
) -> Iterator[tuple[int | None, _Part]]:
    """Yield what may be a whole group: parts of one of the tensors, and what all broadcast to."""
    # What a function gives comes last, and is what its arguments broadcast to.
    for at in reversed(waiting):
        for part in _parts(tensors[at], {0, fronts[at]}):
            yield at, part
    together: dict[int, Sizes] = {}
    for at in waiting:
        one = next(_parts(tensors[at], {0}))
        made = dict(together)
        for call, sizes in one.rows:
            broadcast = _broadcast(made.get(call, ()), sizes)
            if broadcast is None:
                break
            made[call] = broadcast
        else:
            together = made
    yield None, _Part(0, 0, tuple(together.items()))


def _broadcast(one: Sizes, other: Sizes) -> Sizes | None:
    pairs = zip_longest(reversed(one), reversed(other), fillvalue=1)
    sizes = [(max(pair), min(pair)) for pair in pairs]
    if any(less not in (1, most) for most, less in sizes):
        return None
    return tuple(most for most, _ in reversed(sizes))


def _front(one: Rows, tensors: Sequence[Rows]) -> int:
    """Return how many of the first axes are those of a tensor that has them in each call."""
    most = one.front
    for other in tensors:
        fixed = other.front if other.varies else other.least
        known = dict(other.rows)
        both = [(sizes, known[at]) for at, sizes in one.rows if at in known]
        if len(both) < len(one.rows):
            continue
        count = 0
        while count < min(one.least - one.behind, fixed) and _same(both, count):
            count += 1
        most = max(most, count)
    return most


def _same(both: Sequence[tuple[Sizes, Sizes]], axis: int) -> bool:
    """Whether an axis is the same in two tensors, and its size no accident."""
    values = {one[axis] for one, _ in both}
    return len(values) > 1 and all(one[axis] == other[axis] for one, other in both)


def _parts(one: Rows, fronts: set[int]) -> Iterator[_Part]:
    for front in sorted({max(front, one.front) for front in fronts}):
        last = min(one.behind + _FURTHER, one.least - front)
        for behind in range(one.behind, last + 1):
            rows = ((at, sizes[front : len(sizes) - behind]) for at, sizes in one.rows)
            yield _Part(front, behind, tuple(rows))


def _linked(one: Rows, fronts: set[int], whole: _Part, number: int, is_told: bool) -> Group | None:
    """Return where in a tensor the same group stands, None if it hasn't got it.

    That sizes are 1 is no accident where the analysis told that they broadcast to the others.
    """
    broadcasting: Group | None = None
    known: dict[int, set[Sizes]] = {}
    for at, sizes in whole.rows:
        known.setdefault(at, set()).add(sizes)
    for part in _parts(one, fronts):
        pairs = [(sizes, other) for at, sizes in part.rows for other in known.get(at, ())]
        if not pairs or not all(_fits(sizes, other) for sizes, other in pairs):
            continue
        if all(sizes == other for sizes, other in pairs):
            return Group(part.front, part.behind, number)
        telling = {pair for pair in pairs if any(size > 1 for size in pair[0])}
        is_one = is_told or len(telling) > 1
        if broadcasting is None and is_one and part.front == whole.front:
            broadcasting = Group(part.front, part.behind, number, True)
    return broadcasting


def _fits(sizes: Sizes, whole: Sizes) -> bool:
    """Whether sizes broadcast to those of the whole group."""
    return len(sizes) <= len(whole) and all(
        size in (1, other) for size, other in zip(reversed(sizes), reversed(whole), strict=False)
    )
