"""What the analysis reads of a program: single definitions, noted as they are read.

A function, or a class, is read in two steps. Who finds its name reads the *head*: the name, the
parameters, decorators and bases, and where a name is bound twice the heads of both. Who goes
through its body reads that, of a class without the bodies of its methods. So an edit of one body
is the business of those who read that body, and of nobody else.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, SupportsIndex, TypeAlias, TypeVar

from mypy_extensions import mypyc_attr

_T = TypeVar("_T")
Text: TypeAlias = Callable[[ast.AST], str]
Definition: TypeAlias = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINED: Final = (*_FUNCTIONS, ast.ClassDef)


class Reading:
    """A part of a module that is read by itself; the same part of the same text is one object.

    `key` finds it again in another text of the module, and `digest` tells whether it is the same
    there: comments, white space and lines don't count. It `is_gone` where an edit has put something
    else there.
    """

    __slots__ = ("_digest", "_lines", "_said", "is_gone", "key", "module")

    def __init__(self, module: str, key: str, said: Callable[[], Iterable[str]]) -> None:
        self.module, self.key = module, key
        self.is_gone = False
        self._said = said
        self._digest = ""
        self._lines = 0

    @property
    def digest(self) -> str:
        """A short text that is another one where something else is read."""
        if not self._digest:
            self._read()
        return self._digest

    @property
    def lines(self) -> int:
        """How many lines are read."""
        if not self._digest:
            self._read()
        return self._lines

    def _read(self) -> None:
        with Unnoted():
            text = "\n".join(self._said())
        self._digest = digest(text)
        self._lines = text.count("\n") + 1

    def __repr__(self) -> str:
        return f"<{self.module}: {self.key}>"


def digest(text: str) -> str:
    """Return a short text that is another one for another text."""
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=12).hexdigest()


class Noted:
    """What has been read since the set was put there."""

    __slots__ = ("readings",)

    def __init__(self) -> None:
        self.readings: set[Any] = set()


NOTED: Final = Noted()


class Unnoted:
    """Reads without a note, in a `with` of it."""

    def __init__(self) -> None:
        self._before = NOTED.readings

    def __enter__(self) -> None:
        self._before, NOTED.readings = NOTED.readings, set()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        NOTED.readings = self._before


@mypyc_attr(native_class=False)  # a list
class Body(list[_T]):
    """The statements of a definition; going through them is noted."""

    __slots__ = ("key", "reading")

    key: str
    reading: Reading

    def read(self) -> None:
        """Note that the definition is read."""
        NOTED.readings.add(self.reading)

    def quietly(self) -> Iterator[_T]:
        """Yield the statements without a note."""
        return super().__iter__()

    def __iter__(self) -> Iterator[_T]:
        NOTED.readings.add(self.reading)
        return super().__iter__()

    def __reversed__(self) -> Iterator[_T]:
        NOTED.readings.add(self.reading)
        return super().__reversed__()

    def __len__(self) -> int:
        NOTED.readings.add(self.reading)
        return super().__len__()

    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        NOTED.readings.add(self.reading)
        return super().__getitem__(index)

    def __contains__(self, item: object) -> bool:
        NOTED.readings.add(self.reading)
        return super().__contains__(item)


def body_of(node: Definition) -> Sequence[ast.stmt]:
    """Return the statements of a definition; going through them is noted.

    What is declared to be a list, as `node.body` is, compiled code goes through by itself, and what
    a class of lists does instead isn't asked: so whatever an answer rests on asks here.
    """
    return node.body


def name_in_module(node: ast.AST) -> str | None:
    """Return the name of a definition, `Net.forward`; None for one inside of a function."""
    body = getattr(node, "body", None)
    return body.key if isinstance(body, Body) else None


def read(node: ast.AST) -> None:
    """Note that a definition is read, by somebody who knows already what stands in it."""
    body = getattr(node, "body", None)
    if isinstance(body, Body):
        body.read()


def watch(tree: ast.Module, reading: Callable[[str], Reading]) -> dict[str, Definition]:
    """Have it noted who goes through which definitions of a module; return these by their names.

    `reading` gives the reading of a key: `body Net.forward`, or `body ` for the module itself.
    """
    found: dict[str, Definition] = {"": tree}
    _find(tree, "", found)
    for name, node in found.items():
        body: Body[ast.stmt] = Body(quietly(node))
        node.body, body.key, body.reading = body, name, reading(f"body {name}")
    return found


def _find(node: ast.Module | ast.ClassDef, prefix: str, found: dict[str, Definition]) -> None:
    count: dict[str, int] = {}
    for one in _definitions(node.body):
        number = count[one.name] = count.get(one.name, 0) + 1
        name = f"{prefix}{one.name}" + (f"#{number}" if number > 1 else "")
        found[name] = one
        if isinstance(one, ast.ClassDef):
            _find(one, f"{name}.", found)


def statements(node: Definition, text: Text) -> Iterator[str]:
    """Yield what the statements of a body say; those of a module or class by their heads."""
    head = not isinstance(node, _FUNCTIONS)
    return (part for one in quietly(node) for part in said(one, text, head))


def quietly(node: Definition) -> Iterator[ast.stmt]:
    """Yield the statements of a definition for somebody on whom no answer rests."""
    body = node.body
    return body.quietly() if isinstance(body, Body) else iter(body)


def said(
    node: object, text: Text, head: bool = False, *, docstrings: bool = False
) -> Sequence[str]:
    """Return what a piece of syntax says, of a definition with `head` all but its body.

    Simple statements and expressions as they are spelled, others by their parts: so what is between
    them doesn't count, nor do comments, empty lines and indentation inside of them, nor, unless
    they are asked for, `docstrings`.
    """
    found: list[str] = []
    _say(found, node, text, head, docstrings)
    return found


def _say(found: list[str], node: object, text: Text, head: bool, docstrings: bool) -> None:
    """Add what a piece of syntax says to what was found."""
    if isinstance(node, list):
        for one in node:
            _say(found, one, text, head, docstrings)
    elif not docstrings and _is_docstring(node):
        return
    elif isinstance(node, ast.expr) or (isinstance(node, ast.stmt) and not _has_blocks(node)):
        found.append(text(node))
    elif isinstance(node, ast.AST):
        parts = [
            getattr(node, name)
            for name in node._fields
            if hasattr(node, name) and not (head and name == "body" and isinstance(node, _DEFINED))
        ]
        # Where a block ends is said by how long it is.
        lengths = "".join([f" {len(held)}" for held in parts if isinstance(held, list)])
        found.append(f"{type(node).__name__}{lengths}")
        for held in parts:
            _say(found, held, text, head, docstrings)
    else:
        found.append(repr(node))


def _is_docstring(node: object) -> bool:
    """Whether it is a string as a statement, which says nothing to the analysis."""
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False


def _has_blocks(node: ast.stmt) -> bool:
    return hasattr(node, "body") or isinstance(node, ast.Match)


def _definitions(body: Iterable[ast.AST]) -> Iterator[Any]:
    """Yield the functions and classes among statements, those under conditions included."""
    for node in body:
        if isinstance(node, _DEFINED):
            yield node
        elif isinstance(node, ast.stmt):
            yield from _definitions(ast.iter_child_nodes(node))
        elif isinstance(node, (ast.ExceptHandler, ast.match_case)):
            yield from _definitions(node.body)
