"""The modules that an instance of an analysed class of modules holds."""

from __future__ import annotations

from typing import Final

from shapecheck.analysis.annotations.classes import (
    SEQUENTIAL,
    find_method,
    is_module,
    is_plain,
    library_ancestry,
)
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Class, Dotted, Function, Value
from shapecheck.analysis.values.model import Bound, Instance, OneOf, OpInstance, Partial, Ref
from shapecheck.dims import Size
from shapecheck.ops import Scalar
from shapecheck.shapes import Tensor
from shapecheck.signatures import OpClass

LAYER: Final = "(layer)"
"""The attribute of an instance that is the layer of torch's which its class is derived from."""


def layer_class(cls: Class) -> OpClass | None:
    """Return the class of a library's layers that a class is derived from, if it is from one."""
    lookup = cls.module.program.table.lookup_class
    names = (name for name in library_ancestry(cls) if name != "torch.nn.Module")
    return next((found for name in names if (found := lookup(name)) is not None), None)


WRAPPED: Final = "module"
"""The attribute in which what `nn.DataParallel` gives has the module that it does the work of."""


def is_sequential(cls: Class) -> bool:
    """Whether a class is derived from `nn.Sequential`."""
    return SEQUENTIAL in set(library_ancestry(cls))


def children(frame: Frame, held: Instance) -> list[tuple[str, Value]] | None:
    """Return the modules among the attributes, in the order in which they were first assigned.

    None where it isn't known of each attribute whether it is one.
    """
    found = []
    for name, value in held.attrs.items():
        if name == WRAPPED and _is_alike(frame, value, held):
            continue  # all that it holds is among the attributes already
        if find_method(held.cls, name) is not None:
            continue
        is_one = is_child(frame, value)
        if is_one is None:
            return None
        if is_one:
            found.append((name, value))
    return found if held.whole and is_module(held.cls) else None


def _is_alike(frame: Frame, value: Value, held: Instance) -> bool:
    content = frame.state.instance_of(value)
    return content is not None and content.cls == held.cls


def is_child(frame: Frame, value: Value) -> bool | None:
    """Whether a value is a module, so that its owner holds it; None where it isn't known."""
    match value:
        case OneOf(options=options):
            each = {is_child(frame, one) for one in options}
            return each.pop() if len(each) == 1 else None
        case OpInstance(cls=cls):
            return cls.name.startswith("torch.nn.") or None
        case Ref():
            content = frame.state.content(value)
            if isinstance(content, Instance):
                return is_module(content.cls) or (False if is_plain(content.cls) else None)
            return None if content is None else getattr(content, "kind", "").startswith("nn.")
        case Class() | Dotted() | Tensor() | Scalar() | Size() | None | str() | int() | float():
            return False
        case tuple() | Function() | Partial() | Bound():
            return False
    return None
