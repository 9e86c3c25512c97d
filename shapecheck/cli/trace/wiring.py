"""A trace as a circuit: which chip's tensor goes into which, and where each stands.

Chips stand in one column in the order of the calls, but what comes of no input, as `arange`, stands
just before the first chip that needs it. A tensor that the next chip takes goes straight down; one
that is needed later leaves its chip to the right, goes down in a lane of its own and enters from
the right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from shapecheck.runtime.tracing.model import Trace
from shapecheck.runtime.tracing.records import OpRecord, TensorRecord
from shapecheck.runtime.tracing.rows import Row, folded_of, leaves_of, rows_of

MOST_CHIPS: Final = 80


@dataclass(slots=True)
class Chip:
    """An op, a module that isn't opened, or without a row: where a tensor comes from or ends."""

    row: Row | None
    takes: list[TensorRecord] = field(default_factory=list)
    gives: list[TensorRecord] = field(default_factory=list)


@dataclass(slots=True)
class Wire:
    """A tensor on its way: from a chip to those that take it, by their positions.

    `straight`: the next chip takes it from above. `lane` is where it goes down to the others.
    """

    tensor: TensorRecord
    source: int
    targets: list[int] = field(default_factory=list)
    straight: bool = False
    lane: int = -1


@dataclass(slots=True)
class Circuit:
    """Chips in order, the wires between them, and how many wires each lane is wide."""

    chips: list[Chip]
    wires: list[Wire]
    lanes: list[int]


@dataclass(slots=True)
class Level:
    """A circuit in which no module is opened, and what is in those that can be, by position.

    `is_open`: it is shown at first.
    """

    circuit: Circuit
    inner: dict[int, Level]
    is_open: bool = True

    def circuits(self) -> Iterator[Circuit]:
        """Yield its own circuit and those of all that can be opened."""
        yield self.circuit
        for one in self.inner.values():
            yield from one.circuits()


def levels_of(trace: Trace, depth: int | None) -> Level:
    """Return a trace as levels, those open at first that are above `depth`.

    Without one, as many as `circuit_of` opens. What fails is always seen.
    """
    rows = rows_of(trace)
    if depth is None:
        depths = range(8, -1, -1)
        depth = next((at for at in depths if _count(rows, at) <= MOST_CHIPS), 0)
    return _level(rows, depth)


def _count(rows: Sequence[Row], depth: int) -> int:
    """Return how many chips are seen where the modules to a depth are open."""
    folded = folded_of(rows)
    return sum(1 + (_count(inner, depth - 1) if depth else 0) for _, inner in folded)


def _level(rows: Sequence[Row], depth: int, *, is_open: bool = True) -> Level:
    folded = list(folded_of(rows))
    circuit = wired([row for row, _ in folded])
    inside = {id(row): inner for row, inner in folded if inner}
    inner: dict[int, Level] = {}
    for at, chip in enumerate(circuit.chips):
        if id(chip.row) in inside:
            rows_inside = inside[id(chip.row)]
            fails = any(op.error for op in _ops_of(rows_inside))
            inner[at] = _level(rows_inside, depth - 1, is_open=depth > 0 or fails)
    return Level(circuit, inner, is_open)


def _ops_of(rows: Sequence[Row]) -> Iterator[OpRecord]:
    for row in rows:
        yield from (row.record,) if isinstance(row.record, OpRecord) else row.record.ops()


def circuit_of(trace: Trace, depth: int | None) -> Circuit:
    """Return the circuit of a trace; without a `depth`, the deepest that isn't too large."""
    rows = list(leaves_of(rows_of(trace, depth)))
    if depth is None:
        for shallower in range(8, -1, -1):
            if len(rows) <= MOST_CHIPS:
                break
            rows = list(leaves_of(rows_of(trace, shallower)))
    return wired(rows)


def wired(rows: Sequence[Row]) -> Circuit:
    """Return the circuit in which each row is a chip."""
    chips = _chips(rows)
    wires = _wires(chips)
    return Circuit(chips, wires, _assign_lanes(wires))


def _chips(rows: Sequence[Row]) -> list[Chip]:
    """Return the chips: rows, and before the first that takes it, where a tensor comes from."""
    taken_later: set[int] = set()
    chips: list[Chip] = []
    for row in reversed(rows):
        ops = [row.record] if isinstance(row.record, OpRecord) else list(row.record.ops())
        if not ops:
            continue
        made = {result.number for op in ops for result in op.results}
        takes: dict[int, TensorRecord] = {}
        inside: set[int] = set()
        for op in ops:
            for operand in op.operands:
                if operand.number not in inside and not operand.parameter:
                    takes.setdefault(operand.number, row.names.spelled(operand))
            inside |= {result.number for result in op.results}
        last = {result.number for result in ops[-1].results}
        gives: dict[int, TensorRecord] = {}
        for op in ops:
            for result in op.results:
                if result.number in (taken_later & made) | last:
                    gives[result.number] = row.names.of(result)
        chips.append(Chip(row, list(takes.values()), list(gives.values())))
        taken_later |= set(takes)
    chips.reverse()
    return _with_sources(_close_to_use(chips))


def _close_to_use(chips: Sequence[Chip]) -> list[Chip]:
    """Move what comes of no input, as `arange` and what is made of it, to just before its use."""
    taken = {tensor.number for chip in chips for tensor in chip.takes}
    waiting: dict[int, list[Chip]] = {}
    found: dict[int, Chip] = {}
    for chip in chips:
        needs = {tensor.number: None for tensor in chip.takes}
        gives = [tensor.number for tensor in chip.gives]
        chain = [*(one for number in needs for one in waiting.get(number, ())), chip]
        if needs.keys() <= waiting.keys() and taken.intersection(gives):
            waiting |= dict.fromkeys(gives, chain)
            continue
        found |= {id(one): one for one in chain if id(one) not in found}
        for number in needs:
            waiting.pop(number, None)
    left = (one for chain in waiting.values() for one in chain)
    return list((found | {id(one): one for one in left if id(one) not in found}).values())


def _with_sources(chips: Sequence[Chip]) -> list[Chip]:
    known: set[int] = set()
    found: list[Chip] = []
    for chip in chips:
        for tensor in chip.takes:
            if tensor.number not in known:
                known.add(tensor.number)
                found.append(Chip(None, [], [tensor]))
        known |= {tensor.number for tensor in chip.gives}
        found.append(chip)
    return [*found, Chip(None, found[-1].gives, [])] if found and found[-1].gives else found


def _wires(chips: Sequence[Chip]) -> list[Wire]:
    live: dict[int, Wire] = {}
    wires: list[Wire] = []
    for at, chip in enumerate(chips):
        has_straight = False
        for tensor in chip.takes:
            wire = live[tensor.number]
            if wire.source == at - 1 and not has_straight:
                wire.straight = has_straight = True
            else:
                wire.targets.append(at)
        for tensor in chip.gives:
            # An op that works in place gives the tensor that it took.
            live[tensor.number] = Wire(tensor, at)
            wires.append(live[tensor.number])
    return [
        wire for wire in wires if wire.straight or wire.targets or wire.source == len(chips) - 1
    ]


def _assign_lanes(wires: Sequence[Wire]) -> list[int]:
    """Give each wire that doesn't go straight a lane: short ones stay near the chips."""
    busy: list[list[tuple[int, int]]] = []
    widths: list[int] = []
    aside = [wire for wire in wires if wire.targets]
    for wire in sorted(aside, key=lambda wire: (max(wire.targets) - wire.source, wire.source)):
        start, stop = wire.source, max(wire.targets)
        wire.lane = len(busy)
        for lane, spans in enumerate(busy):
            if all(stop < first or last < start for first, last in spans):
                wire.lane = lane
                break
        else:
            busy.append([])
            widths.append(0)
        busy[wire.lane].append((start, stop))
        widths[wire.lane] = max(widths[wire.lane], len(wire.tensor.shape), 1)
    return widths
