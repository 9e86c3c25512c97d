"""Builtins that call what they are given, or ask an object for an attribute by its name."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from shapecheck import dtypes
from shapecheck.analysis.annotations.classes import ancestry, is_open
from shapecheck.analysis.interpreter.calls import invoke
from shapecheck.analysis.interpreter.dict_contents import content_of_dict
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.kinds import (
    assign_attribute,
    attribute,
    held_by,
    kind_of,
    lose_attributes,
    mapping_of,
)
from shapecheck.analysis.interpreter.registry import LibraryCall, MethodCall, function, on
from shapecheck.analysis.kinds.attributes import put_attributes
from shapecheck.analysis.program.model import Class, Dotted, Value
from shapecheck.analysis.program.syntax import MUTATORS, owner_of
from shapecheck.analysis.values.model import (
    Attributes,
    Bound,
    DictContent,
    Instance,
    ListContent,
    Namespace,
    OpInstance,
)
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


@function("builtins.setattr", "builtins.object.__setattr__", takes=3)
def _setattr(frame: Frame, call: LibraryCall) -> Value:
    owner, name, value = call.args
    set_by_name(frame, call, owner, call.arguments.args[0].node, name, value)
    return None


@on(Instance, "__setattr__", takes=2)
@on(ListContent, "__setattr__", takes=2)
@on(Namespace, "__setattr__", takes=2)
@on(OpInstance, "__setattr__", takes=2)
def _set_own(frame: Frame, call: MethodCall[object]) -> Value:
    """Do what `setattr` does, asked of what has the attribute."""
    name, value = call.args
    set_by_name(frame, call, call.owner, owner_of(call.node.func), name, value)
    return None


def set_by_name(
    frame: Frame, call: LibraryCall, owner: Value, place: ast.expr | None, name: Value, value: Value
) -> None:
    """Assign an attribute by its name, any one if that isn't known; `place` is who has it."""
    place = call.node.func if place is None else place
    if isinstance(name, str):
        target = ast.copy_location(ast.Attribute(place, name, ast.Store()), call.node)
        assign_attribute(frame, owner, name, value, target)
    else:
        lose_attributes(frame, owner, place)


@on(Attributes, "update", takes=(0, 1))
def _update(frame: Frame, call: MethodCall[Attributes]) -> Value:
    given = content_of_dict(frame, call.args[0]) if call.args else DictContent({})
    if given.items is None:
        lose_attributes(frame, call.held.owner, call.node.func)
    put_attributes(frame, call.held.owner, {**_by_text(given.items or {}), **call.kwargs})
    return None


def _by_text(items: Mapping[Value, Value]) -> dict[str, Value]:
    return {str(name): value for name, value in items.items()}


@on(Attributes, "items", "values", "keys", "get", "copy")
def _read(frame: Frame, call: MethodCall[Attributes]) -> Value:
    """Ask a dict with the same in it."""
    copied = frame.state.new(mapping_of(frame, call.owner))
    return invoke(frame, Bound(copied, call.name), call.arguments, call.node, call.label)


@on(Attributes, *sorted(MUTATORS - {"update"}))
def _change(frame: Frame, call: MethodCall[Attributes]) -> Value:
    lose_attributes(frame, call.held.owner, call.node.func)
    return UNKNOWN


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
    return False if isinstance(other, Class) and not is_open(cls) else None
