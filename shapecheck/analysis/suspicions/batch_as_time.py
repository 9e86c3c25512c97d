"""`batch_first` forgotten: a batch of sequences given to a layer that takes the steps first."""

from __future__ import annotations

import ast
from typing import Final

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import OpCall, Suspicion, suspects
from shapecheck.analysis.program.syntax import elements
from shapecheck.analysis.suspicions.batch_names import is_batch_first, known_batch
from shapecheck.analysis.suspicions.sources import RECURRENT, unpacked_from
from shapecheck.analysis.values.model import OpInstance
from shapecheck.shapes import Tensor

_LAYERS: Final = (
    *RECURRENT,
    *"MultiheadAttention TransformerEncoderLayer TransformerEncoder".split(),
    *"TransformerDecoderLayer TransformerDecoder".split(),
)
_FIRST: Final = "batch_first=True takes the batch first; transpose(0, 1) puts the steps there"


@suspects(*(f"torch.nn.{name}.forward" for name in _LAYERS))
def batch_as_time(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect what is a batch where the layer has the steps of a sequence."""
    given = call.args[0] if call.args else None
    if not isinstance(given, Tensor) or call.instance is None:
        return None
    shape = frame.state.facts.shape(given.shape)
    if is_batch_first(call.instance) is not False or shape.rank != 3 or given.shape.rank != 3:
        return None  # that axis 0 is a batch is known of what is given, not by this very layer
    name = known_batch(frame, given.shape.dims[0])
    if not name or known_batch(frame, shape.dims[1]):
        return None
    return Suspicion(
        f'"{call.label}" takes {shape} for sequences with their steps first: {name} is axis 0, '
        "where its steps are, and the batch is axis 1",
        (_FIRST,),
    )


@suspects("torch.Tensor.__getitem__")
def last_item_as_last_step(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect `out[:, -1]` of a recurrent layer's steps, which are along axis 0."""
    node = call.node
    if frame.depth or not isinstance(node, ast.Subscript) or not _is_last(node.slice):
        return None
    source = unpacked_from(frame, node.value)
    if not isinstance(source, ast.Call):
        return None
    layer = frame.hush(Frame.eval, source.func)
    if not isinstance(layer, OpInstance) or layer.attrs.get("batch_first") is not False:
        return None
    if layer.cls.name.rpartition(".")[2] not in RECURRENT:
        return None
    made = frame.segment(source.func)
    return Suspicion(
        f'"{frame.segment(node)}" takes the last item of the batch: without batch_first, "{made}" '
        "gives the steps along axis 0, and the batch along axis 1",
        (_FIRST,),
    )


def _is_last(index: ast.expr) -> bool:
    """Whether an index is `[:, -1]`, whatever stands behind it."""
    parts = elements(index) or []
    if len(parts) < 2:
        return False
    match parts[0], parts[1]:
        case (
            ast.Slice(lower=None, upper=None, step=None),
            ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)),
        ):
            return True
    return False
