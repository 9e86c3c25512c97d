"""Cuts a module's text into the pieces that are changed and those that stay."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from shapecheck.codemod.write.imports import MARK


class Piece(NamedTuple):
    """A piece of a module's text; where it is a function, the names of the classes around it.

    `below` is to be added to make a function of it, where that is but the head of one.
    """

    text: str
    outer: Sequence[str] | None = None
    below: str = ""


LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
"""A line, with its end."""


def pieces_of(
    text: str, functions: Collection[str], whole: Collection[str]
) -> tuple[str, list[Piece]]:
    """Return what is above the first function or class, if anything is, and the rest in pieces.

    Those that are one of some functions, or have one in them, come with the names around them: it
    takes long to make trees, which the others don't need. Nor do the bodies of functions that
    aren't `whole` and have none of the functions in them.
    """
    lines = LINE.findall(text)
    body = ast.parse(text).body
    first = next((node for node in body if any(True for _ in _outermost([node], []))), None)
    if first is None or MARK in "".join(lines[_first_line(first) - 1 :]):
        return text, []  # no function, or an import of ours that somebody has moved
    # The head is never empty: it tells how lines end.
    done = _first_line(first) - 1 or first.end_lineno or 1
    head = "".join(lines[:done])
    pieces: list[Piece] = []
    for node, outer in _outermost(body, []):
        name = ".".join([*outer, node.name])
        start, end = node.lineno - 1, node.end_lineno or node.lineno
        inside = [one for one in functions if f"{one}.".startswith(f"{name}.")]
        if start < done or not inside:
            continue
        begin = _first_line(node.body[0]) - 1
        margin = lines[begin][: node.body[0].col_offset]
        is_head = inside == [name] and name not in whole and not margin.strip()
        end = begin if is_head else end
        pieces.append(Piece("".join(lines[done:start])))
        below = f"{margin}pass" if is_head else ""
        pieces.append(Piece("".join(lines[start:end]), outer, below))
        done = end
    pieces.append(Piece("".join(lines[done:])))
    return head, pieces


def _outermost(
    body: Iterable[ast.AST], outer: list[str]
) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, list[str]]]:
    """Yield the functions that are in no other one, each with the names of the classes around."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node, outer
        elif isinstance(node, ast.ClassDef):
            yield from _outermost(node.body, [*outer, node.name])
        elif not isinstance(node, ast.expr):
            yield from _outermost(ast.iter_child_nodes(node), outer)


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])
