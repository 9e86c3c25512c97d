"""Which variables a loop's body takes over from the time round before."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeAlias

from shapecheck.analysis.program.syntax import add_children, keeping, target_names

Loop: TypeAlias = ast.For | ast.AsyncFor | ast.While


@keeping(4096)
def carried(node: Loop) -> frozenset[str]:
    """Return the names that a loop's body may read before it assigns them."""
    found: set[str] = set()
    assigned: set[str] = set()
    match node:
        case ast.While(test=test):
            found |= _read(test)
        case ast.For(target=target) | ast.AsyncFor(target=target):
            assigned |= set(target_names(target))
    _scan(node.body, assigned, found)
    return frozenset(found)


def _scan(body: Sequence[ast.stmt], assigned: set[str], found: set[str]) -> None:
    """Go through statements in order; `assigned` are the names that are surely assigned before."""
    for node in body:
        match node:
            case ast.With(items=items, body=inner) | ast.AsyncWith(items=items, body=inner):
                for item in items:
                    found |= _read(item.context_expr) - assigned
                    if item.optional_vars is not None:
                        assigned |= set(target_names(item.optional_vars))
                _scan(inner, assigned, found)
            case ast.If(test=test, body=yes, orelse=no):
                found |= _read(test) - assigned
                ways = [set(assigned), set(assigned)]
                for way, part in zip(ways, (yes, no), strict=True):
                    _scan(part, way, found)
                assigned |= ways[0] & ways[1]
            case ast.For() | ast.AsyncFor():
                found |= _read(node.iter) - assigned
                _scan(node.body, {*assigned, *target_names(node.target)}, found)
                _scan(node.orelse, set(assigned), found)
            case _:
                found |= _read(node) - assigned
                assigned |= _assigned(node)


def _assigned(node: ast.stmt) -> set[str]:
    match node:
        case ast.Assign(targets=targets):
            return {name for target in targets for name in target_names(target)}
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            return {name}
    return set()


def _read(node: ast.AST) -> set[str]:
    """Return the names that a piece of source reads, or may."""
    names: set[str] = set()
    _add_read(node, names)
    return names


def _add_read(node: ast.AST, names: set[str]) -> None:
    inside: list[ast.AST] = []
    add_children(node, inside)
    match node:
        case ast.Name(id=name, ctx=ast.Load() | ast.Del()):
            names.add(name)
        case ast.AugAssign(target=ast.Name(id=name)):
            names.add(name)
        case ast.Global() | ast.Nonlocal():
            names.update(node.names)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            own = {name for part in node.generators for name in target_names(part.target)}
            names |= set[str]().union(*map(_read, inside)) - own
            return
    for child in inside:
        _add_read(child, names)
