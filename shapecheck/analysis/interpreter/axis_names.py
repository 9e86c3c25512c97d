"""Names that a body gives to the axes of tensors of which no annotation says a shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import shapecheck.dims as dims
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.size_labels import parts
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.values.model import Argument, tensor_of
from shapecheck.dims import Composite, Size, Untold, symbol_of
from shapecheck.shapes import Problem, Run, has_run

_LONGEST: Final = 24


def name_axis(frame: Frame, name: str, value: Value) -> None:
    """Let an axis of which nothing is known be what a variable calls it.

    A variable that is another axis later names the first one only. What a call's variables stand
    for may be axes of its caller's tensors, which are called otherwise.
    """
    if type(value) is not Size or frame.depth or frame.function is None or not name.strip("_"):
        return
    symbol, facts = value.symbol, frame.state.facts
    if symbol is None or not isinstance(symbol.origin, Untold) or symbol in facts.atoms:
        return
    named = dims.own(name, symbol.origin)
    if frame.axes.setdefault(named, symbol) is symbol:
        facts.learn(symbol, named)


def name_given(frame: Frame, arguments: Sequence[Argument]) -> None:
    """Let axes that are given to an op as sizes be what the program writes, `x.shape[1]`."""
    if frame.depth or frame.function is None:
        return
    for argument in arguments:
        for node, value in parts(frame, argument.node, argument.value):
            if is_untold(value):
                name_axis(frame, frame.segment(node).replace(" ", "")[:_LONGEST], value)


def name_met(frame: Frame, problem: Problem) -> bool:
    """Call axes that nothing names and that a problem is about by their place, `x.shape[1]`.

    Returns whether there are any.
    """
    sizes = [one for one in problem.about if isinstance(one, Size | Composite)]
    met = {symbol for size in sizes for symbol in dims.symbols(size)}
    met = {symbol for symbol in met if symbol.is_anonymous and isinstance(symbol.origin, Untold)}
    for name, value in frame.given.items() if met else ():
        tensor = tensor_of(value)
        axes = () if tensor is None else frame.state.facts.shape(tensor.shape).dims
        for at, axis in enumerate(axes):
            symbol = None if isinstance(axis, Run) else symbol_of(axis)
            if symbol in met and not has_run(axes[:at]):
                symbol.label(f"{name}.shape[{at}]")
    return any(not symbol.is_anonymous for symbol in met)


def is_untold(value: Value) -> bool:
    """Whether a size is an axis of a tensor of which no annotation says the shape."""
    symbol = value.symbol if type(value) is Size else None
    return symbol is not None and isinstance(symbol.origin, Untold)
