"""What is seen of a function without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from shapecheck.analysis.annotations import declarations
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.declared import AnyDecl
from shapecheck.analysis.program.model import Function, Value
from shapecheck.analysis.program.syntax import elements, first_of, name_of, nodes, nodes_of
from shapecheck.analysis.values.state import State


@dataclass(frozen=True, slots=True)
class Ahead:
    """What is seen of a function without running it; see `tensor_evidence.Seen`."""

    function: Function
    params: Mapping[str, Value]
    values: Mapping[ast.expr, Value]
    nodes: Sequence[ast.AST]


def ahead(function: Function, state: State, begun: Mapping[str, Value]) -> Ahead:
    """Return what a function uses by names from outside, as they are where its body begins."""
    if not {param.name for param in unannotated(function)} - begun.keys():
        return Ahead(function, begun, {}, ())
    every = nodes(function.node)
    state = state.copy()
    state.vars |= begun
    frame = Frame(function.module, state, function=function, quiet=True)
    names = nodes_of(ast.Name, function.node)
    own = {one.id for one in names if not isinstance(one.ctx, ast.Load)}
    params = {one.arg for one in declarations.arguments_of(function.node)} - begun.keys()
    own |= params
    params |= {
        name_of(one.targets[0]) or ""
        for one in nodes_of(ast.Assign, function.node)
        if name_of(one.value) in params
    }
    values: dict[ast.expr, Value] = {}
    for node in (*nodes_of(ast.Call, function.node), *nodes_of(ast.BinOp, function.node)):
        for used in _used(node, params):
            root = name_of(first_of(used))
            if root is not None and root not in own:
                values[used] = frame.eval(used)
    return Ahead(function, begun, values, every)


def _used(node: ast.AST, params: Set[str]) -> tuple[ast.expr, ...]:
    """Return the parts of an expression that tell whether parameters are tensors, or sizes."""
    match node:
        case ast.Call(func=func, args=args, keywords=keywords):
            given = [*args, *(word.value for word in keywords)]
            if any(_begins_in(params, one) for arg in given for one in elements(arg) or [arg]):
                return (func, func.value) if isinstance(func, ast.Attribute) else (func,)
        case ast.BinOp(left=left, right=right):
            if _begins_in(params, left) or _begins_in(params, right):
                return (left, right)
    return ()


def _begins_in(params: Set[str], node: ast.expr) -> bool:
    """Whether an expression is made of a parameter by attributes and calls: `x.float().mT`."""
    while True:
        match node:
            case ast.Attribute(value=inner) | ast.Call(func=inner) | ast.Starred(value=inner):
                node = inner
            case _:
                return name_of(node) in params


def unannotated(function: Function) -> Iterator[declarations.Parameter]:
    """Yield the parameters without annotation, but for `*args` and `**kwargs`."""
    for param in declarations.declaration(function).params:
        match param:
            case declarations.Parameter(declared=AnyDecl(), kind="positional" | "keyword"):
                if not is_annotated(function, param.name):
                    yield param


def is_annotated(function: Function, name: str) -> bool:
    """Whether a parameter has an annotation, whatever it says."""
    every = declarations.arguments_of(function.node)
    return any(one.arg == name and one.annotation is not None for one in every)
