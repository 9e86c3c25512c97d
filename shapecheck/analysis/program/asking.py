"""Asks questions again that another process has asked, and has written down."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from shapecheck.analysis.program.answers import Grounds, Likeness, Told, below
from shapecheck.analysis.program.reading import digest, name_in_module

if TYPE_CHECKING:
    from shapecheck.analysis.program.modules import Module, Program

Ask: TypeAlias = Callable[["Program", list[Any]], None]
_About = TypeVar("_About", bound=Callable[..., object])

_KINDS: Final[dict[str, Ask]] = {}
# What is written is made anew, as a tree: to look for a circle takes a quarter of the time.
_AS_TEXT: Final = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def asks(kind: str) -> Callable[[Ask], Ask]:
    """Register what asks a kind of question, given all that was written of one behind its kind."""

    def register(function: Ask) -> Ask:
        _KINDS[kind] = function
        return function

    return register


def written(*parts: object) -> str:
    """Return a question, or an answer, as it is written down.

    Raises ValueError for a number without end.
    """
    return _AS_TEXT(parts)


def ask_again(program: Program, question: str) -> Grounds | None:
    """Ask a question; return what the answer rests on, which others are told of.

    None where it can't be asked, or isn't one, and where there is no answer to tell of.
    """
    memory = program.memory
    memory.begin_part()
    memory.tells = True
    try:
        kind, *parts = json.loads(question)
        _KINDS[kind](program, parts)
    except Exception:  # noqa: BLE001 - the question may be out of anyone's record
        return None
    found = (one for one in below(memory.asked).asked if one.told and one.told.question == question)
    return next(found, None)


class About:
    """Tells other processes of what was asked about a definition, and answered by its text."""

    def __init__(self, question: str) -> None:
        self._question = question

    def told(self, found: object, is_limited: bool) -> Told:
        """Return what they are told."""
        return Told(self._question, digest(_spelled(found)), None)


def about(kind: str, module: Module, node: ast.AST) -> About | None:
    """Return what tells of a question about a definition; None where nobody is told."""
    name = name_in_module(node) if module.program.memory.tells else None
    return None if name is None else About(written(kind, module.name, name))


def asks_about(kind: str) -> Callable[[_About], _About]:
    """Register what asks a kind of question about a definition, given its module and its node."""

    def register(function: _About) -> _About:
        @asks(kind)
        def ask(program: Program, parts: list[Any]) -> None:
            name, definition = parts
            module = program.module(name)
            if module is None:
                raise ValueError(f"no module {name}")
            function(module, module.syntax.definition(definition))

        return function

    return register


class _BySpelling(Likeness):
    def are_alike(self, one: Any, other: Any) -> bool:
        return _spelled(one) == _spelled(other)


BY_SPELLING: Final = _BySpelling()
"""Answers with syntax in them are the same wherever that stood."""


def _spelled(found: object) -> str:
    """Return a text that is another one for another answer."""
    match found:
        case ast.AST():
            return ast.unparse(found)
        case frozenset() | set():
            return f"{{{', '.join(sorted(map(_spelled, found)))}}}"
        case tuple():
            return f"({', '.join(map(_spelled, found))})"
    return repr(found)
