"""What is known of one tensor: a `Record` of its dimensions, with the sizes of all symbols in it.

Equal records are one object, so that an op's outcome is found by the identity of its operands'
records.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Final

import torch

import shapecheck.dims as dims
from shapecheck.dims import Atom, Composite, DimExpr, IntSize, Size, Sym
from shapecheck.dims.origins import OfAnotherSize
from shapecheck.runtime.internals import DisableTorchFunction, depth
from shapecheck.runtime.naming.batched import batched_sizes, is_batched
from shapecheck.runtime.naming.facts import value_of
from shapecheck.runtime.naming.outcomes import Outcomes
from shapecheck.shapes import Shape

Sizes = tuple[int, ...]
Table = dict[int, tuple[weakref.ref[torch.Tensor], "Record"]]

_PLAIN: Final[frozenset[type]] = frozenset((torch.Tensor, torch.nn.Parameter))
_INT: Final = frozenset((int,))


class Record:
    """The dimensions of a tensor, its sizes, and the value of every symbol in the dimensions.

    `inserted`: an axis of size 1 was just put in on purpose, `blank`: no data is in it as yet
    (see `shapes.Tensor`).
    """

    __slots__ = ("blank", "dims", "inserted", "sizes", "values")

    dims: tuple[DimExpr, ...]
    sizes: Sizes
    values: dict[Sym, int]
    inserted: bool
    blank: bool

    def written(self) -> Record:
        """Return the record of the tensor with data in it."""
        return record(self.dims, self.sizes, self.values, self.inserted) or self

    def __repr__(self) -> str:
        return repr(Shape(self.dims))


_interned: Outcomes[object, Record] = Outcomes(1 << 15)


def sizes_of(tensor: torch.Tensor) -> Sizes | None:
    """Return a tensor's sizes; None for a nested tensor, which has none that are numbers.

    Subclasses and other modes see each function that a tensor is given to, but not this one.
    """
    try:
        if tensor.__class__ in _PLAIN and not depth():
            return tuple(tensor.shape)
        if is_batched(tensor):
            return batched_sizes(tensor)
        with DisableTorchFunction():
            sizes = tuple(tensor.shape)
    except RuntimeError:
        return None
    return sizes if _INT.issuperset(map(type, sizes)) else None


def plain_shape(tensor: torch.Tensor) -> Shape:
    """Return a tensor's sizes as a shape without names; a nested tensor's may be unknown."""
    sizes = sizes_of(tensor)
    if sizes is not None:
        return Shape(sizes)
    return Shape(tuple([_size(tensor, axis) for axis in range(tensor.dim())]))


def _size(tensor: torch.Tensor, axis: int) -> DimExpr:
    """Return one size of a tensor, unknown where it differs from row to row."""
    try:
        size = tensor.size(axis)
    except RuntimeError:
        return dims.unknown()
    return size if type(size) is int else dims.unknown()


def dtype_of(tensor: torch.Tensor) -> torch.dtype:
    """Return a tensor's dtype; subclasses and other modes don't see that either."""
    if tensor.__class__ in _PLAIN and not depth():
        return tensor.dtype
    with DisableTorchFunction():
        return tensor.dtype


def record(
    dimensions: tuple[DimExpr, ...],
    sizes: Sizes,
    values: Mapping[Sym, int],
    inserted: bool = False,
    blank: bool = False,
) -> Record | None:
    """Return the record of a tensor; None if nothing has a name, or names and sizes disagree."""
    if len(dimensions) != len(sizes) or all(isinstance(dim, int) for dim in dimensions):
        return None
    own: dict[Sym, int] = {}
    for dim, size in zip(dimensions, sizes, strict=True):
        for symbol in dims.symbols(dim):
            if symbol not in values:
                return None
            own[symbol] = values[symbol]
        if value_of(dim, own) != size:
            return None
    key = (dimensions, sizes, inserted, blank, frozenset(own.items()))
    found = _interned.get(key)
    if found is None:
        found = Record()
        found.dims, found.sizes, found.values = dimensions, sizes, own
        found.inserted, found.blank = inserted, blank
        _interned.keep(key, found)
    return found


def apart(known: Record, values: Mapping[Sym, int]) -> Record:
    """Return a record whose symbols have no other value than in `values`.

    Outside of decorated calls, two tensors may have a dimension of one name and different sizes.
    """
    swap: dict[Atom, IntSize] = {}
    own = dict(known.values)
    for symbol, size in known.values.items():
        if values.get(symbol, size) != size:
            other = Sym(symbol.name, symbol.kind, OfAnotherSize(symbol.origin, size))
            swap[symbol], own[other] = Size.of(other), size
    if not swap:
        return known
    found = tuple(
        dims.merge(dims.substitute(part, swap) for part in dim.parts)
        if isinstance(dim, Composite)
        else dims.substitute(dim, swap)
        for dim in known.dims
    )
    return record(found, known.sizes, own, known.inserted, known.blank) or known


def agreed(one: Record | None, other: Record | None) -> Record | None:
    """Return what two records of one tensor agree on; in `attend(x, x)` it has two."""
    if one is None or other is None or one is other:
        return one if one is other else None
    dimensions = tuple(
        a if a == b else size for a, b, size in zip(one.dims, other.dims, one.sizes, strict=True)
    )
    return record(dimensions, one.sizes, {**one.values, **other.values})
