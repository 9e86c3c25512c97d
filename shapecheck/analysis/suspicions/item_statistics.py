"""Sums, means and norms along the wrong axis: over a batch, or over all but what is meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import OpCall, Suspicion, suspects
from shapecheck.analysis.suspicions.batch_names import known_batch
from shapecheck.analysis.suspicions.sources import (
    is_made_by_layer,
    same,
    source_of,
    terms,
)
from shapecheck.shapes import Tensor

# Normalised vectors -------------------------------------------------------------------------------


@suspects("torch.nn.functional.normalize")
def normalised_over_the_batch(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect `F.normalize(x, dim=0)` of a batch of vectors."""
    given = call.args[0] if call.args else None
    dim = call.args[2] if len(call.args) > 2 else call.kwargs.get("dim", 1)
    shape = frame.state.facts.shape(given.shape) if isinstance(given, Tensor) else None
    if shape is None or shape.rank is None or shape.rank < 2:
        return None
    node = call.operands[0] if call.operands else None
    if dim in (0, -shape.rank):
        if not known_batch(frame, shape.dims[0]) and not is_made_by_layer(frame, node):
            return None
        return Suspicion(
            f'"{call.label}" goes along axis 0 of {shape}, the batch: what becomes of an item '
            "depends on the others",
            ("dim=-1 gives each vector the length 1",),
        )
    return None


# Gradient penalties -------------------------------------------------------------------------------


@suspects("torch.Tensor.norm", "torch.norm", "torch.linalg.norm", "torch.linalg.vector_norm")
def gradients_over_one_axis(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect the norm along axis 1 of gradients that have more axes, as those of images have."""
    given = call.args[0] if call.args else None
    dim = call.kwargs.get("dim", call.args[2] if len(call.args) > 2 else None)
    if not isinstance(given, Tensor) or dim != 1:
        return None
    shape = frame.state.facts.shape(given.shape)
    source = source_of(frame, call.operands[0] if call.operands else None)
    if shape.least_rank < 3 or not _is_gradient(source):
        return None
    return Suspicion(
        f'"{call.label}" goes along axis 1 only of gradients {shape}: not over all of an item',
        ("flatten(1) first makes one vector of an item's gradients",),
    )


def _is_gradient(node: ast.expr | None) -> bool:
    """Whether an expression is what `autograd.grad` gives."""
    match node:
        case ast.Subscript(value=ast.Call(func=func), slice=ast.Constant(value=0)):
            return ast.unparse(func).rpartition(".")[2] == "grad"
    return False


# The divergence of a Gaussian ---------------------------------------------------------------------

_SUMS: Final = ("torch.sum", "torch.Tensor.sum")
_MEANS: Final = ("torch.mean", "torch.Tensor.mean")


@suspects(*_SUMS, *_MEANS)
def divergence_over_another_axis(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect `1 + logvar - mu**2 - logvar.exp()` summed along a batch, or averaged per item."""
    dim = call.args[1] if len(call.args) > 1 else call.kwargs.get("dim")
    is_sum = call.name in _SUMS
    if not isinstance(dim, int) or dim is True or dim not in ((0,) if is_sum else (1, -1)):
        return None
    node = source_of(frame, call.operands[0] if call.operands else None)
    if node is None or not _is_divergence(node):
        return None
    text = (
        f'"{call.label}" adds up the divergence of a batch along axis 0, one item with another'
        if is_sum
        else f'"{call.label}" averages the divergence of an item over its latent axes, which makes '
        "it smaller by their number"
    )
    return Suspicion(text, ("sum(dim=1) is the divergence of each item; their mean is the loss",))


def _is_divergence(node: ast.expr) -> bool:
    """Whether an expression is, up to a factor, `1 + logvar - mu**2 - logvar.exp()`."""
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        number = isinstance(node.left, ast.Constant | ast.UnaryOp)
        node = node.right if number else node.left
    signed = terms(node, most=4)
    ones = [sign for one, sign in signed if isinstance(one, ast.Constant) and one.value in (1, 1.0)]
    logs = [(inner, sign) for one, sign in signed for inner in _exponent(one)]
    squares = [sign for one, sign in signed if _is_square(one)]
    if len(signed) != 4 or len(ones) != 1 or len(logs) != 1 or len(squares) != 1:
        return False
    variance, sign = logs[0]
    plain = [other for one, other in signed if same(one, variance)]
    return plain == [-sign] and ones == plain and squares == [sign]


def _exponent(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="exp"), args=[inner]):
            yield inner
        case ast.Call(func=ast.Attribute(value=inner, attr="exp"), args=[]):
            yield inner


def _is_square(node: ast.expr) -> bool:
    match node:
        case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=2)):
            return True
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return same(left, right)
        case ast.Call(func=ast.Attribute(attr="pow"), args=[*_, ast.Constant(value=2)]):
            return True
        case ast.Call(func=ast.Attribute(attr="square")):
            return True
    return False


# Dueling networks ---------------------------------------------------------------------------------


@suspects("torch.Tensor.__sub__", "torch.Tensor.__add__")
def advantage_of_the_batch(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect `value + advantage - advantage.mean()`, whose mean is over the batch as well."""
    if not isinstance(call.node, ast.BinOp):
        return None
    signed = terms(call.node, most=3)
    taken = [one for one, sign in signed if sign < 0]
    if len(signed) != 3 or len(taken) != 1:
        return None
    whole = _all_of(taken[0])
    if whole is None or sum(same(one, whole) for one, sign in signed if sign > 0) != 1:
        return None
    value = frame.hush(Frame.eval, whole)
    if not isinstance(value, Tensor):
        return None
    shape, name = frame.state.facts.shape(value.shape), frame.segment(whole)
    if shape.rank is not None and shape.rank < 2:
        return None
    return Suspicion(
        f'"{frame.segment(taken[0])}" is over all items of a batch, and is taken from each',
        (f"dim=-1, keepdim=True takes it over the axis of an item of {name}",),
    )


def _all_of(node: ast.expr) -> ast.expr | None:
    """Return what an expression is the mean, or the greatest, of all elements of."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="torch"), attr="mean" | "max"),
            args=[whole],
            keywords=[],
        ):
            return whole
        case ast.Call(func=ast.Attribute(value=whole, attr="mean" | "max"), args=[], keywords=[]):
            return whole
    return None
