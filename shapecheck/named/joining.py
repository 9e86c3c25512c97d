"""Products, joins and alignment of several tensors by the names that they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from shapecheck.named.axes import placed
from shapecheck.named.core import Name, Names, called, carry, meant, new_name, planned, tensors_only
from shapecheck.named.holding import Holder, Operand, plain
from shapecheck.named.ragged import minding, padded_in, without_padding
from shapecheck.ops.named import joins as rules
from shapecheck.ops.named.naming import fresh
from shapecheck.ops.named.operations import only


def dot(x: Tensor, y: Operand, dim: Names) -> Tensor:
    """Multiply two tensors and sum over dimensions that both have: `dot(q, k, "d")`.

    Other names that they share are batched. The result has the dimensions of `x` that are left,
    then those of `y`. Padding of a dimension that is given with its lengths isn't counted. Raises
    `ShapeError` where one of them lacks a dimension.
    """
    y = plain(y)
    if padded_in(dim):
        return contract((x, y), dim)
    return carry(torch.einsum, planned(_product, (x, y), meant(dim)), x, y)


def contract(tensors: Sequence[Operand], dim: Names) -> Tensor:
    """Multiply any number of tensors and sum over dimensions that all of them have."""
    given = tensors_only(tensors)
    equation = planned(_product, given, meant(dim))
    if not padded_in(dim):
        return carry(torch.einsum, equation, *given)
    with minding():
        return carry(torch.einsum, equation, *without_padding(given, dim))


def _product(call: Any, *shapes_and_dim: Any) -> str | None:
    """Return the equation of a sum of products."""
    *shapes, dim = shapes_and_dim
    plan = rules.product(call, shapes, dim)
    return None if plan is None else plan.equation


def cat(tensors: Sequence[Operand], dim: Names) -> Tensor:
    """Put tensors one behind the other along a dimension: `cat([x, y], "t")`.

    Along one that each calls otherwise they are given in turn, `cat([x, y], (Left, Right))`. Their
    other dimensions are brought into the order of the first tensor's. Raises `ShapeError` where
    one lacks a dimension.
    """
    given = tensors_only(tensors)
    orders, axis = planned(_join, given, meant(dim))
    return carry(torch.cat, _in_order(given, orders), axis)


def stack_new(tensors: Sequence[Operand], name: Name) -> Tensor:
    """Put tensors beside each other along a new dimension, which stands in front."""
    given = tensors_only(tensors)
    (orders,) = planned(_beside, given, new_name(name))
    return called(carry(torch.stack, _in_order(given, orders), 0), ((0, name),))


def _join(call: Any, *shapes_and_dim: Any) -> Any:
    """Return the orders of tensors that are joined, None where they stay, and the axis."""
    *shapes, dim = shapes_and_dim
    if not shapes:
        raise ValueError("there are no tensors to put together")
    dims = rules.of_each(dim, len(shapes)) if dim else ()
    orders = rules.alike(call, shapes, dims) or []
    moved = [None if axes == tuple(range(len(axes))) else axes for axes in orders]
    return moved if any(moved) else None, only(call, shapes[0], dims[0]) if dims else 0


def _beside(call: Any, *shapes_and_name: Any) -> Any:
    """Return the orders of tensors that are put beside each other under a new name, in a tuple."""
    *shapes, name = shapes_and_name
    orders, _ = _join(call, *shapes, ())
    fresh(call, shapes[0], meant(name))
    return (orders,)


def _in_order(tensors: Sequence[Tensor], orders: Any) -> Sequence[Tensor]:
    if orders is None:
        return tensors
    pairs = zip(tensors, orders, strict=True)
    return [x if axes is None else carry(torch.permute, x, axes) for x, axes in pairs]


def align_as(x: Tensor, other: Operand) -> Tensor:
    """Bring the dimensions of `x` into the order of `other`'s, with a 1 for each it hasn't.

    Raises `ShapeError` where `other` lacks one.
    """
    return placed(x, planned(rules.onto, (x, plain(other))))


def expand_as(x: Tensor, other: Operand) -> Tensor:
    """Repeat `x` along the dimensions of `other` that it hasn't, in the order of `other`'s.

    The result is a view. Raises `ShapeError` where `other` lacks a dimension of `x`.
    """
    other = plain(other)
    return carry(torch.Tensor.expand_as, align_as(x, other), other)


def align_to(x: Tensor, *dims: Names) -> Tensor:
    """Bring the dimensions of `x` into an order, `"b ... c"`, with a 1 for each it hasn't.

    Raises `ShapeError` where a dimension of `x` is left out.
    """
    return placed(x, planned(rules.along, (x,), meant(dims)))


def align(*tensors: Operand) -> tuple[Tensor, ...]:
    """Bring tensors into one order of all their dimensions, so that they broadcast by name."""
    given = tensors_only(tensors)
    plans = planned(_union, given)
    return tuple(placed(x, plan) for x, plan in zip(given, plans, strict=True))


def _union(call: Any, *shapes: Any) -> Any:
    whole = rules.union(call, shapes)
    return None if whole is None else [rules.onto(call, shape, whole) for shape in shapes]


def masked_fill(x: Tensor, mask: Operand, value: float | Operand) -> Tensor:
    """Put a value where a mask is true; the mask is aligned with `x` by its names."""
    put = plain(value) if isinstance(value, Holder) else value
    return carry(torch.masked_fill, x, align_as(plain(mask), x), put)
