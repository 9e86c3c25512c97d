"""Names for the sizes that a program gives an op and of which the analysis knows nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Value, literal
from shapecheck.analysis.program.syntax import elements
from shapecheck.analysis.values.model import Argument, Array, OneOf
from shapecheck.dims import Size, Sym, symbol_of
from shapecheck.ops import Scalar, Unknown
from shapecheck.ops.call import only
from shapecheck.shapes import Tensor

_LONGEST: Final = 24


def name_sizes(
    frame: Frame, arguments: Sequence[Argument], result: Value, receiver: Value = None
) -> None:
    """Call the unknown sizes of an op's result as the program writes them: `zeros(n, cfg.m)`.

    It must be clear which is which: the arguments are as many as the unknown sizes that the op has
    made, and those that are known are sizes of the result too.
    """
    if isinstance(result, Array):
        result = result.tensor
    if not isinstance(result, Tensor):
        return
    symbols = map(symbol_of, result.shape.dims)
    made = [symbol for symbol in symbols if symbol is not None and symbol.is_anonymous]
    if made:
        old = {*_symbols(frame, receiver)}.union(*(_symbols(frame, a.value) for a in arguments))
        made = [symbol for symbol in made if symbol not in old]
    if not made:
        return
    given = [part for one in arguments for part in parts(frame, one.node, one.value)]
    given = [(node, _learned(frame, value)) for node, value in given]
    nodes = [node for node, value in given if _is_unknown(value)]
    rest = [value for _, value in given if not _is_unknown(value)]
    sizes = all(value == -1 or value in result.shape.dims for value in rest)
    if sizes and len(nodes) == len(made):
        for symbol, node in zip(made, nodes, strict=True):
            text = frame.segment(node).replace(" ", "")
            if len(text) <= _LONGEST:
                symbol.label(text)


def _learned(frame: Frame, value: Value) -> Value:
    return frame.state.facts.dim(value) if type(value) is Size else value


def _symbols(frame: Frame, value: Value) -> Iterator[Sym]:
    """Yield the symbols of the sizes of a tensor, or of those in a list."""
    items = frame.state.items_of(value)
    held = (value,) if items is None else items
    arrays = (one.tensor for one in only(held, Array))
    for tensor in (*only(held, Tensor), *arrays):
        for size in only(tensor.shape.dims, Size):
            yield from size.symbols()


def parts(frame: Frame, node: ast.expr | None, value: Value) -> Iterator[tuple[ast.expr, Value]]:
    """Yield the expressions in an argument that may be numbers, with their values."""
    each = None if node is None else elements(node)
    if each is not None:
        held = frame.state.items_of(value)
        if held is None:
            held = tuple(map(literal, each))
        if any(isinstance(one, (Tensor, Array)) for one in held):
            return  # the tensors that an op joins, known or not
        if len(held) == len(each) and not only(each, ast.Starred):
            for part, item in zip(each, held, strict=True):
                yield from parts(frame, part, item)
    elif node is not None and (_is_unknown(value) or isinstance(value, (int, Size))):
        yield node, value


def _is_unknown(value: Value) -> bool:
    match value:
        case Size(symbol=Sym() as symbol):
            return symbol.is_anonymous
        case Unknown() | Scalar() | OneOf():
            return True
    return False
