"""From a cell, as IPython hands it to Python, to the Python that it runs in the notebook itself."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from shapecheck.project.trees import parsed_text

_RUN_THEIR_BODY: Final = ("time", "capture", "prun")
"""The magics that run what follows them where the notebook's own names are."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The Python of a cell. `is_as_run`: its lines are those of which tracebacks speak."""

    text: str
    is_as_run: bool = True


def plain(transformed: str, transform: Callable[[str], str]) -> Cell | None:
    """Return the Python in a cell that IPython has transformed; None where it is none.

    Magics are calls there. One that runs its own text gives way to that text, which `transform`
    transforms.
    """
    tree = parsed_text(transformed)
    if tree is None:
        return None
    if len(tree.body) == 1:
        body = _body_of_magic(tree.body[0])
        if body is not None:
            inner = plain(transform(body), transform)
            return None if inner is None else Cell(f"\n{inner.text}", is_as_run=False)
    lines = transformed.split("\n")
    is_as_run = True
    for statement in tree.body:
        timed = _timed(statement)
        if timed is not None and parsed_text(timed) is not None:
            lines[statement.lineno - 1] = timed
            is_as_run = False
    text = "\n".join(lines)
    return None if parsed_text(text) is None else Cell(text, is_as_run)


def _body_of_magic(statement: ast.stmt) -> str | None:
    """Return what stands below `%%time` and its like."""
    match statement:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(attr="run_cell_magic"),
                args=[ast.Constant(value=name), _, ast.Constant(value=str(body))],
            )
        ) if name in _RUN_THEIR_BODY:
            return body
    return None


def _timed(statement: ast.stmt) -> str | None:
    """Return what stands behind `%time` on its line."""
    match statement:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(attr="run_line_magic"),
                args=[ast.Constant(value="time"), ast.Constant(value=str(timed))],
            )
        ) if statement.lineno == statement.end_lineno and "\n" not in timed:
            return timed
    return None
