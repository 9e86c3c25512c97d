"""Says where in an expression an axis that had a name became a number."""

from __future__ import annotations

import ast

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.shapes import Misfit, Tensor


def where_lost(frame: Frame, node: ast.expr, tensor: Tensor, misfit: Misfit) -> tuple[str, ...]:
    """Return a note that tells it of what is given out; nothing where it can't be told.

    `misfit` is about the axis, which is a number: that is of interest where a name was promised.
    """
    facts, axis = frame.state.facts, misfit.axis
    rank = facts.shape(tensor.shape).rank
    if rank is None or axis is None or misfit.value is None or not isinstance(misfit.actual, int):
        return ()
    if isinstance(facts.dim(misfit.value), int):
        return ()
    if isinstance(node, ast.Name):
        since = frame.state.since.get(node.id)
        if since is None:
            return ()
        frame.module.syntax.placed()
        return (f'"{node.id}" is {tensor} since line {since}',)
    while True:
        inner = _operand(node)
        before = None if inner is None else frame.hush(Frame.eval, inner)
        if inner is None or not isinstance(before, Tensor):
            return ()
        shape = facts.shape(before.shape)
        if shape.rank != rank:
            return ()
        if not isinstance(shape.at(axis), int):
            whole, part = frame.segment(inner), frame.segment(node)
            return (
                f'axis {axis} is {shape.at(axis)} in "{whole}" and {misfit.actual} in "{part}"',
            )
        node = inner


def _operand(node: ast.expr) -> ast.expr | None:
    """Return the tensor that an expression takes an axis of: a receiver, or a first argument."""
    match node:
        case ast.Subscript(value=value):
            return value
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch" | "F")), args=[first, *_]):
            return first
        case ast.Call(func=ast.Attribute(value=value)):
            return value
    return None
