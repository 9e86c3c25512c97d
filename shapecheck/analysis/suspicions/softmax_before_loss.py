"""A softmax in front of a loss that takes one itself, a sigmoid likewise."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from shapecheck.analysis.annotations.classes import find_method
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import OpCall, Suspicion, suspects
from shapecheck.analysis.program.model import Function, Value
from shapecheck.analysis.program.syntax import last_word, name_of, nodes_of
from shapecheck.analysis.values.model import OpInstance
from shapecheck.ops import UNKNOWN

_TAKEN: Final = {
    "cross_entropy": frozenset(("softmax",)),
    "binary_cross_entropy_with_logits": frozenset(("sigmoid",)),
}
_LAYERS: Final = {
    "CrossEntropyLoss": "cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
}
_MADE_BY: Final = {
    "Softmax": "softmax",
    "LogSoftmax": "log_softmax",
    "Sigmoid": "sigmoid",
    "Linear": "Linear",
}
_NO_LOGARITHMS: Final = frozenset("softmax sigmoid Linear linear".split())
_KEEPING: Final = frozenset("squeeze unsqueeze view reshape float permute transpose".split())
_DEEPEST: Final = 8


@suspects(
    *(f"torch.nn.functional.{name}" for name in _TAKEN),
    *(f"torch.nn.{name}.forward" for name in _LAYERS),
)
def taken_twice(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect logits that have been through what the loss does with them."""
    node = call.operands[0] if call.operands else None
    if node is None or frame.depth:  # it goes by what is written, whatever is passed
        return None
    loss = call.name.removesuffix(".forward").rpartition(".")[2]
    loss = _LAYERS.get(loss, loss)
    for made in _makers(frame, node, _DEEPEST):
        if made in _TAKEN[loss]:
            what = "log_softmax" if loss == "cross_entropy" else "sigmoid"
            return Suspicion(
                f'"{call.label}" takes {what} itself, and "{frame.segment(node)}" has been '
                f"through {made} already",
                (f"give it the logits, without {made}",),
            )
    return None


@suspects("torch.nn.functional.nll_loss", "torch.nn.NLLLoss.forward")
def without_logarithm(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect what is no logarithm of probabilities where the loss has to be given some."""
    node = call.operands[0] if call.operands else None
    if node is None or frame.depth:
        return None
    for made in _makers(frame, node, _DEEPEST):
        if made in _NO_LOGARITHMS:
            return Suspicion(
                f'"{call.label}" takes logarithms of probabilities, and "{frame.segment(node)}" '
                f"is what {made} gives",
                ("cross_entropy takes logits; log_softmax makes logarithms of them",),
            )
    return None


def _makers(frame: Frame, node: ast.expr, deep: int) -> Iterator[str]:
    """Yield the name of the op that an expression is the result of, if that is known."""
    if deep == 0:
        return
    name = name_of(node)
    if name is not None:
        source = frame.state.sources.get(name)
        if source is not None and not _is_conditional(frame, source, node):
            yield from _makers(frame, source, deep - 1)
        return
    if not isinstance(node, ast.Call):
        return
    word = last_word(node.func)
    if word in _KEEPING and isinstance(node.func, ast.Attribute):
        yield from _makers(frame, node.func.value, deep - 1)
        return
    target = frame.hush(Frame.eval, node.func)
    if _is_layer(frame, target):
        yield from _last_of(frame, target, deep)
    elif not isinstance(target, Function):  # one of the program's own does what it likes
        yield word


def _is_conditional(frame: Frame, source: ast.expr, use: ast.expr) -> bool:
    """Whether a variable may be set on a path only that isn't the one of its use."""
    tree = frame.module.syntax.tree if frame.function is None else frame.function.node
    for branch in nodes_of((ast.If, ast.Try, ast.While), tree):
        inside = [*ast.walk(branch)]
        if any(one is source for one in inside) and not any(one is use for one in inside):
            return True
    return False


def _is_layer(frame: Frame, value: Value) -> bool:
    return isinstance(value, OpInstance) or frame.state.content(value) is not None


def _last_of(frame: Frame, layer: Value, deep: int) -> Iterator[str]:
    """Yield what a layer does last."""
    if deep == 0:
        return
    if isinstance(layer, OpInstance):
        yield _MADE_BY.get(layer.cls.name.rpartition(".")[2], "")
        return
    items = frame.state.items_of(layer)
    if items:
        yield from _last_of(frame, items[-1], deep - 1)
        return
    content = frame.state.instance_of(layer)
    forward = None if content is None else find_method(content.cls, "forward")
    if content is None or forward is None or isinstance(forward.node, ast.Lambda):
        return
    returned = [one.value for one in nodes_of(ast.Return, forward.node) if one.value is not None]
    for value in returned if len(returned) == 1 else ():
        yield from _last_in(frame, forward.node, value, content.attrs, deep - 1)


def _last_in(
    frame: Frame, function: ast.AST, node: ast.expr, attrs: object, deep: int
) -> Iterator[str]:
    """Yield the op that an expression at the end of a `forward` is the result of."""
    if deep == 0:
        return
    match node:
        case ast.Name(id=name):
            assigned = [
                one
                for one in nodes_of(ast.Assign, function)
                if any(name_of(target) == name for target in one.targets)
            ]
            body = getattr(function, "body", [])
            if assigned and all(one in body for one in assigned):  # none of them on a path only
                yield from _last_in(frame, function, assigned[-1].value, attrs, deep - 1)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)):
            held = attrs.get(name, UNKNOWN) if isinstance(attrs, Mapping) else UNKNOWN
            yield from _last_of(frame, held, deep - 1)
        case ast.Call(func=func):
            yield last_word(func)
