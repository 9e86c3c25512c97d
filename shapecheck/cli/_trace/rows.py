"""The tree of a trace as rows: modules that are called alike are shown once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from shapecheck.runtime.record import ModuleRecord, OpRecord, TensorRecord, Trace


@dataclass(slots=True)
class Row:
    """A call of a module or an op, and what happened in it.

    `rest`: the calls after it, of other modules, that did the same. `copies`: how many such calls a
    row of its own stands for.
    """

    record: ModuleRecord | OpRecord
    children: list[Row] = field(default_factory=list)
    rest: list[ModuleRecord] = field(default_factory=list)
    copies: int = 0

    @property
    def alike(self) -> int:
        """How many calls after it did the same."""
        return len(self.rest)

    @property
    def last(self) -> str:
        """The path of the last call that did the same."""
        return self.rest[-1].path if self.rest else ""

    @property
    def name(self) -> str:
        """What it is called: an op's name, or a module's last part."""
        if isinstance(self.record, OpRecord):
            return self.record.name
        if self.copies:
            return f"{self.copies} more"
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


def rows_of(trace: Trace, depth: int | None = None) -> list[Row]:
    """Return the calls in what was traced.

    A module with one op isn't opened, nor one that lies deeper than `depth`. Of modules with
    several calls that do the same one after the other, the first stands for all.
    """
    top: ModuleRecord = trace
    if len(trace.calls) == 1 and isinstance(trace.calls[0], ModuleRecord):
        top = trace.calls[0]
    return _rows(top, depth)


def _rows(record: ModuleRecord, depth: int | None) -> list[Row]:
    rows: list[Row] = []
    before: object = None
    for call in record.calls:
        whole = isinstance(call, ModuleRecord) and len(call.calls) > 1
        looks = _looks(call) if whole else None
        if looks is not None and looks == before and isinstance(call, ModuleRecord):
            rows[-1].rest.append(call)
            continue
        before = looks
        row = Row(call)
        if isinstance(call, ModuleRecord) and row.op is None and depth != 0:
            row.children = _rows(call, None if depth is None else depth - 1)
        rows.append(row)
    return rows


def _looks(call: ModuleRecord | OpRecord) -> object:
    """Return what two calls that do the same have in common: all but paths and which tensors."""
    if isinstance(call, OpRecord):
        tensors = (*call.operands, *call.results)
        return call.function, tuple((t.shape, t.names, t.dtype) for t in tensors)
    return call.kind, call.parameters, tuple(map(_looks, call.calls))


def leaves_of(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows that aren't opened; one stands for all calls that did the same as another."""
    for row in rows:
        if row.children:
            yield from leaves_of(row.children)
        else:
            yield row
        if row.rest:
            together = ModuleRecord(row.last, row.kind, calls=list(row.rest))
            together.parameters = sum(call.parameters for call in row.rest)
            yield Row(together, copies=row.alike)
