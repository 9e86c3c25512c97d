"""Says where the program makes a layer: its sizes are written there, and not where it is called."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final, TypeAlias

from shapecheck.analysis.annotations.classes import own_ancestry
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Class
from shapecheck.analysis.program.modules import Module
from shapecheck.analysis.program.syntax import elements, nodes_of
from shapecheck.analysis.values.model import Instance

_LONGEST: Final = 60
_Made: TypeAlias = tuple[Module, ast.expr]


def where_made(frame: Frame, label: str) -> str | None:
    """Return a note that says how and where a layer was made that is called by an expression.

    None where it is made more than once, or somewhere that isn't plain to see.
    """
    try:
        node = ast.parse(label, mode="eval").body
    except SyntaxError:
        return None
    made = _made(frame, node)
    if made is None:
        return None
    module, call = made
    text = re.sub(r",? ?\)$", ")", " ".join(module.lines.segment(call).split()))
    if not isinstance(call, ast.Call) or len(text) > _LONGEST:
        return None
    if module is frame.module:
        module.syntax.placed()
        return f'"{label}" is {text} since line {call.lineno}'
    module.syntax.quoted()
    return f'"{label}" is {text} since {module.source.path}:{call.lineno}'


def _made(frame: Frame, node: ast.expr) -> _Made | None:
    """Return the expression that gives an expression's value, with its module."""
    match node:
        case ast.Name(id=name):
            source = frame.state.sources.get(name)
            return None if source is None else (frame.module, source)
        case ast.Attribute(value=owner, attr=name):
            content = frame.state.content(frame.hush(Frame.eval, owner))
            found = list(_assigned(content.cls, name)) if isinstance(content, Instance) else []
            return found[0] if len(found) == 1 else None
        case ast.Subscript(value=whole, slice=ast.Constant(value=int(index))):
            made = _made(frame, whole)
            return None if made is None else _item(*made, index)
    return None


def _assigned(cls: Class, name: str) -> Iterator[_Made]:
    """Yield what the methods of a class and its ancestors assign to an attribute of `self`."""
    for parent in own_ancestry(cls):
        for node in nodes_of(ast.Assign, parent.node):
            for target in node.targets:
                match target:
                    case ast.Attribute(value=ast.Name(id="self"), attr=attr) if attr == name:
                        yield parent.module, node.value


def _item(module: Module, node: ast.expr, index: int) -> _Made | None:
    """Return an item of an `nn.Sequential` or a list of modules that is spelled out."""
    match node:
        case ast.Call(args=[ast.ListComp(elt=each) | ast.GeneratorExp(elt=each)], keywords=[]):
            return module, each
        case ast.Call(args=[ast.List() | ast.Tuple() as only], keywords=[]):
            items = elements(only) or []
        case ast.Call(args=items, keywords=[]):
            pass
        case _:
            return None
    if any(isinstance(item, ast.Starred) for item in items) or not index < len(items):
        return None
    return module, items[index]
