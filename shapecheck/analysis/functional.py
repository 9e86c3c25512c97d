"""Builtins that call what they are given, or ask an object for an attribute by its name."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from shapecheck import dtypes
from shapecheck.analysis import calls, objects
from shapecheck.analysis.builtins import function
from shapecheck.analysis.frame import Frame
from shapecheck.analysis.iteration import UNROLL, iterate, length
from shapecheck.analysis.values import (
    Argument,
    Bound,
    Callback,
    Class,
    Dotted,
    Function,
    Items,
    Object,
    OpInstance,
    Partial,
    Ref,
)
from shapecheck.analysis.verdicts import CONSTANTS, is_op, truth
from shapecheck.dims import Size
from shapecheck.ops import UNKNOWN, Scalar, Value
from shapecheck.shapes import Tensor


def _apply(frame: Frame, target: Value, args: list[Value], node: ast.Call) -> Value:
    arguments = calls.Arguments(tuple(map(Argument, args)), {})
    return calls.invoke(frame, target, arguments, node, frame.segment(node.func))


@function("builtins.map")
def _map(frame: Frame, args: list[Value], kwargs: Mapping[str, Value], node: ast.Call) -> Value:
    if len(args) < 2:
        return UNKNOWN
    target, sources = args[0], args[1:]
    parts = [iterate(frame, source) for source in sources]
    known = [items for items, _ in parts if items is not None]
    if len(known) == len(parts) and min(map(len, known)) <= UNROLL:
        rows = zip(*known, strict=False)
        return Items(tuple(_apply(frame, target, list(row), node) for row in rows))
    with frame.doubting():
        element = _apply(frame, target, [element for _, element in parts], node)
    return Items(None, element, length(frame, sources[0]) if len(sources) == 1 else None)


@function("builtins.filter")
def _filter(frame: Frame, args: list[Value], kwargs: Mapping[str, Value], node: ast.Call) -> Value:
    if len(args) != 2:
        return UNKNOWN
    items, element = iterate(frame, args[1])
    if items is None or len(items) > UNROLL:
        return Items(None, element)
    results = (item if args[0] is None else _apply(frame, args[0], [item], node) for item in items)
    verdicts = [truth(frame, result) for result in results]
    if None in verdicts:
        return Items(None, frame.state.either(*items))
    return Items(tuple(item for item, kept in zip(items, verdicts, strict=True) if kept))


@function("builtins.hasattr")
def _hasattr(frame: Frame, args: list[Value], kwargs: Mapping[str, Value], node: ast.Call) -> Value:
    known = None
    if len(args) == 2 and isinstance(args[1], str):
        known = _has(frame, args[0], args[1])
    return Scalar(dtypes.BOOL) if known is None else known


def _has(frame: Frame, owner: Value, name: str) -> bool | None:
    """Whether a value has an attribute, None where it isn't known."""
    if isinstance(owner, (*CONSTANTS, tuple)):
        return hasattr(owner, name)
    if isinstance(owner, Tensor):
        return True if frame.program.table.signature(f"torch.Tensor.{name}") else None
    if isinstance(owner, OpInstance):
        return True if objects.get_attribute(frame, owner, name, _NODE) is not UNKNOWN else None
    content = frame.state.content(owner)
    if not isinstance(content, Object):
        return None
    if name in content.attrs or objects.find_member(content.cls, name) is not None:
        return True
    if content.path is not None:
        return None
    parents = list(objects.ancestry(content.cls))
    dynamic = objects.find_method(content.cls, "__getattr__") is not None
    module = all(isinstance(p, Class) or p in ("torch.nn.Module", "abc.ABC") for p in parents)
    opaque = any(
        not isinstance(base, (Class, Dotted))
        for parent in parents
        if isinstance(parent, Class)
        for base in objects.bases(parent)
    )
    return None if dynamic or opaque or not module or name in objects.MODULE_NAMES else False


_NODE = ast.Constant(None)


@calls.caller("torch._assert", "torch._check")
def _assert(frame: Frame, arguments: calls.Arguments, node: ast.Call, label: str) -> Value:
    """Run what is said to hold as an `assert`."""
    if node.args and not isinstance(node.args[0], ast.Starred):
        frame.run([ast.copy_location(ast.Assert(node.args[0]), node)])
    return None


@function("builtins.getattr")
def _getattr(frame: Frame, args: list[Value], kwargs: Mapping[str, Value], node: ast.Call) -> Value:
    if len(args) < 2 or not isinstance(args[1], str):
        return UNKNOWN
    if len(args) == 3 and _has(frame, args[0], args[1]) is False:
        return args[2]
    found = objects.get_attribute(frame, args[0], args[1], node)
    return UNKNOWN if len(args) == 3 and isinstance(found, Bound) else found


@function("builtins.setattr")
def _setattr(frame: Frame, args: list[Value], kwargs: Mapping[str, Value], node: ast.Call) -> Value:
    if len(args) == 3 and isinstance(args[1], str):
        objects.set_attribute(frame, args[0], args[1], args[2])
    elif args and isinstance(args[0], Ref):
        frame.state.heap[args[0]] = None
    return None


@function("builtins.callable")
def _callable(
    frame: Frame, args: list[Value], kwargs: Mapping[str, Value], node: ast.Call
) -> Value:
    value = args[0] if args else UNKNOWN
    if isinstance(value, (Function, Class, Bound, Callback, OpInstance, Partial)):
        return True
    if isinstance(value, Dotted) and is_op(frame, value):
        return True
    if isinstance(value, (*CONSTANTS, tuple, Size, Tensor)):
        return False
    return Scalar(dtypes.BOOL)
