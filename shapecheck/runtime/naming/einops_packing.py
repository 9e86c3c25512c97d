"""What the shapes that einops' `pack` gives, and `unpack` takes, say of the sizes given to torch.

Each is an object that torch made, a `torch.Size`. A decorated call notes of which dimensions it is,
and `unpack` finds them by the same object, however that came to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, Final

import torch

import shapecheck.dims as dims
from shapecheck.dims import DimExpr, IntSize, size_of
from shapecheck.runtime.naming.call_names import CallNames
from shapecheck.runtime.naming.einops_recipes import is_of_einops
from shapecheck.runtime.naming.outcomes import Outcomes
from shapecheck.runtime.naming.records import Record, record
from shapecheck.runtime.naming.size_expressions import CallPlace
from shapecheck.shapes import Tensor as Known

_MODULE: Final = ("/packing.py", "\\packing.py")
_RESHAPING: Final = "reshape"
_PACKED: Final = 1024


@dataclass(frozen=True, eq=False, slots=True)
class PackPlace(CallPlace):
    """A step of `pack` or `unpack`: the axis that is packed, and which of the tensors it is about.

    `at` is -1 in `pack`. `lone`: which of the packed shapes are of one element, as that of a class
    token is.
    """

    axis: int = 0
    at: int = -1
    lone: tuple[bool, ...] = ()

    def told(self, tensor: Any, given: Any, packed: Sequence[Record | None]) -> Any:
        """Return the dimensions in the place of the sizes that torch is given, or of an index.

        `packed` are the packed shapes, as far as they are known. None where nothing is told.
        """
        known = tensor.shape.known if isinstance(tensor, Known) else None
        if known is None or len(known) <= self.axis or not isinstance(given, tuple | list):
            return None
        if any(isinstance(one, slice) for one in given):
            return (*given[: self.axis], self._part(known[self.axis], packed))
        behind = len(given) if self.at < 0 else len(known)
        front, back = known[: self.axis], known[len(known) - (behind - self.axis - 1) :]
        one = None if self.at < 0 else packed[self.at]
        unknown = (None,) * (len(given) - len(front) - len(back))
        return (*front, *(unknown if one is None else one.dims), *back)

    def _part(self, whole: DimExpr, packed: Sequence[Record | None]) -> slice:
        """Return where the tensor begins and ends in the axis, None where that isn't known."""
        lengths = [
            (1 if lone else None) if one is None else dims.product(map(size_of, one.dims))
            for lone, one in zip(self.lone, packed, strict=True)
        ]
        return slice(*(_end(at, whole, lengths) for at in (self.at, self.at + 1)))


def _end(at: int, whole: DimExpr, lengths: Sequence[IntSize | None]) -> DimExpr | None:
    """Return where so many parts of an axis end: counted from its front, or from its back."""
    if at == len(lengths):
        return whole
    before = [one for one in lengths[:at] if one is not None]
    after = [one for one in lengths[at:] if one is not None]
    if len(before) == at:
        return sum(before)
    return size_of(whole) - sum(after) if len(after) == len(lengths) - at else None


class Packings:
    """The steps of `unpack` that were seen, each one object."""

    def __init__(self) -> None:
        self._places: Outcomes[tuple[int, int, tuple[bool, ...]], PackPlace] = Outcomes(_PACKED)

    def at(self, caller: FrameType, frame: CallNames) -> tuple[Any, ...] | None:
        """Return what decides which sizes are passed, None where nothing is known of them.

        It is noted what `pack` packs.
        """
        step = caller.f_back if caller.f_code.co_name == _RESHAPING else caller
        if step is None or not _is_packing(step.f_code):
            return None
        inside = step.f_locals
        if step.f_code.co_name == "pack":
            known = _noted(frame, inside)
            return None if known is None else (self._place(inside["n_axes_before"]), None, (), None)
        around = step if "packed_shapes" in inside else step.f_back  # a comprehension's
        outside = {} if around is None else around.f_locals
        shapes, axis = outside.get("packed_shapes"), outside.get("unpacked_axis")
        at = inside.get("i")
        if not isinstance(shapes, list | tuple) or type(axis) is not int or type(at) is not int:
            return None
        lone = tuple(all(n == 1 for n in one) for one in shapes)
        packed = [_packed(frame, one) for one in shapes]
        return (self._place(axis, at, lone), None, (), None, *packed)

    def _place(self, axis: int, at: int = -1, lone: tuple[bool, ...] = ()) -> PackPlace:
        found = self._places.get((axis, at, lone))
        if found is None:
            reads = ((),) * len(lone)
            found = PackPlace(None, reads, {}, {}, frozenset(), (), {}, axis, at, lone)
            self._places.keep((axis, at, lone), found)
        return found


def _is_packing(code: CodeType) -> bool:
    return is_of_einops(code) and code.co_filename.endswith(_MODULE)


def _noted(frame: CallNames, inside: dict[str, Any]) -> Record | None:
    """Return what is known of a tensor that is packed, and note which of it is packed."""
    tensor, shapes, axis = map(inside.get, ("tensor", "packed_shapes", "n_axes_before"))
    known = frame.of(tensor) if isinstance(tensor, torch.Tensor) else None
    if known is None or not shapes or type(shapes[-1]) is not torch.Size or type(axis) is not int:
        return None
    part = slice(axis, axis + len(shapes[-1]))
    found = record(known.dims[part], known.sizes[part], known.values)
    if found is not None and found.sizes == shapes[-1]:
        frame.packed = frame.packed or Outcomes(_PACKED)
        frame.packed.keep(id(shapes[-1]), (shapes[-1], found))
    return known


def _packed(frame: CallNames, shape: object) -> Record | None:
    found = None if frame.packed is None else frame.packed.get(id(shape))
    return found[1] if found is not None and found[0] is shape else None
