"""`batch_first` forgotten: a batch of sequences given to a layer that takes the steps first."""

from __future__ import annotations

from typing import Final

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import OpCall, Suspicion, suspects
from shapecheck.analysis.suspicions.batch_names import called_batch
from shapecheck.shapes import Tensor

_LAYERS: Final = (
    "RNN LSTM GRU MultiheadAttention TransformerEncoderLayer TransformerEncoder "
    "TransformerDecoderLayer TransformerDecoder"
)


@suspects(*(f"torch.nn.{name}.forward" for name in _LAYERS.split()))
def batch_as_time(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect what is called a batch where the layer has the steps of a sequence."""
    given = call.args[0] if call.args else None
    if not isinstance(given, Tensor) or call.instance is None:
        return None
    told = call.instance.get("batch_first", call.instance)
    shape = frame.state.facts.shape(given.shape)
    if told is not False or shape.rank != 3:
        return None
    name = called_batch(frame, shape.dims[0])
    if not name or called_batch(frame, shape.dims[1]):
        return None
    return Suspicion(
        f'"{call.label}" takes {shape} for sequences with their steps first: {name} is axis 0, '
        "where its steps are, and the batch is axis 1",
        ("batch_first=True takes the batch first; transpose(0, 1) puts the steps there",),
    )
