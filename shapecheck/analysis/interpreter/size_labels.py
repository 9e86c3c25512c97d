"""Names for the sizes that a program gives an op and of which the analysis knows nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.values.model import Argument, OneOf
from shapecheck.dims import Size, Sym
from shapecheck.ops import UNKNOWN, Scalar
from shapecheck.shapes import Tensor

_LONGEST: Final = 24


def name_sizes(
    frame: Frame, arguments: Sequence[Argument], result: Value, receiver: Value = None
) -> None:
    """Call the unknown sizes of an op's result as the program writes them: `zeros(n, cfg.m)`.

    It must be clear which is which: the arguments are as many as the unknown sizes that the op has
    made, and those that are known are sizes of the result too.
    """
    if not isinstance(result, Tensor):
        return
    symbols = [size.symbol for size in result.shape.dims if isinstance(size, Size)]
    made = [symbol for symbol in symbols if symbol is not None and symbol.is_anonymous]
    if made:
        old = {*_symbols(frame, receiver)}.union(*(_symbols(frame, a.value) for a in arguments))
        made = [symbol for symbol in made if symbol not in old]
    if not made:
        return
    given = [part for one in arguments for part in _parts(frame, one.node, one.value)]
    nodes = [node for node, value in given if _is_unknown(value)]
    rest = [value for _, value in given if not _is_unknown(value)]
    sizes = all(value == -1 or value in result.shape.dims for value in rest)
    if sizes and len(nodes) == len(made):
        for symbol, node in zip(made, nodes, strict=True):
            text = frame.segment(node).replace(" ", "")
            if len(text) <= _LONGEST:
                symbol.label(text)


def _symbols(frame: Frame, value: Value) -> Iterator[Sym]:
    """Yield the symbols of the sizes of a tensor, or of those in a list."""
    if isinstance(value, Tensor):
        for size in value.shape.dims:
            if isinstance(size, Size):
                yield from size.symbols()
        return
    content = frame.state.list_of(value)
    items = content.items if content is not None else value
    for item in items if isinstance(items, tuple) else ():
        if isinstance(item, Tensor):
            yield from _symbols(frame, item)


def _parts(frame: Frame, node: ast.expr | None, value: Value) -> Iterator[tuple[ast.expr, Value]]:
    """Yield the expressions in an argument that may be numbers, with their values."""
    if isinstance(node, (ast.Tuple, ast.List)):
        content = frame.state.list_of(value)
        held = content.items if content is not None else value
        if not isinstance(held, tuple):
            held = tuple(_constant(part) for part in node.elts)
        if any(isinstance(item, Tensor) for item in held):
            return  # the tensors that an op joins, known or not
        if len(held) == len(node.elts) and not any(isinstance(p, ast.Starred) for p in node.elts):
            for part, item in zip(node.elts, held, strict=True):
                yield from _parts(frame, part, item)
    elif node is not None and (_is_unknown(value) or isinstance(value, (int, Size))):
        yield node, value


def _constant(node: ast.expr) -> Value:
    return node.value if isinstance(node, ast.Constant) else UNKNOWN


def _is_unknown(value: Value) -> bool:
    if isinstance(value, Size):
        return value.symbol is not None and value.symbol.is_anonymous
    return value is UNKNOWN or isinstance(value, (Scalar, OneOf))
