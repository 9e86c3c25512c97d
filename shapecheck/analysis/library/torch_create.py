"""Tensors and arrays that are made of lists of which it isn't known what each item is."""

from __future__ import annotations

from typing import Final

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import iterate, length
from shapecheck.analysis.interpreter.kinds import held_by
from shapecheck.analysis.interpreter.op_calls import plain
from shapecheck.analysis.interpreter.registry import LibraryCall, function
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.values.model import Array, Items, ListContent
from shapecheck.dims import IntSize
from shapecheck.ops import UNKNOWN
from shapecheck.shapes import Mismatch, Shape, Tensor

_MAKERS: Final = {
    one.rpartition(".")[2]: one
    for one in ("torch.tensor", "torch.as_tensor", "numpy.array", "numpy.asarray")
}
_OF_DTYPE: Final = {
    "Tensor": "float32",
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}
"""The constructors of one dtype, which make of lists what `torch.tensor` makes of them."""


@function(*_MAKERS.values(), *(f"torch.{name}" for name in _OF_DTYPE))
def _of_list(frame: Frame, call: LibraryCall) -> Value:
    """Return what is made of many items that are alike: what one makes, so many times."""
    if len(call.args) != 1 or not isinstance(held_by(frame, call.args[0]), (ListContent, Items)):
        return NOTHING
    items, element = iterate(frame, call.args[0])
    name = _MAKERS.get(call.name, "torch.tensor")
    signature = frame.program.table.signature(name)
    one = UNKNOWN if items is not None else plain(frame, element)
    if one is UNKNOWN or signature is None:
        return NOTHING
    kwargs = {key: plain(frame, value) for key, value in call.kwargs.items()}
    try:
        made = signature.apply(frame.state.facts, [one], kwargs)
    except Mismatch:
        return NOTHING
    tensor = made.tensor if isinstance(made, Array) else made
    if not isinstance(tensor, Tensor) or tensor.shape.known is None:
        return NOTHING
    count = length(frame, call.args[0])
    if count is None or _is_of_parameter(count):
        count = dims.unknown()
    shape = Shape((count, *tensor.shape.dims))
    dtype = _OF_DTYPE.get(call.name)
    many = Tensor(shape, tensor.dtype if dtype is None else dtypes.of(dtype))
    return Array(many) if name.startswith("numpy.") else many


def _is_of_parameter(count: IntSize) -> bool:
    """Whether a count is how many items a parameter has: another may have as many, on purpose."""
    symbol = dims.symbol_of(count)
    return symbol is not None and symbol.name.startswith("len(")
