"""Calls of functions that are looked into: run on what the caller passes, and remembered."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from shapecheck.analysis.interpreter import autocast
from shapecheck.analysis.interpreter.body import promise
from shapecheck.analysis.interpreter.frame import (
    MAX_DEPTH,
    MAX_RECURSION,
    Budget,
    BudgetExceeded,
    Frame,
)
from shapecheck.analysis.interpreter.generators import is_generator, outcome
from shapecheck.analysis.interpreter.summaries import NOTHING_NEW, Lesson, View, view
from shapecheck.analysis.program.answers import MISSING
from shapecheck.analysis.program.faults import Fault, Step, given
from shapecheck.analysis.program.model import Function, Value
from shapecheck.analysis.program.reading import body_of
from shapecheck.analysis.values.heap import enclosing, inside, unknowns
from shapecheck.analysis.values.model import Content, Instance, Ref
from shapecheck.analysis.values.paths import is_one
from shapecheck.analysis.values.state import State
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import only
from shapecheck.shapes import Facts, Matcher


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
    if frame.depth >= MAX_DEPTH or budget.active.count(function.node) >= MAX_RECURSION:
        memory.limited()
        return UNKNOWN
    seen = view(
        (function, *values.values()), outer.heap, outer.facts, *values, outer.facts.autocast
    )
    question = None if seen is None else ("call", seen.key, apart)
    known: Any = MISSING if question is None else memory.find(question)
    allowed = budget.left // 2
    outcome: CallSummary | None
    # Whether or not it is known: what is found doesn't depend on what is remembered.
    if question not in budget.charged and allowed <= budget.failed.get(function.node, -1):
        memory.limited()
        return _given_up(frame, function, values)
    if seen is None:
        inner = Budget(allowed, charged=budget.charged).followed(apart)
        outcome = _run(frame, function, values, matcher, inner)
    elif known is not MISSING and (question in budget.charged or known.needs <= allowed):
        outcome = known.at(seen)
    elif memory.is_open(question):
        return UNKNOWN
    else:
        if seen.passing:
            memory.passing(question)
        with memory.answering(question, within_limits=True) as keep:
            inner = Budget(allowed).followed(apart)
            outcome = _run(frame, function, values, matcher, inner, seen)
            if outcome is not None and outcome.lasts:
                keep(outcome)
                outcome = outcome.at(seen)
    if outcome is None:
        budget.left -= allowed
        budget.failed[function.node] = max(allowed, budget.failed.get(function.node, 0))
        memory.limited()
        return _given_up(frame, function, values)
    if question not in budget.charged:
        budget.charge(outcome.steps, outcome.needs)
        if outcome.lasts:
            budget.charged.add(question)
    frame.state.facts = outcome.facts or outer.facts
    outcome.taught.teach(frame.state.facts)
    frame.state.put_all(outcome.changes)
    if outcome.faults:
        step = Step(frame.module, node, frame.function, given(values))
        frame.fault(outcome.faults[0].through(step))
        return UNKNOWN
    return outcome.value


@dataclass(frozen=True, slots=True)
class CallSummary:
    """What a call gives: its result, what it changes on the heap, and what goes wrong in it.

    `seen` is what the call saw. `taught` is what is known afterwards, `facts` all of it where
    something was forgotten, or what the call saw can't be told. `steps` is what it took, `needs`
    the least number of steps with which all in it can be run to its end. It `lasts` if it is what
    any call gives that sees the same, but for the unknowns that come into being with the call, if
    there are any `new` ones. `names` is what those that it saw were called in the end.
    """

    value: Value
    changes: dict[Ref, Content]
    faults: tuple[Fault, ...]
    seen: View | None
    taught: Lesson
    facts: Facts | None
    steps: int
    needs: int
    lasts: bool = False
    new: bool = True
    names: tuple[str, ...] = ()

    def at(self, seen: View) -> CallSummary:
        """Return what a call gives that sees this, which is like what was seen."""
        assert self.seen is not None
        seen.label(self.names)
        places = dict(zip(self.seen.refs, seen.refs, strict=True))
        for ref in self.changes:
            if ref not in places:
                places[ref] = Ref()
        same = not self.new and self.seen.unknowns == seen.unknowns
        same = same and self.seen.closures == seen.closures
        if same and all(one is other for one, other in places.items()):
            return self
        moving = self.seen.renewing(seen, places)
        changes = {places[ref]: moving.content(held) for ref, held in self.changes.items()}
        value, taught = moving.value(self.value), self.taught.moved(moving)
        return replace(self, value=value, changes=changes, taught=taught)


def _run(
    frame: Frame,
    function: Function,
    values: Mapping[str, Value],
    matcher: Matcher | None,
    budget: Budget,
    seen: View | None = None,
) -> CallSummary | None:
    """Run a body on values, with what was seen of the heap; None where it takes too many steps."""
    outer = frame.state
    heap = dict(outer.heap) if seen is None else {r: outer.content(r) for r in seen.refs}
    before, allowed = outer.facts.copy(), budget.left
    start = State(dict(values), {}, dict(heap), outer.facts.copy())
    inner = Frame(
        function.module, start, function=function, faults=[], depth=frame.depth + 1, budget=budget
    )
    inner.state.facts.under_unknown_condition = True
    inner.state.facts.autocast = autocast.decorated(function, before)
    if matcher is not None:
        inner.matcher.names.update(matcher.names)
        inner.matcher.runs.update(matcher.runs)
        promise(inner, function)
    budget.active = active = frame.budget.active
    budget.failed = frame.budget.failed
    active.append(function.node)
    try:
        value, end = _outcome(inner, function)
    except BudgetExceeded:
        return None
    finally:
        active.pop()
    _write_back(inner, end)
    end.facts.under_unknown_condition, end.facts.autocast = (
        before.under_unknown_condition,
        before.autocast,
    )
    kept = end.kept(value, State(heap=heap))
    changes = {r: c for r, c in kept.items() if r not in heap or heap[r] is not c}
    faults = () if inner.faults is None else tuple(inner.faults[:1])
    steps = allowed - max(budget.left, 0)
    needs = max(steps, budget.needs)
    if seen is None:
        return CallSummary(value, changes, faults, None, NOTHING_NEW, end.facts, steps, needs)
    found = [value, *(held for content in changes.values() for held in inside(content))]
    met = {*seen.unknowns, *(symbol for held in found for symbol in unknowns(held))}
    taught = Lesson.of(before, end.facts, met)
    met.update(unknowns(taught.values))
    kept_all = before.atoms.keys() <= end.facts.atoms.keys()
    facts = None if kept_all and before.runs.keys() <= end.facts.runs.keys() else end.facts
    made = only((c for r, c in changes.items() if r not in heap), Instance)
    enclosed = {function for held in found for function in enclosing(held)}
    lasts = facts is None and enclosed.issubset(seen.closures)
    lasts = lasts and not any(is_one(one.path) for one in made)
    new = len(met) > len(seen.unknowns)
    called = seen.names()
    return CallSummary(
        value, changes, faults, seen, taught, facts, steps, needs, lasts, new, called
    )


def _given_up(frame: Frame, function: Function, values: Mapping[str, Value]) -> Value:
    """Return what is known after a call whose body takes too long: less than before it."""
    syntax = function.module.syntax
    stored = syntax.stored(function.node)
    touched = stored | syntax.mentioned(function.node)
    for value in values.values():
        content = frame.state.instance_of(value)
        if content is None or function.name == "__init__":
            frame.state.forget(value)
        else:
            for name in touched & content.attrs.keys():
                if frame.state.container_of(content.attrs[name]) is not None:
                    frame.state.put(content.attrs[name], None)
            attrs = {name: held for name, held in content.attrs.items() if name not in stored}
            frame.state.put(value, replace(content, attrs=attrs))
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
