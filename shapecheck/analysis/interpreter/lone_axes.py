"""Ops along an axis of size 1 that give the same whatever stands there: a softmax gives ones.

They run, and where sizes are free an axis may well have size 1. It is an error where the program
itself says that it has, and the tensor has named dimensions besides. See decisions.md, "An op along
an axis of size 1 is an error where the size is written down".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Value
from shapecheck.shapes import Problem, Shape, Tensor
from shapecheck.signatures import Signature

FLAG: Final = "levels"
_CLASSES: Final = 1
"""The axis of the classes, where an op has no parameter for its axis."""


def leveled(
    frame: Frame,
    signature: Signature,
    given: Sequence[Value],
    named: Mapping[str, Value],
    instance: Mapping[str, Value] | None,
) -> Problem | None:
    """Return what is wrong with an op along an axis that is known to be 1; None if nothing is.

    A function that is looked into, or a loop over sizes, may be for others too, and so may a class
    be whose sizes are 1 by default.
    """
    if FLAG not in signature.flags or frame.depth or frame.loops or frame.function is None:
        return None
    if frame.has_defaults:
        return None
    fitting = (one.bind(given, named) for one in (signature, *signature.overloads))
    bound = next((one for one in fitting if one is not None), {})
    operand = next((one for one in bound.values() if isinstance(one, Tensor)), None)
    axis = bound.get("dim", (instance or {}).get("dim", _CLASSES))
    if operand is None or not isinstance(axis, int) or isinstance(axis, bool):
        return None
    if operand.shape.at(axis) != 1 or not _has_names(operand.shape):
        return None
    return Problem(
        f"axis {axis}, along which it goes, has size 1",
        f"gives the same whatever stands in {operand.shape}",
    )


def _has_names(shape: Shape) -> bool:
    """Whether sizes are free but for the one: what is made of numbers alone may be a trial."""
    return shape.known is not None and any(not isinstance(dim, int) for dim in shape.known)
