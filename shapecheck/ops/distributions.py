"""torch.distributions: the shapes of samples, of log-probabilities and of statistics.

A distribution's batch shape comes from its parameters; its event shape is the last axes of a
sample that belong together. The rules' first constant is the number of a parameter's last axes
that one event takes, the second what becomes of them: `"event"`, or `"index"` where a sample is an
index into them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shapecheck import dtypes
from shapecheck.ops.call import UNKNOWN, Call, Value, as_shape, as_tensor, rule
from shapecheck.ops.elementwise import promote_values
from shapecheck.shapes import Run, Shape, Tensor

_SETTINGS: Final = frozenset(("__class__", "validate_args", "temperature", "lims"))


def _parameters(self: Mapping[str, Value], count: int) -> list[Value] | None:
    """Return what shapes a distribution: tensors and numbers; None where one isn't known."""
    given = [value for name, value in self.items() if name not in _SETTINGS]
    if any(value is UNKNOWN for value in given):
        return None
    return [v for v in given if isinstance(v, Tensor) or (not count and v is not None)]


def _shapes(call: Call, self: Mapping[str, Value]) -> tuple[Shape, Shape, dtypes.DTypes]:
    """Return the batch, the last axes that an event takes, and the dtype of the parameters."""
    count = call.extra[0]
    given = _parameters(self, count)
    if not given:
        return Shape.unknown(), Shape.of_rank(count), dtypes.ANY
    kind = dtypes.to_float(promote_values(*given))
    shapes = [call.facts.shape(as_tensor(value).shape) for value in given]
    batches = []
    for index, shape in enumerate(shapes):
        taken = count + 1 if count and index else count  # a covariance has one axis more
        last = shape.dims[len(shape.dims) - taken :]
        if len(last) < taken or any(isinstance(item, Run) for item in last):
            return Shape.unknown(), Shape.of_rank(count), kind
        batches.append(Tensor(Shape(shape.dims[: len(shape.dims) - taken])))
    event = shapes[0].dims[len(shapes[0].dims) - count :]
    return call.broadcast(batches), Shape(event), kind


@rule("drawn")
def drawn(call: Call, self: Mapping[str, Value], sample_shape: Value = (), **rest: Value) -> Value:
    """Return samples: the shape that is asked for, the batch, the event."""
    batch, event, kind = _shapes(call, self)
    lead = as_shape(sample_shape).dims
    if call.extra[1] == "index":
        return Tensor(Shape((*lead, *batch.dims)), dtypes.INT64)
    return Tensor(Shape((*lead, *batch.dims, *event.dims)), kind)


@rule("scored")
def scored(call: Call, self: Mapping[str, Value], value: Value, **rest: Value) -> Value:
    """Return the log-probability of values: a number for each event."""
    batch, event, kind = _shapes(call, self)
    last = Shape(()) if call.extra[1] == "index" else event
    whole, given = Tensor(Shape((*batch.dims, *last.dims))), as_tensor(value)
    shape = call.broadcast((whole, given), f"can't score {given} by a distribution of {whole}")
    if shape.rank is None:
        return Tensor(Shape.unknown(), kind)
    return Tensor(Shape(shape.dims[: shape.rank - len(last.dims)]), kind)


@rule("statistic")
def statistic(call: Call, self: Mapping[str, Value], **rest: Value) -> Value:
    """Return a statistic of each element of the batch, or of the event (`"event"`)."""
    batch, event, kind = _shapes(call, self)
    last = event.dims if call.extra[1] == "event" else ()
    return Tensor(Shape((*batch.dims, *last)), kind)
