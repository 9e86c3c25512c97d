"""`(n 1)` against `(n)`: every element of one meets every element of the other."""

from __future__ import annotations

import ast
from typing import Final

from shapecheck.analysis.annotations.declarations import declaration
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import OpCall, Suspicion, suspects
from shapecheck.analysis.program.syntax import called, last_word, name_of, nodes_of
from shapecheck.dims import Relation
from shapecheck.shapes import Shape, Tensor

_LOSSES: Final = "mse_loss l1_loss smooth_l1_loss huber_loss"
_LOSS_LAYERS: Final = "MSELoss L1Loss SmoothL1Loss HuberLoss"
_NAMES: Final = (
    *(f"torch.Tensor.__{name}__" for name in ("sub", "eq", "ne")),
    *("torch.sub", "torch.eq", "torch.Tensor.eq", "torch.Tensor.sub"),
    *(f"numpy.ndarray.__{name}__" for name in ("sub", "eq", "ne")),
    *(f"torch.nn.functional.{name}" for name in _LOSSES.split()),
    *(f"torch.nn.{name}.forward" for name in _LOSS_LAYERS.split()),
)
_PRODUCTS: Final = tuple(f"torch.Tensor.__{name}__" for name in ("mul", "add", "truediv"))
_PUTS_AXES: Final = frozenset(
    "view reshape unsqueeze expand unflatten rearrange expand_dims".split()
)


@suspects(*_NAMES, *_PRODUCTS)
def met_crosswise(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect two operands, one of which has an axis of size 1 that nobody put there."""
    tensors = [one for one in call.args[:2] if isinstance(one, Tensor)]
    if len(tensors) < 2:
        return None
    shapes = [frame.state.facts.shape(one.shape) for one in tensors]
    for at, (column, row) in enumerate((shapes, shapes[::-1])):
        if column.rank == 2 and row.rank == 1 and column.dims[1] == 1 != row.dims[0]:
            node = call.operands[at] if at < len(call.operands) else None
            is_meant = tensors[at].inserted or _is_put(frame, node) or _is_kept(frame, call, node)
            if not is_meant and _alike(frame, call, column, row):
                return _told(call, shapes, at)
    return None


def _alike(frame: Frame, call: OpCall, column: Shape, row: Shape) -> bool:
    """Whether both may have one element an item: sizes that differ are crossed on purpose.

    Products are crossed more often than differences are: there both have to be of one size, and no
    annotations say what the sizes are, which would tell apart what may not meet by names.
    """
    is_product, function = call.name in _PRODUCTS, frame.function
    if is_product and function is not None and declaration(function).shaped:
        return False
    one, other = column.known, row.known
    if not one or not other:
        return not is_product
    found = frame.state.facts.compare(one[0], other[0]).relation
    return found is Relation.SAME if is_product else found is not Relation.DIFFERENT


def _is_put(frame: Frame, node: ast.expr | None) -> bool:
    """Whether a program itself has put the axis of size 1 there."""
    source = frame.state.sources.get(name_of(node) or "", node)
    if source is None:
        return False
    if any(last_word(called(one)) in _PUTS_AXES for one in nodes_of(ast.Call, source)):
        return True
    indices = (one.slice for one in nodes_of(ast.Subscript, source))
    return any(
        isinstance(c, ast.Constant) and c.value is None for i in indices for c in ast.walk(i)
    )


def _is_kept(frame: Frame, call: OpCall, node: ast.expr | None) -> bool:
    """Whether a reduction has left the axis there for a difference, and not for a comparison."""
    source = frame.state.sources.get(name_of(node) or "", node)
    words = () if source is None else nodes_of(ast.keyword, source)
    return "sub" in call.name and any(word.arg in ("keepdim", "keepdims") for word in words)


def _told(call: OpCall, shapes: list[Shape], at: int) -> Suspicion:
    column, row = shapes[at], shapes[1 - at]
    made = Shape((column.dims[0], row.dims[0]))
    return Suspicion(
        f'"{call.label}" makes {made} of {shapes[0]} and {shapes[1]}: every element of one meets '
        "every element of the other",
        (f"squeeze(1) of what is {column} pairs them one by one",),
    )
