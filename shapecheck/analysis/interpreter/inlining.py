"""Calls of functions that are looked into: run on what the caller passes, and remembered."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from shapecheck.analysis.annotations.construction import changed_by_methods
from shapecheck.analysis.annotations.declarations import declaration
from shapecheck.analysis.host import Asked, RestsOn
from shapecheck.analysis.interpreter import autocast
from shapecheck.analysis.interpreter.body import promise
from shapecheck.analysis.interpreter.budget import (
    CLOSE,
    LIBRARY,
    LIBRARY_DISCOUNT,
    LIBRARY_STEPS,
    OWN,
    Budget,
    BudgetExceeded,
    Depth,
)
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.generators import is_generator, outcome
from shapecheck.analysis.interpreter.result_names import Unforeseen
from shapecheck.analysis.interpreter.summaries import NOTHING_NEW, Key, Lesson, View, view
from shapecheck.analysis.pace import Pace
from shapecheck.analysis.program.answers import MISSING, Found, Likeness, Memory, Told
from shapecheck.analysis.program.asking import about, asks, asks_about, written
from shapecheck.analysis.program.faults import Fault, Step, given
from shapecheck.analysis.program.model import Function, Value
from shapecheck.analysis.program.modules import Module, Program
from shapecheck.analysis.program.reading import Body, Unnoted, body_of
from shapecheck.analysis.program.syntax import ANY_NAME, DEFINITIONS, names_in
from shapecheck.analysis.relevance import is_installed
from shapecheck.analysis.values.heap import enclosing, inside, reachable, unknowns
from shapecheck.analysis.values.model import FILES, Content, DictContent, Ref
from shapecheck.analysis.values.paths import NUMBERS
from shapecheck.analysis.values.state import State
from shapecheck.analysis.values.written import Reader, Unwritable, Writer, Written
from shapecheck.dims import Size, Sym
from shapecheck.ops import UNKNOWN
from shapecheck.shapes import Facts, Matcher


@dataclass(frozen=True, slots=True)
class _Call:
    """A function, and what it is run on.

    `values` are those of its parameters, `shared` those of the module's variables that it reads.
    `matcher` has what its annotations' names are bound to.
    """

    function: Function
    values: Mapping[str, Value]
    shared: Mapping[str, Value]
    matcher: Matcher | None


def look_into(
    frame: Frame,
    function: Function,
    values: Mapping[str, Value],
    node: ast.AST,
    matcher: Matcher | None = None,
    apart: bool = False,
) -> Value:
    """Run a function's body on values for its result; bounded in depth.

    What certainly goes wrong in it is the caller's to report: where no condition has been met that
    the analysis couldn't decide, and without supposing that two sizes of the program's own differ.
    A body gets half of the steps that its caller has left, or (`apart`) has left for calls whose
    annotations tell the result anyway. What a call gives is remembered for all that see the same.
    """
    memory, outer = frame.program.memory, frame.state
    budget = (frame.budget.spare if apart else None) or frame.budget
    depth = _depth(function)
    is_recursive = budget.active.count(function.node) >= depth.recursion
    if frame.depth >= depth.calls or is_recursive:
        memory.limited(by_askers=is_recursive)
        return _given_up(frame, function, values)
    shared = {**_globals(frame, function), **_files(frame, function)}
    call = _Call(function, values, shared, matcher)
    seen = _seen(frame, call)
    question = None if seen is None else _question(frame, seen, apart)
    is_library = depth is LIBRARY and not is_installed(frame.module.source.path)
    allowed = LIBRARY_STEPS if is_library else budget.for_call
    limited = (question, allowed, frame.depth)
    is_charged = question in budget.charged
    limits = memory.limits_apart()
    known = MISSING if question is None else _known(memory, budget, question, limited, allowed)
    # Whether or not it is known: what is found doesn't depend on what is remembered.
    if not is_charged and allowed <= budget.failed.get(function.node, -1):
        memory.limits_of(limits)
        memory.limited()
        memory.close()
        return _given_up(frame, function, values)
    outcome: CallSummary | None
    if seen is None:
        inner = Budget(allowed, charged=budget.charged, depth=depth).followed(apart)
        outcome = _run(frame, call, inner)
    elif isinstance(known, CallSummary):
        outcome = known.at(seen)
    elif known is _GIVEN_UP:
        outcome = None
    elif memory.is_open(question):
        memory.limits_of(limits)
        outer.facts.asks_condition()
        return _given_up(frame, function, values)
    else:
        assert question is not None
        outcome = _answered(frame, call, seen, question, allowed)
    if outcome is None or outcome.asks_condition:
        outer.facts.asks_condition()
    is_limited = memory.limits_of(limits)
    if outcome is None:
        memory.close()
        budget.left -= allowed // LIBRARY_DISCOUNT if is_library else allowed
        budget.failed[function.node] = max(allowed, budget.failed.get(function.node, 0))
        frame.reads_command_line = True  # it may, as far as is known
        memory.limited()
        return _given_up(frame, function, values)
    pace = outcome.pace
    if not is_library and (is_limited or CLOSE * pace.needs > allowed):
        memory.close(budget.room_for(pace.needs, is_limited=is_limited))
    if not is_charged:
        if is_library:
            budget.left -= pace.steps // LIBRARY_DISCOUNT
        else:
            budget.charge(pace.steps, pace.needs)
        if outcome.lasts:
            budget.charged[question] = limited
    frame.reads_command_line |= outcome.reads_command_line
    frame.state.facts = outcome.facts or outer.facts
    frame.state.facts.doubted |= outer.facts.doubted
    outcome.taught.teach(frame.state.facts)
    frame.state.put_all(outcome.changes)
    if outcome.suspected and not (frame.is_unasked or frame.handled or frame.caught):
        step = Step(frame.module, node, frame.function, given(values, frame.state.facts))
        for fault in outcome.suspected:
            frame.suspect(fault.through(step))
    if outcome.faults:
        step = Step(frame.module, node, frame.function, given(values, frame.state.facts))
        frame.fault(outcome.faults[0].through(step))
        return UNKNOWN
    return outcome.value


def _seen(frame: Frame, call: _Call) -> View | None:
    """Return what a call sees; None where that can't be told."""
    state, values, shared = frame.state, call.values, call.shared
    given_values = (call.function, *values.values(), *shared.values())
    autocast_to, hidden = state.facts.autocast, frame.hides_names
    return view(given_values, state.heap, state.facts, *values, autocast_to, hidden, *shared)


def _answered(
    frame: Frame, call: _Call, seen: View, question: _Question, allowed: int
) -> CallSummary | None:
    """Return what a call gives that sees this, and remember it; None where it takes too long."""
    memory, apart = frame.program.memory, question.apart
    limited = (question, allowed, frame.depth)
    again, telling = None, None
    if memory.stays:
        again = _asked_again(frame, call, seen, allowed, apart)
    elif memory.tells:
        telling = _telling(frame, call, allowed, apart)
        recalled = None if telling is None else telling.recalled(frame.program, seen)
        if recalled is not None:
            is_limited, found = recalled.is_limited, recalled.found
            memory.take(limited if is_limited else question, found, is_limited, recalled.rests_on)
            return found.at(seen) if isinstance(found, CallSummary) else None
    with memory.answering(
        question, limited=limited, again=again, likeness=_OF_CALLS, telling=telling
    ) as keep:
        inner = Budget(allowed, depth=_depth(call.function)).followed(apart)
        outcome = _run(frame, call, inner, seen)
        if outcome is None:
            memory.limited()
        if memory.stays or outcome is None or outcome.lasts:
            keep(_kept(outcome))
    return outcome.at(seen) if outcome is not None and outcome.lasts else outcome


def _kept(outcome: CallSummary | None) -> object:
    """Return what is kept of a call: what is the same for all that see the same, or how it was."""
    if outcome is None:
        return _GIVEN_UP
    return outcome if outcome.lasts else _Once.of(outcome)


class _Telling:
    """Tells other processes of a call, as `_asked_again` does its own, and is told by them."""

    def __init__(self, writer: Writer, question: str, heap: Mapping[Ref, Content]) -> None:
        self._writer, self._question, self._heap = writer, question, heap

    def told(self, found: object, is_limited: bool) -> Told | None:
        """Return what they are told: nothing of what goes wrong, which has a place."""
        if found is _GIVEN_UP:
            return Told(self._question, _TOO_LONG, None)
        if not isinstance(found, CallSummary) or found.faults or found.suspected:
            return None
        write, taught = self._writer.value, found.taught
        about = found.names, found.reads_command_line, found.asks_condition, is_limited
        try:
            parts = write(found.value), write(taught.values), write(taught.doubted)
            answer = written(about, *parts, self._writer.changes(self._heap, found.changes))
        except (Unwritable, ValueError, RecursionError):
            return None
        return Told(self._question, answer, found.pace)

    def recalled(self, program: Program, seen: View) -> _Recalled | None:
        """Return what they have found, where all that it rests on is as it was."""
        recalls = program.memory.recalls
        rests_on = recalls and recalls(self._question)
        if not rests_on:
            return None
        (asked,) = rests_on.asked
        if asked.answer == _TOO_LONG:
            return _Recalled(_GIVEN_UP, True, rests_on)
        try:
            with Unnoted():
                found, is_limited = self._read(asked, Reader(program, self._writer), seen)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return None  # it was out of anyone's record, or wasn't to be read
        return _Recalled(found, is_limited, rests_on)

    def _read(self, asked: Asked, reader: Reader, seen: View) -> tuple[CallSummary, bool]:
        about, *parts, changes = json.loads(asked.answer)
        names, reads_command_line, asks_condition, is_limited = about
        value, (atoms, runs), doubted = [reader.value(one) for one in parts]
        if asked.pace is None:
            raise ValueError("it took no time")
        found = CallSummary(
            value,
            reader.changes(changes),
            (),
            seen,
            Lesson(atoms, runs, doubted),
            None,
            asked.pace,
            lasts=True,
            names=tuple(map(str, names)),
            reads_command_line=bool(reads_command_line),
            asks_condition=bool(asks_condition),
        )
        return found, bool(is_limited)


@dataclass(frozen=True, slots=True)
class _Recalled:
    """What is known of a call, whether it was limited, and what it rests on."""

    found: Found
    is_limited: bool
    rests_on: RestsOn


_TOO_LONG: Final = "given up"
"""Written down for a call that takes more steps than it may."""


def _telling(frame: Frame, call: _Call, allowed: int, apart: bool) -> _Telling | None:
    """Return what tells other processes of a call; None where they can't be told."""
    writer, matcher = Writer(), call.matcher
    try:
        called = [writer.value(one) for one in (call.function, {**call.values}, {**call.shared})]
        names = None if matcher is None else writer.value(({**matcher.names}, {**matcher.runs}))
        heap = writer.heap(frame.state.heap)  # of what was met before
        facts = writer.facts(frame.state.facts)
        active = [*filter(None, map(_place_of, frame.budget.active))]
        flags = frame.depth, allowed, apart, frame.by_default, frame.hides_names
        question = written("call", *called, names, heap, facts, active, flags)
    except (Unwritable, ValueError, RecursionError):
        return None
    return _Telling(writer, question, dict(frame.state.heap))


def _place_of(node: ast.AST) -> tuple[str, str] | None:
    """Return the module of a function and its name there; None where it has none.

    What was found where a function was called in itself too often isn't told, so that one without
    a name needn't be known.
    """
    body = getattr(node, "body", None)
    return (body.reading.module, body.key) if isinstance(body, Body) else None


@asks("call")
def _ask(program: Program, parts: list[Written]) -> None:
    """Make a call again that another process has made; raises ValueError where it can't be."""
    of, given, around, names, heap, facts, active, (depth, allowed, *flags) = parts
    reader = Reader(program)
    function, values, shared = [reader.value(one) for one in (of, given, around)]
    bound = None if names is None else reader.value(names)
    state = State({}, {}, reader.heap(heap), reader.facts(facts))
    nodes: list[ast.AST] = [
        reader.module(module).syntax.definition(name) for module, name in active
    ]
    is_within = 0 <= allowed <= LIBRARY_STEPS and 0 <= depth <= LIBRARY.calls
    if not (isinstance(function, Function) and is_within):
        raise ValueError("not a call")
    caller = Frame(function.module, state, quiet=True, depth=depth, budget=Budget(active=nodes))
    apart, caller.by_default, caller.hides_names = map(bool, flags)
    matcher = None if bound is None else Matcher(Facts(), names=bound[0], runs=bound[1])
    call = _Call(function, values, shared, matcher)
    seen = _seen(caller, call)
    if seen is not None:
        _answered(caller, call, seen, _question(caller, seen, apart), allowed)


def _files(frame: Frame, function: Function) -> dict[str, Value]:
    """Return what the program has saved, for a function of a module in which files are used."""
    module = function.module
    if not module.recall("files", lambda: module.survey.saves, False):
        return {}
    if frame.state.content(FILES) is None:
        frame.state.put(FILES, DictContent({}))
    return {"(files)": FILES}


def _globals(frame: Frame, function: Function) -> dict[str, Value]:
    """Return what the module's own code, which the call comes from, has in its variables by then.

    Only what the function, or one that it calls by its name, reads.
    """
    if function.module is not frame.module:
        return {}
    known = frame.state.vars if frame.function is None else frame.globals
    if not known:
        return {}
    return {name: known[name] for name in _read_by(function.module, function.node) if name in known}


@asks_about("read by")
def _read_by(module: Module, function: ast.AST) -> tuple[str, ...]:
    """Return the variables of a module that a function reads, or what it names there."""
    telling = about("read by", module, function)
    return module.recall(
        ("read by", function), lambda: _read(module, function), (), telling=telling
    )


def _read(module: Module, function: ast.AST) -> tuple[str, ...]:
    found: dict[str, None] = {}
    waiting, seen = [function], {function}
    while waiting:
        for name in sorted(names_in(waiting.pop())):
            bound = module.syntax.bound(name)
            inner = [one for one in bound if isinstance(one, DEFINITIONS)]
            if bound and not inner and name not in module.survey.reassigned:
                found.setdefault(name)
            waiting += (one for one in inner if one not in seen)
            seen.update(inner)
    return tuple(found)


_GIVEN_UP: Final = object()
"""What is known of a call that takes more steps than it may."""


class _Question(NamedTuple):
    """By what a call is remembered: what it sees, and what of its caller's state may count in it.

    `under_condition` is as in `Facts`, `by_default` as in `Frame`.
    """

    seen: Key
    apart: bool
    under_condition: bool
    by_default: bool = False


def _question(frame: Frame, seen: View, apart: bool) -> _Question:
    """Return by what a call is remembered: by whether the command line is read where that counts.

    What is known of a call that doesn't read it holds with and without its defaults.
    """
    question = _Question(seen.key, apart, frame.state.facts.under_unknown_condition)
    if frame.by_default:
        known = frame.program.memory.find(question)
        if not isinstance(known, CallSummary) or known.reads_command_line:
            return question._replace(by_default=True)
    return question


def _depth(function: Function) -> Depth:
    return LIBRARY if is_installed(function.module.source.path) else OWN


def _known(
    memory: Memory, budget: Budget, question: _Question, limited: Hashable, allowed: int
) -> object:
    """Return what is known of a call, else `MISSING`.

    That is what it gives with all the steps that it takes, where it may take them, or with those
    that it may take. What goes by no condition is the same under each.
    """
    known = memory.find(question)
    if isinstance(known, CallSummary) and known.pace.needs <= allowed:
        return known
    if known is MISSING:
        other = question._replace(under_condition=not question.under_condition)
        elsewhere = memory.find(other)
        if isinstance(elsewhere, CallSummary) and not elsewhere.asks_condition:
            if elsewhere.pace.needs <= allowed:
                return elsewhere
    before = budget.charged.get(question)
    if before is not None:
        found = memory.find(before)
        return known if found is MISSING else found
    return memory.find(limited)


@dataclass(frozen=True, slots=True)
class CallSummary:
    """What a call gives: its result, what it changes on the heap, and what goes wrong in it.

    `seen` is what the call saw. `taught` is what is known afterwards, `facts` all of it where
    something was forgotten, or what the call saw can't be told. `pace` is how many steps it took,
    and with how many all in it can be run to its end. It `lasts` if it is what any call gives that
    sees the same, but for the unknowns, and the ones among several, that come into being with the
    call, if there are `new` ones. `names` is what the unknowns that it saw were called in the end.
    `suspected` is what may go wrong in it. `reads_command_line`: it depends on what is given there;
    `asks_condition`: on whether the call is under an unknown condition.
    """

    value: Value
    changes: dict[Ref, Content]
    faults: tuple[Fault, ...]
    seen: View | None
    taught: Lesson
    facts: Facts | None
    pace: Pace
    lasts: bool = False
    new: bool = True
    names: tuple[str, ...] = ()
    suspected: tuple[Fault, ...] = ()
    reads_command_line: bool = False
    asks_condition: bool = False

    def at(self, seen: View) -> CallSummary:
        """Return what a call gives that sees this, which is like what was seen."""
        assert self.seen is not None
        seen.label(self.names)
        places = dict(zip(self.seen.refs, seen.refs, strict=True))
        for ref in self.changes:
            if ref not in places:
                places[ref] = Ref()
        same = not self.new and self.seen.stands_for_itself(seen)
        same = same and self.seen.closures == seen.closures
        if same and all(one is other for one, other in places.items()):
            return self
        moving = self.seen.renewing(seen, places)
        changes = {places[ref]: moving.content(held) for ref, held in self.changes.items()}
        value, taught = moving.value(self.value), self.taught.moved(moving)
        # `dataclasses.replace` takes longer than all of the rest here.
        return CallSummary(
            value,
            changes,
            self.faults,
            self.seen,
            taught,
            self.facts,
            self.pace,
            self.lasts,
            self.new,
            self.names,
            self.suspected,
            self.reads_command_line,
            self.asks_condition,
        )


@dataclass(frozen=True, slots=True)
class _Once:
    """What a call gave and took that gives something else each time, as a closure is."""

    about: tuple[Hashable, ...]
    given: Hashable
    pace: Pace

    @staticmethod
    def of(outcome: CallSummary) -> object:
        """Return it, `MISSING` where it can't be told."""
        about = _told_of(outcome)
        return MISSING if about is None else _Once(*about, outcome.pace)


class _OfCalls(Likeness):
    """Whether two runs of a call that saw the same give the same to any caller."""

    is_timed = True

    def are_alike(self, one: object, other: object) -> bool:
        if isinstance(one, CallSummary) and isinstance(other, CallSummary):
            told = _told_of(one)
            is_same = told is not None and told == _told_of(other)
        elif isinstance(one, _Once) and isinstance(other, _Once):
            is_same = (one.about, one.given) == (other.about, other.given)
        else:
            return one is other
        return is_same and one.pace.is_near(other.pace)

    def more(self, one: object, other: object) -> int:
        before, now = _pace(one), _pace(other)
        return 0 if before is None or now is None else before.more(now)

    def drift(self, one: object, other: object) -> int:
        before, now = _pace(one), _pace(other)
        return 0 if before is None or now is None else before.drift(now)

    def later(self, found: object, more: int) -> int:
        pace = _pace(found)
        return 0 if pace is None else pace.later(more)

    def lasts(self, found: object) -> bool:
        return not isinstance(found, _Once)


_OF_CALLS: Final = _OfCalls()


def _pace(found: object) -> Pace | None:
    """Return how long a call took, None for one that took too long."""
    return found.pace if isinstance(found, (CallSummary, _Once)) else None


def _told_of(outcome: CallSummary) -> tuple[tuple[Hashable, ...], Hashable] | None:
    """Return what any caller is told of a call, and what it gives; None where that can't be."""
    if outcome.seen is None or outcome.facts is not None:
        return None
    given = _given(outcome, outcome.seen)
    return None if given is None else (_about(outcome), given)


def _about(outcome: CallSummary) -> tuple[Hashable, ...]:
    return (
        outcome.new,
        outcome.names,
        outcome.reads_command_line,
        outcome.asks_condition,
        outcome.taught.doubted,
        outcome.faults,
        outcome.suspected,
    )


def _given(outcome: CallSummary, seen: View) -> Hashable:
    """Return what a call gives, as the call saw things; None where that can't be told."""
    changed = tuple(ref in outcome.changes for ref in seen.refs)
    # First what was seen: each of it stands for itself, and all else for what came to be.
    values = (tuple(map(Size.of, seen.unknowns)), seen.refs, outcome.value, outcome.taught.values)
    found = view(values, outcome.changes, Facts(), changed)
    return None if found is None else found.key


def _asked_again(
    frame: Frame, call: _Call, seen: View, allowed: int, apart: bool
) -> Callable[[], object]:
    """Return what makes a call once more as it was seen, without its caller.

    That gives what is kept of it.
    """
    function, depth, active = call.function, frame.depth, [*frame.budget.active]
    by_default, hides_names = frame.by_default, frame.hides_names
    heap = {ref: frame.state.content(ref) for ref in seen.refs}
    facts = frame.state.facts.copy()
    names = [symbol.name for symbol in seen.unknowns]
    matcher = call.matcher
    if matcher is not None:
        matcher = Matcher(Facts(), names={**matcher.names}, runs={**matcher.runs})
    call = _Call(function, dict(call.values), call.shared, matcher)

    def again() -> object:
        state, budget = State({}, {}, dict(heap), facts.copy()), Budget(active=[*active])
        caller = Frame(function.module, state, quiet=True, depth=depth, budget=budget)
        caller.by_default, caller.hides_names = by_default, hides_names
        names_now = [symbol.name for symbol in seen.unknowns]
        _rename(seen.unknowns, names)
        try:
            inner = Budget(allowed, depth=_depth(function)).followed(apart)
            outcome = _run(caller, call, inner, seen)
        finally:
            _rename(seen.unknowns, names_now)
        if outcome is None:
            caller.program.memory.limited()
        return _kept(outcome)

    return again


def _rename(unknowns: Sequence[Sym], names: Sequence[str]) -> None:
    """Have unknowns be called what they were, or are, elsewhere."""
    for symbol, name in zip(unknowns, names, strict=True):
        symbol.name = name


def _run(frame: Frame, call: _Call, budget: Budget, seen: View | None = None) -> CallSummary | None:
    """Make a call, with what was seen of the heap; None where it takes too many steps."""
    function, matcher, outer = call.function, call.matcher, frame.state
    heap = dict(outer.heap) if seen is None else {r: outer.content(r) for r in seen.refs}
    before, allowed, asked = outer.facts.copy(), budget.left, Facts.times_asked
    before.doubted = frozenset()  # what the caller doubts isn't among what a call is told by
    start = State(dict(call.values), {}, dict(heap), before.copy())
    inner = Frame(
        function.module, start, function=function, faults=[], depth=frame.depth + 1, budget=budget
    )
    inner.neighbours, inner.globals = frame.neighbours, call.shared
    inner.by_default = frame.by_default
    inner.hides_names = frame.hides_names or declaration(function).shaped
    inner.state.facts.autocast = autocast.decorated(function, before)
    inner.state.facts.features = frozenset()  # nor are these
    if matcher is not None:
        inner.matcher.names.update(matcher.names)
        inner.matcher.runs.update(matcher.runs)
        promise(inner, function)
    budget.active = active = frame.budget.active
    active.append(function.node)
    numbered = NUMBERS.given
    try:
        value, end = _outcome(inner, function)
    except BudgetExceeded:
        return None
    finally:
        active.pop()
        inner.let_go()
    _write_back(inner, end)
    end.facts.under_unknown_condition = before.under_unknown_condition
    end.facts.autocast, end.facts.features = before.autocast, before.features
    kept = end.kept(value, State(heap=heap))
    changes = {r: c for r, c in kept.items() if r not in heap or heap[r] is not c}
    if declaration(function).shaped:
        unforeseen = Unforeseen({})
        value = unforeseen.value(value)
        changes = {ref: unforeseen.content(content) for ref, content in changes.items()}
    faults = () if inner.faults is None else tuple(inner.faults[:1])
    suspected = tuple(inner.suspected)
    pace = Pace.of(allowed - max(budget.left, 0), budget.needs)
    if seen is None:
        return CallSummary(
            value,
            changes,
            faults,
            None,
            NOTHING_NEW,
            end.facts,
            pace,
            suspected=suspected,
            reads_command_line=inner.reads_command_line,
        )
    found = [value, *(held for content in changes.values() for held in inside(content))]
    met = {*seen.unknowns, *(symbol for held in found for symbol in unknowns(held))}
    taught = Lesson.of(before, end.facts, met)
    met.update(unknowns(taught.values))
    kept_all = before.atoms.keys() <= end.facts.atoms.keys()
    facts = None if kept_all and before.runs.keys() <= end.facts.runs.keys() else end.facts
    enclosed = {function for held in found for function in enclosing(held)}
    lasts = facts is None and enclosed.issubset(seen.closures)
    new = len(met) > len(seen.unknowns) or NUMBERS.given > numbered
    called = seen.names()
    return CallSummary(
        value,
        changes,
        faults,
        seen,
        taught,
        facts,
        pace,
        lasts,
        new,
        called,
        suspected,
        inner.reads_command_line,
        asked < Facts.times_asked,
    )


def _given_up(frame: Frame, function: Function, values: Mapping[str, Value]) -> Value:
    """Return what is known after a call that isn't looked into: less than before it.

    What it calls in turn may be any method of what it is given.
    """
    state, is_init = frame.state, function.name == "__init__"
    for value in values.values():
        if is_init or state.instance_of(value) is None:
            state.forget(value)
    syntax = function.module.syntax
    own = syntax.stored(function.node), syntax.mentioned(function.node)
    for ref in [*reachable(values.values(), state.heap)]:
        content = state.instance_of(ref)
        if content is None:
            continue
        stored, altered = changed_by_methods(content.cls)
        if ref in values.values():
            stored, altered = stored | own[0], altered.union(*own)
        for name in altered & content.attrs.keys():
            if state.container_of(content.attrs[name]) is not None:
                state.put(content.attrs[name], None)
        if ANY_NAME in stored:
            stored = stored | content.attrs.keys()
        open_ = dict.fromkeys(stored - {ANY_NAME}, UNKNOWN)  # and no more what the class says
        state.put(ref, content.with_attrs({**content.attrs, **open_}))
    return UNKNOWN


def _write_back(inner: Frame, end: State) -> None:
    """Give the variables that a function declares `nonlocal` to the function that has them."""
    if inner.outer is not None:
        for name in inner.outer_names:
            if name in end.vars:
                inner.outer.rebind(name, end.vars[name])


def _outcome(frame: Frame, function: Function) -> tuple[Value, State]:
    """Run a function's body; return its result and the state in which it ends."""
    match function.node:
        case ast.Lambda(body=body):
            return frame.eval(body), frame.state
    if is_generator(function):
        return outcome(frame, body_of(function.node))
    frame.run(body_of(function.node))
    return end_of(frame)


def end_of(frame: Frame) -> tuple[Value, State]:
    """Return what a body that was run gives, and the state at its end, joined over all ends."""
    ends = [*frame.returns, *([(None, frame.state)] if frame.alive else [])]
    if not ends:
        return UNKNOWN, frame.state
    value, end = ends[0]
    for other, its_end in ends[1:]:
        value, end = frame.joined_with(value, end, other, its_end)
    return value, end
