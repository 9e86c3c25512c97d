"""scikit-learn: what is divided into a part to learn from and one to test with."""

from __future__ import annotations

import math

import shapecheck.dims as dims
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import another, iterate, length
from shapecheck.analysis.interpreter.registry import LibraryCall, function
from shapecheck.analysis.kinds.tables import table
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.values.model import Array, ListContent, Table
from shapecheck.dims import IntSize
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import is_int
from shapecheck.shapes import Shape, Tensor


@function("sklearn.model_selection.train_test_split")
def _divided(frame: Frame, call: LibraryCall) -> Value:
    """Return both parts of each array; all have one length, and so have their parts."""
    counts = _counts(frame, call)
    parts = (_rows(frame, one, count) for one in call.args for count in counts)
    return frame.state.new(ListContent((*parts,)))


def _counts(frame: Frame, call: LibraryCall) -> tuple[IntSize, IntSize]:
    """Return how many rows there are to learn from, and how many to test with."""
    rows = length(frame, call.args[0]) if call.args else None
    share = call.kwargs.get("test_size", 0.25)
    if not is_int(rows) or "train_size" in call.kwargs:
        return dims.unknown(), dims.unknown()
    if isinstance(share, float) and 0 < share < 1:
        tested = math.ceil(rows * share)
    elif is_int(share) and 0 < share < rows:
        tested = share
    else:
        return dims.unknown(), dims.unknown()
    return rows - tested, tested


def _rows(frame: Frame, value: Value, count: IntSize) -> Value:
    """Return so many of the rows of something."""
    match value:
        case Tensor():
            return _some(value, count)
        case Array(tensor=tensor):
            return Array(_some(tensor, count))
        case Table(tensor=tensor):
            return table(count, *tensor.shape.dims[1:], dtype=tensor.dtype)
    items, element = iterate(frame, value)
    one = another(frame, frame.state.either(*items) if items else element)
    return UNKNOWN if one is UNKNOWN else frame.state.new(ListContent(None, one, count=count))


def _some(tensor: Tensor, count: IntSize) -> Tensor:
    known = tensor.shape.known
    return Tensor(Shape((count, *known[1:])), tensor.dtype) if known else Tensor.unknown()
