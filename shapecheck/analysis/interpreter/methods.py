"""Which method of a builtin value is meant: of a list, a dict, a text, a module."""

from __future__ import annotations

import ast
from functools import partial
from typing import Final

import shapecheck.dims as dims
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import METHODS, Method, Named
from shapecheck.analysis.interpreter.truth import CONSTANTS
from shapecheck.analysis.program.model import Class, Value
from shapecheck.analysis.values.model import (
    Bound,
    Content,
    DictContent,
    Instance,
    Items,
    ListContent,
    OpInstance,
)
from shapecheck.ops import UNKNOWN, Packed

ITSELF: Final = frozenset(
    "train eval to cuda cpu float half double bfloat16 type requires_grad_ apply".split()
)
"""Methods of modules that return the module."""


def method(frame: Frame, receiver: Value, name: str) -> Method | None:
    """Return what a method of a builtin value, a list, a dict or a module does."""
    content = frame.state.content(receiver)
    same = METHODS.get(("itself", name))
    if same is not None and _holds_parameters(receiver, content):
        return same
    if isinstance(content, ListContent):
        return METHODS.get(("list", name))
    if isinstance(content, DictContent):
        return METHODS.get(("dict", name))
    if isinstance(content, Instance):
        return METHODS.get(("module", name)) or METHODS.get(("record", name))
    if isinstance(receiver, Class):
        return METHODS.get(("record class", name))
    if isinstance(receiver, tuple):
        return METHODS.get(("tuple", name))
    if isinstance(receiver, Items):
        return METHODS.get(("iterator", name))
    if isinstance(receiver, dims.Dim):
        return METHODS.get(("dim", name))
    if isinstance(receiver, Bound) and receiver.name == "__dict__":
        return METHODS.get(("attributes", name))
    if isinstance(receiver, str) and name in _TEXT:
        return partial(_text, name)
    return METHODS.get(("str", name)) if isinstance(receiver, str) else None


_TEXT: Final = frozenset(
    "startswith endswith split rsplit lower upper replace strip lstrip rstrip removeprefix "
    "removesuffix partition rpartition isdigit find index count title capitalize".split()
)


def _text(
    name: str, frame: Frame, owner: Value, args: list[Value], kwargs: Named, node: ast.Call
) -> Value:
    """Call a method of a text whose arguments are known."""
    if not all(isinstance(arg, (*CONSTANTS, tuple)) for arg in (*args, *kwargs.values())):
        handler = METHODS.get(("str", name))
        return UNKNOWN if handler is None else handler(frame, owner, args, kwargs, node)
    try:
        found = getattr(owner, name)(*args, **kwargs)
    except (TypeError, ValueError):
        return UNKNOWN
    return frame.state.new(ListContent(tuple(found))) if isinstance(found, list) else found


def _holds_parameters(value: Value, content: Content) -> bool:
    """Whether a value is a module or packed, of which `to`, `cuda` and so on return it itself."""
    if isinstance(content, (ListContent, DictContent)):
        return content.kind.startswith("nn.")
    return isinstance(content, Instance) or isinstance(value, (OpInstance, Packed))
