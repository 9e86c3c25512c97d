"""Pieces of source: what they bind, what they get their shape from, what to call them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from shapecheck.analysis.program.reading import Definition, body_of
from shapecheck.analysis.program.syntax import (
    add_children,
    elements,
    kept_by_node,
    last_word,
    owner_of,
)
from shapecheck.ops.call import only

_LONGEST: Final = 30
_KEPT: Final = 512
"""As many methods has a large class, of which all are looked through for one attribute."""


def bindings(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield what a piece of source binds, each with what it is bound to."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield target, value
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield target, value
        case ast.NamedExpr(target=target, value=value):
            yield target, value
        case ast.AugAssign(target=target):
            yield target, node
        case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
            yield target, value
        case ast.comprehension(target=target, iter=value):
            yield target, value
        case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
            yield target, value


def each(target: ast.AST, value: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the names in a target, each with its part of the value where that is spelled out."""
    match target:
        case ast.Tuple(elts=inner) | ast.List(elts=inner):
            parts = elements(value) or []
            matching = len(parts) == len(inner) and not only((*parts, *inner), ast.Starred)
            for index, one in enumerate(inner):
                yield from each(one, parts[index] if matching else value)
        case ast.Name(id=name):
            yield name, value
        # `frames[i] = ...` says what is in `frames`
        case ast.Starred(value=held) | ast.Subscript(value=held):
            yield from each(held, value)


def _within(body: Iterable[ast.AST]) -> list[ast.AST]:
    """Return nodes and those inside of them, in order, without the functions and classes there."""
    found: list[ast.AST] = []
    waiting = [*body]
    waiting.reverse()
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, _APART):
            at = len(waiting)
            add_children(node, waiting)
            waiting[at:] = reversed(waiting[at:])
    return found


_APART: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@kept_by_node(_KEPT)
def within(definition: Definition) -> Sequence[ast.AST]:
    """Return the nodes in a body, in order, without those of the functions and classes there."""
    return _within(body_of(definition))


@kept_by_node(_KEPT)
def bound_in(definition: Definition) -> Mapping[str, Sequence[tuple[int, ast.AST]]]:
    """Return what a body binds names to, each with its line, in order."""
    found: dict[str, list[tuple[int, ast.AST]]] = {}
    for node in within(definition):
        for target, value in bindings(node):
            for name, part in each(target, value):
                found.setdefault(name, []).append((getattr(part, "lineno", 0), part))
    return found


@kept_by_node(_KEPT)
def assigned_in(definition: Definition) -> Mapping[str, Sequence[ast.AST]]:
    """Return what a body assigns to attributes, by what these are called: `self.weight`."""
    found: dict[str, list[ast.AST]] = {}
    for node in within(definition):
        for target, value in bindings(node):
            if owner_of(target) is not None:
                found.setdefault(words(target), []).append(value)
    return found


def operands(node: ast.AST) -> list[ast.expr]:
    """Return the expressions that an expression gets its shape from."""
    match node:
        case ast.Call():
            return _given(node)
        case ast.Subscript(value=value, slice=ast.Tuple(elts=indices)):
            return [value, *indices]
        case ast.DictComp(value=value, generators=generators):
            return [value, *(one.iter for one in generators)]
    found: list[ast.expr] = []
    for field in _OPERANDS.get(type(node), ()):
        part = getattr(node, field)
        found += part if isinstance(part, list) else [part]
    return found


_OPERANDS: Final[dict[type[ast.AST], tuple[str, ...]]] = {
    ast.Attribute: ("value",),
    ast.Await: ("value",),
    ast.BinOp: ("left", "right"),
    ast.BoolOp: ("values",),
    ast.Compare: ("left", "comparators"),
    ast.Dict: ("values",),
    ast.IfExp: ("body", "orelse"),
    ast.List: ("elts",),
    ast.NamedExpr: ("value",),
    ast.Set: ("elts",),
    ast.Starred: ("value",),
    ast.Subscript: ("value", "slice"),
    ast.Tuple: ("elts",),
    ast.UnaryOp: ("operand",),
}
"""The fields of an expression that its shape comes from."""


def _given(call: ast.Call) -> list[ast.expr]:
    """Return what a call is given: its receiver, its arguments, and what is in lists of these."""
    owner = owner_of(call.func)
    receiver = [] if owner is None else [owner]
    named = (word.value for word in call.keywords if word.arg not in _PLACING)
    given = [*receiver, *(one for one in call.args if last_word(one) not in _PLACING), *named]
    return [*given, *(item for part in given for item in elements(part) or ())]


_PLACING: Final = ("device", "dtype")
"""What is given under such a name says nothing of shapes."""


def words(node: ast.AST) -> str:
    """Return what an expression is, in few words."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name() | ast.Attribute() as owner, attr=name):
            return f"{words(owner)}.{name}"
        case ast.Attribute(attr=name):
            return f".{name}"
        case ast.Call(func=func):
            return f"{words(func)}()"
        case ast.Subscript(value=value):
            return f"{words(value)}[...]"
    text = ast.unparse(node)
    return f"({text})" if len(text) <= _LONGEST else "(...)"
