"""`shapecheck.named`: giving names, and applying any function by name (`named.op`)."""

from __future__ import annotations

import ast
from typing import Final

from shapecheck.analysis.interpreter.by_name import unheld, view_of
from shapecheck.analysis.interpreter.calls import invoke
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.op_calls import PREFIX, Site, apply, takes_names
from shapecheck.analysis.interpreter.registry import MANY, LibraryCall, caller, function
from shapecheck.analysis.interpreter.result_names import by_their_names
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.values.model import Argument, Arguments, ByName
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import only
from shapecheck.shapes import Tensor


@function("shapecheck.named", "shapecheck.runtime.named", "shapecheck.named.named", takes=(1, MANY))
def _named(frame: Frame, call: LibraryCall) -> Value:
    """Give a tensor names, also where it is: by `named(x, "b t")` as a statement."""
    texts = only(call.args[1:], str)
    signature = frame.program.table.signature(f"{PREFIX}named")
    if signature is None or len(call.args) < 2:
        return call.args[0]
    if not takes_names(frame, dict.fromkeys(" ".join(texts).split())):
        return call.args[0]
    given = [Argument(value, arg) for value, arg in zip(call.args, call.node.args, strict=False)]
    found = apply(frame, signature, call.args, call.kwargs, Site(call.node, "named", args=given))
    if isinstance(found, Tensor):
        frame.renew(call.node.args[0], found, call.node)
    return found


@caller(f"{PREFIX}op")
def _op(frame: Frame, call: LibraryCall) -> Value:
    return _applied(
        frame, "_op", call.arguments, call.node, call.label, len(call.arguments.args) - 1
    )


@caller(f"{PREFIX}reduce")
def _reduce(frame: Frame, call: LibraryCall) -> Value:
    return _applied(frame, "_reduce", call.arguments, call.node, call.label, 1)


@caller(f"{PREFIX}augment")
def _augment(frame: Frame, call: LibraryCall) -> Value:
    return _applied(frame, "_augment", call.arguments, call.node, call.label, 1)


def _applied(
    frame: Frame, name: str, arguments: Arguments, node: ast.Call, label: str, count: int
) -> Value:
    """Apply so many functions, one after the other, and name what the last one gives."""
    if not arguments.args:
        return UNKNOWN
    given, *rest = arguments.args
    (known,) = by_their_names(frame, [given.value])
    first = found = Argument(known, given.node)
    for one in rest[:count]:
        said = label if one.node is None else frame.segment(one.node)
        found = Argument(invoke(frame, one.value, Arguments((found,), {}), node, said))
    signature = frame.program.table.signature(f"{PREFIX}{name}")
    if signature is None or not takes_names(frame, arguments.kwargs):
        return found.value
    values = [first.value, found.value, *(one.value for one in rest[count:])]
    site = Site(node, label, args=[first, found])
    return apply(frame, signature, values, arguments.named, site)


@function("shapecheck.named.NamedTensor", "shapecheck.named.tensor.NamedTensor", takes=(1, MANY))
def _view(frame: Frame, call: LibraryCall) -> Value:
    """Hold a tensor, `NamedTensor(x, "b t")`, which gets the names that are given."""
    found = unheld(call.args[0]) if len(call.args) == 1 else _named(frame, call)
    (known,) = by_their_names(frame, [found])
    return ByName(known if isinstance(known, Tensor) else Tensor.unknown())


def _making(frame: Frame, call: LibraryCall) -> Value:
    """Return views of what a function gives: `NamedTensor.zeros(b=2)`, `NamedTensor.cat`."""
    name = f"{PREFIX}{call.name}"
    signature = frame.program.table.signature(name)
    if signature is None or not takes_names(frame, call.kwargs):
        return UNKNOWN
    site = Site(call.node, call.label, args=call.arguments.args)
    return view_of(frame, apply(frame, signature, call.args, call.kwargs, site))


_MAKERS: Final = (
    *("align", "arange", "cat", "contract", "empty", "full", "ones", "rand", "randint", "randn"),
    *("stack_new", "unpack", "zeros"),
)
for _owner in ("shapecheck.named.NamedTensor", "shapecheck.named.tensor.NamedTensor"):
    function(*(f"{_owner}.{name}" for name in _MAKERS))(_making)
