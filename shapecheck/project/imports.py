"""What modules import, as mypy sees it: what can't be reached isn't imported."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shapecheck.project.settings import Settings

# In what is no string, an import is a statement of its own line, in almost all files.
_FROM: Final = r"from[ \t.][\w. \t]*"
_STATEMENT: Final = re.compile(
    rf"^[ \t]*(?P<statement>(?:{_FROM})?\bimport\b[^\n\\#;()]*(?:\([^()#]*\)[ \t]*)?)\r?"
    r"(?=[#\n]|\Z)",
    re.MULTILINE,
)
_WORD: Final = re.compile(rf"(?:^|[;:])[ \t]*(?:{_FROM}(?:\bimport\b|\\)|import\b)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Imported:
    """A module that is imported, and the names in it that are, which may be modules."""

    module: str
    names: tuple[str, ...] = ()


def perhaps(text: str, module: str, *, is_package: bool) -> Iterable[Imported] | None:
    """Return what a module imports, at a glance: all of it, and what stands in a string too.

    None where that takes a closer look.
    """
    statements, words, end = [], 0, 0
    for start, stop in _lines_with(text, ("import", "from")):
        words += len(_WORD.findall(text, start, stop))
        if start >= end and (one := _STATEMENT.match(text, start)):
            statements.append(one["statement"])
            end = one.end()
    if len(statements) != words:
        return None
    try:
        tree = ast.parse("\n".join(map(str.strip, statements)))
    except (SyntaxError, ValueError):
        return None
    return [one for node in tree.body for one in _imported(node, module, is_package)]


def _lines_with(text: str, words: Iterable[str]) -> list[tuple[int, int]]:
    """Return where the lines start and end in which any of the words stands."""
    found = set()
    for word in words:
        at = text.find(word)
        while at != -1:
            end = text.find("\n", at)
            end = len(text) if end == -1 else end
            found.add((text.rfind("\n", 0, at) + 1, end))
            at = text.find(word, end)
    return sorted(found)


def surely(
    tree: ast.Module, module: str, settings: Settings, *, is_package: bool
) -> Iterator[Imported]:
    """Yield what a module imports, where that can be reached."""
    for node in _reached(tree.body, settings):
        yield from _imported(node, module, is_package)


def _imported(node: ast.stmt, module: str, is_package: bool) -> Iterator[Imported]:
    if isinstance(node, ast.Import):
        yield from (Imported(alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        origin = absolute(node, module, is_package=is_package)
        if origin:
            yield Imported(origin, tuple(alias.name for alias in node.names))


def absolute(node: ast.ImportFrom, module: str, *, is_package: bool) -> str:
    """Return the module that a `from` means; empty where it is above all packages."""
    up = node.level - is_package if node.level else 0
    parts = module.split(".")
    inside = parts[: len(parts) - up] if node.level else []
    return ".".join((*inside, *([node.module] if node.module else [])))


def _reached(body: Sequence[ast.stmt], settings: Settings) -> Iterator[ast.stmt]:
    """Yield the statements that can be reached, those in others included."""
    for node in body:
        yield node
        if isinstance(node, ast.If):
            truth = _truth(node.test, settings)
            if truth is not False:
                yield from _reached(node.body, settings)
            if truth is not True:
                yield from _reached(node.orelse, settings)
            continue
        for block in _blocks(node):
            yield from _reached(block, settings)
        if isinstance(node, ast.Assert) and _truth(node.test, settings) is False:
            return


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def _truth(test: ast.expr, settings: Settings) -> bool | None:
    """Return whether a condition holds on the platform at hand; None where nothing says it."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            truth = _truth(operand, settings)
            return None if truth is None else not truth
        case ast.BoolOp(op=op, values=values):
            known = [_truth(value, settings) for value in values]
            decisive = isinstance(op, ast.Or)
            if decisive in known:
                return decisive
            return None if None in known else not decisive
        case ast.Name(id=name) | ast.Attribute(attr=name):
            if name in {"TYPE_CHECKING", "MYPY", "PY3", *settings.always_true}:
                return True
            return False if name in {"PY2", *settings.always_false} else None
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(left, op, right, settings)
        case ast.Call(
            func=ast.Attribute(value=of, attr="startswith"),
            args=[ast.Constant(value=str(start))],
        ):
            return settings.platform.startswith(start) if _is_of_sys(of, "platform") else None
    return None


def _compared(left: ast.expr, op: ast.cmpop, right: ast.expr, settings: Settings) -> bool | None:
    """Compare `sys.platform` with a text, or `sys.version_info` with numbers."""
    if _is_of_sys(left, "platform") and isinstance(right, ast.Constant):
        is_same = settings.platform == right.value
        return {ast.Eq: is_same, ast.NotEq: not is_same}.get(type(op))
    version: tuple[int, ...] | int = settings.python_version
    if isinstance(left, ast.Subscript):
        match left.slice:
            case ast.Constant(value=int(at)) if at in (0, 1):
                version = settings.python_version[at]
            case ast.Slice(lower=None, upper=ast.Constant(value=int(length)), step=None):
                version = settings.python_version[:length]
            case _:
                return None
        left = left.value
    if not _is_of_sys(left, "version_info"):
        return None
    other = _numbers(right)
    if isinstance(version, int) or isinstance(other, int):
        are_alike = isinstance(version, int) and isinstance(other, int)
    else:
        are_alike = other is not None and len(version) >= len(other)
    operation = _OPERATIONS.get(type(op))
    return operation(version, other) if operation is not None and are_alike else None


def _numbers(node: ast.expr) -> tuple[int, ...] | int | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None
    if isinstance(value, tuple) and all(isinstance(one, int) for one in value):
        return value
    return value if isinstance(value, int) else None


def _is_of_sys(node: ast.expr, name: str) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.value, ast.Name)
        and node.value.id == "sys"
    )


_OPERATIONS: Final[dict[type[ast.cmpop], Callable[[Any, Any], bool]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
