"""Sizes that have stood beside axes of bare parameters: an axis doesn't become one of them later.

`x.mean((1, 2))` of what a convolution gave has the width as its last axis. A layer that wants the
channels there doesn't see them any more.
"""

from __future__ import annotations

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Value
from shapecheck.dims import Size
from shapecheck.ops.call import only
from shapecheck.shapes import Facts, Shape, Tensor, is_chosen, is_of_axes


def note(frame: Frame, made: Value) -> None:
    """Take note of which sizes stand beside axes in what a layer gives."""
    if not isinstance(made, Tensor):
        return
    items = only(made.shape.dims, Size)
    sizes = [one for one in items if is_chosen(one)]
    for axis in items if sizes else ():
        if is_of_axes(axis):
            frame.neighbours.setdefault(axis, {}).update(dict.fromkeys(sizes))


def become_one(frame: Frame, before: Facts) -> tuple[Shape, ...]:
    """Return an axis and the size beside it that it has become, since some facts were known."""
    facts = frame.state.facts
    if frame.depth or facts.atoms is before.atoms or facts.under_unknown_condition:
        return ()
    new = facts.atoms.keys() - before.atoms.keys()
    for axis, sizes in frame.neighbours.items():
        if new.isdisjoint(axis.symbols()) and new.isdisjoint(axis.atoms()):
            continue
        now = facts.dim(axis)
        if now in sizes and before.dim(axis) != now:
            return (Shape((axis, now)),)
    return ()
