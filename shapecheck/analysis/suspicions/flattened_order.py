"""Predictions and targets that are flattened in another order of axes."""

from __future__ import annotations

import ast
from typing import Final

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import OpCall, Suspicion, suspects
from shapecheck.analysis.suspicions.sources import source_of
from shapecheck.dims import IntSize, size_of
from shapecheck.shapes import Tensor

_OF_CLASSES: Final = "cross_entropy nll_loss"
_LAYERS: Final = "CrossEntropyLoss NLLLoss"


@suspects(
    *(f"torch.nn.functional.{name}" for name in _OF_CLASSES.split()),
    *(f"torch.nn.{name}.forward" for name in _LAYERS.split()),
)
def other_order(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect `(t b classes)` flattened beside `(b t)`: the loss pairs other items."""
    if frame.depth or len(call.operands) < 2:
        return None
    sizes = [_flattened(frame, node) for node in call.operands[:2]]
    if sizes[0] is None or sizes[1] is None:
        return None
    logits, targets = [*map(str, sizes[0][:-1])], [*map(str, sizes[1])]
    if logits == targets or len(set(targets)) < 2 or sorted(logits) != sorted(targets):
        return None
    one, other = (f"({' '.join(axes)})" for axes in (logits, targets))
    return Suspicion(
        f'"{call.label}" is given predictions flattened from {one} and targets from {other}: they '
        "don't belong together",
        ("transpose one of them before it is flattened",),
    )


def _flattened(frame: Frame, node: ast.expr | None) -> list[IntSize] | None:
    """Return the axes of what an expression flattens, as far as that is written there."""
    source = source_of(frame, node)
    match source:
        case ast.Call(
            func=ast.Attribute(value=whole, attr="view" | "reshape" | "flatten" as name),
            args=[first, *_],
        ):
            if not _is_rest(first) and name != "flatten":
                return None
        case ast.Call(func=ast.Attribute(value=whole, attr="flatten")):
            pass
        case _:
            return None
    value = frame.hush(Frame.eval, whole)
    if not isinstance(value, Tensor):
        return None
    axes = frame.state.facts.shape(value.shape).known
    return None if axes is None else [frame.state.facts.size(size_of(axis)) for axis in axes]


def _is_rest(node: ast.expr) -> bool:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)):
            return True
    return False
