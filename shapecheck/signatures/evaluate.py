"""The small part of Python that stands in signatures, over the values of a call."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import shapecheck.dims as dims
from shapecheck.dims import Size
from shapecheck.ops import UNKNOWN, Call, Unknown, Value
from shapecheck.ops.call import Opaque, as_size
from shapecheck.shapes import Run, Shape, Tensor
from shapecheck.signatures.model import Signature


class Lookup(Protocol):
    """Where the evaluator finds other ops and the fields of modules."""

    def signature(self, name: str) -> Signature | None:
        """Return the signature of an op by its dotted name."""
        ...

    def field(self, owner: Mapping[str, Value], name: str) -> Value:
        """Return a field of a module whose attributes are `owner`."""
        ...


def evaluate(table: Lookup, node: ast.expr, scope: Mapping[str, Value], call: Call | None) -> Value:
    """Evaluate an expression; what isn't known comes out as UNKNOWN.

    Names, attributes of `self`, integers, tuples, arithmetic, conditions, indexing, `len`, `min`,
    `max`, and, where a call is at hand, other ops by their dotted name.
    """
    return _Evaluator(table, scope, call).value(node)


@dataclass(frozen=True, slots=True)
class _Axes(Opaque):
    """The `shape` of a tensor, of which an expression takes an axis or how many there are."""

    shape: Shape


class _Evaluator:
    """Evaluates expressions of signatures; what isn't known comes out as UNKNOWN."""

    def __init__(self, table: Lookup, scope: Mapping[str, Value], call: Call | None) -> None:
        self.table, self.scope, self.call = table, scope, call

    def value(self, node: ast.expr) -> Value:
        handler = _HANDLERS.get(type(node))
        if handler is None:
            return UNKNOWN
        try:
            return handler(self, node)
        except (ZeroDivisionError, TypeError, IndexError, OverflowError):
            return UNKNOWN

    def constant(self, node: ast.Constant) -> Value:
        return node.value

    def name(self, node: ast.Name) -> Value:
        return self.scope.get(node.id, UNKNOWN)

    def attribute(self, node: ast.Attribute) -> Value:
        owner = self.value(node.value)
        if isinstance(owner, Mapping):
            found = owner.get(node.attr, UNKNOWN)
            return self.table.field(owner, node.attr) if found is UNKNOWN else found
        if isinstance(owner, Tensor) and node.attr == "shape":
            return _Axes(owner.shape)
        return UNKNOWN

    def tuple(self, node: ast.Tuple) -> Value:
        return tuple(self.value(element) for element in node.elts)

    def subscript(self, node: ast.Subscript) -> Value:
        owner, index = self.value(node.value), self.value(node.slice)
        if isinstance(owner, _Axes) and isinstance(index, int):
            dim = owner.shape.at(index)
            return UNKNOWN if dim is None else dim
        if isinstance(owner, (tuple, list)) and isinstance(index, int):
            item = owner[index]
            return UNKNOWN if isinstance(item, Run) else item
        return UNKNOWN

    def binop(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        if not isinstance(left, (int, Size)) or not isinstance(right, (int, Size)):
            return UNKNOWN
        calculate = dims.ARITHMETIC.get(dims.SYMBOLS[type(node.op)])
        return UNKNOWN if calculate is None else calculate(left, right)

    def unaryop(self, node: ast.UnaryOp) -> Value:
        operand = self.value(node.operand)
        if isinstance(node.op, ast.USub) and isinstance(operand, (int, Size)):
            return -operand
        if isinstance(node.op, ast.Not) and isinstance(operand, bool):
            return not operand
        return UNKNOWN

    def ifexp(self, node: ast.IfExp) -> Value:
        test = self.value(node.test)
        if isinstance(test, Unknown | Size | Tensor):
            return UNKNOWN
        return self.value(node.body if test else node.orelse)

    def compare(self, node: ast.Compare) -> Value:
        left, right = self.value(node.left), self.value(node.comparators[0])
        if UNKNOWN in (left, right):
            return UNKNOWN
        match node.ops[0]:
            case ast.Is():
                return left is right
            case ast.IsNot():
                return left is not right
            case ast.Eq():
                return (
                    UNKNOWN if isinstance(left, Size) or isinstance(right, Size) else left == right
                )
            case _:
                return UNKNOWN

    def boolop(self, node: ast.BoolOp) -> Value:
        result: Value = UNKNOWN
        for operand in node.values:
            result = self.value(operand)
            if isinstance(result, Unknown | Size | Tensor):
                return result
            if bool(result) is isinstance(node.op, ast.Or):
                return result
        return result

    def invoke(self, node: ast.Call) -> Value:
        args = [self.value(arg) for arg in node.args]
        match node.func:
            case ast.Name(id="len") if isinstance(whole := args[0], _Axes):
                return UNKNOWN if whole.shape.rank is None else whole.shape.rank
            case ast.Name(id="len") if isinstance(args[0], (tuple, list)):
                return len(args[0])
            case ast.Name(id="min" | "max" as function) if len(args) > 1:
                return dims.extreme(function, [as_size(arg) for arg in args])
            case ast.Name(id="int"):
                return args[0]
        name = ast.unparse(node.func)
        target = self.table.signature(name)
        if target is None or self.call is None:
            return UNKNOWN
        kwargs = {k.arg: self.value(k.value) for k in node.keywords if k.arg is not None}
        same = self.call.meant
        return target.apply(self.call.facts, args, kwargs, self.call.label, meant=same)


_HANDLERS: Final[Mapping[type[ast.expr], Callable[..., Value]]] = {
    ast.Constant: _Evaluator.constant,
    ast.Name: _Evaluator.name,
    ast.Attribute: _Evaluator.attribute,
    ast.Tuple: _Evaluator.tuple,
    ast.Subscript: _Evaluator.subscript,
    ast.BinOp: _Evaluator.binop,
    ast.UnaryOp: _Evaluator.unaryop,
    ast.IfExp: _Evaluator.ifexp,
    ast.Compare: _Evaluator.compare,
    ast.BoolOp: _Evaluator.boolop,
    ast.Call: _Evaluator.invoke,
}
