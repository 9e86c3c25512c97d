"""Elementwise ops on tensors by name, `NamedTensor`: operands meet by the names of dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.op_calls import PREFIX, Site, apply
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.values.model import ByName, Ref
from shapecheck.ops import UNKNOWN
from shapecheck.ops.named.views import is_in_place
from shapecheck.shapes import Tensor


def view_of(frame: Frame, value: Value) -> Value:
    """Return what a method gives of what its function does: a view of each tensor."""
    match value:
        case Tensor():
            return ByName(value)
        case tuple():
            return tuple(view_of(frame, one) for one in value)
        case Ref():
            content = frame.state.list_of(value)
            if content is not None and content.kind == "tuple":
                return frame.state.new(content.changed(lambda one: view_of(frame, one)))
    return value


def unheld(value: Value) -> Value:
    """Return the tensor that a view holds; other values as they are."""
    return value.tensor if isinstance(value, ByName) else value


def elementwise(
    frame: Frame, name: str, args: Sequence[Value], kwargs: Mapping[str, Value], site: Site
) -> Value:
    """Call an elementwise method of torch's tensors, by its name, on views and others."""
    signature = frame.program.table.signature(f"torch.Tensor.{name}")
    if signature is None:
        return UNKNOWN
    given = [unheld(one) for one in (*args, *kwargs.values())]
    at = [i for i, one in enumerate(given) if isinstance(one, Tensor) and one.shape.dims]
    if len(at) > 1:
        rule = "_onto" if is_in_place(name) else "_meet"
        together = frame.program.table.signature(f"{PREFIX}{rule}")
        assert together is not None
        pairs = site.operands
        own = replace(site, pairs=tuple(pairs[i] for i in at if i < len(pairs)))
        laid = apply(frame, together, [given[i] for i in at], {}, own)
        if not isinstance(laid, tuple):
            return UNKNOWN
        for place, one in zip(at, laid, strict=True):
            given[place] = one
    named = dict(zip(kwargs, given[len(args) :], strict=True))
    return view_of(frame, apply(frame, signature, given[: len(args)], named, site))
