"""Makes a program that fails smaller, statement by statement, while it still fails."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator


def reduced(text: str, still_fails: Callable[[str], bool]) -> str:
    """Return the smallest program found of which the same is wrong."""
    smaller = True
    while smaller:
        smaller = False
        for candidate in _smaller(text):
            if len(candidate) < len(text) and still_fails(candidate):
                text, smaller = candidate, True
                break
    return text


def _smaller(text: str) -> Iterator[str]:
    """Yield a program with one part less; large parts first."""
    yield ast.unparse(ast.parse(text))
    places = range(sum(1 for _ in ast.walk(ast.parse(text))))
    for place in places:
        for change in _CHANGES:
            tree = ast.parse(text)
            nodes = list(ast.walk(tree))
            for changed in change(nodes[place]):
                if changed:
                    try:
                        yield ast.unparse(ast.fix_missing_locations(tree))
                    except (ValueError, AttributeError, RecursionError):
                        break


def _without_statements(node: ast.AST) -> Iterator[bool]:
    """Take out a statement at a time, or put what it holds in its place."""
    for name in ("body", "orelse", "finalbody", "handlers", "decorator_list"):
        block = getattr(node, name, None)
        if not isinstance(block, list):
            continue
        kept = list(block)
        for size in (len(kept) // 2, len(kept) // 4):
            for at in range(0, len(kept), size) if size > 1 else ():
                block[:] = [*kept[:at], *kept[at + size :]]
                yield True
        for at, one in enumerate(kept):
            least = [ast.Pass()] if name == "body" and len(kept) == 1 else []
            inner = getattr(one, "body", None)
            if isinstance(inner, list):
                block[:] = [*kept[:at], *inner, *kept[at + 1 :]]
                yield True
            if not isinstance(one, ast.Pass):
                block[:] = [*kept[:at], *least, *kept[at + 1 :]]
                yield True
        block[:] = kept


def _simpler_expressions(node: ast.AST) -> Iterator[bool]:
    """Put a part of an expression in its place, or leave out an argument, an import, a hint."""
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.expr) and name not in ("annotation", "returns"):
            for part in ast.iter_child_nodes(value):
                if isinstance(part, ast.expr):
                    setattr(node, name, part)
                    yield True
            setattr(node, name, value)
        elif value is not None and name in ("annotation", "returns"):
            setattr(node, name, None)
            yield not isinstance(node, ast.AnnAssign)
            setattr(node, name, value)
        elif isinstance(value, list) and value and isinstance(value[0], _PARTS):
            kept = list(value)
            for at in range(len(kept)):
                value[:] = [*kept[:at], *kept[at + 1 :]]
                yield bool(value) or not isinstance(kept[at], ast.alias)
                for part in ast.iter_child_nodes(kept[at]):
                    if isinstance(part, ast.expr) and isinstance(kept[at], ast.expr):
                        value[:] = [*kept[:at], part, *kept[at + 1 :]]
                        yield True
            value[:] = kept


def _fewer_parameters(node: ast.AST) -> Iterator[bool]:
    """Leave out a parameter."""
    if isinstance(node, ast.arguments):
        for params in (node.posonlyargs, node.args, node.kwonlyargs):
            kept, defaults = list(params), list(node.kw_defaults)
            for at in range(len(kept)):
                params[:] = [*kept[:at], *kept[at + 1 :]]
                if params is node.kwonlyargs:
                    node.kw_defaults[:] = [*defaults[:at], *defaults[at + 1 :]]
                yield len(node.defaults) <= len(node.posonlyargs) + len(node.args)
            params[:], node.kw_defaults[:] = kept, defaults


_PARTS = (ast.expr, ast.keyword, ast.alias)
_CHANGES = (_without_statements, _fewer_parameters, _simpler_expressions)
