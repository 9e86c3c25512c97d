"""The order of dimensions, merging and splitting them, and taking what stands at an index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor

from shapecheck.dims import Size
from shapecheck.named.core import Name, Names, called, carry, meant, name_of, planned
from shapecheck.ops import named as rules
from shapecheck.ops import naming
from shapecheck.runtime.facts import value_of

_IN_ORDER: Final = tuple(range(64))


def order(x: Tensor, *dims: Names) -> Tensor:
    """Return `x` with its dimensions in this order: `order(x, "b c h w")`.

    All are listed, or `...` stands for the others; `(h w)` merges. Raises `ShapeError` for a
    dimension that `x` hasn't, or that is left out.
    """
    return _ordered(x, dims, "refuse")


def transpose(x: Tensor, *dims: Names) -> Tensor:
    """Return `x` with these dimensions last, in this order; the others stay in front.

    Raises `ShapeError` for a dimension that `x` hasn't.
    """
    return _ordered(x, dims, "front")


def _ordered(x: Tensor, dims: tuple[Names, ...], missing: str) -> Tensor:
    plan = planned(naming.order, (x,), meant(dims), missing)
    found = carry(torch.permute, x, plan.axes)
    for first, last in plan.merged:
        found = carry(torch.flatten, found, first, last)
    return found


def stack(x: Tensor, dims: Names | None = None, /, **new: Names) -> Tensor:
    """Merge dimensions into one, in the order given: `stack(x, fc="c h w")`.

    `stack(x, "c h w")` merges them into `(c h w)`. The merged dimension stands where the first of
    them stood. (To put tensors beside each other along a new dimension, see `stack_new`.)
    """
    jobs: list[tuple[Names, str | None]] = [] if dims is None else [(dims, None)]
    jobs += [(given, name) for name, given in new.items()]
    for given, name in jobs:
        plan = planned(rules.merge, (x,), meant(given), name)
        if plan.axes != _IN_ORDER[: len(plan.axes)]:
            x = carry(torch.permute, x, plan.axes)
        x = carry(torch.flatten, x, plan.first, plan.last)
        if name is not None:
            called(x, {plan.first: name})
    return x


def split(x: Tensor, dim: Name | None = None, /, **parts: Any) -> Tensor:
    """Take a dimension apart: `split(x, fc="c h w", h=4, w=4)`, the size of one is found out.

    `split(x, "(h d)")` takes a merged dimension apart into what it was merged from.
    Raises `ShapeError` where the sizes don't multiply to the dimension's.
    """
    into = {old: new for old, new in parts.items() if not isinstance(new, int)}
    sizes = tuple((name, size) for name, size in parts.items() if isinstance(size, int))
    if len(into) > 1 or (dim is None) is not bool(into):
        raise TypeError('write split(x, fc="c h w", h=4, w=4)')
    old, new = (dim, None) if dim is not None else next(iter(into.items()))
    plan = planned(_split, (x,), meant(old), meant(new), sizes)
    if plan.sizes.count(-1) > 1:
        raise TypeError("while torch.compile traces, a split needs the sizes of all parts but one")
    found = carry(torch.unflatten, x, plan.at, plan.sizes)
    if new is not None:
        names = {plan.at + index: name for index, name in enumerate(plan.names)}
        return called(found, names, old if isinstance(old, str) else None)
    return called(found, plan.parts) if plan.parts else found


class _Split(NamedTuple):
    """How a dimension is taken apart, in numbers; `parts` are names that it had for its parts."""

    at: int
    sizes: tuple[int, ...]
    names: tuple[str, ...]
    parts: Mapping[int, Name]


def _split(call: Any, shape: Any, old: Any, new: Any, sizes: tuple[tuple[str, int], ...]) -> _Split:
    plan = rules.split(call, shape, old, new, dict(sizes))
    assert plan is not None
    values = getattr(call.facts, "values", {})  # none where torch.compile traces
    numbers = [value_of(size, values) for size in plan.sizes]
    parts = shape.dims[plan.at].parts if new is None else ()
    open_ = any(value_of(part, values) is None for part in parts)
    names = {
        plan.at + at: name_of(part)
        for at, part in enumerate(parts)
        if open_ and isinstance(part, Size) and part.symbol is not None
    }
    sizes_ = tuple(-1 if size is None else size for size in numbers)
    return _Split(plan.at, sizes_, plan.names, names)


def get(x: Tensor, dim: Name | None = None, index: Any = None, /, **at: Any) -> Tensor:
    """Return what stands at an index of a dimension: `get(x, "b", 0)`, or `get(x, b=0, c=1)`."""
    return _indexed(x, dim, index, at)


def index(x: Tensor, dim: Name | None = None, index: Any = None, /, **at: Any) -> Tensor:
    """Return what stands at indices of a dimension: an int, a slice, a list, or a tensor.

    The dimensions of an index tensor stand where the dimension stood.
    """
    return _indexed(x, dim, index, at)


def _indexed(x: Tensor, dim: Name | None, index: Any, at: dict[str, Any]) -> Tensor:
    given: dict[Name, Any] = {**at}  # type: ignore[dict-item]  # a text is a name
    if dim is not None:
        given[dim] = index
    places = [planned(rules.only, (x,), meant(name)) for name in given]
    first = next(iter(given.values()))
    if len(places) == 1 and type(first) is int:
        return carry(torch.select, x, places[0], first)
    subscript: list[Any] = [slice(None)] * x.dim()
    for place, item in zip(places, given.values(), strict=True):
        subscript[place] = item
    return carry(torch.Tensor.__getitem__, x, tuple(subscript))


def unbind(x: Tensor, dim: Name) -> tuple[Tensor, ...]:
    """Return what stands at each index of a dimension, as a tuple."""
    return carry(torch.unbind, x, planned(rules.only, (x,), meant(dim)))
