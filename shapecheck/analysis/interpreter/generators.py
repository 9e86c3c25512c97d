"""Generators: what their bodies yield, and the context managers that are made of them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from shapecheck.analysis.interpreter import autocast
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import iterate
from shapecheck.analysis.interpreter.registry import expression
from shapecheck.analysis.program.model import Function, Value
from shapecheck.analysis.program.syntax import nodes_of
from shapecheck.analysis.values.model import Context, Items
from shapecheck.analysis.values.state import State, Yielded
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import only

_MOST: Final = 64
"""As many values are told apart that one generator yields."""


def is_generator(function: Function) -> bool:
    """Whether a function yields."""
    return function.module.syntax.is_generator(function.node)


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
    state.vars = {}
    if len(frame.yields) >= _MOST:
        last = frame.yields.pop()
        value, state = frame.joined_with(last.value, last.state, value, state)
        once = False
    frame.yields.append(Yielded(value, state, once))


def outcome(frame: Frame, body: Sequence[ast.stmt]) -> tuple[Value, State]:
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
    element, joined = frame.yields[0].value, frame.yields[0].state
    for one in frame.yields[1:]:
        element, joined = frame.joined_with(element, joined, one.value, one.state)
    after = frame.joined(after, joined)
    if all(one.once for one in frame.yields):
        return Items(tuple(one.value for one in frame.yields)), after
    return Items(None, element), after


def entered(frame: Frame, function: Function, made: Value) -> Context:
    """Return the context manager that `@contextmanager` makes of a generator function's result."""
    items, element = iterate(frame, made)
    tries = nodes_of(ast.Try, function.node)
    swallows = any(_around_yield(node) and any(map(_ends, node.handlers)) for node in tries)
    around = frame.state.facts.autocast
    lower = autocast.around_yields(function, around)
    return Context(items[0] if items else element, swallows, None if lower == around else lower)


def _around_yield(node: ast.Try) -> bool:
    return any(nodes_of(ast.Yield, *node.body))


def _ends(handler: ast.ExceptHandler) -> bool:
    """Whether what a handler catches may end there."""
    return not only(handler.body, ast.Raise)
