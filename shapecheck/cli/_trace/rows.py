"""The tree of a trace as rows: modules that are called alike are shown once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from shapecheck.runtime.record import ModuleRecord, OpRecord, TensorRecord, Trace


@dataclass(slots=True)
class Row:
    """A call of a module or an op, and what happened in it.

    `alike`: how many calls after it, of other modules, did the same. `last`: the last one's path.
    """

    record: ModuleRecord | OpRecord
    children: list[Row] = field(default_factory=list)
    alike: int = 0
    last: str = ""

    @property
    def name(self) -> str:
        """What it is called: an op's name, or a module's last part."""
        if isinstance(self.record, OpRecord):
            return self.record.name
        return self.record.path.rpartition(".")[2] or self.record.kind

    @property
    def kind(self) -> str:
        """The class of a module; nothing for an op."""
        if isinstance(self.record, OpRecord) or not self.record.path:
            return ""
        return self.record.kind

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
        if isinstance(self.record, OpRecord):
            return self.record.results
        last = next(iter(reversed(list(self.record.ops()))), None)
        return () if last is None else last.results

    @property
    def allocated(self) -> int:
        """The bytes that its results took."""
        if isinstance(self.record, OpRecord):
            return sum(result.allocated for result in self.record.results)
        return self.record.allocated


def rows_of(trace: Trace, depth: int | None = None, *, fold: bool = True) -> list[Row]:
    """Return the calls in what was traced.

    A module with one op isn't opened, nor one that lies deeper than `depth`. `fold`: of calls in a
    row that do the same, the first stands for all.
    """
    top: ModuleRecord = trace
    if len(trace.calls) == 1 and isinstance(trace.calls[0], ModuleRecord):
        top = trace.calls[0]
    return _rows(top, depth, fold)


def _rows(record: ModuleRecord, depth: int | None, fold: bool) -> list[Row]:
    rows: list[Row] = []
    before: object = None
    for call in record.calls:
        whole = fold and isinstance(call, ModuleRecord) and bool(call.calls)
        looks = _looks(call) if whole else None
        if looks is not None and looks == before and isinstance(call, ModuleRecord):
            rows[-1].alike += 1
            rows[-1].last = call.path
            continue
        before = looks
        row = Row(call)
        if isinstance(call, ModuleRecord) and row.op is None and depth != 0:
            row.children = _rows(call, None if depth is None else depth - 1, fold)
        rows.append(row)
    return rows


def _looks(call: ModuleRecord | OpRecord) -> object:
    """Return what two calls that do the same have in common: all but paths and which tensors."""
    if isinstance(call, OpRecord):
        tensors = (*call.operands, *call.results)
        return call.function, tuple((t.shape, t.names, t.dtype) for t in tensors)
    return call.kind, call.parameters, tuple(map(_looks, call.calls))


def walk(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield rows and those in them, in order."""
    for row in rows:
        yield row
        yield from walk(row.children)
