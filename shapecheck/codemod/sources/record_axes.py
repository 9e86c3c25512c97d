"""Which axes of the tensors in recorded calls agree, and what they are called."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from shapecheck.analysis.study.model import Study
from shapecheck.codemod.sources.record_groups import Group, Rows, groups
from shapecheck.codemod.write.naming import FRONT, REST, USUAL, unused
from shapecheck.dims import Kind, Size, Sym, symbol_of
from shapecheck.ops import Value
from shapecheck.record.store import Call
from shapecheck.shapes import Run, Tensor, has_run

_SUBSCRIPTS: Final = frozenset("ijkl")
"""Names that only say which axis is which, as in the pattern of an `einsum`, and not what it is."""

_ENOUGH: Final = 3
"""A size that is the same in so many different calls is a number."""
_LARGEST_USUAL: Final = 4
"""Coordinates and colours are so many at most: what is larger is rarely a number on purpose."""


@dataclass(slots=True)
class Leaf:
    """A tensor in a slot: its sizes in each call, and what the analysis knows of it."""

    rows: list[tuple[int, tuple[int, ...]]]
    known: Value
    axes: list[Axis] = field(default_factory=list)
    group: Group | None = None

    @property
    def rank(self) -> int | None:
        """The number of axes, None where it varies."""
        return len(self.axes) if self.group is None else None


@dataclass(slots=True)
class Axis:
    """One axis of a tensor: its size by the number of the call; `item` is the analysis' dim."""

    leaf: int
    sizes: dict[int, int]
    item: object
    place: tuple[int, int]
    group: int = -1


class Axes:
    """The axes of all tensors that one function was seen with; `code` are the module's names."""

    def __init__(self, calls: Sequence[Call], study: Study, code: Collection[str]) -> None:
        self.calls, self.study, self.code = calls, study, code
        self.leaves: list[Leaf] = []
        self.groups: list[list[Axis]] = []
        self.names: list[str] = []
        self._runs: dict[int, str] = {}
        self._taken: set[str] = set()

    def add(self, rows: list[tuple[int, tuple[int, ...]]], known: Value) -> int:
        """Add a tensor by its sizes in each call; return its number."""
        self.leaves.append(Leaf(rows, known))
        return len(self.leaves) - 1

    def text(self, number: int) -> str:
        """Return the shape of a tensor in the annotation language."""
        leaf = self.leaves[number]
        words = [self.names[axis.group] for axis in leaf.axes]
        if leaf.group is not None and leaf.group.is_open:
            words.insert(leaf.group.front, "...")
        elif leaf.group is not None:
            which = leaf.group.number
            if which not in self._runs:
                usual = REST if leaf.group.front else FRONT
                self._runs[which] = unused(usual, self._taken)
            mark = "*#" if leaf.group.broadcasts else "*"
            words.insert(leaf.group.front, f"{mark}{self._runs[which]}")
        return " ".join(words)

    def name(self) -> None:
        """Group the axes that always agree, and give each group its name."""
        rows = [_rows(leaf) for leaf in self.leaves]
        seen = {_spans(value) for value in self.study.values.values()}
        leading = groups(rows, [spans for spans in seen if len(spans) > 1])
        for number, leaf in enumerate(self.leaves):
            leaf.group = leading.get(number)
            leaf.axes = list(_axes(number, leaf))
        for axis in self._by_certainty():
            self._join(axis)
        self._merge()
        for group in self.groups:
            label = self._label(group)
            if label:
                self._taken.add(label)
        self.names = [""] * len(self.groups)
        given: set[str] = set()
        for number, group in enumerate(self.groups):
            found = self._sure(group) or ""
            if found in given and found.isidentifier() and found != "_":
                found = ""  # the code calls two dimensions the same
            given.add(found)
            self.names[number] = found
        for number, group in enumerate(self.groups):
            if not self.names[number]:
                self.names[number] = self._derived(group) or self._usual(group)

    def _by_certainty(self) -> list[Axis]:
        """Return all axes, of each tensor those first that are known to be another one's."""
        often = Counter(axis.item for leaf in self.leaves for axis in leaf.axes)
        return [
            axis
            for leaf in self.leaves
            for axis in sorted(
                leaf.axes, key=lambda a: not isinstance(a.item, Size) or often[a.item] < 2
            )
        ]

    def _merge(self) -> None:
        """Make two groups one that are the axes of square matrices and of what these act on.

        Images are often square as well: a vector must have been as long as the sides each time.
        """
        for leaf in self.leaves:
            for one, other in itertools.combinations(leaf.axes, 2):
                a, b = self.groups[one.group], self.groups[other.group]
                leaves = Counter(axis.leaf for axis in (*a, *b))
                if (
                    one.group != other.group
                    and one.sizes == other.sizes
                    and len(set(one.sizes.values())) >= _ENOUGH
                    and 1 in leaves.values()
                    and _sizes(a) == _sizes(b)
                ):
                    for axis in b:
                        axis.group = one.group
                    a += b
                    b.clear()
        self.groups = sorted(filter(None, self.groups), key=lambda group: min(map(_order, group)))
        for number, group in enumerate(self.groups):
            for axis in group:
                axis.group = number

    def _join(self, axis: Axis) -> None:
        agreeing = [
            number
            for number, group in enumerate(self.groups)
            if all(self._agree(axis, other) for other in group)
        ]
        if not agreeing:
            self.groups.append([])
            agreeing = [len(self.groups) - 1]
        axis.group = max(agreeing, key=lambda number: self._likeness(axis, self.groups[number]))
        self.groups[axis.group].append(axis)

    def _likeness(self, axis: Axis, group: list[Axis]) -> tuple[bool, bool, int]:
        """Return how likely an axis is one of a group that has its size: what broadcasts, aligns.

        The analysis counts most, then the place from the right, then how many there are.
        """
        known = any(isinstance(axis.item, Size) and axis.item == other.item for other in group)
        return known, any(axis.place[1] == other.place[1] for other in group), len(group)

    def _agree(self, one: Axis, other: Axis) -> bool:
        common = one.sizes.keys() & other.sizes.keys()
        values = {one.sizes[at] for at in common}
        if not common or -1 in values or any(one.sizes[at] != other.sizes[at] for at in common):
            return False
        if isinstance(one.item, Size) and one.item == other.item:
            return True
        if one.leaf == other.leaf:  # images are often square; that doesn't make h be w
            return False
        if len(values) > 1:
            return True
        if _is_own(one.item) or _is_own(other.item):
            return False
        labels = {self._label([axis]) for axis in (one, other)} - {""}
        return values != {1} and len(labels) < 2

    def _sure(self, group: list[Axis]) -> str | None:
        """Return the name, number or expression that a group certainly has."""
        sizes = _sizes(group)
        values = set(sizes.values())
        if -1 in values:
            return "_"
        if len(values) == 1 and any(axis.item in values for axis in group):
            return str(next(iter(values)))
        path = self._path(group, sizes)
        if path is not None:
            return "{" + path + "}"
        label = self._label(group)
        meant = "" if label in _SUBSCRIPTS else label
        if len(values) == 1 and len(sizes) >= _ENOUGH and self._is_number(group, meant):
            return str(next(iter(values)))
        return label or None

    def _is_number(self, group: list[Axis], label: str) -> bool:
        """Whether a size has stayed the same on purpose: what is beside it has varied.

        More is needed for what the code has a name for, for a number that is no usual one, and for
        the first axis: tests often have one batch size, or one length.
        """
        (value,) = set(_sizes(group).values())
        beside = [self._beside(axis) for axis in group]
        is_often = len(_sizes(group)) >= 2 * _ENOUGH
        if 1 < value <= _LARGEST_USUAL and is_often and not label:
            if any(map(self._is_of_matrix, group)):
                return True
        if any(self.leaves[leaf].rank == -at for leaf, at in (axis.place for axis in group)):
            is_usual = 1 < value <= _LARGEST_USUAL
            return is_usual and is_often and any(len(c) > 1 and min(c) > _ENOUGH for c in beside)
        if value > _LARGEST_USUAL:
            varying = max(sum(count >= _ENOUGH for count in counts) for counts in beside)
            return not label and is_often and varying > 1
        if label:
            return any(max(counts, default=0) >= _ENOUGH for counts in beside)
        return any(s != value for leaf in self.leaves for _, row in leaf.rows for s in row)

    def _is_of_matrix(self, axis: Axis) -> bool:
        """Whether an axis is a side of a matrix that was as small and square in all calls.

        Nothing beside it varies then; other tensors must have.
        """
        mine = self.leaves[axis.leaf]
        sides = mine.axes[-2:]
        others = (a for leaf in self.leaves if leaf is not mine for a in leaf.axes)
        return (
            axis in sides
            and [a.sizes for a in sides] == [axis.sizes] * 2
            and any(len(set(a.sizes.values())) > _ENOUGH for a in others)
        )

    def _beside(self, axis: Axis) -> list[int]:
        """Return how many sizes each of the other axes had; those of others if it is alone."""
        mine = self.leaves[axis.leaf]
        leaves = [leaf for leaf in self.leaves if (leaf is mine) == (mine.rank != 1)]
        counts = [len(set(a.sizes.values())) for leaf in leaves for a in leaf.axes if a is not axis]
        return [max(counts, default=0)] if mine.rank == 1 else counts

    def _label(self, group: list[Axis]) -> str:
        labels = (_label_of(axis.item) for axis in group)
        found = Counter(label for label in labels if label in self.code)
        return found.most_common(1)[0][0] if found else ""

    def _path(self, group: list[Axis], sizes: Mapping[int, int]) -> str | None:
        """Return the int of the call that a dimension always equals, if that is no accident.

        It is none if both vary, if the analysis knows of it, or if the code calls both the same.
        """
        common: set[str] | None = None
        for at, size in sizes.items():
            equal = {path for path, value in self._ints(at) if value == size}
            common = equal if common is None else common & equal
        paths = sorted(common or (), key=lambda path: (path.count("."), len(path), path))
        varies = len(set(sizes.values())) > 1
        told = {self.study.sizes.get(axis.item) for axis in group if isinstance(axis.item, Size)}
        label = self._label(group)
        for path in paths:
            if varies or path in told or (label and label in path.rpartition(".")[2]):
                return path
        return None

    def _ints(self, at: int) -> Iterator[tuple[str, int]]:
        call = self.calls[at]
        yield from call.ints.items()
        for name, value in call.args.items():
            if type(value) is int:
                yield name, value

    def _derived(self, group: list[Axis]) -> str | None:
        """Return how a dimension is computed from others that have a name."""
        sizes = _sizes(group)
        if len(set(sizes.values())) < 2:
            return None
        bases = [
            (name, _sizes(other))
            for name, other in zip(self.names, self.groups, strict=True)
            if (name.isidentifier() or name.startswith("{")) and name != "_"
        ]
        bases = [(name, some) for name, some in bases if sizes.keys() <= some.keys()]
        paths = set.intersection(*({p for p, _ in self._ints(at)} for at in sizes))
        ints = [
            ("{" + path + "}", {at: dict(self._ints(at))[path] for at in sizes})
            for path in sorted(paths)
        ]
        for text, compute in _formulas(bases, ints):
            if all(compute(at) == size for at, size in sizes.items()):
                return text
        return None

    def _usual(self, group: list[Axis]) -> str:
        axis = next((a for a in group if self.leaves[a.leaf].rank is not None), group[0])
        leaf = self.leaves[axis.leaf]
        usual = () if leaf.rank is None else USUAL.get(leaf.rank, ())
        last = "d" if any(one.place[1] == -1 for one in group) else "n"
        label = self._label(group) or (usual[axis.place[1]] if usual else last)
        sizes = _sizes(group)
        if set(sizes.values()) == {1}:
            return "1"
        return unused(label, self._taken)


def _rows(leaf: Leaf) -> Rows:
    """Return the sizes of a tensor, and what the analysis says of its rows of dimensions."""
    behind, least = _behind(leaf), min(len(sizes) for _, sizes in leaf.rows)
    front = min(_in_front(_items(leaf)), least - behind)
    return Rows(leaf.rows, behind, _spans(leaf.known), front)


def _items(leaf: Leaf) -> Sequence[object]:
    return leaf.known.shape.dims if isinstance(leaf.known, Tensor) else ()


def _in_front(items: Sequence[object]) -> int:
    """Return how many axes stand in front of a row of dimensions; 0 where there is none."""
    return next((at for at, item in enumerate(items) if isinstance(item, Run)), 0)


def _behind(leaf: Leaf) -> int:
    """Return how many of the last axes belong to no group, by the analysis or by their sizes."""
    items = _items(leaf)
    run = [at for at, item in enumerate(items) if isinstance(item, Run)]
    told = len(items) - 1 - run[-1] if run else 0
    least = min(len(sizes) for _, sizes in leaf.rows)
    constant = 0
    while constant < least and len({sizes[-1 - constant] for _, sizes in leaf.rows}) == 1:
        constant += 1
    sides = {sizes[-2:] for _, sizes in leaf.rows} if least > 1 else set()
    square = 2 if len(sides) >= _ENOUGH and all(h == w for h, w in sides) else 0
    return min(max(told, constant, square), least)


def _spans(value: Value) -> frozenset[Sym]:
    """Return the rows of dimensions that the one of a tensor is made from."""
    items = value.shape.dims if isinstance(value, Tensor) else ()
    runs = [item.symbol for item in items if isinstance(item, Run)]
    return frozenset(part for run in runs for part in run.spanned or (run,))


def _axes(number: int, leaf: Leaf) -> Iterator[Axis]:
    """Yield the axes of a tensor that aren't in a group, those in front counted from the left."""
    items = _items(leaf)
    least = min(len(sizes) for _, sizes in leaf.rows)
    front, behind = (0, least) if leaf.group is None else (leaf.group.front, leaf.group.behind)
    is_aligned = len(items) == least and not has_run(items)
    for axis in (*range(front), *range(-behind, 0)):
        sizes: dict[int, int] = {}
        for at, row in leaf.rows:
            sizes[at] = row[axis] if sizes.get(at, row[axis]) == row[axis] else -1
        is_known = leaf.group is None and is_aligned
        is_known = is_known or 0 <= axis < _in_front(items) or _behind_run(items, axis)
        item = items[axis] if is_known else None
        yield Axis(number, sizes, item, (number, axis))


def _behind_run(items: Sequence[object], axis: int) -> bool:
    return axis < 0 and len(items) >= -axis and not has_run(items[axis:])


def _order(axis: Axis) -> tuple[int, bool, int]:
    """Return where an axis stands among all, for sorting."""
    return axis.leaf, axis.place[1] < 0, axis.place[1]


def _sizes(group: list[Axis]) -> dict[int, int]:
    found: dict[int, int] = {}
    for axis in group:
        found.update(axis.sizes)
    return found


def _is_own(item: object) -> bool:
    """Whether a dimension is a size that the program has: it is another one's only for sure."""
    return isinstance(item, Size) and any(s.kind is Kind.OWN for s in item.symbols())


def _label_of(item: object) -> str:
    """Return what the code calls a dimension, "" if it has no name for it."""
    symbol = symbol_of(item)
    if symbol is None or not symbol.has_name:
        return ""
    name = symbol.name.rpartition(".")[2]
    return name if re.fullmatch(r"[A-Za-z]\w*", name) else ""


def _formulas(
    bases: Sequence[tuple[str, Mapping[int, int]]], ints: Sequence[tuple[str, Mapping[int, int]]]
) -> Iterator[tuple[str, Any]]:
    """Yield what a dimension may be computed by, the simplest first."""
    for name, sizes in bases:
        for n in (1, -1, 2, -2):
            yield f"{name}{n:+}", lambda at, s=sizes, n=n: s[at] + n
        for n in (2, 4, 8, 16, 3):
            yield f"{n}*{name}", lambda at, s=sizes, n=n: s[at] * n
            yield f"{name}//{n}", lambda at, s=sizes, n=n: s[at] // n
            yield f"-(-{name}//{n})", lambda at, s=sizes, n=n: -(-s[at] // n)
    for name, sizes in bases:
        for path, values in ints:
            yield f"{name}+{path}", lambda at, s=sizes, v=values: s[at] + v[at]
            yield f"{name}*{path}", lambda at, s=sizes, v=values: s[at] * v[at]
            yield (
                f"{name}//{path}",
                lambda at, s=sizes, v=values: s[at] // v[at] if v[at] else -1,
            )
    varying = [(name, sizes) for name, sizes in bases if len(set(sizes.values())) > 1]
    for index, (name, sizes) in enumerate(varying):
        for other, more in varying[index + 1 :]:
            yield f"{name}*{other}", lambda at, s=sizes, m=more: s[at] * m[at]
            yield f"{name}+{other}", lambda at, s=sizes, m=more: s[at] + m[at]
    for (name, sizes), (other, more) in itertools.permutations(varying, 2):
        for n in (-1, 1):
            yield f"{name}*({other}{n:+})", lambda at, s=sizes, m=more, n=n: s[at] * (m[at] + n)
