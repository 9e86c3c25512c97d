"""Outer products that are meant, by how a call and its operands are written; for both sides."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from shapecheck.shapes import Tensor

_KEPT: Final = 4
"""Of so many functions is it kept what their syntax says: each asks of one again and again."""

Look = Callable[[ast.expr], Tensor | None]
"""Says what is known of the tensor that a variable or an attribute is, None where it is none."""


def outer(operands: Mapping[ast.expr, Tensor], look: Look, function: ast.AST | None) -> bool:
    """Whether a program means that all items of its operands meet, by how they are written.

    It does where an axis was put in and they come from one variable, as in `x[:, None] - x`, in
    `x - column` after `column = x[:, None]` in the same `function`, or in `x[:, None] - y` where
    `y` is `x` if nobody gives it; and for one expression with and without `keepdim`. Without any
    variable, one operand is made of the other, as in `torch.arange(n) - torch.arange(n)[:, None]`.
    """
    if len(operands) < 2:
        return False
    if not any(tensor.inserted for tensor in operands.values()):
        return len({ast.dump(_without_keepdim(node)) for node in operands}) == 1
    roots = [set(_sources(node, look, function)) for node in operands]
    if not any(roots):
        texts = [ast.dump(node) for node in operands]
        return all(min(texts, key=len) in map(ast.dump, ast.walk(node)) for node in operands)
    return len(set().union(*roots)) == 1 and all(roots)


def _without_keepdim(node: ast.expr) -> ast.expr:
    copied = copy.deepcopy(node)
    for call in ast.walk(copied):
        if isinstance(call, ast.Call):
            call.keywords = [word for word in call.keywords if word.arg != "keepdim"]
    return copied


def _sources(node: ast.AST, look: Look, function: ast.AST | None) -> Iterator[str]:
    """Yield the variables and attributes with tensors that an expression is made from."""
    if not isinstance(node, ast.Name | ast.Attribute):
        for child in ast.iter_child_nodes(node):
            yield from _sources(child, look, function)
        return
    owner = node.value if isinstance(node, ast.Attribute) else None
    inner = [] if owner is None else list(_sources(owner, look, function))
    found = None if inner else look(node)
    if found is not None:
        inner = [ast.unparse(node)]
        if isinstance(node, ast.Name) and function is not None:
            behind = _behind(node.id, look, function) if found.inserted else ()
            inner = [*behind] or [_by_default(function, node.id) or node.id]
    yield from inner


def _by_default(function: ast.AST, name: str) -> str | None:
    """Return the variable that another one is where it isn't given: `if y is None: y = x`."""
    return _defaults(function).get(name)


@lru_cache(maxsize=_KEPT)
def _defaults(function: ast.AST) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for node in ast.walk(function):
        match node:
            case ast.If(
                test=ast.Compare(ast.Name(tested), [ast.Is()], [ast.Constant(None)]),
                body=[ast.Assign([ast.Name(target)], ast.Name(other))],
            ) if tested == target:
                found.setdefault(target, other)
    return found


def _behind(name: str, look: Look, function: ast.AST) -> Iterator[str]:
    """Yield what a variable with an axis that was just put in is made from."""
    made = lone_value(function, name)
    names = [one.id for one in ast.walk(made) if isinstance(one, ast.Name)] if made else []
    if made is not None and all(len(bindings(function, one)) < 2 for one in names):
        yield from _sources(made, look, function)


def lone_value(function: ast.AST, name: str) -> ast.expr | None:
    """Return the expression that a local variable is bound to, if nothing else binds it."""
    bound = bindings(function, name)
    if len(bound) != 1:
        return None
    return _values(function).get(bound[0])


@lru_cache(maxsize=_KEPT)
def _values(function: ast.AST) -> Mapping[ast.AST, ast.expr]:
    """Return what each name in a function's syntax, or what it unpacks to, is assigned."""
    found: dict[ast.AST, ast.expr] = {}
    for target, value in (pair for node in ast.walk(function) for pair in _assigned(node)):
        found.setdefault(target, value)
    return found


def _assigned(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield what a piece of syntax assigns to, each with its value."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _item_by_item(target, value)
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.NamedExpr(target=target, value=value)
        ):
            yield target, value


def _item_by_item(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
        inside = (*target.elts, *value.elts)
        starred = any(isinstance(one, ast.Starred) for one in inside)
        if len(target.elts) == len(value.elts) and not starred:
            for one, item in zip(target.elts, value.elts, strict=True):
                yield from _item_by_item(one, item)
    yield target, value


def bindings(function: ast.AST, name: str) -> Sequence[ast.AST]:
    """Return the pieces of a function's syntax that give a variable a value."""
    return _bindings(function).get(name, ())


@lru_cache(maxsize=_KEPT)
def _bindings(function: ast.AST) -> Mapping[str, Sequence[ast.AST]]:
    found: dict[str, list[ast.AST]] = {}
    for node in ast.walk(function):
        for name in _bound_by(node):
            found.setdefault(name, []).append(node)
    return found


def binds(node: ast.AST, name: str) -> bool:
    """Whether a piece of syntax gives a variable a value, or takes it out of this function."""
    return name in _bound_by(node)


def _bound_by(node: ast.AST) -> Collection[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            return (name,)
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return {*names}
        case ast.ExceptHandler(name=name) | ast.MatchAs(name=name) | ast.MatchStar(name=name):
            return () if name is None else (name,)
        case ast.alias(name=name, asname=other):
            return (other or name.partition(".")[0],)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return (node.name,)
    return ()
