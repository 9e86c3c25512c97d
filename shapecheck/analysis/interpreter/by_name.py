"""Elementwise ops on tensors by name, `NamedTensor`: operands meet by the names of dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.op_calls import PREFIX, Site, apply
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.values.model import ByName, Ref
from shapecheck.explain import Message
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import only
from shapecheck.ops.named.views import is_in_place, takes_plain
from shapecheck.shapes import Tensor

METHOD: Final = "torch.Tensor."
"""What the dotted names of the methods of torch's tensors begin with."""


def view_of(frame: Frame, value: Value, hidden: frozenset[str] = frozenset()) -> Value:
    """Return what a method gives of what its function does: a view of each tensor.

    `hidden` are the names that the view hides of which it is a method.
    """
    match value:
        case Tensor():
            return ByName(value, hidden)
        case tuple():
            return tuple(view_of(frame, one, hidden) for one in value)
        case Ref():
            content = frame.state.list_of(value)
            if content is not None and content.kind == "tuple":
                return frame.state.new(content.changed(lambda one: view_of(frame, one, hidden)))
    return value


def unheld(value: Value) -> Value:
    """Return the tensor that a view holds; other values as they are."""
    return value.tensor if isinstance(value, ByName) else value


def given_to_torch(
    frame: Frame, name: str, args: Sequence[Value], kwargs: Mapping[str, Value], site: Site
) -> Value:
    """Call a function or a layer of torch's on tensors by name; `NOTHING` where none is given one.

    Those that are elementwise take them; any other op is an error.
    """
    if not any(_has_view(frame, one) for one in (*args, *kwargs.values())):
        return NOTHING
    owner, _, last = name.rpartition(".")
    if frame.program.table.is_elementwise(f"{METHOD}{last}"):
        return elementwise(frame, name, args, kwargs, site)
    receiver = args[0] if owner == "torch.Tensor" else None
    is_guessed = isinstance(receiver, Tensor) and receiver.shape.rank is None
    if owner in _OF_OPS and not is_guessed:
        frame.error(site.node, Message(takes_plain(site.label)))
    return UNKNOWN


_OF_OPS: Final = frozenset(
    ("torch", "torch.Tensor", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special")
)


def _has_view(frame: Frame, value: Value) -> bool:
    """Whether a value is a tensor by name, or a list or tuple with one in it."""
    if isinstance(value, Ref):
        content = frame.state.list_of(value)
        value = () if content is None else tuple(content.values)
    return any(isinstance(one, ByName) for one in (value if isinstance(value, tuple) else (value,)))


def elementwise(
    frame: Frame, name: str, args: Sequence[Value], kwargs: Mapping[str, Value], site: Site
) -> Value:
    """Call an elementwise function of torch's, by its dotted name, on views and others."""
    signature = frame.program.table.signature(name)
    if signature is None:
        return UNKNOWN
    in_place = is_in_place(name.rpartition(".")[2])
    given = [unheld(one) for one in (*args, *kwargs.values())]
    if in_place and not isinstance(given[0], Tensor):
        return UNKNOWN
    at = [i for i, one in enumerate(given) if isinstance(one, Tensor) and one.shape.dims]
    if in_place and 0 not in at:
        at.insert(0, 0)
    if len(at) > 1:
        together = frame.program.table.signature(f"{PREFIX}{'_onto' if in_place else '_meet'}")
        assert together is not None
        pairs = site.operands
        own = replace(site, pairs=tuple(pairs[i] for i in at if i < len(pairs)))
        laid = apply(frame, together, [given[i] for i in at], {}, own)
        if not isinstance(laid, tuple):
            return UNKNOWN
        for place, one in zip(at, laid, strict=True):
            given[place] = one
    named = dict(zip(kwargs, given[len(args) :], strict=True))
    found = apply(frame, signature, given[: len(args)], named, site)
    if in_place and not isinstance(args[0], ByName):
        return found
    views = only((*args, *kwargs.values()), ByName)
    return view_of(frame, found, views[0].hidden if views else frozenset())
