"""What is known of memory once data was put into it."""

from __future__ import annotations

import ast
from dataclasses import replace

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Value
from shapecheck.shapes import Tensor


def written(value: Value) -> Value:
    """Return a tensor as it is with data in it; other values as they are."""
    return replace(value, blank=False) if isinstance(value, Tensor) and value.blank else value


def write_into(frame: Frame, node: ast.expr) -> None:
    """Note that data was put into what an expression gives, or into a part of it: `x[0].data`."""
    while not isinstance(node, ast.Name):
        match node:
            case ast.Subscript(value=inner) | ast.Attribute(value=inner) | ast.Call(func=inner):
                node = inner
            case _:
                return
    value = frame.hush(Frame.eval, node)
    if (whole := written(value)) is not value:
        frame.assign(node.id, whole, frame.state.since.get(node.id, node.lineno))
