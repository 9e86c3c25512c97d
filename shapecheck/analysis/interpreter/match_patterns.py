"""What the patterns of a `match` say of what they match."""

from __future__ import annotations

import ast

import shapecheck.dims as dims
from shapecheck.analysis.interpreter.dict_contents import fetch
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.narrowing import Paths, equality, of_kind
from shapecheck.analysis.interpreter.narrowing import split as split_condition
from shapecheck.analysis.program.model import Value, literal
from shapecheck.analysis.values.state import State
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import only
from shapecheck.shapes import runs_in


def split(frame: Frame, pattern: ast.pattern, value: Value, node: ast.expr | None) -> Paths:
    """Match a value; return the states where the pattern fits and where it doesn't.

    A state is None where the program can't get to. `node` is the expression of the value.
    """
    match pattern:
        case ast.MatchAs(pattern=inner, name=name):
            return _capture(frame, inner, name, value, node, pattern.lineno)
        case ast.MatchOr(patterns=patterns):
            return _any_of(frame, patterns, value, node)
        case ast.MatchValue(value=wanted) if node is not None:
            return split_condition(frame, _compare(node, ast.Eq(), wanted))
        case ast.MatchValue(value=wanted):
            return equality(frame, value, frame.eval(wanted))
        case ast.MatchSingleton(value=wanted) if node is not None:
            constant = ast.copy_location(ast.Constant(wanted), pattern)
            return split_condition(frame, _compare(node, ast.Is(), constant))
        case ast.MatchClass(cls=cls, patterns=[], kwd_patterns=[]):
            return of_kind(frame, node, value, cls)
        case ast.MatchSequence(patterns=patterns):
            return _sequence(frame, pattern, patterns, value)
        case ast.MatchMapping(keys=keys, patterns=patterns):
            yes, no = _unread(frame, pattern)
            frame.resume(yes)
            content = frame.state.dict_of(value)
            for key, inner in zip(keys, patterns, strict=True):
                held: Value = UNKNOWN
                if content is not None:
                    held = fetch(frame, value, content, literal(key))
                _into(frame, inner, held)
            return frame.state, no
    return _unread(frame, pattern)


def _compare(left: ast.expr, op: ast.cmpop, right: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Compare(left, [op], [right]), right)


def _unread(frame: Frame, pattern: ast.pattern) -> Paths:
    """Return the paths of a pattern of which only the names that it binds are known."""
    yes, no = frame.fork(), frame.state
    yes.facts.under_unknown_condition = no.facts.under_unknown_condition = True
    for child in ast.walk(pattern):
        match child:
            case (
                ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
            ):
                yes.vars[name] = UNKNOWN
    return yes, no


def _capture(
    frame: Frame,
    inner: ast.pattern | None,
    name: str | None,
    value: Value,
    node: ast.expr | None,
    line: int,
) -> Paths:
    yes, no = (frame.state, None) if inner is None else split(frame, inner, value, node)
    if yes is not None and name is not None:
        yes.vars[name] = value
        yes.since[name] = line
    return yes, no


def _any_of(
    frame: Frame, patterns: list[ast.pattern], value: Value, node: ast.expr | None
) -> Paths:
    yes: State | None = None
    for pattern in patterns:
        holds, no = split(frame, pattern, value, node)
        yes = holds if yes is None else yes if holds is None else frame.joined(yes, holds)
        if no is None:
            return yes, None
        frame.resume(no)
    return yes, frame.state


def _into(frame: Frame, pattern: ast.pattern, value: Value) -> bool:
    """Go on where a part of a value fits; whether that is all there is to know."""
    yes, no = split(frame, pattern, value, None)
    if yes is not None:
        frame.resume(yes)
    return no is None


def _sequence(
    frame: Frame, pattern: ast.pattern, patterns: list[ast.pattern], value: Value
) -> Paths:
    """Match `(b, c, h, w)`: a shape of unknown rank is learned to have so many axes."""
    before = frame.fork()
    items = frame.state.items_of(value)
    runs = runs_in(items or ())
    if items is None or len(runs) > 1 or only(patterns, ast.MatchStar):
        return _unread(frame, pattern)
    sure = not runs
    for at, run in runs:
        count = len(patterns) - len(items) + 1
        if count < 0:
            return None, before
        found = tuple(dims.unknown(_label(one)) for one in patterns[at : at + count])
        frame.state.facts.learn_run(run.symbol, found)
        items = (*items[:at], *found, *items[at + 1 :])
    if len(items) != len(patterns):
        return None, before
    for one, item in zip(patterns, items, strict=True):
        sure = _into(frame, one, item) and sure
    return frame.state, None if sure else before


def _label(pattern: ast.pattern) -> str:
    return getattr(pattern, "name", None) or "_"
