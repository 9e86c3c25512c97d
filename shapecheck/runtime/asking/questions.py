"""What a program asks of a tensor's names: `dims_of`, `reveal_shape`, and `isinstance`."""

from __future__ import annotations

import sys
from typing import Protocol, TypeVar

import torch

from shapecheck.dims import Composite, Dim, DimExpr, Size
from shapecheck.dims.objects import object_of
from shapecheck.ipython import place_text
from shapecheck.runtime.annotations.hints import tensor_hint
from shapecheck.runtime.boundary import other_checkers
from shapecheck.runtime.boundary.locals import fit
from shapecheck.runtime.compiling import names_in_trace
from shapecheck.runtime.errors import Failed
from shapecheck.runtime.internals import DisableTorchFunction
from shapecheck.runtime.naming import transforms
from shapecheck.runtime.naming.call_names import state
from shapecheck.runtime.naming.facts import is_open
from shapecheck.runtime.naming.lasting import known_in
from shapecheck.runtime.naming.records import plain_shape, sizes_of
from shapecheck.runtime.source import user_place
from shapecheck.shapes import Shape
from shapecheck.tensor_spec import TensorSpec


class HoldsTensor(Protocol):
    """What holds a tensor together with its names: a `NamedTensor`."""

    @property
    def tensor(self) -> torch.Tensor:
        """The plain tensor, which has its names here."""
        ...


TensorT = TypeVar("TensorT", bound="torch.Tensor | HoldsTensor")


def _held(given: torch.Tensor | HoldsTensor) -> torch.Tensor:
    if isinstance(given, torch.Tensor) or not hasattr(type(given), "tensor"):
        return given  # type: ignore[return-value]  # a first-class tensor
    return given.tensor


def dims_of(tensor: torch.Tensor | HoldsTensor) -> tuple[str | Dim | None, ...]:
    """Return what each of a tensor's dimensions is: a name, a `Dim`, or None where none is known.

    Inside of a decorated call these are the call's names, `("b", "n", None)`; a dimension that
    merges or combines others is written as in annotations, `"(h d)"` or `"n+1"`. One that was
    given as an object is this object, `(Batch, Heads * Key)`. Outside they are those that a
    decorated function declared for its result, or that `named` gave. While a program is compiled
    there are the names of operations by name.
    """
    given = _held(tensor)
    if torch.compiler.is_compiling():
        return names_in_trace.texts_of(given)
    with DisableTorchFunction():
        found = _known(given)
        if found is None:
            return (None,) * given.dim()
        return tuple([None if isinstance(dim, int) else _told(dim) for dim in found])


def _told(dim: Size | Composite) -> str | Dim | None:
    return None if is_open(dim) else object_of(dim) or str(dim)


def reveal_shape(tensor: TensorT) -> TensorT:
    """Print what is known of a tensor's shape, and return it."""
    given = _held(tensor)
    with DisableTorchFunction():
        found = _known(given)
        shape = plain_shape(given) if found is None else Shape(found)
        place = user_place()
        where = "" if place is None else f"{place_text(place.code.co_filename, place.line)}: "
        sys.stderr.write(f'{where}Revealed shape is "{shape.text()}"\n')
    return tensor


def _known(tensor: torch.Tensor) -> tuple[DimExpr, ...] | None:
    """Return a tensor's dimensions in the names that count here, None if it has none.

    Where names are carried outside of calls, an axis may have a name of these, or of a result.
    """
    sizes, frame = sizes_of(tensor), state.here
    records = [transforms.known(tensor, frame.table) or known_in(frame, tensor)]
    if state.is_outside(frame):
        records.append(state.root.of(tensor))
    found = [one.dims for one in records if one is not None and one.sizes == sizes]
    if len(found) < 2:
        return found[0] if found else None
    return tuple(b if isinstance(a, int) else a for a, b in zip(*found, strict=True))


def is_instance(value: object, origin: object, metadata: TensorSpec) -> bool:
    """Whether a value fits `Float[Tensor, "b c"]`; in a decorated call, names learn from it.

    In a call of jaxtyping's, the names are that call's.
    """
    hint = tensor_hint(origin, metadata)
    if not isinstance(value, hint.cls):
        return False
    if other_checkers.is_array(type(value)):
        return other_checkers.fits(value, metadata)
    if not isinstance(value, torch.Tensor):
        return False
    if torch.compiler.is_compiling():
        return True
    if state.frame is None and other_checkers.in_jaxtyped():
        return other_checkers.fits(value, metadata)
    with DisableTorchFunction():
        if hint.admits is not None and value.dtype not in hint.admits:
            return False
        try:
            fit(state.here, hint, value, "value", {})
        except Failed:
            return False
    return True
