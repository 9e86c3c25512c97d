"""Where in the user's program something happens; looked up only when there is something to tell."""

from __future__ import annotations

import ast
import contextlib
import dis
import importlib.util
import inspect
import linecache
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Final

from shapecheck.ipython import place_text
from shapecheck.runtime.errors import LOCK, CarriedError, ShapeError, debugging, own_fault
from shapecheck.runtime.folders import lies_in

_OURS: Final = (
    str(Path(__file__).parent),
    *(str(Path(__file__).parents[1] / name) for name in ("named", "record")),
)
_GENERATED: Final = "<shapecheck"
_is_ours: Final = lies_in(*_OURS, also=_GENERATED)
_is_stdlib: Final = lies_in(str(Path(ast.__file__).parent))
_SITES: Final = frozenset(("site-packages", "dist-packages"))


def _folders(library: str) -> Iterator[str]:
    """Yield where a library lies, which needn't be beside torch."""
    with contextlib.suppress(ImportError, ValueError):
        found = importlib.util.find_spec(library)
        yield from (found and found.submodule_search_locations) or ()


EINOPS: Final = tuple(_folders("einops"))
"""Where einops lies."""
_LIBRARIES: Final = ("torch", "functorch", "einops", "einx", "opt_einsum", "fancy_einsum")
_is_not_users: Final = lies_in(
    *(folder for name in _LIBRARIES for folder in _folders(name)), *_OURS, also=_GENERATED
)


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the user's program; `node` is the expression or statement that runs, if known.

    `caller`: where the user's own code called it, if the line is one of an installed library, or
    hands on what it is given, as that of a wrapper does.
    """

    code: CodeType
    line: int
    node: ast.AST | None = None
    function: ast.AST | None = None
    caller: Place | None = None

    def __str__(self) -> str:
        path = self.code.co_filename
        text = linecache.getline(path, self.line).strip()
        said = place_text(path, self.line) + (f": {text}" if text else "")
        return said if self.caller is None else f"{said}\n  called at {self.caller}"

    def since(self, name: str) -> int | None:
        """Return the line that gave a local name its value: the last one above that binds it."""
        lines = [line for line in _bindings(self.function, name) if line < self.line]
        return max(lines, default=None)


def filename_for(label: str) -> str:
    """Return what generated code that stands around a function is said to come from.

    `warnings.warn(..., stacklevel=2)` in the function names its caller: Python leaves out what has
    these two words in its file name.
    """
    return f"<shapecheck {label}, left out as importlib._bootstrap is>"


def user_place() -> Place | None:
    """Return the innermost line that is neither ours nor of a library of ops."""
    frame = users_frame(sys._getframe(1))
    if frame is None:
        return None
    function = function_of(frame.f_code)
    node = _node_at(frame.f_code, frame.f_lasti)
    return Place(frame.f_code, frame.f_lineno, node, function, _caller(frame))


def _caller(frame: FrameType) -> Place | None:
    """Return the innermost line of the user's own that has led to one that isn't, or hands on."""
    outer: FrameType | None = frame
    while outer is not None and (is_installed(outer.f_code) or _hands_on(outer)):
        outer = users_frame(outer.f_back)
    if outer is None or outer is frame:
        return None
    return Place(outer.f_code, outer.f_lineno)


def _hands_on(frame: FrameType) -> bool:
    return _passes_on(frame.f_code, _node_at(frame.f_code, frame.f_lasti))


def _passes_on(code: CodeType, node: ast.AST | None) -> bool:
    """Whether a call passes on what the function around it takes: `function(*args, **kwargs)`."""
    if not isinstance(node, ast.Call):
        return False
    first = code.co_argcount + code.co_kwonlyargcount
    stars = code.co_flags & inspect.CO_VARARGS, code.co_flags & inspect.CO_VARKEYWORDS
    own = code.co_varnames[first : first + sum(map(bool, stars))]
    given = [one.value for one in node.args if isinstance(one, ast.Starred)]
    given += [one.value for one in node.keywords if one.arg is None]
    return any(isinstance(one, ast.Name) and one.id in own for one in given)


def hands_all_on(code: CodeType, offset: int) -> bool:
    """Whether what a function is given is just what it gives on here: `function(*args, **kwargs)`.

    `self` may stand before it, on both sides or on one.
    """
    node = _node_at(code, offset)
    if not isinstance(node, ast.Call) or not _passes_on(code, node):
        return False
    own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    alone = [one for one in node.args if not isinstance(one, ast.Starred)]
    is_self = all(isinstance(one, ast.Name) and one.id == "self" for one in alone)
    return is_self and set(own) <= {"self"} and all(one.arg is None for one in node.keywords)


def is_installed(code: CodeType) -> bool:
    """Whether code is of a library that is installed, Python's own included."""
    return _is_stdlib(code.co_filename) or not _SITES.isdisjoint(Path(code.co_filename).parts)


def users_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame, outwards, that is neither ours nor of a library of ops."""
    while frame is not None and not is_users(frame.f_code):
        frame = frame.f_back
    return frame


def value_at(frame: FrameType, node: ast.expr) -> object:
    """Return what a variable or an attribute is in a frame; nothing of the user's runs for it."""
    match node:
        case ast.Name(id=name):
            return frame.f_locals.get(name, frame.f_globals.get(name))
        case ast.Attribute(value=value, attr=attr):
            own = getattr(value_at(frame, value), "__dict__", None) or {}
            kept = (own, *map(own.get, ("_parameters", "_buffers", "_modules")))
            return next((one[attr] for one in kept if isinstance(one, dict) and attr in one), None)
    return None


def told_at_users_line(error: Exception, caught: bool = True) -> Exception:
    """Return an error with a traceback that has none of our lines in it.

    That of a `ShapeError` ends at the user's own line, not inside of a library of ops. Where it was
    `caught`, the first entry is the frame that did, which raising it again adds. With
    `SHAPECHECK_DEBUG=1` all are there.
    """
    try:
        return _told(error, caught)
    except Exception as fault:  # noqa: BLE001 - the user's own error goes on
        own_fault("to tell where an error comes from", fault)
        return error


def _told(error: Exception, caught: bool) -> Exception:
    found = error.unpacked() if isinstance(error, CarriedError) else error
    if found is not error:
        found.__cause__ = found.__cause__  # so that what carried it isn't told as its context
    entries = list(_entries(error.__traceback__))[caught:]
    if not debugging():
        if isinstance(error, ShapeError):
            while entries and not is_users(entries[-1].tb_frame.f_code):
                entries.pop()
            if found.__cause__ is not None:  # torch's own, which was caught inside of us
                found.__cause__.__traceback__ = _joined(_entries(found.__cause__.__traceback__))
    return found.with_traceback(_joined(entries, ours=debugging()))


def _entries(entry: TracebackType | None) -> Iterator[TracebackType]:
    while entry is not None:
        yield entry
        entry = entry.tb_next


def _joined(entries: Iterable[TracebackType], ours: bool = False) -> TracebackType | None:
    """Return a traceback of entries, only of those that aren't ours unless it says so."""
    kept: TracebackType | None = None
    for one in reversed(list(entries)):
        if ours or not is_ours(one.tb_frame.f_code):
            kept = TracebackType(kept, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return kept


def is_ours(code: CodeType) -> bool:
    """Whether code is shapecheck's own, written or generated."""
    return _is_ours(code.co_filename)


def is_users(code: CodeType) -> bool:
    """Whether code is neither ours nor of torch or another library of ops."""
    return not _is_not_users(code.co_filename)


def by_operator() -> bool:
    """Whether an operator such as `a @ b` is at work, the user's or one of torch's on the way."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = dis.opname[frame.f_code.co_code[max(frame.f_lasti, 0)]]
        if name != "BINARY_SUBSCR" and name.startswith(("BINARY_", "INPLACE_", "COMPARE_")):
            return True
        if not _is_not_users(frame.f_code.co_filename):
            return False
        frame = frame.f_back
    return False


def _bindings(function: ast.AST | None, name: str) -> Iterator[int]:
    for node in ast.walk(function) if function is not None else ():
        if (isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)) or (
            isinstance(node, ast.arg) and node.arg == name
        ):
            yield node.lineno


@lru_cache(maxsize=256)
def function_of(code: CodeType) -> ast.AST | None:
    """Parse the source of one function; the line numbers are those of its file."""
    lines = linecache.getlines(code.co_filename)
    start = max(code.co_firstlineno, 1)
    try:
        block = lines if code.co_name == "<module>" else inspect.getblock(lines[start - 1 :])
        text = "".join(block)
        indented = text[:1].isspace()
        with LOCK:
            tree = ast.parse("if 1:\n" + text if indented else text)
    except (SyntaxError, ValueError, IndexError, OSError):
        return None
    return ast.increment_lineno(tree, start - 1 - indented)


def lambda_of(code: CodeType) -> ast.Lambda | None:
    """Parse the file of a lambda and return it; None where another one may be meant."""
    try:
        with LOCK:
            tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except (SyntaxError, ValueError):
        return None
    ends = {(last, end) for _, last, _, end in _positions(code)}
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda)
        and node.lineno == code.co_firstlineno
        and (node.body.end_lineno, node.body.end_col_offset) in ends
    ]
    return found[0] if len(found) == 1 else None


def _positions(code: CodeType) -> Iterator[tuple[int | None, ...]]:
    """Yield the lines and columns of what stands at each offset of bytecode, from Python 3.11."""
    positions = getattr(code, "co_positions", None)
    return iter(()) if positions is None else positions()


def span_at(code: CodeType, offset: int) -> tuple[int | None, ...] | None:
    """Return the lines and columns of what stands at an offset in the bytecode."""
    return next(islice(_positions(code), max(offset, 0) // 2, None), None)


def expression_at(code: CodeType, span: tuple[int | None, ...]) -> ast.expr | None:
    """Return the expression between two places, by itself; None if there isn't one."""
    first, last, start, end = span
    if first is None or last is None:
        return None
    lines = [line.encode() for line in linecache.getlines(code.co_filename)[first - 1 : last]]
    if not lines:
        return None
    lines[-1] = lines[-1][:end]  # first, where it is one line
    lines[0] = lines[0][start:]
    try:
        return ast.parse(b"(%s)" % b"".join(lines), mode="eval").body
    except (SyntaxError, ValueError):
        return None


@lru_cache(maxsize=1024)
def _node_at(code: CodeType, offset: int) -> ast.AST | None:
    function, span = function_of(code), span_at(code, offset)
    if function is None or span is None:
        return None
    found: ast.AST | None = None
    for node in ast.walk(function):
        if isinstance(node, ast.expr | ast.stmt) and not isinstance(node, ast.Expr):
            here = (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
            if here == span:
                found = node
    return found


def call_label(place: Place | None, default: str) -> str:
    """Return a called function as it is spelled at the call: a path in full, or a method's name.

    A wrapper has a name of its own for it, which says nothing.
    """
    node = place.node if place is not None else None
    if place is None or not isinstance(node, ast.Call) or _passes_on(place.code, node):
        return default
    return spelled(node.func) or default


def spelled(function: ast.expr) -> str | None:
    """Return a function as it is called by: a path in full, or a method's name; None for others."""
    owner = function
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    if isinstance(owner, ast.Name):
        return ast.unparse(function)
    return function.attr if isinstance(function, ast.Attribute) else None


def return_place(function: object) -> tuple[Place | None, list[str]]:
    """Return the line of a function's only `return`, and the source of what it returns.

    Of a tuple, the source of each item. With several returns it isn't known which one it was.
    """
    code = getattr(inspect.unwrap(function), "__code__", None)  # type: ignore[arg-type]
    return _return_place(code) if isinstance(code, CodeType) else (None, [])


@lru_cache(maxsize=256)
def _return_place(code: CodeType) -> tuple[Place | None, list[str]]:
    tree = function_of(code)
    returns = list(_returns(tree)) if tree is not None else []
    if len(returns) != 1 or returns[0].value is None:
        return Place(code, code.co_firstlineno), []
    value = returns[0].value
    items = value.elts if isinstance(value, ast.Tuple) else [value]
    return Place(code, returns[0].lineno, value, tree), [ast.unparse(item) for item in items]


def _returns(tree: ast.AST) -> Iterator[ast.Return]:
    """Return the returns of a function's own body, not those of functions inside of it."""
    outer = next((n for n in ast.walk(tree) if isinstance(n, FUNCTIONS)), None)
    inside = own_syntax(outer) if outer is not None else iter(())
    return (node for node in inside if isinstance(node, ast.Return))


def own_syntax(function: ast.AST) -> Iterator[ast.AST]:
    """Yield what stands in a function itself, not in functions and classes inside of it."""
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            waiting += ast.iter_child_nodes(node)


FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
