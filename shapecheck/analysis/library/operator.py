"""The functions of the `operator` module."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from shapecheck.analysis.interpreter.calls import invoke
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.kinds import attribute
from shapecheck.analysis.interpreter.operators import compared_values, item, operate, signed
from shapecheck.analysis.interpreter.registry import MANY, LibraryCall, function
from shapecheck.analysis.program.model import Dotted, Value
from shapecheck.analysis.values.model import Argument, Arguments, Partial
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import as_text

_BINARY: Final[Mapping[str, ast.operator]] = {
    "add": ast.Add(),
    "concat": ast.Add(),
    "sub": ast.Sub(),
    "mul": ast.Mult(),
    "truediv": ast.Div(),
    "floordiv": ast.FloorDiv(),
    "mod": ast.Mod(),
    "pow": ast.Pow(),
    "matmul": ast.MatMult(),
    "and_": ast.BitAnd(),
    "or_": ast.BitOr(),
    "xor": ast.BitXor(),
}
_UNARY: Final[Mapping[str, ast.unaryop]] = {
    "neg": ast.USub(),
    "pos": ast.UAdd(),
    "invert": ast.Invert(),
    "inv": ast.Invert(),
    "not_": ast.Not(),
}
_COMPARE: Final[Mapping[str, ast.cmpop]] = {
    "eq": ast.Eq(),
    "ne": ast.NotEq(),
    "lt": ast.Lt(),
    "le": ast.LtE(),
    "gt": ast.Gt(),
    "ge": ast.GtE(),
}


@function(*(f"operator.{name}" for name in _BINARY), takes=2)
def _binary(frame: Frame, call: LibraryCall) -> Value:
    label = f"operator.{call.name}"
    return operate(
        frame,
        call.node,
        _BINARY[call.name],
        call.args[0],
        call.args[1],
        _nodes(call.node),
        label=label,
    )


@function(*(f"operator.{name}" for name in _UNARY))
def _unary(frame: Frame, call: LibraryCall) -> Value:
    return (
        signed(frame, call.node, _UNARY[call.name], call.args[0], _nodes(call.node)[0])
        if call.args
        else UNKNOWN
    )


@function(*(f"operator.{name}" for name in _COMPARE), takes=2)
def _compare(frame: Frame, call: LibraryCall) -> Value:
    return compared_values(
        frame, call.node, _COMPARE[call.name], call.args[0], call.args[1], _nodes(call.node)
    )


def _nodes(node: ast.Call) -> tuple[ast.expr, ast.expr]:
    """Return the expressions of two operands, where the function is called with them."""
    if len(node.args) == 2 and not node.keywords:
        return node.args[0], node.args[1]
    return node, node


@function("operator.getitem", takes=2)
def _getitem(frame: Frame, call: LibraryCall) -> Value:
    return item(frame, call.node, call.args[0], call.args[1], _nodes(call.node)[0])


@function("operator.itemgetter", "operator.attrgetter", takes=1)
@function("operator.methodcaller", takes=(1, MANY))
def _getter(frame: Frame, call: LibraryCall) -> Value:
    target = Dotted(f"operator.{call.name}()")
    return Partial(target, (tuple(call.args),), tuple(call.kwargs.items()))


def _bound(args: list[Value]) -> tuple[tuple[Value, ...], Value]:
    """Return what a getter was made with, and what it is called with."""
    made, owner = args
    return (made if isinstance(made, tuple) else (UNKNOWN,)), owner


@function("operator.itemgetter()")
def _get_item(frame: Frame, call: LibraryCall) -> Value:
    ((index,), owner) = _bound(call.args)
    return item(frame, call.node, owner, index, call.node)


@function("operator.attrgetter()")
def _attribute(frame: Frame, call: LibraryCall) -> Value:
    (given,), owner = _bound(call.args)
    path = as_text(given)
    if path is None:
        return UNKNOWN
    for name in path.split("."):
        owner = attribute(frame, owner, name, call.node)
    return owner


@function("operator.methodcaller()")
def _call_method(frame: Frame, call: LibraryCall) -> Value:
    (named, *given), owner = _bound(call.args)
    name = as_text(named)
    if name is None:
        return UNKNOWN
    method = attribute(frame, owner, name, call.node)
    kwargs = {key: Argument(value) for key, value in call.kwargs.items()}
    return invoke(frame, method, Arguments(tuple(map(Argument, given)), kwargs), call.node, name)
