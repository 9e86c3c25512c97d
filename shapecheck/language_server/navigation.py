"""From a dimension to where it got its name, and the same name everywhere at once."""

from __future__ import annotations

import ast
import re
from typing import Final

from lsprotocol import types

from shapecheck.language_server.annotation_texts import Mention
from shapecheck.language_server.diagnostics import name_on
from shapecheck.language_server.workspace import View

_NAME: Final = re.compile(r"[^\W\d]\w*\Z")
_RESERVED: Final = ("min", "max")


class RefusedError(Exception):
    """A name can't be another: why."""


def definition(view: View, position: types.Position) -> list[types.Location]:
    """Return where a dimension got its name first; of a tensor, where that got its shape."""
    line, column = view.place(position)
    mention = view.dimensions.at(line, column)
    if mention is not None:
        found = view.dimensions.objects.get(mention.name) or _first(view, mention).span
        return [types.Location(view.uri, view.range(found))]
    look = view.look(line)
    for one in look.shapes if look is not None else ():
        span = one.span
        is_here = span.line == line and span.column <= column <= span.end_column
        if is_here and one.since is not None and not one.binds:
            found = name_on(view.text, view.text.cut(span), one.since)
            return [types.Location(view.uri, view.range(found))]
    return []


def references(view: View, position: types.Position) -> list[types.Location]:
    """Return where a dimension stands in annotations."""
    mention = view.dimensions.at(*view.place(position))
    every = [] if mention is None else view.dimensions.same(mention)
    return [types.Location(view.uri, view.range(one.span)) for one in every]


def prepare_rename(view: View, position: types.Position) -> types.PrepareRenamePlaceholder | None:
    """Return what would be renamed at a position, None where nothing of ours is."""
    mention = view.dimensions.at(*view.place(position))
    if mention is None or mention.name in view.dimensions.objects:
        return None
    return types.PrepareRenamePlaceholder(view.range(mention.span), mention.name)


def rename(view: View, position: types.Position, name: str) -> types.WorkspaceEdit | None:
    """Return the edits by which a dimension has another name wherever it is meant.

    Callers have names of their own. Raises `RefusedError` where the name would be another thing.
    """
    dimensions = view.dimensions
    mention = dimensions.at(*view.place(position))
    if mention is None:
        return None
    if mention.name in dimensions.objects:
        raise RefusedError(f'"{mention.name}" is a variable: rename that, and its text with it')
    if not _NAME.match(name) or name.startswith("_") or name in _RESERVED:
        raise RefusedError(f'"{name}" can\'t be the name of a dimension')
    home, every = dimensions.home(mention), dimensions.same(mention)
    taken = [
        one
        for one in dimensions.mentions
        if one.name == name and (dimensions.home(one) is home or home in (one.owner, *one.classes))
    ]
    if taken or name in dimensions.objects:
        line = taken[0].span.line if taken else dimensions.objects[name].line
        raise RefusedError(f'"{name}" is another dimension here, on line {line}')
    if isinstance(home, ast.ClassDef) and _is_attribute(home, mention.name):
        raise RefusedError(
            f'"{mention.name}" is the size `self.{mention.name}`: rename the attribute with it'
        )
    edits = [types.TextEdit(view.range(one.span), name) for one in every]
    return types.WorkspaceEdit(changes={view.uri: edits})


def _first(view: View, mention: Mention) -> Mention:
    return view.dimensions.same(mention)[0]


def _is_attribute(cls: ast.ClassDef, name: str) -> bool:
    """Whether a class assigns an attribute of a name, which then is the size of its dimension."""
    return any(
        isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store)
        for node in ast.walk(cls)
    )
