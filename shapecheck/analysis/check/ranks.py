"""Checks a function again with each number of axes that a parameter may have, if that is unknown.

Ops that count axes from the front, `x.mean(1)`, give little where it isn't known how many there
are. A function that fails for every number of them is reported, where it gets furthest.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, MutableSequence
from contextlib import suppress
from typing import Final, TypeAlias

from shapecheck.analysis.annotations.declarations import Parameter
from shapecheck.analysis.check.bare_parameters import Supposition
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.faults import Fault, FirstOnly, Found, located
from shapecheck.analysis.program.model import Function, Value, literal
from shapecheck.analysis.program.syntax import nodes_of
from shapecheck.analysis.values.model import OneOf, each_of, tensor_of
from shapecheck.dims import Sym, Untold
from shapecheck.ops.agree import counted
from shapecheck.shapes import Run, Shape, Tensor, runs_in

Spelling: TypeAlias = Callable[[Supposition], Supposition]
"""Says what parameters are taken for, from what says that so far."""

Rerun: TypeAlias = Callable[[Spelling, MutableSequence[Fault]], object]
"""Runs a function with parameters taken for that, and adds what certainly fails."""

_LIKELY: Final = (3, 2, 4, 1, 5)
"""How many axes tensors have, those that most functions take first."""

_MOST_OPEN: Final = 3
"""With more parameters of unknown ranks, one of them tells next to nothing."""


def check(function: Function, frame: Frame, run: Rerun) -> None:
    """Check a function of which `frame` is a run without errors; `run` runs it once more.

    That has to find what certainly fails, whichever way conditions go.
    """
    reporter = function.module.reporter
    if reporter is None or not _counts_axes(function):
        return
    if not (_loses_axes(frame) or _moves_axes(function)):
        return
    unknown = _open(frame)
    for name, least in unknown.items() if len(unknown) <= _MOST_OPEN else ():
        found = _failing_always(function, name, least, run)
        if found is not None:
            count, fault = found
            note = f'"{name}" is taken for {counted(count, "axis")} here; with others it fails too'
            reporter.faults.append(fault.noting(note))
            return


def _open(frame: Frame) -> dict[str, int]:
    """Return the parameters of unknown rank, with the least number of axes that each has."""
    ends = [end for _, end in frame.returns] + ([frame.state] if frame.alive else [])
    found: dict[str, int] = {}
    for name, value in frame.given.items():
        tensor = tensor_of(value)
        if tensor is None or _run_of(tensor) is None or not ends:
            continue
        shapes = [end.facts.shape(tensor.shape) for end in ends]
        if all(shape.rank is None for shape in shapes):
            found[name] = min(shape.least_rank for shape in shapes)
    return found


def _loses_axes(frame: Frame) -> bool:
    """Whether a function gives what has axes that are neither known nor those of a parameter."""
    for value, end in frame.returns:
        for one in each_of(value):
            tensor = tensor_of(one)
            shape = Shape.unknown() if tensor is None else end.facts.shape(tensor.shape)
            if any(not isinstance(run.symbol.origin, Untold) for _, run in runs_in(shape.dims)):
                return True
    return False


def _run_of(tensor: Tensor) -> Sym | None:
    """Return the row of axes that a tensor is of which nothing is told."""
    match runs_in(tensor.shape.dims):
        case [(_, Run(symbol=symbol))] if isinstance(symbol.origin, Untold):
            return symbol if len(tensor.shape.dims) == 1 else None
    return None


def _failing_always(
    function: Function, name: str, least: int, run: Rerun
) -> tuple[int, Fault] | None:
    """Return with how many axes a function gets furthest, and what fails; None if some fit."""
    found: list[tuple[int, int, Fault]] = []
    likely = [one for one in _LIKELY if one >= least]
    for count in likely if len(likely) > 1 else [least, least + 1]:
        faults = FirstOnly()
        with suppress(Found):
            run(_spelling(name, count), faults)
        if not faults:
            return None
        node, _ = located(faults[0], function.module)
        found.append((getattr(node, "lineno", 0), count, faults[0]))
    _, count, fault = max(found, key=lambda one: one[0])
    return count, fault


def _spelling(name: str, count: int) -> Spelling:
    def spelling(suppose: Supposition) -> Supposition:
        def taken_for(param: Parameter, value: Value) -> Value:
            found = suppose(param, value)
            return _spelled(found, count) if param.name == name else found

        return taken_for

    return spelling


def _spelled(value: Value, count: int) -> Value:
    """Return a value in which a tensor of any axes has so many."""
    match value:
        case Tensor() if (symbol := _run_of(value)) is not None:
            return value.with_shape(Shape(tuple(Run(symbol).another() for _ in range(count))))
        case OneOf(options=options):
            return OneOf(tuple(_spelled(one, count) for one in options))
    return value


def _counts_axes(function: Function) -> bool:
    """Whether a body says of an axis which one it is."""
    table = function.module.program.table
    for node in nodes_of(ast.Call, function.node):
        match node:
            case ast.Call(func=ast.Attribute(attr=attr), keywords=keywords, args=args):
                if any(word.arg in ("dim", "axis") for word in keywords):
                    return True
                signature = table.signature(f"torch.Tensor.{attr}") if args else None
                if signature and any("dim" in param.name for param in signature.params):
                    return True
    return False


def _moves_axes(function: Function) -> bool:
    """Whether a body adds, takes away or joins along axes that it counts from the front."""
    table = function.module.program.table
    moves = table.flagged("reduces") | table.flagged("by_axis")
    for node in nodes_of(ast.Call, function.node):
        match node:
            case ast.Call(func=ast.Attribute(attr=attr), keywords=keywords, args=args):
                words = {word.arg: word.value for word in keywords}
                is_move = "keepdim" not in words and not moves.isdisjoint(
                    (f"torch.Tensor.{attr}", f"torch.{attr}")
                )
                if is_move and any(map(_is_behind_first, [*args, *words.values()])):
                    return True
    return False


def _is_behind_first(node: ast.expr) -> bool:
    """Whether an argument says an axis behind the first."""
    given = literal(node)
    return type(given) is int and given > 0
