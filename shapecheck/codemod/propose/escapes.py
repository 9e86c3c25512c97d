"""Which classes a project handles as values, so that not all of their calls can be seen.

HEADS = {"linear": Head}      partial(Head, dim=8)      def __init__(self, head=Head)
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from shapecheck.analysis.annotations.declarations import arguments_of
from shapecheck.analysis.program.syntax import is_def


def escaping(trees: Iterable[ast.AST]) -> frozenset[str]:
    """Return the names of the classes in some trees that are stored somewhere, or handed over."""
    every = [[*ast.walk(tree)] for tree in trees]
    classes = {node.name for some in every for node in some if isinstance(node, ast.ClassDef)}
    return frozenset(name for some in every for name in _values(some) if name in classes)


def _values(every: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that are read where they are neither called nor asked for something."""
    used = {id(one) for node in every for one in _used(node)}
    for node in every:
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()):
                if id(node) not in used:
                    yield name


def _used(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what stands in a node where a class stays what it is: called, asked, a base, a type."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass" | "super"), args=args):
            yield from (one for given in args for one in ast.walk(given))
        case ast.Call(func=func):
            yield func
        case ast.Attribute(value=value):
            yield value
        case ast.ClassDef(bases=bases):
            yield from bases
        case ast.AnnAssign(annotation=annotation):
            yield from ast.walk(annotation)
        case ast.MatchClass(cls=cls):
            yield cls
        case _ if is_def(node):
            types = (one.annotation for one in arguments_of(node, stars=True))
            for one in (*types, node.returns):
                yield from () if one is None else ast.walk(one)
