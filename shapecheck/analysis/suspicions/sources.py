"""What an expression in a suspected call is made from, as it is written."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Final

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.op_calls import plain
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.program.syntax import (
    elements,
    given_to,
    kept_by_node,
    name_of,
    nodes_of,
    stored_in,
)
from shapecheck.analysis.values.model import OpInstance

RECURRENT: Final = ("RNN", "LSTM", "GRU")


def source_of(frame: Frame, node: ast.expr | None) -> ast.expr | None:
    """Return the expression that a variable was last set to, and any other as it is."""
    name = name_of(node)
    return node if name is None else frame.state.sources.get(name)


def unpacked_from(frame: Frame, node: ast.expr | None, place: int = 0) -> ast.expr | None:
    """Return what a variable is an item of by the last assignment to it: `out, state = lstm(x)`.

    `place`: which item it is; the items of that one count as it, as in `out, (h, c) = lstm(x)`.
    """
    name = name_of(node)
    if name is None or node is None:
        return None
    assigned = _assigned(body(frame)).get(name, ())
    before = bisect_left(assigned, node.lineno, key=lambda one: one[0])
    if not before:
        return None
    _, target, value = assigned[before - 1]
    parts = elements(target) or []
    is_there = place < len(parts) and name in stored_in(parts[place])
    return value if is_there else None


@kept_by_node(64)
def _assigned(tree: ast.AST) -> Mapping[str, Sequence[tuple[int, ast.expr, ast.expr]]]:
    """Return the assignments to each variable, by line: each one's line, target and value."""
    found: dict[str, list[tuple[int, ast.expr, ast.expr]]] = {}
    for node in sorted(nodes_of(ast.Assign, tree), key=lambda one: one.lineno):
        for target in node.targets:
            for name in stored_in(target):
                found.setdefault(name, []).append((node.lineno, target, node.value))
    return found


def value_of(frame: Frame, node: ast.expr) -> Value:
    """Return what an expression is worth, as op rules see it."""
    return plain(frame, frame.hush(Frame.eval, node))


def body(frame: Frame) -> ast.AST:
    """Return the function that is run, or the module."""
    return frame.module.syntax.tree if frame.function is None else frame.function.node


def argument(node: ast.AST, *params: str) -> dict[str, ast.expr]:
    """Return what a call gives parameters, by their names; nothing for what isn't a call."""
    return given_to(params, node) if isinstance(node, ast.Call) else {}


def is_made_by_layer(frame: Frame, node: ast.expr | None) -> bool:
    """Whether an expression is what a layer or model gives, and so a batch of items."""
    source = source_of(frame, node)
    if not isinstance(source, ast.Call):
        return False
    target = frame.hush(Frame.eval, source.func)
    return isinstance(target, OpInstance) or frame.state.content(target) is not None


def same(one: ast.AST, other: ast.AST) -> bool:
    """Whether two pieces of source say the same."""
    return ast.dump(one) == ast.dump(other)


def terms(node: ast.expr, most: int) -> list[tuple[ast.expr, int]]:
    """Return what an expression adds up, each with its sign; nothing where that is more than most.

    The first comes last.
    """
    found: list[tuple[ast.expr, int]] = []
    waiting = [(node, 1)]
    while waiting and len(found) <= most:
        one, sign = waiting.pop()
        match one:
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
                waiting += [(left, sign), (right, sign if isinstance(op, ast.Add) else -sign)]
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                waiting.append((inner, -sign))
            case _:
                found.append((one, sign))
    return found if len(found) <= most else []
