"""What is known of a value as Python sees it: its truth, its type, its equality to another."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable
from typing import Final, TypeGuard

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.kinds import held_by, kind_of
from shapecheck.analysis.program.model import Class, Dotted, Value
from shapecheck.analysis.values.model import Content, Ref
from shapecheck.dims import Relation, Size
from shapecheck.ops import DType
from shapecheck.shapes import has_run

CONSTANTS: Final = (bool, int, float, str, type(None))


def is_constant(value: Value) -> TypeGuard[bool | int | float | str | None]:
    """Whether a value is known as Python knows it: a number, a text or None."""
    return isinstance(value, CONSTANTS)


def truth(frame: Frame, value: Value) -> bool | None:
    """Return whether a value is true, None where it isn't known."""
    held = held_by(frame, value)
    return kind_of(held).truth(frame, held)


# Types ------------------------------------------------------------------------------------------

CONTAINERS: Final = {
    "torch.nn.Sequential": "nn.Sequential",
    "torch.nn.ModuleList": "nn.ModuleList",
    "torch.nn.ModuleDict": "nn.ModuleDict",
    "torch.nn.ParameterList": "nn.ModuleList",
    "torch.nn.ParameterDict": "nn.ModuleDict",
}
"""The modules that are lists and dicts of others, with the kind of content that they are."""
ATOMIC: Final = frozenset(("Hashable",))
NUMBER: Final = frozenset(("Hashable", "Number", "Real"))
INTEGER: Final = NUMBER | {"int", "Integral"}
ITERABLE: Final = frozenset(("Iterable", "Sized", "Collection"))
SEQUENCE: Final = ITERABLE | {"Hashable", "Sequence"}
LIST: Final = ITERABLE | {"list", "Sequence", "MutableSequence"}
DICT: Final = ITERABLE | {"dict", "Mapping", "MutableMapping"}
SET: Final = ITERABLE | {"set", "Set"}
FUNCTION: Final = frozenset(("FunctionType", "LambdaType", "Hashable", "Callable"))
PARTIAL: Final = frozenset(("partial", "Hashable", "Callable"))
TYPE: Final = frozenset(("type", "Hashable", "Callable"))
_ABSTRACT: Final = frozenset(("bool", "float", "str", "NoneType", "tuple")).union(
    INTEGER, SEQUENCE, LIST, DICT, SET, FUNCTION, PARTIAL, TYPE
)
_ROOTS: Final = frozenset(("builtins", "collections", "functools", "numbers", "types", "typing"))


def instance_of(frame: Frame, value: Value, kind: Value) -> bool | None:
    """Return what `isinstance(value, kind)` gives, None where it isn't known."""
    held = held_by(frame, value)
    match kind:
        case tuple():
            found = [instance_of(frame, value, one) for one in kind]
            return True if True in found else None if None in found or not found else False
        case Class():
            return kind_of(held).is_own(held, kind)
        case Dotted(name=name):
            return _is_of_library(frame, held, name)
    return None


def _is_of_library(frame: Frame, held: Value | Content, kind: str) -> bool | None:
    root, _, last = kind.rpartition(".")
    root = root.partition(".")[0]
    if root in _ROOTS:
        names = kind_of(held).types(frame, held)
        return None if names is None or last not in _ABSTRACT else last in names
    return kind_of(held).is_a(frame, held, kind) if root in ("torch", "numpy") else None


def is_op(frame: Frame, value: Dotted) -> bool:
    """Whether a library's name is known to be that of a function or a class."""
    return frame.program.table.has(value.name) or is_class(frame, value)


def is_class(frame: Frame, value: Dotted) -> bool:
    """Whether a library's name is known to be that of a class."""
    return frame.program.table.lookup_class(value.name) is not None or value.name in CONTAINERS


# Comparisons ------------------------------------------------------------------------------------


def equal(frame: Frame, a: Value, b: Value) -> bool | None:
    """Return what `a == b` gives, None where it isn't known."""
    if is_constant(a) and is_constant(b):
        return a == b
    match a, b:
        case tuple(), tuple():
            return _equal_items(frame, a, b)
        case ((int() | Size()), (int() | Size())):
            same = frame.state.facts.compare(a, b).relation is Relation.SAME
            return True if same else None
    if type(a) is type(b) and type(a) in _EQUAL:
        return _EQUAL[type(a)](a, b)
    one, other = kind_of(a).family, kind_of(b).family
    return False if one and other and one != other else None


def _equal_items(frame: Frame, a: tuple[Value, ...], b: tuple[Value, ...]) -> bool | None:
    if has_run((*a, *b)):
        return None
    if len(a) != len(b):
        return False
    found = [equal(frame, x, y) for x, y in zip(a, b, strict=True)]
    return False if False in found else None if None in found else True


def _same_name(a: Dotted, b: Dotted) -> bool | None:
    return True if a.name == b.name else None


def _same_class(a: Class, b: Class) -> bool | None:
    return True if a == b else None if a.node is b.node else False


def _same_dtype(a: DType, b: DType) -> bool | None:
    return None if a.dtypes & b.dtypes else False


_EQUAL: Final[dict[type, Callable[..., bool | None]]] = {
    Dotted: _same_name,
    Class: _same_class,
    DType: _same_dtype,
}


def identical(frame: Frame, a: Value, b: Value) -> bool | None:
    """Return what `a is b` gives, None where it isn't known."""
    if a is None or b is None:
        other = b if a is None else a
        if other is None:
            return True
        held = held_by(frame, other)
        return None if kind_of(held).may_be_none(frame, held) else False
    if type(a) is type(b) is Ref:
        return True if a is b else None
    if bool in (type(a), type(b)) and is_constant(a) and is_constant(b):
        return a is b
    found = equal(frame, a, b)
    return found if type(a) in _SINGLE or found is False else None


_SINGLE: Final = frozenset((Class, Dotted))
"""Kinds of values of which equal ones are the same one."""


def contains(frame: Frame, container: Value, item: Value) -> bool | None:
    """Return what `item in container` gives, None where it isn't known."""
    held = held_by(frame, container)
    return kind_of(held).contains(frame, held, item)


def any_equal(frame: Frame, items: Iterable[Value] | None, item: Value) -> bool | None:
    """Whether one of some items is equal to a value, None where it isn't known."""
    if items is None:
        return None
    found = [equal(frame, item, one) for one in items]
    return True if True in found else None if None in found else False


def ordered(op: ast.cmpop, a: Value, b: Value) -> bool | None:
    """Return what `a < b` and its like give, None where it isn't known."""
    order = _ORDERS.get(type(op))
    match a, b:
        case Size(), (int() | Size()) if order is not None:
            gap = a - b
            return order(gap, 0) if isinstance(gap, int) else None
        case ((int() | float()), (int() | float())) if order is not None:
            return order(a, b)
    return None


_ORDERS: Final[dict[type[ast.cmpop], Callable[[int | float, int | float], bool]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def compared(frame: Frame, op: ast.cmpop, a: Value, b: Value) -> bool | None:
    """Return what a comparison gives, None where it isn't known."""
    match op:
        case ast.Eq():
            return equal(frame, a, b)
        case ast.NotEq():
            return _negated(equal(frame, a, b))
        case ast.Is():
            return identical(frame, a, b)
        case ast.IsNot():
            return _negated(identical(frame, a, b))
        case ast.In():
            return contains(frame, b, a)
        case ast.NotIn():
            return _negated(contains(frame, b, a))
    return ordered(op, a, b)


def _negated(found: bool | None) -> bool | None:
    return None if found is None else not found
