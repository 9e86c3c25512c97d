"""Builtins that call what they are given, or ask an object for an attribute by its name."""

from __future__ import annotations

import ast

from shapecheck import dtypes
from shapecheck.analysis.annotations.classes import ancestry, bases, own_ancestry
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.kinds import assign_attribute, attribute, held_by, kind_of
from shapecheck.analysis.interpreter.registry import LibraryCall, MethodCall, function, on
from shapecheck.analysis.kinds.instances import lose_attributes
from shapecheck.analysis.program.model import Class, Dotted, Value
from shapecheck.analysis.values.model import Bound, Instance, ListContent, Ref
from shapecheck.ops import UNKNOWN, Scalar
from shapecheck.ops.call import as_text


@function("builtins.hasattr", takes=2)
def _hasattr(frame: Frame, call: LibraryCall) -> Value:
    owner, name = call.args[0], as_text(call.args[1])
    known = None if name is None else _has(frame, owner, name)
    return Scalar(dtypes.BOOL) if known is None else known


def _has(frame: Frame, owner: Value, name: str) -> bool | None:
    """Whether a value has an attribute, None where it isn't known."""
    held = held_by(frame, owner)
    return kind_of(held).has(frame, owner, held, name)


@function("builtins.getattr", takes=(2, 3))
def _getattr(frame: Frame, call: LibraryCall) -> Value:
    owner, given, *default = call.args
    name = as_text(given)
    if name is None:
        return UNKNOWN
    if default and _has(frame, owner, name) is False:
        return default[0]
    found = attribute(frame, owner, name, call.node)
    return UNKNOWN if default and isinstance(found, Bound) else found


@function("builtins.setattr", "builtins.object.__setattr__")
def _setattr(frame: Frame, call: LibraryCall) -> Value:
    match call.args:
        case [owner, str(name), value]:
            assign_attribute(frame, owner, name, value, call.node)
        case [Ref() as owner, *_]:
            lose_attributes(frame, owner)
    return None


@on(ListContent, "__setattr__", takes=2)
@on(Instance, "__setattr__", takes=2)
def _set_attribute(frame: Frame, call: MethodCall[Instance | ListContent]) -> Value:
    """Do what `setattr` does, asked of what has the attribute."""
    match call.args:
        case [str(name), value]:
            assign_attribute(frame, call.owner, name, value, call.node)
        case _ if isinstance(call.owner, Ref):
            lose_attributes(frame, call.owner)
    return None


@function("builtins.callable", takes=1)
def _callable(frame: Frame, call: LibraryCall) -> Value:
    held = held_by(frame, call.args[0])
    known = kind_of(held).is_callable(frame, held)
    return Scalar(dtypes.BOOL) if known is None else known


@function("torch._assert", "torch._check")
def _assert(frame: Frame, call: LibraryCall) -> Value:
    """Run what is said to hold as an `assert`."""
    match call.node.args:
        case [ast.Starred(), *_]:
            pass
        case [test, *_]:
            frame.run([ast.copy_location(ast.Assert(test), call.node)])
    return None


@function("builtins.issubclass", takes=2)
def _issubclass(frame: Frame, call: LibraryCall) -> Value:
    cls, others = call.args[0], call.args[1]
    each = others if isinstance(others, tuple) else (others,)
    found = {_is_below(cls, other) for other in each}
    if True in found:
        return True
    return Scalar(dtypes.BOOL) if None in found else False


def _is_below(cls: Value, other: Value) -> bool | None:
    """Whether a class is another one, or derived from it; None where it isn't known."""
    if not isinstance(cls, Class):
        return None
    above = list(ancestry(cls))
    if isinstance(other, Class) and other in above:
        return True
    if isinstance(other, Dotted) and other.name in above:
        return True
    is_whole = all(isinstance(b, (Class, Dotted)) for one in own_ancestry(cls) for b in bases(one))
    return False if isinstance(other, Class) and is_whole else None
