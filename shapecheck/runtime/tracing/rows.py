"""The tree of a trace as rows: what is done several times over is shown once."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, count, groupby, takewhile
from typing import Final

from shapecheck.runtime.tracing.records import ModuleRecord, OpRecord, TensorRecord

_LONGEST_PERIOD: Final = 32
_WORD: Final = re.compile(r"[^\W\d]\w*")


@dataclass(slots=True)
class Row:
    """A call of a module or an op, and what happened in it.

    `inside` is the path of the module that it stands in, `names` how each result is called.
    `rest`: the calls after it that did once more what it and those before it did, a `period` of
    them at a time. `copies`: how many such times a row of its own stands for.
    """

    record: ModuleRecord | OpRecord
    inside: str
    names: Names
    children: list[Row] = field(default_factory=list)
    rest: list[ModuleRecord | OpRecord] = field(default_factory=list)
    period: int = 1
    copies: int = 0

    @property
    def alike(self) -> str:
        """How often several calls were done again, and up to which module; nothing for one."""
        if not self.rest or self.period == 1:
            return ""
        return f"{len(self.rest) // self.period} more like these {self.period}, to {self.last}"

    @property
    def last(self) -> str:
        """The path of the last module that did the same."""
        modules = (call.path for call in reversed(self.rest) if isinstance(call, ModuleRecord))
        return next(modules, "")

    @property
    def name(self) -> str:
        """What it is called: an op's name, or a module's path from the one that it stands in."""
        if isinstance(self.record, OpRecord):
            return self.record.name
        if self.copies:
            return f"{self.copies} more"
        path = self.record.path
        return path.removeprefix(f"{self.inside}." if self.inside else "") or self.record.kind

    @property
    def kind(self) -> str:
        """The class of a module; nothing for an op."""
        if isinstance(self.record, OpRecord) or not self.record.path:
            return ""
        return self.record.kind

    @property
    def title(self) -> tuple[str, str]:
        """The name and the kind under which it stands for those after it that do the same."""
        if not self.rest or self.period > 1:
            return self.name, self.kind
        within, _, last = self.last.rpartition(".")
        if within != self.name.rpartition(".")[0] and not self.name.isdecimal():
            last = self.last
        return f"{self.name} to {last}", f"{len(self.rest) + 1} x {self.kind}"

    @property
    def error(self) -> str:
        """What an op raised; nothing of others."""
        return self.op.error if self.op is not None and not self.children else ""

    @property
    def op(self) -> OpRecord | None:
        """The op that it is, or the only one in a module."""
        if isinstance(self.record, OpRecord):
            return self.record
        calls = self.record.calls
        only = calls[0] if len(calls) == 1 else None
        return only if isinstance(only, OpRecord) else None

    @property
    def results(self) -> tuple[TensorRecord, ...]:
        """What comes out: of a module, what its last op gave."""
        last: OpRecord | None
        if isinstance(self.record, OpRecord):
            last = self.record
        else:
            last = next(iter(reversed(list(self.record.ops()))), None)
        return () if last is None else tuple(map(self.names.of, last.results))

    @property
    def shapes(self) -> str:
        """The shapes of what comes out; nothing where that stands further down."""
        if self.children:
            return ""
        if self.op is not None and self.op.error:
            return " with ".join(str(self.names.spelled(one)) for one in self.op.operands)
        runs = [(shape, len(list(same))) for shape, same in groupby(map(str, self.results))]
        return ", ".join(shape if times == 1 else f"{times} times {shape}" for shape, times in runs)

    @property
    def allocated(self) -> int:
        """The bytes that its results took."""
        if isinstance(self.record, OpRecord):
            return sum(result.allocated for result in self.record.results)
        return self.record.allocated


def rows_of(trace: ModuleRecord, depth: int | None = None) -> list[Row]:
    """Return the calls in what was traced.

    A module with one op isn't opened, nor one that lies deeper than `depth`. Of calls that do the
    same several times over, a module with several ops among them, the first stand for all.
    """
    top: ModuleRecord = trace
    if len(trace.calls) == 1 and isinstance(trace.calls[0], ModuleRecord):
        top = trace.calls[0]
    return _rows(top, Names(trace), depth)


class Names:
    """What the dimensions of each tensor are called in a whole trace.

    A function that was annotated has names of its own for what it is given. Of all that a tensor is
    called, the names count that stand most often in the trace.
    """

    def __init__(self, trace: ModuleRecord) -> None:
        often: Counter[str] = Counter()
        called: dict[int, list[TensorRecord]] = {}
        made: dict[int, TensorRecord] = {}
        for op in trace.ops():
            for tensor in (*op.operands, *op.results):
                often.update(filter(None, tensor.names))
            for operand in op.operands:
                if (result := made.get(operand.number)) is not None:
                    called.setdefault(id(result), [result]).append(operand)
            made |= {result.number: result for result in op.results}

        def worth(tensor: TensorRecord) -> int:
            return sum(often[name] for name in tensor.names if name is not None)

        self._best = {of: max(each, key=worth).names for of, each in called.items()}
        self._spelled = _spellings(trace, often)

    def of(self, result: TensorRecord) -> TensorRecord:
        """Return the result of an op under the names that count."""
        return self.spelled(replace(result, names=self._best.get(id(result), result.names)))

    def spelled(self, tensor: TensorRecord) -> TensorRecord:
        """Return a tensor with the spellings that count."""
        names = (name and _WORD.sub(self._spelling, name) for name in tensor.names)
        return replace(tensor, names=tuple(names))

    def _spelling(self, found: re.Match[str]) -> str:
        return self._spelled.get(found[0], found[0])


def _spellings(trace: ModuleRecord, often: Mapping[str, int]) -> dict[str, str]:
    """Return how names are spelled where several mean the same dimension.

    They do if they differ in case only (`b` and `B`), or if a tensor has both, as it goes from
    function to function (`b` and `batch`); provided that they have one size, and that no tensor has
    them on two axes: of `t`, `query` and `key` none is another.
    """
    sizes: defaultdict[str, set[int]] = defaultdict(set)
    beside: set[frozenset[str]] = set()
    called: defaultdict[tuple[int, tuple[int, ...], int], set[str]] = defaultdict(set)
    for op in trace.ops():
        for tensor in (*op.operands, *op.results):
            plain = [name if name and name.isidentifier() else None for name in tensor.names]
            for axis, (name, size) in enumerate(zip(plain, tensor.shape, strict=True)):
                if name is not None:
                    sizes[name].add(size)
                    called[tensor.number, tensor.shape, axis].add(name)
                    beside |= {frozenset((name, other)) for other in plain[:axis] if other}
    cases: defaultdict[str, set[str]] = defaultdict(set)
    for name in sizes:
        cases[name.casefold()].add(name)

    def chosen(groups: Iterable[set[str]]) -> dict[str, str]:
        found: dict[str, str] = {}
        for alike in _joined(groups):
            is_one = len(set().union(*(sizes[name] for name in alike))) == 1
            if is_one and beside.isdisjoint(map(frozenset, combinations(alike, 2))):
                found |= dict.fromkeys(alike, max(sorted(alike), key=lambda name: often[name]))
        return found

    return chosen(cases.values()) | chosen([*cases.values(), *called.values()])


def _joined(groups: Iterable[set[str]]) -> list[set[str]]:
    """Return groups of which no two have anything in common."""
    found: list[set[str]] = []
    for group in dict.fromkeys(frozenset(group) for group in groups if len(group) > 1):
        apart = [one for one in found if one.isdisjoint(group)]
        touched = [one for one in found if not one.isdisjoint(group)]
        found = [*apart, {*group}.union(*touched)]
    return found


def _rows(record: ModuleRecord, names: Names, depth: int | None) -> list[Row]:
    rows: list[Row] = []
    looks = [_looks(call) for call in record.calls]
    at = 0
    while at < len(record.calls):
        period, times = _repeated(record.calls, looks, at)
        for call in record.calls[at : at + period]:
            row = Row(call, record.path, names)
            if isinstance(call, ModuleRecord) and row.op is None and depth != 0:
                row.children = _rows(call, names, None if depth is None else depth - 1)
            rows.append(row)
        rows[-1].rest = list(record.calls[at + period : at + period * times])
        rows[-1].period = period
        at += period * times
    return rows


def _repeated(
    calls: Sequence[ModuleRecord | OpRecord], looks: Sequence[object], at: int
) -> tuple[int, int]:
    """Return how many calls from here on are done over again, and how many times in all."""
    for period in range(1, min((len(calls) - at) // 2, _LONGEST_PERIOD) + 1):
        group = calls[at : at + period]
        if not any(isinstance(call, ModuleRecord) and len(call.calls) > 1 for call in group):
            continue
        starts = count(at + period, period)
        again = (looks[start : start + period] == looks[at : at + period] for start in starts)
        times = 1 + sum(takewhile(bool, again))
        if times > 1:
            return period, times
    return 1, 1


def _looks(call: ModuleRecord | OpRecord) -> object:
    """Return what two calls that do the same have in common: all but paths and which tensors."""
    if isinstance(call, OpRecord):
        tensors = (*call.operands, *call.results)
        return call.function, call.error, tuple((t.shape, t.names, t.dtype) for t in tensors)
    return call.kind, call.parameters, tuple(map(_looks, call.calls))


def leaves_of(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows that aren't opened; one stands for all calls that did the same as others."""
    for row in rows:
        if row.children:
            yield from leaves_of(row.children)
        else:
            yield row
        if row.rest:
            yield _others(row)


def folded_of(rows: Sequence[Row]) -> Iterator[tuple[Row, list[Row]]]:
    """Yield rows that stand for all that is done, none of them opened, each with what is in it.

    Of modules that do the same one after the other, what is in the first.
    """
    for row in rows:
        if row.rest and row.period == 1:
            name, kind = row.title
            path = f"{row.inside}.{name}" if row.inside else name
            yield (
                Row(_together(path, kind, [row.record, *row.rest]), row.inside, row.names),
                row.children,
            )
            continue
        yield row, row.children
        if row.rest:
            yield _others(row), []


def _others(row: Row) -> Row:
    """Return the row of the calls that did the same as some before them, which end with a row."""
    kinds = dict.fromkeys(call.kind for call in row.rest if isinstance(call, ModuleRecord))
    others = _together(row.last, ", ".join(kinds), row.rest)
    return Row(others, row.inside, row.names, copies=len(row.rest) // row.period)


def _together(path: str, kind: str, calls: Sequence[ModuleRecord | OpRecord]) -> ModuleRecord:
    parameters = sum(call.parameters for call in calls if isinstance(call, ModuleRecord))
    return ModuleRecord(path, kind, parameters, calls=list(calls))
