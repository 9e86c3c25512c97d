"""Gradients: tensors like those that they are taken by."""

from __future__ import annotations

from collections.abc import Mapping

from shapecheck.ops.call import UNKNOWN, Call, Value, rule
from shapecheck.shapes import Tensor


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
