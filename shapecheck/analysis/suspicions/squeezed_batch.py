"""`squeeze()` without an axis: a batch of one item loses its axis too."""

from __future__ import annotations

import ast
from typing import Final

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import OpCall, Suspicion, suspects
from shapecheck.analysis.program.syntax import elements, nodes_of
from shapecheck.analysis.suspicions.batch_names import known_batch
from shapecheck.analysis.suspicions.sources import body
from shapecheck.dims import symbol_of
from shapecheck.shapes import Item, Run, Tensor


@suspects("torch.Tensor.squeeze", "torch.squeeze")
def batch_squeezed(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect a squeeze of all axes of size 1 where another one than the batch is meant."""
    given = call.args[0] if call.args else None
    if not isinstance(given, Tensor) or len(call.args) > 1 or "dim" in call.kwargs:
        return None
    shape = frame.state.facts.shape(given.shape)
    if shape.rank is None or shape.rank < 2 or 1 not in shape.dims[1:]:
        return None
    name = known_batch(frame, shape.dims[0])
    if not name or _is_product(frame, shape.dims[0]):
        return None
    if _is_one_index(frame, call) or _is_taken_for_any_axes(frame, call):
        return None
    meant = [at for at, item in enumerate(shape.dims) if item == 1]
    axes = str(meant[0]) if len(meant) == 1 else str(tuple(meant))
    return Suspicion(
        f'"{call.label}" of {shape} takes axis 0 away as well where {name} has one item',
        (f"squeeze({axes}) takes only what is 1 for every batch",),
    )


def _is_product(frame: Frame, item: Item) -> bool:
    """Whether a batch is one of several factors, of which another will hardly be 1."""
    return isinstance(item, Run) or symbol_of(frame.state.facts.dim(item)) is None


_RESHAPING: Final = frozenset("flatten item numel ravel reshape reshape_as view view_as".split())
_REDUCING: Final = frozenset("all any max mean median min norm prod std sum var".split())


def _is_taken_for_any_axes(frame: Frame, call: OpCall) -> bool:
    """Whether what is done next gives the same with or without an axis of size 1 in front."""
    for node in nodes_of(ast.Call, body(frame)):
        match node.func:
            case ast.Attribute(value=value, attr=attr) if value is call.node:
                is_of_all = attr in _REDUCING and not node.args and not node.keywords
                return is_of_all or attr in _RESHAPING
    return False


def _is_one_index(frame: Frame, call: OpCall) -> bool:
    """Whether it is one of several indices: they broadcast, `x[scores.squeeze(), arange(b)]`."""
    for node in nodes_of(ast.Subscript, body(frame)):
        indices = elements(node.slice) or []
        others = [one for one in indices if not isinstance(one, ast.Slice | ast.Constant)]
        if call.node in others and len(others) > 1:
            return True
    return False
