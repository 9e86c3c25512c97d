"""`batch_first` forgotten: a batch of sequences given to a layer that takes the steps first."""

from __future__ import annotations

import ast
from typing import Final, NamedTuple

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.op_calls import with_parts
from shapecheck.analysis.interpreter.registry import OpCall, Suspicion, suspects
from shapecheck.analysis.program.syntax import elements
from shapecheck.analysis.suspicions.batch_names import is_batch_first, known_batch
from shapecheck.analysis.suspicions.sources import RECURRENT, source_of, unpacked_from
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
    """Suspect `out[:, -1]` of the steps that a layer gives, which are along axis 0.

    Of what attends, `out[:, 0]` as well, which is meant for the first step: a token for them all.
    """
    node = call.node
    if frame.depth or not isinstance(node, ast.Subscript):
        return None
    item = _item(node.slice)
    layer = _steps_first(frame, node.value, call) if item is not None else None
    if layer is None or (item == "first" and _is_recurrent(layer)):
        return None
    return Suspicion(
        f'"{frame.segment(node)}" takes the {item} item of the batch: without batch_first, '
        f'"{layer.label}" gives the steps along axis 0, and the batch along axis 1',
        (_FIRST,),
    )


@suspects("torch.Tensor.mean", "torch.mean", "torch.Tensor.max", "torch.max", "torch.Tensor.amax")
def mean_of_the_batch_as_of_steps(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect `out.mean(1)` of the steps that a layer gives, which are along axis 0."""
    dim = call.args[1] if len(call.args) > 1 else call.kwargs.get("dim")
    node = call.operands[0] if call.operands else None
    if frame.depth or dim is True or dim not in (1, -2) or node is None:
        return None
    layer = _steps_first(frame, node, call)
    if layer is None:
        return None
    return Suspicion(
        f'"{call.label}" goes along axis 1, over the batch: without batch_first, "{layer.label}" '
        "gives the steps along axis 0",
        (_FIRST,),
    )


class _Layer(NamedTuple):
    """A layer that takes and gives the steps first: its class, and how it is written."""

    name: str
    label: str


def _is_recurrent(layer: _Layer) -> bool:
    return layer.name in RECURRENT


def _steps_first(frame: Frame, node: ast.expr, call: OpCall) -> _Layer | None:
    """Return the layer whose steps an expression is, if they are axis 0, and axis 1 a batch."""
    given = call.args[0] if call.args else None
    shape = frame.state.facts.shape(given.shape) if isinstance(given, Tensor) else None
    if shape is None or shape.rank not in (None, 3) or (shape.rank == 3 and shape.dims[1] == 1):
        return None
    unpacked = unpacked_from(frame, node)
    source = source_of(frame, node) if unpacked is None else unpacked
    if not isinstance(source, ast.Call) or not source.args:
        return None
    layer = frame.hush(Frame.eval, source.func)
    if not isinstance(layer, OpInstance) or _is_put_in(frame, source.args[0]):
        return None
    name = layer.cls.name.rpartition(".")[2]
    if name not in _LAYERS or is_batch_first(with_parts(layer.attrs)) is not False:
        return None
    if (unpacked is None) is (name in RECURRENT or name == "MultiheadAttention"):
        return None
    return _Layer(name, frame.segment(source.func))


def _is_put_in(frame: Frame, steps: ast.expr) -> bool:
    """Whether an axis is put into what a layer is given, as one for a batch of one item."""
    match source_of(frame, steps):
        case ast.Call(func=ast.Attribute(attr="unsqueeze")) | ast.Subscript():
            return True
    return False


def _item(index: ast.expr) -> str | None:
    """Return which item an index takes of all: `[:, -1]` or `[:, 0]`, whatever stands behind it."""
    parts = elements(index) or []
    if len(parts) < 2:
        return None
    match parts[0], parts[1]:
        case (
            ast.Slice(lower=None, upper=None, step=None),
            ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)),
        ):
            return "last"
        case ast.Slice(lower=None, upper=None, step=None), ast.Constant(value=0):
            return "first"
    return None
