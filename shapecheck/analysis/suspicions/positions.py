"""Positions that are counted along the batch, and a size where a slice up to it is meant."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from shapecheck.analysis.annotations.classes import find_method
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import OpCall, Suspicion, suspects
from shapecheck.analysis.program.syntax import called, elements, last_word, nodes_of
from shapecheck.analysis.suspicions.batch_names import is_batch_first, known_batch
from shapecheck.analysis.suspicions.sources import source_of, value_of
from shapecheck.dims import DimExpr, Size
from shapecheck.shapes import Run, Tensor

_LAYERS: Final = "MultiheadAttention TransformerEncoderLayer TransformerEncoder LSTM GRU RNN"
_MOVING: Final = frozenset("transpose permute t swapaxes movedim rearrange".split())
_POSITIONS: Final = re.compile(r"(?:^|_)(?:pe|pos|position|positions|positional)(?:_|$)")


@suspects("torch.Tensor.__add__", "torch.Tensor.add", "torch.add")
def counted_along_the_batch(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect `x + pe[: x.size(0)]` where axis 0 of `x` is a batch."""
    tensors = [one for one in call.args[:2] if isinstance(one, Tensor)]
    if len(tensors) < 2 or len(call.operands) < 2:
        return None
    for at in (0, 1):
        source = source_of(frame, call.operands[at])
        end = None if source is None else _end_of(source)
        if source is None or end is None:
            continue
        table, other = (
            frame.state.facts.shape(one.shape) for one in (tensors[at], tensors[1 - at])
        )
        if other.rank is None or other.rank < 3 or not table.dims:
            continue
        batch, name = other.dims[0], known_batch(frame, other.dims[0])
        if isinstance(batch, Run) or table.rank != other.rank or not name:
            continue
        if not known_batch(frame, other.dims[1]) and _is_as_many(frame, end, batch):
            return Suspicion(
                f'"{frame.segment(source)}" has a position for each item of the batch: axis 0 of '
                f"{other} is {name}, and every step of an item gets the same one",
                ("axis 1 has the steps of a batch: count positions by its size, and put it there",),
            )
    return None


@suspects(*(f"torch.nn.{name}.forward" for name in _LAYERS.split()))
def counted_before_a_layer(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect `layer(positions(x))` that counts along axis 0, where the layer has the batch."""
    if frame.depth or call.instance is None or not is_batch_first(call.instance):
        return None
    node = source_of(frame, call.operands[0] if call.operands else None)
    for inner in [] if node is None else _inside_out(frame, node):
        if not isinstance(inner, ast.Call) or len(inner.args) != 1:
            continue
        content = frame.state.instance_of(frame.hush(Frame.eval, inner.func))
        forward = None if content is None else find_method(content.cls, "forward")
        if forward is not None and _counts_first(forward.node):
            return Suspicion(
                f'"{frame.segment(inner)}" counts positions along axis 0, and "{call.label}" takes '
                "the batch there: every step of an item gets the same position",
                ("axis 1 has the steps of a batch: count positions by its size, and put it there",),
            )
    return None


def _inside_out(frame: Frame, node: ast.expr) -> Iterator[ast.expr]:
    """Yield an expression, and what it is called with, up to where axes may be moved."""
    yield node
    match node:
        case ast.Call(func=func, args=[first, *_]) if last_word(func) not in _MOVING:
            yield from _inside_out(frame, first)


def _counts_first(function: ast.AST) -> bool:
    """Whether a function adds as many positions as its parameter has items along axis 0."""
    match function:
        case ast.FunctionDef(args=ast.arguments(args=[_, ast.arg(arg=name), *_])):
            pass
        case _:
            return False
    if any(last_word(called(one)) in _MOVING for one in nodes_of(ast.Call, function)):
        return False
    for added in nodes_of(ast.BinOp, function):
        ends = [_end_of(side) for side in (added.left, added.right)]
        if isinstance(added.op, ast.Add) and any(end and _is_first_size(end, name) for end in ends):
            return True
    return False


def _is_first_size(node: ast.expr, name: str) -> bool:
    """Whether an expression is the size of axis 0 of a variable."""
    return ast.unparse(node) in (f"{name}.size(0)", f"{name}.shape[0]", f"len({name})")


def _is_as_many(frame: Frame, end: ast.expr, batch: DimExpr) -> bool:
    """Whether an expression is the size of a batch."""
    value = value_of(frame, end)
    return isinstance(value, Size) and frame.state.facts.same(value, batch)


def _end_of(node: ast.expr) -> ast.expr | None:
    """Return how many positions are taken from the start of a table of them."""
    match node:
        case ast.Subscript(value=table, slice=index):
            first = (elements(index) or [index])[0]
            if isinstance(first, ast.Slice) and first.lower is None:
                return first.upper if _POSITIONS.search(last_word(table)) else None
    return None


@suspects("torch.Tensor.__getitem__")
def size_as_index(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect `pe[:, x.shape[1], :]`, which takes one item, for a slice without its colon."""
    if not isinstance(call.node, ast.Subscript):
        return None
    parts = elements(call.node.slice) or []
    if not any(isinstance(part, ast.Slice) for part in parts):
        return None
    for at, part in enumerate(parts):
        if _is_size(part):
            said = frame.segment(part)
            return Suspicion(
                f'"{frame.segment(call.node)}" takes one item along axis {at}, the one behind '
                f"{said} others",
                (f":{said} takes so many",),
            )
    return None


def _is_size(node: ast.expr) -> bool:
    """Whether an expression asks a tensor for its size: `x.shape[1]`, `x.size(1)`."""
    match node:
        case ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.Constant()):
            return True
        case ast.Call(func=ast.Attribute(attr="size"), args=[ast.Constant()], keywords=[]):
            return True
    return False
