"""Derivatives: tensors with the axes of what they are taken by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shapecheck.ops.call import UNKNOWN, Call, Value, rule
from shapecheck.shapes import Shape, Tensor

_TIMES: Final = {"jacobian": 1, "hessian": 2}


@rule("derivative")
def derivative(
    call: Call, input: Value, self: Mapping[str, Value] | None = None, **rest: Value
) -> Value:
    """Return the derivative by one tensor; of a function's result nothing is known."""
    (kind,) = call.extra
    settings = self or {}
    plain = settings.get("argnums", 0) == 0 and settings.get("has_aux", False) is False
    if not plain or not isinstance(input, Tensor):
        return UNKNOWN
    if kind == "gradient":
        return input
    axes = call.facts.shape(input.shape).dims * _TIMES[kind]
    return Tensor(Shape((*Shape.unknown().dims, *axes)), input.dtype)


@rule("gradients")
def gradients(call: Call, inputs: Value, **rest: Value) -> Value:
    """Return a gradient for each of some tensors, None for one that isn't used where allowed."""
    if rest.get("is_grads_batched") is not False or isinstance(inputs, Mapping):
        return UNKNOWN
    given = (inputs,) if isinstance(inputs, Tensor) else inputs
    if not isinstance(given, (tuple, list)):
        return UNKNOWN
    sure = rest.get("allow_unused") in (None, False)
    return tuple(one if sure and isinstance(one, Tensor) else UNKNOWN for one in given)
