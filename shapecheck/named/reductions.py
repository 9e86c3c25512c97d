"""Reductions over named dimensions, and what runs along one.

Those over a dimension that is given with its lengths, `mean(x, Time.with_lengths(lengths))`, leave
the padding out; so do `softmax` and `log_softmax`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from shapecheck.named.core import Name, Names, carry, meant, planned, tensor_only
from shapecheck.named.ragged import (
    Fill,
    filled,
    middle,
    moments,
    moved,
    ordered,
    padded_in,
    reduced,
    without,
)
from shapecheck.ops.named import operations as rules

Pair = tuple[Tensor, Tensor]


def axis(x: Tensor, dim: Name) -> Any:
    """Return which axis a name means."""
    return planned(rules.only, (x,), meant(dim))


def _axes(x: Tensor, dim: Names | None) -> Any:
    if dim is None:
        tensor_only(x)
        return tuple(range(x.dim()))
    return planned(rules.every, (x,), meant(dim))


def _picked(
    function: Callable[..., Pair], fill: Fill | None, x: Tensor, dim: Name, keepdim: bool
) -> Pair:
    """Return what a function picks over a dimension, and where that is."""
    if fill is None:
        return carry(function, x, axis(x, dim), keepdim)
    return reduced(function, fill, x, dim, axis(x, dim), keepdim)


def _spread(x: Tensor, dim: Names | None, keepdim: bool, correction: float) -> Tensor | None:
    """Return the variance without padding, None where there is none to leave out."""
    axes = _axes(x, dim)
    if dim is None or not padded_in(dim):
        return None
    return without(moments(x, dim, axes, correction), axes, keepdim)


def sum(x: Tensor, dim: Names | None = None, keepdim: bool = False) -> Tensor:
    """Add up over dimensions, `sum(x, "h w")`; over all of them without `dim`."""
    return reduced(torch.sum, 0.0, x, dim, _axes(x, dim), keepdim)


def mean(x: Tensor, dim: Names | None = None, keepdim: bool = False) -> Tensor:
    """Average over dimensions; over all of them without `dim`."""
    axes = _axes(x, dim)
    if dim is not None and padded_in(dim):
        return without(moments(x, dim, axes, None), axes, keepdim)
    return carry(torch.mean, x, axes, keepdim)


def std(
    x: Tensor, dim: Names | None = None, keepdim: bool = False, *, correction: float = 1
) -> Tensor:
    """Return the standard deviation over dimensions; over all of them without `dim`."""
    spread = _spread(x, dim, keepdim, correction)
    if spread is not None:
        return carry(torch.sqrt, spread)
    return carry(torch.std, x, _axes(x, dim), correction=correction, keepdim=keepdim)


def var(
    x: Tensor, dim: Names | None = None, keepdim: bool = False, *, correction: float = 1
) -> Tensor:
    """Return the variance over dimensions; over all of them without `dim`."""
    spread = _spread(x, dim, keepdim, correction)
    if spread is not None:
        return spread
    return carry(torch.var, x, _axes(x, dim), correction=correction, keepdim=keepdim)


def amax(x: Tensor, dim: Names | None = None, keepdim: bool = False) -> Tensor:
    """Return the largest elements over dimensions; over all of them without `dim`."""
    return reduced(torch.amax, "lowest", x, dim, _axes(x, dim), keepdim)


def amin(x: Tensor, dim: Names | None = None, keepdim: bool = False) -> Tensor:
    """Return the smallest elements over dimensions; over all of them without `dim`."""
    return reduced(torch.amin, "highest", x, dim, _axes(x, dim), keepdim)


def all(x: Tensor, dim: Names | None = None, keepdim: bool = False) -> Tensor:
    """Whether all elements over dimensions are true."""
    return reduced(torch.all, True, x, dim, _axes(x, dim), keepdim)


def any(x: Tensor, dim: Names | None = None, keepdim: bool = False) -> Tensor:
    """Whether one of the elements over dimensions is true."""
    return reduced(torch.any, False, x, dim, _axes(x, dim), keepdim)


def logsumexp(x: Tensor, dim: Names, keepdim: bool = False) -> Tensor:
    """Return the logarithm of the sum of exponentials over dimensions."""
    found: Tensor = reduced(torch.logsumexp, "lowest", x, dim, _axes(x, dim), keepdim)
    return found


def norm(x: Tensor, dim: Names | None = None, keepdim: bool = False, *, p: float = 2) -> Tensor:
    """Return the p-norm over dimensions; over all of them without `dim`."""
    found: Tensor = reduced(torch.linalg.vector_norm, 0.0, x, dim, p, _axes(x, dim), keepdim)
    return found


def prod(x: Tensor, dim: Name, keepdim: bool = False) -> Tensor:
    """Multiply over a dimension."""
    return reduced(torch.prod, 1.0, x, dim, axis(x, dim), keepdim)


def max(x: Tensor, dim: Name, keepdim: bool = False) -> Pair:
    """Return the largest elements over a dimension, and where they are; see also `amax`."""
    return _picked(torch.max, "lowest", x, dim, keepdim)


def min(x: Tensor, dim: Name, keepdim: bool = False) -> Pair:
    """Return the smallest elements over a dimension, and where they are; see also `amin`."""
    return _picked(torch.min, "highest", x, dim, keepdim)


def median(x: Tensor, dim: Name, keepdim: bool = False) -> Pair:
    """Return the median over a dimension, and where it is."""
    for one in padded_in(dim):
        return middle(x, one, keepdim)
    return _picked(torch.median, None, x, dim, keepdim)


def argmax(x: Tensor, dim: Name, keepdim: bool = False) -> Tensor:
    """Return where the largest elements over a dimension are."""
    return reduced(torch.argmax, "lowest", x, dim, axis(x, dim), keepdim)


def argmin(x: Tensor, dim: Name, keepdim: bool = False) -> Tensor:
    """Return where the smallest elements over a dimension are."""
    return reduced(torch.argmin, "highest", x, dim, axis(x, dim), keepdim)


def softmax(x: Tensor, dim: Name) -> Tensor:
    """Return the softmax along a dimension."""
    found = reduced(torch.softmax, "lowest", x, dim, axis(x, dim))
    return filled(found, dim, 0.0)


def log_softmax(x: Tensor, dim: Name) -> Tensor:
    """Return the logarithm of the softmax along a dimension."""
    found = reduced(torch.log_softmax, "lowest", x, dim, axis(x, dim))
    return filled(found, dim, "lowest")


def cumsum(x: Tensor, dim: Name) -> Tensor:
    """Return the running sums along a dimension."""
    return reduced(torch.cumsum, 0.0, x, dim, axis(x, dim))


def cumprod(x: Tensor, dim: Name) -> Tensor:
    """Return the running products along a dimension."""
    return reduced(torch.cumprod, 1.0, x, dim, axis(x, dim))


def sort(x: Tensor, dim: Name, descending: bool = False) -> Pair:
    """Return the elements sorted along a dimension, and where they were."""
    if padded_in(dim):
        return ordered(x, dim, descending)  # type: ignore[arg-type]  # it is a dimension
    return carry(torch.sort, x, axis(x, dim), descending)


def argsort(x: Tensor, dim: Name, descending: bool = False) -> Tensor:
    """Return the order of the elements along a dimension."""
    if padded_in(dim):
        return sort(x, dim, descending)[1]
    return carry(torch.argsort, x, axis(x, dim), descending)


def topk(x: Tensor, k: int, dim: Name, largest: bool = True) -> Pair:
    """Return the `k` largest elements along a dimension, and where they were."""
    fill: Fill = "lowest" if largest else "highest"
    return reduced(torch.topk, fill, x, dim, k, axis(x, dim), largest=largest)


def flip(x: Tensor, dim: Names) -> Tensor:
    """Reverse the order along dimensions."""
    axes = _axes(x, dim)
    padded = padded_in(dim)
    for one in padded:
        x = moved(x, one, lambda rank, count: count - 1 - rank)
    left = axes if not padded else [at for at in axes if at not in _axes(x, padded)]
    return carry(torch.flip, x, left) if left or not padded else x


def roll(x: Tensor, shifts: int, dim: Name) -> Tensor:
    """Shift the elements along a dimension."""
    for one in padded_in(dim):
        return moved(x, one, lambda rank, count: (rank - shifts) % count.clamp(min=1))
    return carry(torch.roll, x, shifts, axis(x, dim))
