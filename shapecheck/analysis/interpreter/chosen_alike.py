"""Sizes of a module that have to be equal, and that nothing tells apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from shapecheck.analysis.annotations import declarations
from shapecheck.analysis.annotations.classes import find_method
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Class, Value
from shapecheck.analysis.program.syntax import given_to
from shapecheck.dims import Kind, Size, Sym, Untold, symbol_of
from shapecheck.ops.call import only
from shapecheck.shapes import Problem, Run, Shape, Tensor, Topic, symbols_of
from shapecheck.signatures import Signature


def learn_alike(
    frame: Frame, signature: Signature, given: Sequence[Value], problem: Problem
) -> bool:
    """Learn that two sizes which meet in a broadcast are one; False where they are told apart.

    See decisions.md, "What is added to itself has the sizes that it came with".
    """
    owner = None if frame.function is None else frame.function.owner
    if owner is None or frame.depth or not _broadcasts(signature):
        return False
    chosen = [*filter(None, map(_chosen, problem.about))]
    if len(chosen) != 2:
        return False
    if all(one.default is not None for one in chosen) or not any(_untold(only(given, Tensor))):
        return False
    one, other = chosen
    if _told_apart(owner, one.name, other.name):
        return False
    frame.state.facts.learn(one, Size.of(other))
    return True


def _broadcasts(signature: Signature) -> bool:
    """Whether an op combines its operands element by element."""
    return signature.result.rule == "inplace" or any(param.meets for param in signature.params)


def _chosen(topic: Topic) -> Sym | None:
    """Return the size that whoever makes a module chooses, where a problem is about one."""
    symbol = None if topic is None or isinstance(topic, (Run, Shape)) else symbol_of(topic)
    if symbol is None or symbol.kind is not Kind.OWN or isinstance(symbol.origin, Untold):
        return None
    return symbol


def _untold(tensors: Sequence[Tensor]) -> Iterator[bool]:
    """Yield for what tensors are made of whether no annotation says it."""
    for tensor in tensors:
        for item in tensor.shape.dims:
            yield from (isinstance(symbol.origin, Untold) for symbol in symbols_of(item))


def _told_apart(owner: Class, one: str, other: str) -> bool:
    """Whether a call in its module gives two parameters of a class what may not be equal."""
    init = find_method(owner, "__init__")
    if init is None:
        return False
    params = [param.name for param in declarations.declaration(init).params[1:]]
    for call in owner.module.syntax.calls(owner.name):
        given = given_to(params, call)
        pair = [given[name] for name in (one, other) if name in given]
        if len(pair) == 2 and any(isinstance(arg, (ast.Constant, ast.BinOp)) for arg in pair):
            if ast.dump(pair[0]) != ast.dump(pair[1]):
                return True
    return False
