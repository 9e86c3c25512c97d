"""Dimension names that belong to an instance: `@shapecheck(dims="d_model heads")` on its class.

Those that pyrefly's `@static_jaxtyping("d_model heads")` declares do too, and type variables of the
class: `class Layer(Generic[In, Out])` and `class Layer[In, Out]`.

Such a name is the int attribute of that name where the instance has one, else what it was when a
method first met it. The latter is kept beside the attributes, under a key that no attribute has.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

import shapecheck.dims as dims
from shapecheck.analysis.annotations.reader import reader
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.kinds import attribute
from shapecheck.analysis.interpreter.result_names import DECORATOR
from shapecheck.analysis.program.model import Class, Function, Value, dotted
from shapecheck.analysis.program.syntax import elements, name_of, text_of
from shapecheck.dims import DimExpr
from shapecheck.ops.call import is_dim, is_size, only
from shapecheck.shapes import Matcher

_LISTED: Final = frozenset(("shape_extensions.static_jaxtyping", "shape_extensions.shape_vars"))
_GENERIC: Final = frozenset(("typing.Generic", "typing_extensions.Generic"))
_HELD: Final = "dimension {}"


def instance_names(cls: Class | None) -> tuple[str, ...]:
    """Return the dimension names that belong to the instances of a class."""
    if cls is None:
        return ()
    return cls.module.recall(("instance names", cls.node), lambda: tuple(_declared(cls)), ())


def _declared(cls: Class) -> Iterator[str]:
    resolve = reader(cls.module).resolve
    for decorator in cls.node.decorator_list:
        match decorator:
            case ast.Call(func=func, keywords=keywords) if dotted(resolve(func)) in DECORATOR:
                yield from _names(*(word.value for word in keywords if word.arg == "dims"))
            case ast.Call(func=func, args=[names, *_]) if dotted(resolve(func)) in _LISTED:
                yield from _names(names)
    for param in getattr(cls.node, "type_params", ()):  # Python 3.12
        yield param.name
    for base in only(cls.node.bases, ast.Subscript):
        if dotted(resolve(base.value)) in _GENERIC:
            yield from filter(None, map(name_of, elements(base.slice) or [base.slice]))


def _names(*texts: ast.expr) -> Iterator[str]:
    for text in filter(None, map(text_of, texts)):
        yield from text.replace(",", " ").split()


def bind(frame: Frame, function: Function, instance: Value, matcher: Matcher) -> None:
    """Bind the names that belong to the instance to what they are for it."""
    content = frame.state.instance_of(instance)
    for name in instance_names(function.owner) if content is not None else ():
        found = _attribute(frame, instance, name)
        if found is None and content is not None:
            held = content.attrs.get(_HELD.format(name))
            found = held if is_dim(held) else None
        if found is not None:
            matcher.names[name] = found


def begin(frame: Frame, function: Function, instance: Value, matcher: Matcher) -> None:
    """Bind the names for the check of a method on its own: without an attribute, to themselves."""
    for name in instance_names(function.owner):
        found = _attribute(frame, instance, name)
        matcher.names[name] = dims.name(name) if found is None else found
    hold(frame, function, instance, matcher)


def hold(frame: Frame, function: Function, instance: Value, matcher: Matcher) -> None:
    """Remember what the names of the instance are."""
    for name in instance_names(function.owner):
        if name in matcher.names:
            frame.state.find_attribute(instance, _HELD.format(name), matcher.names[name])


def _attribute(frame: Frame, instance: Value, name: str) -> DimExpr | None:
    found = frame.hush(attribute, instance, name, ast.Constant(None))
    return found if is_size(found) else None
