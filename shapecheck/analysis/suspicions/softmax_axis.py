"""A softmax along the batch: what one item gives depends on the others."""

from __future__ import annotations

import ast
from typing import Final

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import OpCall, Suspicion, suspects
from shapecheck.analysis.program.syntax import called, last_word, nodes_of
from shapecheck.analysis.suspicions.batch_names import called_batch
from shapecheck.analysis.suspicions.sources import is_made_by_layer, source_of
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


# Weights of attention -----------------------------------------------------------------------------

_PRODUCTS: Final = frozenset("matmul bmm einsum baddbmm".split())


@suspects("torch.Tensor.__matmul__", "torch.matmul", "torch.bmm", "torch.Tensor.matmul")
def weights_of_another_axis(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect `softmax(q @ k, dim=-2) @ v`: what is added up isn't what adds up to 1."""
    given = call.args[0] if call.args else None
    made = _undropped(frame, call.operands[0] if call.operands else None)
    if not isinstance(given, Tensor) or made is None:
        return None
    scores, along = _softmax(made)
    dim = None if along is None else frame.hush(Frame.eval, along)
    rank = frame.state.facts.shape(given.shape).rank
    if scores is None or not _is_product(frame, scores):
        return None
    if dim != -2 and (rank is None or dim != rank - 2):
        return None
    return Suspicion(
        f'"{call.label}" adds up along the last axis of weights which add up to 1 along the axis '
        "before it",
        ("softmax(dim=-1) weighs what is added up",),
    )


def _undropped(frame: Frame, node: ast.expr | None) -> ast.expr | None:
    """Return what an expression is from, without the dropout that it went through."""
    source = source_of(frame, node)
    match source:
        case ast.Call(args=[inner]) if "drop" in last_word(called(source)):
            return source_of(frame, inner)
    return source


def _softmax(node: ast.expr) -> tuple[ast.expr | None, ast.expr | None]:
    """Return of what, and along which axis, an expression is a softmax."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr="softmax"), args=args, keywords=words):
            is_function = isinstance(owner, ast.Name | ast.Attribute) and len(args) > 0
            named = next((word.value for word in words if word.arg == "dim"), None)
            if named is not None:
                of = args[0] if args else owner
                return of, named
            if len(args) == 2 and is_function:
                return args[0], args[1]
            if len(args) == 1:
                return owner, args[0]
    return None, None


def _is_product(frame: Frame, node: ast.expr) -> bool:
    """Whether an expression is a product of two tensors, up to a factor."""
    source = source_of(frame, node)
    if source is None:
        return False
    if any(isinstance(one.op, ast.MatMult) for one in nodes_of(ast.BinOp, source)):
        return True
    return any(last_word(called(one)) in _PRODUCTS for one in nodes_of(ast.Call, source))
