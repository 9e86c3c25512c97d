"""One call in full mode: its frame, with the names of its arguments; its result, by name.

`enter` opens the frame, `exit` closes it, and `leave` checks the result by the names it has and
gives it those that it has at the caller.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import torch

from shapecheck.dims import DimExpr, Sym
from shapecheck.runtime.annotations.braced import Braced, braced
from shapecheck.runtime.annotations.hints import MaybeHint, TensorHint, TupleHint
from shapecheck.runtime.annotations.plan import Plan, tensor_hints
from shapecheck.runtime.boundary.binding import Binding, Namer
from shapecheck.runtime.boundary.checks import bind_names, fit_result, shape_in
from shapecheck.runtime.errors import Failed, ShapeError, own_fault
from shapecheck.runtime.internals import depth, mode_at, pop_mode, push_mode
from shapecheck.runtime.naming import first_class
from shapecheck.runtime.naming.batched import dims_made, is_batched
from shapecheck.runtime.naming.between_calls import outwards
from shapecheck.runtime.naming.call_names import CallMode, CallNames, state
from shapecheck.runtime.naming.lasting import lasting, outlive
from shapecheck.runtime.naming.mode import thread_mode
from shapecheck.runtime.naming.outcomes import Outcomes
from shapecheck.runtime.naming.records import Record, agreed, sizes_of
from shapecheck.runtime.source import return_place
from shapecheck.shapes import Item
from shapecheck.tensor_spec import ShapeAnnotationError

_ENTRIES: Final = 4096
_LEFT: Final = 256

Results = tuple[tuple[Record | None, ...], tuple[Record | None, ...]]
"""What the parts of a result are called at the caller, and outside of all calls."""


@dataclass(eq=False, slots=True)
class Entry:
    """What follows from the shapes and names of a call's arguments.

    `sizes`, `symbols`: what the names are. `records`: of the plain tensor arguments, in order.
    `outer`, `outer_runs`: the names in terms of the caller's dimensions. `braced`: what expressions
    such as `{self.d}` stand for. `results` remembers what was found out about results, by their
    names or sizes and who receives them, `left` what tensors that outlive the call are called at
    the caller, and `met` what those are called here that outlived another (see `naming.lasting`).
    """

    sizes: dict[str, int]
    groups: dict[str, tuple[int, ...]]
    symbols: dict[Sym, int]
    records: tuple[Record | None, ...]
    outer: dict[str, DimExpr]
    outer_runs: dict[str, tuple[Item, ...]]
    braced: Braced = field(default_factory=dict)
    results: dict[object, Results] = field(default_factory=dict)
    left: Outcomes[Record, Record | None] = field(default_factory=lambda: Outcomes(_LEFT))
    met: Outcomes[object, Record | None] = field(default_factory=lambda: Outcomes(_LEFT))


Inside = list[tuple[torch.Tensor, Record]]


def enter(plan: Plan, values: Sequence[Any], tensors: Sequence[Any]) -> CallNames | None:
    """Open the frame of a call: its arguments have their declared names in it.

    `tensors` are the values of the plain tensor arguments. Raises `ShapeError` where the names
    that they have at the caller contradict. Runs with torch functions disabled.
    """
    try:
        mode = thread_mode()
        caller = mode.frame
        entry, inside = _entry(plan, values, tensors, caller)
        frame = CallNames(dict(entry.sizes), dict(entry.symbols), caller, plan, entry)
        frame.born = dims_made()
        for tensor, known in (*inside, *zip(tensors, entry.records, strict=True)):
            if known is not None:
                frame.name(tensor, known)
        _open(mode, frame)
    except (ShapeError, ShapeAnnotationError):
        raise
    except Exception as error:  # noqa: BLE001 - a defect here must not break the call
        own_fault(f"to name the arguments of {plan.label}", error)
        return None
    return frame


def follow() -> CallNames | None:
    """Open the frame of a call without annotations: tensors have the names that `named` gave.

    None inside of a call that is followed already, whose names simply go on.
    """
    try:
        mode = thread_mode()
        if mode.frame is not None:
            return None
        frame = CallNames({}, {}, None)
        for reference, known in state.given.table.values():
            tensor = reference()
            if tensor is not None:
                frame.name(tensor, known)
                frame.symbols.update(known.values)
        _open(mode, frame)
    except Exception as error:  # noqa: BLE001 - a defect here must not break the call
        own_fault("to carry the names of tensors into a model", error)
        return None
    return frame


def carry_on() -> None:
    """Carry names outside of calls: those that `named` gave, and what results are called."""
    mode, given = thread_mode(), state.given
    given.symbols = {}
    for reference, known in [*given.table.values()]:
        tensor = reference()
        if tensor is not None:
            given.name(tensor, given.settled(known))
    state.carrying = True
    _open(mode, given)


def carry_no_more() -> None:
    """Carry no names outside of calls any more; tensors keep those that they have."""
    exit(state.given)
    state.carrying = False
    lasting.clear()
    state.root.table.update(state.given.table)
    state.root.sweep()


def unfollow(frame: CallNames | None) -> None:
    """Close a frame that `follow` opened; what is left of its tensors keeps its names outside."""
    if frame is None:
        return
    exit(frame)
    left = {key: item for key, item in frame.table.items() if item[0]() is not None}
    state.given.table = left
    state.root.table.update(left)
    state.root.sweep()


def _open(mode: CallMode, frame: CallNames) -> None:
    if not is_active(mode):
        push_mode(mode)
        frame.pushed = True
    frame.alone = mode_at(0) is mode
    mode.frame = frame


def is_active(mode: CallMode) -> bool:
    """Whether a mode is on torch's stack in this thread."""
    return any(mode_at(i) is mode for i in range(depth()))


def exit(frame: CallNames | None) -> None:
    """Close the frame of a call."""
    if frame is None:
        return
    mode = thread_mode()
    mode.frame = frame.parent
    if frame.pushed:
        taken = pop_mode()
        if taken is not mode:
            _take_off(mode, taken)
    if state.carrying and frame.entry is not None:
        try:
            outlive(frame)
        except Exception as error:  # noqa: BLE001 - a defect here must not break the call
            own_fault(f"to keep the names of what {frame.plan.label} leaves", error)


def _take_off(mode: CallMode, taken: Any) -> None:
    """Take our mode from below the modes that the call has left on torch's stack.

    `taken` is the one on top. Where ours is gone the call has taken one off that was there before;
    what it got was ours, so that the one on top is its.
    """
    above = [taken]
    active = is_active(mode)
    while active and above[-1] is not mode:
        above.append(pop_mode())
    for other in reversed(above[:-1]):
        push_mode(other)


def _entry(
    plan: Plan, values: Sequence[Any], tensors: Sequence[Any], caller: CallNames | None
) -> tuple[Entry, Inside]:
    if not plan.steady or plan.own:
        return _new_entry(plan, values, tensors, caller)
    key: tuple[object, ...] = tuple([_key(tensor, caller) for tensor in tensors])
    places = {id(tensor): index for index, tensor in enumerate(tensors)}
    if len(places) < len(key):
        key += tuple([places[id(tensor)] for tensor in tensors])
    if plan.namesakes:
        key += (*plan.lengths(values).items(),)
    found: Entry | None = plan.entries.get(key)
    if found is None:
        found, inside = _new_entry(plan, values, tensors, caller)
        if len(plan.entries) >= _ENTRIES:
            plan.entries.clear()
        plan.entries[key] = found
        return found, inside
    return found, []


def _key(tensor: Any, frame: CallNames | None) -> object:
    if not isinstance(tensor, torch.Tensor) and not is_batched(tensor):
        return type(tensor)
    known = None if frame is None else first_class.record_of(frame, tensor)
    return sizes_of(tensor) if known is None else known


def _new_entry(
    plan: Plan, values: Sequence[Any], tensors: Sequence[Any], caller: CallNames | None
) -> tuple[Entry, Inside]:
    """Return a call's entry, and the names of the tensors inside of containers."""
    binding = bind_names(plan, values, caller)
    sizes, groups = binding.sizes(), binding.group_sizes()
    known = braced(
        [leaf.hint.spec.shape for leaf in binding.leaves if leaf.record is None],
        [hint.spec.shape for hint in tensor_hints(plan.result)],
        lambda source: plan.expression(source)(binding.scope),
    )
    namer = Namer(plan, sizes, groups, known)
    for name, value in plan.lengths(values).items():
        namer.symbols.setdefault(plan.symbol(name), value)
    namers: dict[int | None, Namer] = {None: namer}
    for number, (own, own_groups) in binding.records.items():
        namers[number] = Namer(plan, own, own_groups, known, number)
        namer.symbols.update(namers[number].symbols)
    records: dict[int, Record | None] = {}
    for leaf in binding.leaves:
        names = namers[leaf.record].record(leaf.hint.spec.shape, leaf.tensor)
        if id(leaf.tensor) in records:
            names = agreed(records[id(leaf.tensor)], names)
        records[id(leaf.tensor)] = names
    entry = Entry(
        sizes,
        groups,
        namer.symbols,
        tuple([records.get(id(tensor)) for tensor in tensors]),
        dict(binding.matcher.names),
        dict(binding.matcher.runs),
        known,
    )
    inside = [(leaf.tensor, records[id(leaf.tensor)]) for leaf in binding.leaves]
    return entry, [(tensor, known) for tensor, known in inside if known is not None]


def leave(frame: CallNames | None, values: Sequence[Any], result: Any) -> None:
    """Check a result by its names, and give it the names that it has at the caller.

    Runs with torch functions disabled, after the frame was closed. Raises `ShapeError`.
    """
    if frame is None:
        return
    try:
        _leave(frame, values, result)
    except (ShapeError, ShapeAnnotationError):
        raise
    except Exception as error:  # noqa: BLE001 - a defect here must not break the call
        own_fault(f"to name the result of {frame.plan.label}", error)


def _leave(frame: CallNames, values: Sequence[Any], result: Any) -> None:
    plan: Plan = frame.plan
    entry: Entry = frame.entry
    steady = isinstance(plan.result, TensorHint | MaybeHint | TupleHint) and plan.steady
    parts = list(_parts(result))
    parent = frame.parent
    outside = parent is None or parent is state.given
    if steady and frame.names == entry.sizes:
        key = (parent is None, outside, *[_key(part, frame) for part in parts])
        known = entry.results.get(key)
        if known is None:
            known = _new_result(frame, values, result, parts)
            if len(entry.results) < _ENTRIES:
                entry.results[key] = known
    else:
        known = _new_result(frame, values, result, parts)
    called, declared = known
    if parent is not None:
        _give(parent, parts, called)
    if outside:
        _give(state.root, parts, declared)
        (parent or state.root).sweep()


def _give(receiver: CallNames, parts: Sequence[Any], records: Sequence[Record | None]) -> None:
    """Give the parts of a result the names that they have at a receiver."""
    for part, names in zip(parts, records, strict=True):
        if names is not None:
            receiver.name(part, names)


def _parts(result: Any) -> Iterator[Any]:
    """Yield a result, or the items of a tuple."""
    if isinstance(result, tuple):
        yield from result
    else:
        yield result


def _new_result(
    frame: CallNames, values: Sequence[Any], result: Any, parts: Sequence[Any]
) -> Results:
    """Check a result by its names; return what its parts are called at the caller and outside."""
    plan: Plan = frame.plan
    entry: Entry = frame.entry
    scope = {param.name: value for param, value in zip(plan.params, values, strict=True)}
    namer = Namer(plan, frame.names, entry.groups, entry.braced)
    namer.adopt(frame.aliases, frame.runs)
    known_values = dict(frame.symbols)
    shape_of = shape_in(frame, known_values)
    binding = Binding(plan, scope, known_values, shape_of, namer.names, namer.runs, entry.braced)
    fit_result(binding, plan, result)
    _refuse_left_over(frame, binding, result)
    receiver = frame.parent
    called: dict[int, Record | None] = {}
    declared: dict[int, Record | None] = {}
    for leaf in binding.leaves:
        bound = binding.sizes(), binding.group_sizes()
        inside = Namer(plan, *(bound if leaf.record is None else binding.records[leaf.record]))
        said = inside.record(leaf.hint.spec.shape, leaf.tensor)
        declared[id(leaf.tensor)] = said
        if receiver is not None:
            known = said if leaf.record is None else first_class.record_of(frame, leaf.tensor)
            around = entry.outer, entry.outer_runs, receiver.symbols
            called[id(leaf.tensor)] = None if known is None else outwards(known, *around)
    return (
        tuple(called.get(id(part)) for part in parts),
        tuple(declared.get(id(part)) for part in parts),
    )


def _refuse_left_over(frame: CallNames, binding: Binding, result: Any) -> None:
    """Refuse a result with first-class dimensions that the function made for itself."""
    for leaf in binding.leaves:
        said = first_class.left_over(frame, leaf.subject, leaf.tensor, result)
        if said is not None:
            raise binding.error(Failed(said), return_place(frame.plan.function)[0])
