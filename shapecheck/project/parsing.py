"""Parses modules, and says what is wrong with those that aren't Python."""

from __future__ import annotations

import ast
import warnings
from typing import Final

from shapecheck.analysis import Source, mentions_tensors
from shapecheck.analysis.program.syntax import parse_ahead, syntax, tree_of
from shapecheck.project.findings import Finding

_SYNTAX: Final = "syntax"


def parsed(source: Source, *, is_known: bool = False) -> ast.Module:
    """Return the tree of a module, the analysis' own where it is going to ask for that.

    It isn't where what it says `is_known`. Raises SyntaxError, and ValueError for a text that no
    parser takes.
    """
    is_analysed = not is_known and mentions_tensors(source.text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return syntax(source).tree if is_analysed else tree_of(source.text)


def is_python(text: str) -> bool:
    """Whether a text that is going to be a module's is one; then that is parsed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            parse_ahead(text)
        except SyntaxError:
            return False
    return True


def mistakes(source: Source, error: SyntaxError | ValueError) -> list[Finding]:
    """Return what is wrong with a module that Python can't parse.

    mypy's parser says it, where it is there, for its own words, and since it reads the syntax of
    newer Pythons too: nothing is wrong with that.
    """
    told = _told_by_mypy(source.text)
    if told is None:
        line, offset = getattr(error, "lineno", None), getattr(error, "offset", None)
        told = [(line or 1, (offset or 1) - 1, getattr(error, "msg", str(error)))]
    return [_mistake(source.path, *one) for one in told]


def _told_by_mypy(text: str) -> list[tuple[int, int, str]] | None:
    """Return the mistakes that mypy's parser finds: line, column, message; None without it."""
    try:
        from ast_serialize import parse

        errors = parse("", text)[1]
    except (ImportError, ValueError):
        return None
    return [
        (one["line"], one["column"], one["message"]) for one in errors if one.get("blocker", True)
    ]


def _mistake(path: str, line: int, column: int, message: str) -> Finding:
    message = f"{message[:1].upper()}{message[1:]}"
    return Finding(path, line, column, line, column + 1, message, (), _SYNTAX, "error")
