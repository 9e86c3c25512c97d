"""Taking elements by an index, a mask or their value, putting some in, and planes of a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

import shapecheck.dims as dims
from shapecheck.named.axes import placed
from shapecheck.named.core import (
    Name,
    Names,
    called,
    carry,
    meant,
    new_name,
    planned,
    settled,
    tensor_only,
)
from shapecheck.named.holding import Holder, Operand, plain
from shapecheck.named.joining import align_as
from shapecheck.ops.named import picking as rules
from shapecheck.ops.named.naming import fresh
from shapecheck.shapes import Shape


def gather(x: Tensor, dim: Name, index: Operand, name: Name) -> Tensor:
    """Take elements along a dimension, `gather(x, "t", index, "k")`: at `index`, which has `k`.

    The result has `k` in the place of `t`. Of the other dimensions of `x` the index may lack any:
    it is the same along them. Raises `ShapeError` where it has others.
    """
    index = plain(index)
    aim = planned(_aim, (x, index), meant(dim), new_name(name))
    found = carry(torch.gather, x, aim.at, _laid(index, x, aim, 0))
    return called(settled(found, x, aim.kept), ((aim.at, name),))


def scatter(x: Tensor, dim: Name, index: Operand, source: Operand | float, name: Name) -> Tensor:
    """Put elements in along a dimension, `scatter(x, "t", index, source, "k")`: at `index`.

    `index` and `source`, or a number, have `k` in the place of `t`. They may lack any of the other
    dimensions of `x`. Raises `ShapeError` where they have others.
    """
    index = plain(index)
    if isinstance(source, Holder):
        source = source.tensor
    if not isinstance(source, Tensor):
        aim = planned(_aim, (x, index), meant(dim), new_name(name))
        return carry(torch.scatter, x, aim.at, _laid(index, x, aim, 0), source)
    aim = planned(_aim, (x, index, source), meant(dim), new_name(name))
    laid = _laid(index, x, aim, 0), _laid(source, x, aim, 1)
    return carry(torch.scatter, x, aim.at, *laid)


def _aim(call: Any, shape: Any, *given: Any) -> Any:
    """Return where an index points, and how it and what it puts there are laid on a tensor."""
    *shapes, dim, name = given
    return rules.aim(call, shape, tuple(shapes), dim, meant(name))


def _laid(given: Tensor, x: Tensor, aim: rules.Aim, which: int) -> Tensor:
    """Return an operand with the axes of a tensor, but for the one that the index takes from."""
    found = placed(given, aim.plans[which])
    sizes = [-1 if at is None else x.shape[at] for at in aim.kept]
    return carry(torch.Tensor.expand, found, sizes)


def index_fill(x: Tensor, dim: Name, index: Operand, value: float) -> Tensor:
    """Put a number in at indices along a dimension, `index_fill(x, "t", i, 0.0)`."""
    index = plain(index)
    at = planned(_rows, (x, index), meant(dim)).at
    return carry(torch.index_fill, x, at, index, value)


def index_add(x: Tensor, dim: Name, index: Operand, source: Operand, *, alpha: float = 1) -> Tensor:
    """Add rows at indices along a dimension, `index_add(x, "t", i, source)`.

    `source` has the index's dimension in the place of `t`; it may lack others of `x`. Raises
    `ShapeError` where it has more.
    """
    index, rows, at = _indexed(x, dim, index, source)
    return carry(torch.index_add, x, at, index, rows, alpha=alpha)


def index_copy(x: Tensor, dim: Name, index: Operand, source: Operand) -> Tensor:
    """Put rows in at indices along a dimension, where `index_add` adds them."""
    index, rows, at = _indexed(x, dim, index, source)
    return carry(torch.index_copy, x, at, index, rows)


def _indexed(x: Tensor, dim: Name, index: Operand, source: Operand) -> tuple[Tensor, Tensor, int]:
    index, source = plain(index), plain(source)
    aim = planned(_rows, (x, index, source), meant(dim))
    found = _laid(source, x, aim, 1)
    return index, found, aim.at


def _rows(call: Any, shape: Any, *given: Any) -> Any:
    """Return where an index of rows points, and how rows are laid on a tensor."""
    *shapes, dim = given
    return rules.rows(call, shape, tuple(shapes), dim)


def masked_select(x: Tensor, mask: Operand, name: Name) -> Tensor:
    """Take the elements where a mask is true, one behind the other in a dimension of a new name.

    The mask is aligned with `x` by its names. Raises `ShapeError` where it has others.
    """
    aligned = align_as(plain(mask), x)
    planned(_alone, (), new_name(name))
    return called(carry(torch.masked_select, x, aligned), ((0, name),))


def nonzero(x: Tensor, name: Name, axes: Name) -> Tensor:
    """Return where elements aren't zero: a row of `name` for each, an index for each dimension."""
    tensor_only(x)
    planned(_alone, (), new_name(name), new_name(axes))
    return called(carry(torch.nonzero, x), ((0, name), (1, axes)))


def _alone(call: Any, *names: Any) -> bool:
    """Check the new names of a tensor that has no other dimensions."""
    for at, name in enumerate(names):
        before = [dims.name(one) for one in map(str, map(meant, names[:at]))]
        fresh(call, Shape(tuple(before)), meant(name))
    return True


def unique(x: Tensor, name: Name, dim: Name | None = None) -> tuple[Tensor, Tensor]:
    """Return the different elements, sorted, under a new name, and where each is among them.

    With `dim` what stands at each of its indices is compared; `name` is in its place.
    """
    (at,) = planned(_told_apart, (x,), meant(dim), new_name(name))
    found, inverse = carry(torch.unique, x, return_inverse=True, dim=at)
    if at is None:
        return called(found, ((0, name),)), settled(inverse, x, range(x.dim()))
    kept = [None if axis == at else axis for axis in range(x.dim())]
    return called(settled(found, x, kept), ((at, name),)), settled(inverse, x, (at,))


def _told_apart(call: Any, shape: Any, dim: Any, name: Any) -> tuple[Any]:
    """Return the axis along which elements are compared, in a tuple since it may be None."""
    return (rules.told_apart(call, shape, dim, meant(name)),)


def triu(x: Tensor, dims: Names, diagonal: int = 0) -> Tensor:
    """Keep what stands on and above a diagonal of a plane, `triu(x, "rows columns")`."""
    return _triangle(torch.triu, x, dims, diagonal)


def tril(x: Tensor, dims: Names, diagonal: int = 0) -> Tensor:
    """Keep what stands on and below a diagonal of a plane, `tril(x, "rows columns")`."""
    return _triangle(torch.tril, x, dims, diagonal)


def _triangle(function: Callable[..., Tensor], x: Tensor, dims: Names, diagonal: int) -> Tensor:
    plane = planned(rules.plane, (x,), meant(dims))
    moved = carry(torch.movedim, x, plane, (-2, -1))
    return carry(torch.movedim, carry(function, moved, diagonal), (-2, -1), plane)
