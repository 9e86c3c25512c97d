"""Builtins that call what they are given, or ask an object for an attribute by its name."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from shapecheck import dtypes
from shapecheck.analysis.annotations import classes
from shapecheck.analysis.interpreter import instances
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import function
from shapecheck.analysis.interpreter.truth import CONSTANTS, is_op
from shapecheck.analysis.program.model import Class, Dotted, Function, Value
from shapecheck.analysis.values.model import Bound, Callback, Instance, OpInstance, Partial, Ref
from shapecheck.dims import Size
from shapecheck.ops import UNKNOWN, Scalar
from shapecheck.shapes import Tensor


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
        return True if instances.get_attribute(frame, owner, name, _NODE) is not UNKNOWN else None
    content = frame.state.content(owner)
    if not isinstance(content, Instance):
        return None
    if name in content.attrs or classes.find_member(content.cls, name) is not None:
        return True
    if content.path is not None:
        return None
    parents = list(classes.ancestry(content.cls))
    dynamic = classes.find_method(content.cls, "__getattr__") is not None
    module = all(isinstance(p, Class) or p in ("torch.nn.Module", "abc.ABC") for p in parents)
    opaque = any(
        not isinstance(base, (Class, Dotted))
        for parent in parents
        if isinstance(parent, Class)
        for base in classes.bases(parent)
    )
    return None if dynamic or opaque or not module or name in instances.MODULE_NAMES else False


_NODE = ast.Constant(None)


@function("builtins.getattr")
def _getattr(frame: Frame, args: list[Value], kwargs: Mapping[str, Value], node: ast.Call) -> Value:
    if len(args) < 2 or not isinstance(args[1], str):
        return UNKNOWN
    if len(args) == 3 and _has(frame, args[0], args[1]) is False:
        return args[2]
    found = instances.get_attribute(frame, args[0], args[1], node)
    return UNKNOWN if len(args) == 3 and isinstance(found, Bound) else found


@function("builtins.setattr", "builtins.object.__setattr__")
def _setattr(frame: Frame, args: list[Value], kwargs: Mapping[str, Value], node: ast.Call) -> Value:
    if len(args) == 3 and isinstance(args[1], str):
        instances.assign_attribute(frame, args[0], args[1], args[2], node)
    elif args and isinstance(args[0], Ref):
        instances.lose_attributes(frame, args[0])
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


@function("torch._assert", "torch._check")
def _assert(frame: Frame, args: list[Value], kwargs: Mapping[str, Value], node: ast.Call) -> Value:
    """Run what is said to hold as an `assert`."""
    if node.args and not isinstance(node.args[0], ast.Starred):
        frame.run([ast.copy_location(ast.Assert(node.args[0]), node)])
    return None
