"""`shapecheck.named.op` and its like, which apply any function and name what it gives."""

from __future__ import annotations

import ast

from shapecheck.analysis.interpreter.calls import Arguments, caller, invoke
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.op_calls import Site, apply
from shapecheck.analysis.library.named import PREFIX, begin
from shapecheck.analysis.values.model import Argument
from shapecheck.ops import UNKNOWN, Value


@caller(f"{PREFIX}op")
def _op(frame: Frame, arguments: Arguments, node: ast.Call, label: str) -> Value:
    return _applied(frame, "_op", arguments, node, label, len(arguments.args) - 1)


@caller(f"{PREFIX}reduce")
def _reduce(frame: Frame, arguments: Arguments, node: ast.Call, label: str) -> Value:
    return _applied(frame, "_reduce", arguments, node, label, 1)


@caller(f"{PREFIX}augment")
def _augment(frame: Frame, arguments: Arguments, node: ast.Call, label: str) -> Value:
    return _applied(frame, "_augment", arguments, node, label, 1)


def _applied(
    frame: Frame, name: str, arguments: Arguments, node: ast.Call, label: str, count: int
) -> Value:
    """Apply so many functions, one after the other, and name what the last one gives."""
    if not arguments.args:
        return UNKNOWN
    first, *rest = arguments.args
    found = first
    for function in rest[:count]:
        said = label if function.node is None else frame.segment(function.node)
        found = Argument(invoke(frame, function.value, Arguments((found,), {}), node, said))
    signature = frame.program.table.signature(f"{PREFIX}{name}")
    if signature is None or not begin(frame, arguments.kwargs):
        return found.value
    values = [first.value, found.value, *(one.value for one in rest[count:])]
    site = Site(node, label, args=[first, found])
    return apply(frame, signature, values, arguments.named, site)
