"""A softmax along the batch: what one item gives depends on the others."""

from __future__ import annotations

from typing import Final

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import OpCall, Suspicion, suspects
from shapecheck.analysis.suspicions.batch_names import called_batch
from shapecheck.analysis.suspicions.sources import is_made_by_layer
from shapecheck.shapes import Shape, Tensor

_FUNCTIONS: Final = "torch.softmax torch.log_softmax torch.nn.functional.softmax "
_MORE: Final = (
    "torch.nn.functional.log_softmax torch.Tensor.softmax torch.Tensor.log_softmax "
    "torch.nn.Softmax.forward torch.nn.LogSoftmax.forward"
)
_WITHOUT_AXIS: Final = "softmax log_softmax softmin"


@suspects(*(_FUNCTIONS + _MORE).split())
def over_the_batch(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect a softmax along axis 0 where that is called a batch."""
    given = call.args[0] if call.args else None
    if not isinstance(given, Tensor):
        return None
    dim = call.args[1] if len(call.args) > 1 else call.kwargs.get("dim")
    if call.instance is not None:
        dim = call.instance.get("dim")
    shape = frame.state.facts.shape(given.shape)
    if shape.rank is None or shape.rank < 2 or dim not in (0, -shape.rank):
        return None
    name = called_batch(frame, shape.dims[0])
    node = call.operands[0] if call.operands else None
    if not name and not (_is_of_many(shape) and is_made_by_layer(frame, node)):
        return None
    called = f", which is called {name}" if name else ", a batch"
    return Suspicion(
        f'"{call.label}" goes along axis 0 of {shape}{called}: each item is weighed against the '
        "others of its batch",
        ("dim=-1 goes along the last axis, as for classes and keys",),
    )


def _is_of_many(shape: Shape) -> bool:
    """Whether there are several numbers for each item, of which one may be chosen."""
    return shape.rank == 2 and isinstance(shape.dims[1], int) and shape.dims[1] > 1


@suspects(*(f"torch.nn.functional.{name}" for name in _WITHOUT_AXIS.split()))
def without_axis(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect a softmax without its axis, which is axis 0 of three."""
    given = call.args[0] if call.args else None
    dim = call.args[1] if len(call.args) > 1 else call.kwargs.get("dim")
    shape = frame.state.facts.shape(given.shape) if isinstance(given, Tensor) else None
    if dim is not None or shape is None or shape.rank != 3:
        return None
    return Suspicion(
        f'"{call.label}" is given no axis, and goes along axis 0 of {shape}, as it does for three',
        ("dim=-1 goes along the last axis, as for classes and keys",),
    )
