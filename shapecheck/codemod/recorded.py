"""From the calls in a record to annotations: which dimensions agree, and what they are called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.analysis.inference import Study
from shapecheck.analysis.values import Union
from shapecheck.codemod.kinds import (
    NONE,
    DictType,
    ListType,
    NoneType,
    Plain,
    TensorType,
    TupleType,
    Type,
    either,
)
from shapecheck.codemod.naming import USUAL, unused
from shapecheck.dims import Kind, Size, Sym, size_of
from shapecheck.ops import Value
from shapecheck.record.store import Call, Recorded
from shapecheck.shapes import Run, Shape, Tensor

_ENOUGH: Final = 3
"""A size that is the same in so many different calls is a number."""
_PLAIN: Final = {
    "builtins.bool": "bool",
    "builtins.float": "float",
    "builtins.str": "str",
    "builtins.bytes": "bytes",
}
RESULT: Final = "return"


@dataclass(slots=True)
class _Leaf:
    """A tensor in a slot: its sizes in each call, and what the analysis knows of it."""

    rows: list[tuple[int, tuple[int, ...]]]
    kinds: set[str]
    known: Value
    trailing: int = 0
    axes: list[_Axis] = field(default_factory=list)
    lead: dict[int, tuple[int, ...]] | None = None


@dataclass(slots=True)
class _Axis:
    """One axis of a tensor: its size by the number of the call; `item` is the analysis' dim."""

    leaf: int
    sizes: dict[int, int]
    item: object
    place: tuple[int, int]
    group: int = -1


def known(recorded: Recorded, study: Study) -> dict[str, Value]:
    """Return what a record says of the parameters that are always tensors, for the analysis."""
    found: dict[str, Value] = {}
    for name in study.params:
        values = [call.args[name] for call in recorded.kinds if name in call.args]
        some = [value for value in values if value is not None]
        if not some or any(kind_of(value) != "t" for value in some):
            continue
        ranks, mask = {len(value[3]) for value in some}, 0
        for value in some:
            mask |= dtypes.of(value[1])
        shape = Shape.unknown()
        if len(ranks) == 1:  # what is never 1 doesn't broadcast
            columns = zip(*(value[3] for value in some), strict=True)
            axes = (
                dims.unknown() if 1 in sizes else Size.of(Sym.suppose("_")) for sizes in columns
            )
            shape = Shape(tuple(axes))
        tensor = Tensor(shape, dtypes.CATEGORIES[_category_of(mask)])
        found[name] = tensor if len(some) == len(values) else Union((tensor, None))
    return found


def propose(
    recorded: Recorded, study: Study, slots: Iterable[str], code: Collection[str]
) -> dict[str, Type]:
    """Return annotations for parameters and the result (`return`) that fit all recorded calls.

    `code` are the identifiers of the module, from which names may come.
    """
    calls = recorded.kinds
    found = _Found(calls, study, code)
    trees = {slot: found.tree(slot) for slot in slots}
    found.name()
    kinds = {slot: found.kind(tree) for slot, tree in trees.items() if tree is not None}
    return {slot: kind for slot, kind in kinds.items() if kind is not None and _has_tensor(kind)}


def _has_tensor(kind: Type) -> bool:
    from shapecheck.codemod.kinds import tensors

    return any(True for _ in tensors(kind))


class _Found:
    """What is found out about one function."""

    def __init__(self, calls: Sequence[Call], study: Study, code: Collection[str]) -> None:
        self.calls, self.study, self.code = calls, study, code
        self.leaves: list[_Leaf] = []
        self.groups: list[list[_Axis]] = []
        self.names: list[str] = []
        self._runs: list[tuple[dict[int, tuple[int, ...]], str]] = []
        self._taken: set[str] = set()

    # What is in the slots

    def tree(self, slot: str) -> Any:
        """Return what is in a slot: nested lists with the numbers of leaves; None if unsayable."""
        if slot == RESULT:
            values = [(at, call.result) for at, call in enumerate(self.calls)]
            return self._merged(values, self.study.result)
        values = [(at, call.args[slot]) for at, call in enumerate(self.calls) if slot in call.args]
        tree = self._merged(values, self.study.params.get(slot))
        if tree is not None and len(values) < len(self.calls) and self._none_by_default(slot):
            return ("either", [tree, NONE])
        return tree

    def _none_by_default(self, slot: str) -> bool:
        from shapecheck.codemod.comments import may_be_none

        return may_be_none(self.study, slot)

    def _merged(self, values: list[tuple[int, Any]], known: Value) -> Any:
        by_kind: dict[str, list[tuple[int, Any]]] = {}
        for at, value in values:
            by_kind.setdefault(kind_of(value), []).append((at, value))
        parts = []
        for kind, some in by_kind.items():
            part = self._part(kind, some, known)
            if part is None:
                return None
            parts.append(part)
        if not parts:
            return None
        return parts[0] if len(parts) == 1 else ("either", parts)

    def _part(self, kind: str, values: list[tuple[int, Any]], known: Value) -> Any:
        if kind == "none":
            return NONE
        if kind == "int":
            return Plain("int")
        if kind == "t":
            return ("leaf", self._leaf(values, known))
        if kind == "d":
            items = [(at, item) for at, value in values for _, item in value[2]]
            inner = self._merged(items, None) if items else None
            return None if inner is None else ("dict", inner)
        if kind == "l":
            items = [(at, item) for at, value in values for item in value[2]]
            inner = self._merged(items, getattr(known, "element", None)) if items else None
            return None if inner is None else ("list", inner)
        if kind == "u":
            return self._tuple(values, known)
        return Plain(_PLAIN[kind]) if kind in _PLAIN else None

    def _tuple(self, values: list[tuple[int, Any]], known: Value) -> Any:
        lengths = {value[1] for _, value in values}
        if len(lengths) != 1 or not 0 < (length := lengths.pop()) <= 8:
            items = [(at, item) for at, value in values for item in value[2]]
            inner = self._merged(items, None) if items else None
            return None if inner is None else ("endless", inner)
        parts = []
        for index in range(length):
            item = known[index] if isinstance(known, tuple) and len(known) == length else None
            part = self._merged([(at, value[2][index]) for at, value in values], item)
            if part is None:
                return None
            parts.append(part)
        return ("tuple", parts)

    def _leaf(self, values: list[tuple[int, Any]], known: Value) -> int:
        rows = [(at, tuple(value[3])) for at, value in values]
        kinds = {value[1] for _, value in values}
        if isinstance(known, Union):
            some = [option for option in known.options if isinstance(option, Tensor)]
            known = some[0] if len(some) == 1 else None
        leaf = _Leaf(rows, kinds, known)
        self.leaves.append(leaf)
        number = len(self.leaves) - 1
        ranks = {len(sizes) for _, sizes in rows}
        items = known.shape.dims if isinstance(known, Tensor) else ()
        least = min(ranks)
        if len(ranks) == 1:
            leaf.trailing = least
        else:
            run = [at for at, item in enumerate(items) if isinstance(item, Run)]
            told = len(items) - 1 - run[-1] if run else 0
            behind = min(told or _constant(rows, least), least)
            leaf.trailing = behind
            leaf.lead = {at: sizes[: len(sizes) - behind] for at, sizes in rows}
        aligned = len(items) == least and not any(isinstance(item, Run) for item in items)
        for axis in range(-leaf.trailing, 0):
            sizes: dict[int, int] = {}
            for at, row in rows:
                sizes[at] = row[axis] if sizes.get(at, row[axis]) == row[axis] else -1
            known_item = items[axis] if aligned or _behind_run(items, axis) else None
            leaf.axes.append(_Axis(number, sizes, known_item, (number, axis)))
        return number

    # Which dimensions agree, and their names

    def name(self) -> None:
        """Group the axes that always agree, and give each group its name."""
        for leaf in self.leaves:
            for axis in leaf.axes:
                self._join(axis)
        for group in self.groups:
            label = self._label(group)
            if label:
                self._taken.add(label)
        self.names = [""] * len(self.groups)
        given: set[str] = set()
        for number, group in enumerate(self.groups):
            found = self._sure(group) or ""
            if found in given and found.isidentifier() and found != "_":
                found = unused(found, self._taken)  # the code calls two dimensions the same
            given.add(found)
            self.names[number] = found
        for number, group in enumerate(self.groups):
            if not self.names[number]:
                self.names[number] = self._derived(group) or self._usual(group)

    def _join(self, axis: _Axis) -> None:
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

    def _likeness(self, axis: _Axis, group: list[_Axis]) -> tuple[bool, bool, int]:
        """Return how likely an axis is one of a group that has its size: what broadcasts, aligns.

        The analysis counts most, then the place from the right, then how many there are.
        """
        known = any(isinstance(axis.item, Size) and axis.item == other.item for other in group)
        return known, any(axis.place[1] == other.place[1] for other in group), len(group)

    def _agree(self, one: _Axis, other: _Axis) -> bool:
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

    def _sure(self, group: list[_Axis]) -> str | None:
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
        if label:
            return label
        # Another size must have varied for this one to have stayed what it is on purpose.
        others = {s for leaf in self.leaves for _, row in leaf.rows for s in row} - values
        first = any(
            axis.place[1] == -leaf.trailing and leaf.lead is None
            for axis in group
            for leaf in (self.leaves[axis.leaf],)
        )
        if len(values) == 1 and len(sizes) >= _ENOUGH and others and not first:
            return str(next(iter(values)))
        return None

    def _label(self, group: list[_Axis]) -> str:
        labels = (_label_of(axis.item) for axis in group)
        found = Counter(label for label in labels if label in self.code)
        return found.most_common(1)[0][0] if found else ""

    def _path(self, group: list[_Axis], sizes: Mapping[int, int]) -> str | None:
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

    def _derived(self, group: list[_Axis]) -> str | None:
        """Return how a dimension is computed from others that have a name."""
        sizes = _sizes(group)
        if len(set(sizes.values())) < 2:
            return None
        bases = [
            (name, _sizes(other))
            for name, other in zip(self.names, self.groups, strict=True)
            if name and name != "_" and not name.isdigit() and other is not group
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

    def _usual(self, group: list[_Axis]) -> str:
        axis = group[0]
        leaf = self.leaves[axis.leaf]
        usual = USUAL.get(leaf.trailing, ()) if leaf.lead is None else ()
        label = usual[axis.place[1]] if usual else "d"
        sizes = _sizes(group)
        if set(sizes.values()) == {1}:
            return "1"
        return unused(label, self._taken)

    # The annotations

    def kind(self, tree: Any) -> Type | None:
        """Return the type that a tree of `tree` stands for."""
        if isinstance(tree, (Plain, NoneType)):
            return tree
        what, inner = tree
        if what == "leaf":
            return self._tensor(self.leaves[inner])
        if what in ("list", "dict", "endless"):
            element = self.kind(inner)
            if element is None:
                return None
            if what == "list":
                return ListType(element)
            return DictType("str", element) if what == "dict" else TupleType((element,), True)
        parts = [self.kind(part) for part in inner]
        known = [part for part in parts if part is not None]
        if len(known) != len(parts):
            return None
        if what == "tuple":
            return TupleType(tuple(known))
        some = [part for part in known if isinstance(part, TensorType)]
        if len(some) > 1 or (some and any(isinstance(part, Plain) for part in known)):
            return None  # of several ranks or kinds: no annotation says that well
        return either(*known)

    def _tensor(self, leaf: _Leaf) -> TensorType:
        words = [self.names[axis.group] for axis in leaf.axes]
        if leaf.lead is not None:
            words.insert(0, f"*{self._run(leaf.lead)}")
        return TensorType(_category(leaf.kinds), " ".join(words))

    def _run(self, lead: dict[int, tuple[int, ...]]) -> str:
        for known, name in self._runs:
            common = known.keys() & lead.keys()
            if common and all(known[at] == lead[at] for at in common):
                return name
        name = unused("batch", self._taken)
        self._runs.append((lead, name))
        return name


def kind_of(value: Any) -> str:
    """Return what a recorded value is: `t` (a tensor), `l`, `u`, `d`, `int`, `none` or a type."""
    if value is None:
        return "none"
    if isinstance(value, int):
        return "int"
    return value if isinstance(value, str) else value[0]


def _constant(rows: Sequence[tuple[int, tuple[int, ...]]], least: int) -> int:
    """Return how many of the last axes have the same size in all calls."""
    count = 0
    while count < least and len({sizes[-1 - count] for _, sizes in rows}) == 1:
        count += 1
    return count


def _behind_run(items: Sequence[object], axis: int) -> bool:
    return (
        bool(items)
        and len(items) >= -axis
        and not any(isinstance(item, Run) for item in items[axis:])
    )


def _sizes(group: list[_Axis]) -> dict[int, int]:
    found: dict[int, int] = {}
    for axis in group:
        found.update(axis.sizes)
    return found


def _is_own(item: object) -> bool:
    """Whether a dimension is a size that the program has: it is another one's only for sure."""
    return isinstance(item, Size) and any(s.kind is Kind.OWN for s in item.symbols())


def _label_of(item: object) -> str:
    """Return what the code calls a dimension, "" if it has no name for it."""
    if not isinstance(item, Size):
        return ""
    symbol = size_of(item).symbol if isinstance(item, Size) else None  # type: ignore[union-attr]
    if symbol is None or not symbol.telling:
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
    for index, (name, sizes) in enumerate(bases):
        for other, more in bases[index + 1 :]:
            yield f"{name}*{other}", lambda at, s=sizes, m=more: s[at] * m[at]
            yield f"{name}+{other}", lambda at, s=sizes, m=more: s[at] + m[at]


def _category(kinds: Iterable[str]) -> str:
    mask = 0
    for kind in kinds:
        mask |= dtypes.of(kind)
    return _category_of(mask)


def _category_of(mask: dtypes.DTypes) -> str:
    for name in ("Bool", "Float", "Int", "Integer", "Complex", "Num"):
        if not mask & ~dtypes.CATEGORIES[name]:
            return name
    return "Shaped"
