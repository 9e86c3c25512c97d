"""The functions of the `operator` module."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from shapecheck.analysis.interpreter import instances
from shapecheck.analysis.interpreter.calls import invoke
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.operators import compared_values, item, operate, signed
from shapecheck.analysis.interpreter.registry import Named, family, function
from shapecheck.analysis.program.model import Dotted
from shapecheck.analysis.values.model import Argument, Arguments, Partial
from shapecheck.ops import UNKNOWN, Value

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


@family(*(f"operator.{name}" for name in _BINARY))
def _binary(name: str, frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    if len(args) != 2:
        return UNKNOWN
    label = f"operator.{name}"
    return operate(frame, node, _BINARY[name], args[0], args[1], _nodes(node), label=label)


@family(*(f"operator.{name}" for name in _UNARY))
def _unary(name: str, frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return signed(frame, node, _UNARY[name], args[0], _nodes(node)[0]) if args else UNKNOWN


@family(*(f"operator.{name}" for name in _COMPARE))
def _compare(name: str, frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    if len(args) != 2:
        return UNKNOWN
    return compared_values(frame, node, _COMPARE[name], args[0], args[1], _nodes(node))


def _nodes(node: ast.Call) -> tuple[ast.expr, ast.expr]:
    """Return the expressions of two operands, where the function is called with them."""
    if len(node.args) == 2 and not node.keywords:
        return node.args[0], node.args[1]
    return node, node


@function("operator.getitem")
def _getitem(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return item(frame, node, args[0], args[1], _nodes(node)[0]) if len(args) == 2 else UNKNOWN


@family("operator.itemgetter", "operator.attrgetter", "operator.methodcaller")
def _getter(name: str, frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    if not args or (name != "methodcaller" and len(args) > 1):
        return UNKNOWN
    target = Dotted(f"operator.{name}()")
    return Partial(target, (tuple(args),), tuple(kwargs.items()))


@function("operator.itemgetter()")
def _get_item(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    (index,), owner = args
    return item(frame, node, owner, index, node)


@function("operator.attrgetter()")
def _get_attribute(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    (path,), owner = args
    for name in path.split(".") if isinstance(path, str) else ():
        owner = instances.get_attribute(frame, owner, name, node)
    return owner if isinstance(path, str) else UNKNOWN


@function("operator.methodcaller()")
def _call_method(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    (name, *given), owner = args
    if not isinstance(name, str):
        return UNKNOWN
    method = instances.get_attribute(frame, owner, name, node)
    named = {key: Argument(value) for key, value in kwargs.items()}
    return invoke(frame, method, Arguments(tuple(map(Argument, given)), named), node, name)
