"""What the variables are called that what a call gives is assigned to."""

from __future__ import annotations

import ast

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.reading import body_of
from shapecheck.analysis.program.syntax import elements
from shapecheck.ops.call import only


def assigned_names(frame: Frame, node: ast.Call) -> list[str]:
    """Return the names that what a call gives is assigned to, none where it isn't."""
    places = (frame.at, *body_of(frame.module.tree))  # of a module's own, nothing runs
    at = next((one for one in only(places, ast.Assign) if one.value is node), None)
    if at is None:
        return []
    target = at.targets[0]
    several = elements(target)
    return [_name(one) for one in ([target] if several is None else several)]


def _name(target: ast.expr) -> str:
    match target:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return "_"
