"""Pieces of source: what they bind, what they get their shape from, what to call them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

_LONGEST: Final = 30


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
    if isinstance(target, (ast.Tuple, ast.List)):
        parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
        matching = len(parts) == len(target.elts) and not any(
            isinstance(one, ast.Starred) for one in (*parts, *target.elts)
        )
        for index, inner in enumerate(target.elts):
            yield from each(inner, parts[index] if matching else value)
    elif isinstance(target, ast.Starred):
        yield from each(target.value, value)
    elif isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Subscript):  # `frames[i] = ...` says what is in `frames`
        yield from each(target.value, value)


def within(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and those inside of it, in order, without the functions and classes there."""
    yield node
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        return
    for child in ast.iter_child_nodes(node):
        yield from within(child)


def operands(node: ast.AST) -> list[ast.expr]:
    """Return the expressions that an expression gets its shape from."""
    match node:
        case ast.Call(func=func, args=args, keywords=keywords):
            receiver = [func.value] if isinstance(func, ast.Attribute) else []
            named = (k.value for k in keywords if k.arg not in ("device", "dtype"))
            given = [*receiver, *args, *named]
            lists = [part.elts for part in given if isinstance(part, (ast.List, ast.Tuple))]
            return [*given, *(item for items in lists for item in items)]
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.UnaryOp(operand=operand):
            return [operand]
        case ast.Compare(left=left, comparators=comparators):
            return [left, *comparators]
        case ast.Subscript(value=value, slice=ast.Tuple(elts=elts)):
            return [value, *elts]
        case ast.Subscript(value=value, slice=index):
            return [value, index]
        case ast.Attribute(value=value) | ast.Starred(value=value) | ast.Await(value=value):
            return [value]
        case ast.NamedExpr(value=value):
            return [value]
        case ast.IfExp(body=body, orelse=orelse):
            return [body, orelse]
        case ast.BoolOp(values=values):
            return values
        case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts):
            return elts
        case ast.Dict(values=values):
            return values
        case ast.DictComp(key=_, value=value):
            return [value, *(one.iter for one in node.generators)]
    return []


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
