"""Tuples: items that are all known, or runs of them, as in a shape of unknown rank."""

from __future__ import annotations

import ast

import shapecheck.dims as dims
from shapecheck.analysis.interpreter.dict_contents import any_of
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import another, learned
from shapecheck.analysis.interpreter.kinds import Iterated, Kind, Spelling, register
from shapecheck.analysis.interpreter.truth import SEQUENCE, any_equal
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.values.model import Bound, Ref
from shapecheck.dims import IntSize
from shapecheck.ops import UNKNOWN, Fields, Sizes, like
from shapecheck.ops.call import are_dims, as_shape
from shapecheck.shapes import Item, Run, Tensor, has_run, runs_in


class TupleKind(Kind[tuple[Value, ...]]):
    """A tuple."""

    family = "tuple"
    foreign = True

    def is_callable(self, frame: Frame, held: tuple[Value, ...]) -> bool | None:
        return False

    def truth(self, frame: Frame, held: tuple[Value, ...]) -> bool | None:
        return None if has_run(held) else bool(held)

    def types(self, frame: Frame, held: tuple[Value, ...]) -> frozenset[str] | None:
        return SEQUENCE | {"tuple"}

    def is_a(self, frame: Frame, held: tuple[Value, ...], cls: str) -> bool | None:
        return False

    def has(self, frame: Frame, value: Value, held: tuple[Value, ...], name: str) -> bool | None:
        return hasattr(held, name)

    def iterate(self, frame: Frame, value: Value, held: tuple[Value, ...]) -> Iterated:
        return (None, dims.unknown()) if has_run(held) else (held, UNKNOWN)

    def contains(self, frame: Frame, held: tuple[Value, ...], item: Value) -> bool | None:
        return None if has_run(held) else any_equal(frame, held, item)

    def length(self, frame: Frame, value: Value, held: tuple[Value, ...]) -> IntSize | None:
        return frame.state.facts.shape(as_shape(held)).axes if has_run(held) else len(held)

    def another(self, frame: Frame, value: Value, held: tuple[Value, ...]) -> Value:
        return tuple(another(frame, item) for item in held)

    def item(
        self,
        frame: Frame,
        value: Value,
        held: tuple[Value, ...],
        index: Value,
        node: ast.expr,
        source: ast.expr,
    ) -> Value:
        match index:
            case slice():
                part = part_of(frame, held, index)
                return UNKNOWN if part is None else like(held, part)
        return item_of(frame, held, index)

    def attribute(
        self, frame: Frame, value: Value, held: tuple[Value, ...], name: str, node: ast.expr
    ) -> Value:
        return Bound(held, name)

    def plain(self, spelling: Spelling, value: Value, held: tuple[Value, ...]) -> Value:
        parts = spelling.each(held)
        return UNKNOWN if parts is None else like(held, parts)


register(tuple, TupleKind())


class SizesKind(TupleKind):
    """The sizes of a tensor, a `torch.Size`."""

    def is_a(self, frame: Frame, held: tuple[Value, ...], cls: str) -> bool | None:
        return cls == "torch.Size"


register(Sizes, SizesKind())


class FieldsKind(TupleKind):
    """A tuple whose items have names, as torch gives it."""

    def has(self, frame: Frame, value: Value, held: tuple[Value, ...], name: str) -> bool | None:
        names = _names(held)
        return name in names or super().has(frame, value, held, name)

    def attribute(
        self, frame: Frame, value: Value, held: tuple[Value, ...], name: str, node: ast.expr
    ) -> Value:
        names = _names(held)
        return held[names.index(name)] if name in names else Bound(held, name)


register(Fields, FieldsKind())


def _names(held: tuple[Value, ...]) -> tuple[str, ...]:
    return held.names if isinstance(held, Fields) else ()


def item_of(frame: Frame, items: tuple[Value, ...], index: Value) -> Value:
    """Index a tuple that may hold runs of unknown length."""
    match index:
        case slice():
            part = part_of(frame, items, index)
            return UNKNOWN if part is None else part
        case int():
            items = learned(frame, items)
            reached = items[: index + 1] if index >= 0 else items[index:]
            if has_run(reached):
                found = frame.state.facts.reach(items, index) if are_dims(items) else None
                return dims.unknown() if found is None else found
            return items[index] if -len(items) <= index < len(items) else UNKNOWN
    return _any_item(frame, learned(frame, items))


def is_plainly_at(items: tuple[Value, ...], index: int) -> bool:
    """Whether an index counts only items, none of the runs among them."""
    return not has_run(items[: index + 1] if index >= 0 else items[index:])


def part_of(frame: Frame, items: tuple[Value, ...], index: slice) -> tuple[Value, ...] | None:
    """Slice a tuple that may hold runs of unknown length; None where it isn't known."""
    parts = (index.start, index.stop, index.step)
    if not items:
        return ()
    if not all(part is None or isinstance(part, int) for part in parts) or index.step == 0:
        return None  # a step of 0 raises
    items = learned(frame, items)
    runs = [at for at, _ in runs_in(items)]
    if runs and not _clear_of(runs, index, len(items)):
        return _part(items, index) if are_dims(items) else None
    return items[index]


def _part(items: tuple[Item, ...], index: slice) -> tuple[Value, ...] | None:
    """Slice a shape that begins or ends in a run, within the run."""
    match (index.start, index.stop, index.step, [*items]):
        case (int(start), None, None, (*front, Run() as run)) if start >= len(front):
            return (run.part("after", start - len(front)),)
        case (None, int(stop), None, (Run() as run, *back)) if -stop >= len(back) and stop < 0:
            return (run.part("before", -stop - len(back)),)
        case (int(start), None, None, (Run() as run, *back)) if -start > len(back):
            return (run.part("last", -start - len(back)), *back)
        case (None | 0, int(stop), None, (*front, Run() as run)) if stop > len(front):
            return (*front, run.part("first", stop - len(front)))
    return _outermost(items, index)


def _outermost(items: tuple[Item, ...], index: slice) -> tuple[Value, ...] | None:
    """Return the first or last few of items among which is a run: as many as there surely are."""
    if index.step is not None or (index.start is None) == (index.stop is None):
        return None
    ordered = items if index.start is None else items[::-1]
    runs = [at for at, _ in runs_in(ordered)]
    count = index.stop if index.start is None else -index.start
    if not 0 < count <= len(items) - len(runs):
        return None
    known = ordered[: runs[0]]
    found = (*known, *(dims.unknown() for _ in range(count - len(known))))[:count]
    return found if index.start is None else found[::-1]


def _any_item(frame: Frame, items: tuple[Value, ...]) -> Value:
    if any(isinstance(item, Ref) for item in items):
        return any_of(frame, [*items])  # which is changed where this is
    match [*items]:
        case [Tensor() as first, *others] if all(other == first for other in others):
            return first
    return UNKNOWN


def _clear_of(runs: list[int], index: slice, count: int) -> bool:
    """Whether a slice of items counts only items on its own side of every run."""
    if index.step is not None:
        return False
    return all(
        bound is None or all(run >= bound if bound >= 0 else run < count + bound for run in runs)
        for bound in (index.start, index.stop)
    )
