"""What is known of a value as Python sees it: its truth, its type, its equality to another."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Final

from shapecheck.analysis.annotations.classes import ancestry, bases, find_method
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Class, Dotted, Function, ModuleRef, Value
from shapecheck.analysis.values.model import (
    Bound,
    Callback,
    DictContent,
    Instance,
    Items,
    ListContent,
    OneOf,
    OpInstance,
    Partial,
    Path,
    Ref,
)
from shapecheck.dims import Relation, Size
from shapecheck.ops import UNKNOWN, DType, Sizes
from shapecheck.shapes import Run, Tensor

CONSTANTS: Final = (bool, int, float, str, type(None))


def truth(frame: Frame, value: Value) -> bool | None:
    """Return whether a value is true, None where it isn't known."""
    if isinstance(value, CONSTANTS):
        return bool(value)
    if isinstance(value, tuple):
        return None if any(isinstance(item, Run) for item in value) else bool(value)
    if isinstance(value, (Function, Class, Partial, Bound, Callback, ModuleRef, DType)):
        return True
    if isinstance(value, OpInstance) or (isinstance(value, Dotted) and is_op(frame, value)):
        return True
    content = frame.state.content(value)
    if isinstance(content, (ListContent, DictContent)) and content.items is not None:
        return bool(content.items)
    if isinstance(content, Instance) and content.path is None:
        return True if _plain_truth(content.cls) else None
    return None


def is_op(frame: Frame, value: Dotted) -> bool:
    """Whether a library's name is known to be that of a function or a class."""
    table = frame.program.table
    known = table.signature(value.name) or table.lookup_class(value.name)
    return known is not None or value.name in _CONTAINERS


_CONTAINERS: Final = {
    "torch.nn.Sequential": "nn.Sequential",
    "torch.nn.ModuleList": "nn.ModuleList",
    "torch.nn.ModuleDict": "nn.ModuleDict",
    "torch.nn.ParameterList": "nn.ModuleList",
    "torch.nn.ParameterDict": "nn.ModuleDict",
}


def _plain_truth(cls: Class) -> bool:
    """Whether instances of a class are true, having neither a length nor a truth of their own."""
    if find_method(cls, "__len__") is not None or find_method(cls, "__bool__") is not None:
        return False
    known = {"torch.nn.Module", "builtins.object", "abc.ABC"}
    return all(not isinstance(parent, str) or parent in known for parent in ancestry(cls))


# Types ------------------------------------------------------------------------------------------

_KINDS: Final[dict[type, frozenset[str]]] = {
    bool: frozenset(("bool", "int", "Hashable", "Number", "Integral", "Real")),
    int: frozenset(("int", "Hashable", "Number", "Integral", "Real")),
    Size: frozenset(("int", "Hashable", "Number", "Integral", "Real")),
    float: frozenset(("float", "Hashable", "Number", "Real")),
    str: frozenset(("str", "Hashable", "Iterable", "Sequence", "Sized", "Collection")),
    type(None): frozenset(("NoneType", "Hashable")),
    tuple: frozenset(("tuple", "Hashable", "Iterable", "Sequence", "Sized", "Collection")),
}
_LIST: Final = frozenset(("list", "Iterable", "Sequence", "MutableSequence", "Sized", "Collection"))
_DICT: Final = frozenset(("dict", "Iterable", "Mapping", "MutableMapping", "Sized", "Collection"))
_SET: Final = frozenset(("set", "Iterable", "Set", "Sized", "Collection"))
_OTHERS: Final = frozenset(("type", "Callable", "FunctionType", "LambdaType", "partial"))
_ABSTRACT: Final = _OTHERS.union(*_KINDS.values(), _LIST, _DICT, _SET)
_ROOTS: Final = frozenset(("builtins", "collections", "functools", "numbers", "types", "typing"))


def instance_of(frame: Frame, value: Value, kind: Value) -> bool | None:
    """Return what `isinstance(value, kind)` gives, None where it isn't known."""
    if isinstance(kind, tuple):
        found = [instance_of(frame, value, one) for one in kind]
        return True if True in found else None if None in found or not found else False
    if isinstance(kind, Class):
        return _of_class(frame, value, kind)
    if not isinstance(kind, Dotted) or value is UNKNOWN or isinstance(value, (OneOf, Path)):
        return None
    root, _, last = kind.name.rpartition(".")
    root = root.partition(".")[0]
    if root in _ROOTS:
        names = _names(frame, value)
        return None if names is None or last not in _ABSTRACT else last in names
    if root not in ("torch", "numpy"):
        return None
    return _of_library(frame, value, kind.name)


def _names(frame: Frame, value: Value) -> frozenset[str] | None:
    """Return the builtin and abstract types that a value is an instance of."""
    found = _KINDS.get(tuple if isinstance(value, Sizes) else type(value))
    if found is not None:
        return found
    if isinstance(value, Class) or (isinstance(value, Dotted) and _is_class(frame, value)):
        return frozenset(("type", "Hashable", "Callable"))
    if isinstance(value, Function):
        return frozenset(("FunctionType", "LambdaType", "Hashable", "Callable"))
    if isinstance(value, Partial):
        return frozenset(("partial", "Hashable", "Callable"))
    content = frame.state.content(value)
    if isinstance(content, ListContent):
        return {"list": _LIST, "set": _SET, "tuple": _KINDS[tuple]}.get(content.kind, frozenset())
    if isinstance(content, DictContent):
        return _DICT if content.kind == "dict" else frozenset()
    if isinstance(value, (Tensor, OpInstance, DType)):
        return frozenset(("Hashable", "Iterable")) if isinstance(value, Tensor) else frozenset()
    return None


def _is_class(frame: Frame, value: Dotted) -> bool:
    return frame.program.table.lookup_class(value.name) is not None or value.name in _CONTAINERS


def _of_library(frame: Frame, value: Value, name: str) -> bool | None:
    if isinstance(value, Tensor):
        return True if name in ("torch.Tensor", "torch._tensor.Tensor") else None
    if isinstance(value, OpInstance):
        if name == "torch.nn.Module" or value.cls.inherits(name):
            return True
        return False if frame.program.table.lookup_class(name) is not None else None
    content = frame.state.content(value)
    if isinstance(content, Instance):
        return _descends(content, name)
    if isinstance(content, (ListContent, DictContent)):
        made = _CONTAINERS.get(name)
        if content.kind.startswith("nn."):
            return name == "torch.nn.Module" or (None if made is None else made == content.kind)
        return False
    if isinstance(value, tuple):
        return isinstance(value, Sizes) if name == "torch.Size" else False
    return False if isinstance(value, (*CONSTANTS, Size)) else None


def _of_class(frame: Frame, value: Value, kind: Class) -> bool | None:
    content = frame.state.content(value)
    if isinstance(content, Instance):
        return _descends(content, kind)
    plain = (*CONSTANTS, Size, Tensor, OpInstance, tuple)
    return (
        False
        if isinstance(value, plain) or isinstance(content, (ListContent, DictContent))
        else None
    )


def _descends(content: Instance, kind: Class | str) -> bool | None:
    parents = list(ancestry(content.cls))
    for parent in parents:
        if isinstance(parent, str) or isinstance(kind, str):
            if parent == kind:
                return True
        elif parent.node is kind.node:
            return True
    if content.path is not None:  # a subclass may be passed
        return None
    classes = [parent for parent in parents if isinstance(parent, Class)]
    open_ = any(not isinstance(base, (Class, Dotted)) for cls in classes for base in bases(cls))
    return None if open_ else False


# Comparisons ------------------------------------------------------------------------------------


def equal(frame: Frame, a: Value, b: Value) -> bool | None:
    """Return what `a == b` gives, None where it isn't known."""
    if isinstance(a, CONSTANTS) and isinstance(b, CONSTANTS):
        return a == b
    if isinstance(a, tuple) and isinstance(b, tuple):
        if any(isinstance(item, Run) for item in (*a, *b)):
            return None
        if len(a) != len(b):
            return False
        found = [equal(frame, x, y) for x, y in zip(a, b, strict=True)]
        return False if False in found else None if None in found else True
    if isinstance(a, (int, Size)) and isinstance(b, (int, Size)):
        same = frame.state.facts.compare(a, b).relation is Relation.SAME
        return True if same else None
    if isinstance(a, Dotted) and isinstance(b, Dotted):
        return True if a.name == b.name else None
    if isinstance(a, Class) and isinstance(b, Class):
        return True if a == b else None if a.node is b.node else False
    if isinstance(a, DType) and isinstance(b, DType):
        return None if a.dtypes & b.dtypes else False
    return False if kindred(a) and kindred(b) and kindred(a) != kindred(b) else None


def kindred(value: Value) -> str:
    """Return the family of a value, where no value of another family equals it; else nothing."""
    if value is None:
        return "None"
    if isinstance(value, str):
        return "str"
    if isinstance(value, (int, float, Size)):
        return "number"
    if isinstance(value, tuple):
        return "tuple"
    if isinstance(value, (Function, Class, OpInstance, DType, Partial, Callback, ModuleRef)):
        return "object"
    return ""


def identical(frame: Frame, a: Value, b: Value) -> bool | None:
    """Return what `a is b` gives, None where it isn't known."""
    if a is None or b is None:
        other = b if a is None else a
        if other is None:
            return True
        unsure = other is UNKNOWN or isinstance(other, (OneOf, Path))
        unsure = unsure or (isinstance(other, Dotted) and not is_op(frame, other))
        forgotten = isinstance(other, Ref) and frame.state.content(other) is None
        return None if unsure or forgotten else False
    if isinstance(a, Ref) and isinstance(b, Ref):
        return True if a is b else None
    if isinstance(a, bool) and isinstance(b, CONSTANTS):
        return a is b
    if isinstance(b, bool) and isinstance(a, CONSTANTS):
        return False
    found = equal(frame, a, b)
    return found if isinstance(a, (Class, Dotted)) or found is False else None


def contains(frame: Frame, container: Value, item: Value) -> bool | None:
    """Return what `item in container` gives, None where it isn't known."""
    if isinstance(container, str):
        return item in container if isinstance(item, str) else None
    content = frame.state.content(container)
    items: Iterable[Value] | None = None
    if isinstance(container, tuple):
        items = None if any(isinstance(one, Run) for one in container) else container
    elif isinstance(container, Items):
        items = container.items
    elif isinstance(content, (ListContent, DictContent)):
        items = content.items
    if items is None:
        return None
    found = [equal(frame, item, one) for one in items]
    return True if True in found else None if None in found else False


def ordered(op: ast.cmpop, a: Value, b: Value) -> bool | None:
    """Return what `a < b` and its like give, None where it isn't known."""
    if isinstance(a, Size) and isinstance(b, (int, Size)):
        a, b = a - b, 0
    if not (isinstance(a, (int, float)) and isinstance(b, (int, float))):
        return None
    match op:
        case ast.Lt():
            return a < b
        case ast.LtE():
            return a <= b
        case ast.Gt():
            return a > b
        case ast.GtE():
            return a >= b
    return None


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
