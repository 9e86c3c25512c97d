"""Generators: what their bodies yield, and the context managers that are made of them."""

from __future__ import annotations

import ast
from typing import Final

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import iterate
from shapecheck.analysis.interpreter.registry import expression
from shapecheck.analysis.program.model import Function
from shapecheck.analysis.values.model import Context, Items
from shapecheck.analysis.values.state import State, Yielded
from shapecheck.ops import UNKNOWN, Value

_MOST: Final = 64
"""As many values are told apart that one generator yields."""


def is_generator(function: Function) -> bool:
    """Whether a function yields."""
    return function.node in function.module.survey.generators


@expression(ast.Yield)
def _yield(frame: Frame, node: ast.Yield) -> Value:
    errors = frame.errors
    value = None if node.value is None else frame.eval(node.value)
    if node.value is not None and frame.errors == errors:
        value = _checked(frame, node.value, value)
    _give(frame, value, True)
    return UNKNOWN


@expression(ast.YieldFrom)
def _yield_from(frame: Frame, node: ast.YieldFrom) -> Value:
    items, element = iterate(frame, frame.eval(node.value))
    for item in (element,) if items is None else items:
        _give(frame, _checked(frame, node, item), items is not None)
    return UNKNOWN


def _checked(frame: Frame, node: ast.expr, value: Value) -> Value:
    return value if frame.check_yield is None else frame.check_yield(node, value)


def _give(frame: Frame, value: Value, one: bool) -> None:
    once = one and not frame.doubt and all(loop.unrolled for loop in frame.loops)
    state = frame.fork()
    state.vars = {"\0": value}
    if len(frame.yields) >= _MOST:
        last = frame.yields.pop()
        state, once = frame.joined(last.state, state), False
        value = state.vars["\0"]
    frame.yields.append(Yielded(value, state, once))


def outcome(frame: Frame, body: list[ast.stmt]) -> tuple[Value, State]:
    """Run a generator's body; return an iterator over what it yields, and the state behind it.

    The caller goes on at any of the yields, or before the body has begun.
    """
    after = frame.fork()
    after.vars = {}
    frame.run(body)
    for _, end in [*frame.returns, *([(None, frame.state)] if frame.alive else [])]:
        end.vars = {}
        after = frame.joined(after, end)
    if not frame.yields:
        return Items(()), after
    joined = frame.yields[0].state
    for one in frame.yields[1:]:
        joined = frame.joined(joined, one.state)
    element = joined.vars.pop("\0")
    after = frame.joined(after, joined)
    if all(one.once for one in frame.yields):
        return Items(tuple(one.value for one in frame.yields)), after
    return Items(None, element), after


def entered(frame: Frame, function: Function, made: Value) -> Context:
    """Return the context manager that `@contextmanager` makes of a generator function's result."""
    items, element = iterate(frame, made)
    tries = (node for node in ast.walk(function.node) if isinstance(node, ast.Try))
    swallows = any(_around_yield(node) and any(map(_ends, node.handlers)) for node in tries)
    return Context(items[0] if items else element, swallows)


def _around_yield(node: ast.Try) -> bool:
    return any(isinstance(child, ast.Yield) for part in node.body for child in ast.walk(part))


def _ends(handler: ast.ExceptHandler) -> bool:
    """Whether what a handler catches may end there."""
    return not any(isinstance(node, ast.Raise) for node in handler.body)
