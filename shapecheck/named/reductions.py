"""Reductions over named dimensions, and what runs along one."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from shapecheck.named.core import Name, Names, carry, meant, planned
from shapecheck.ops import named as rules

Pair = tuple[Tensor, Tensor]


def _axis(x: Tensor, dim: Name) -> Any:
    return planned(rules.only, (x,), meant(dim))


def _axes(x: Tensor, dim: Names | None) -> Any:
    if dim is None:
        return tuple(range(x.dim()))
    return planned(rules.every, (x,), meant(dim))


def sum(x: Tensor, dim: Names | None = None, keepdim: bool = False) -> Tensor:
    """Add up over dimensions, `sum(x, "h w")`; over all of them without `dim`."""
    found: Tensor = carry(torch.sum, x, _axes(x, dim), keepdim)
    return found


def mean(x: Tensor, dim: Names | None = None, keepdim: bool = False) -> Tensor:
    """Average over dimensions; over all of them without `dim`."""
    found: Tensor = carry(torch.mean, x, _axes(x, dim), keepdim)
    return found


def std(
    x: Tensor, dim: Names | None = None, keepdim: bool = False, *, correction: float = 1
) -> Tensor:
    """Return the standard deviation over dimensions; over all of them without `dim`."""
    found: Tensor = carry(torch.std, x, _axes(x, dim), correction=correction, keepdim=keepdim)
    return found


def var(
    x: Tensor, dim: Names | None = None, keepdim: bool = False, *, correction: float = 1
) -> Tensor:
    """Return the variance over dimensions; over all of them without `dim`."""
    found: Tensor = carry(torch.var, x, _axes(x, dim), correction=correction, keepdim=keepdim)
    return found


def amax(x: Tensor, dim: Names | None = None, keepdim: bool = False) -> Tensor:
    """Return the largest elements over dimensions; over all of them without `dim`."""
    found: Tensor = carry(torch.amax, x, _axes(x, dim), keepdim)
    return found


def amin(x: Tensor, dim: Names | None = None, keepdim: bool = False) -> Tensor:
    """Return the smallest elements over dimensions; over all of them without `dim`."""
    found: Tensor = carry(torch.amin, x, _axes(x, dim), keepdim)
    return found


def all(x: Tensor, dim: Names | None = None, keepdim: bool = False) -> Tensor:
    """Whether all elements over dimensions are true."""
    found: Tensor = carry(torch.all, x, _axes(x, dim), keepdim)
    return found


def any(x: Tensor, dim: Names | None = None, keepdim: bool = False) -> Tensor:
    """Whether one of the elements over dimensions is true."""
    found: Tensor = carry(torch.any, x, _axes(x, dim), keepdim)
    return found


def logsumexp(x: Tensor, dim: Names, keepdim: bool = False) -> Tensor:
    """Return the logarithm of the sum of exponentials over dimensions."""
    found: Tensor = carry(torch.logsumexp, x, _axes(x, dim), keepdim)
    return found


def norm(x: Tensor, dim: Names | None = None, keepdim: bool = False, *, p: float = 2) -> Tensor:
    """Return the p-norm over dimensions; over all of them without `dim`."""
    found: Tensor = carry(torch.linalg.vector_norm, x, p, _axes(x, dim), keepdim)
    return found


def prod(x: Tensor, dim: Name, keepdim: bool = False) -> Tensor:
    """Multiply over a dimension."""
    found: Tensor = carry(torch.prod, x, _axis(x, dim), keepdim)
    return found


def max(x: Tensor, dim: Name, keepdim: bool = False) -> Pair:
    """Return the largest elements over a dimension, and where they are; see also `amax`."""
    found: Pair = carry(torch.max, x, _axis(x, dim), keepdim)
    return found


def min(x: Tensor, dim: Name, keepdim: bool = False) -> Pair:
    """Return the smallest elements over a dimension, and where they are; see also `amin`."""
    found: Pair = carry(torch.min, x, _axis(x, dim), keepdim)
    return found


def median(x: Tensor, dim: Name, keepdim: bool = False) -> Pair:
    """Return the median over a dimension, and where it is."""
    found: Pair = carry(torch.median, x, _axis(x, dim), keepdim)
    return found


def argmax(x: Tensor, dim: Name, keepdim: bool = False) -> Tensor:
    """Return where the largest elements over a dimension are."""
    found: Tensor = carry(torch.argmax, x, _axis(x, dim), keepdim)
    return found


def argmin(x: Tensor, dim: Name, keepdim: bool = False) -> Tensor:
    """Return where the smallest elements over a dimension are."""
    found: Tensor = carry(torch.argmin, x, _axis(x, dim), keepdim)
    return found


def softmax(x: Tensor, dim: Name) -> Tensor:
    """Return the softmax along a dimension."""
    found: Tensor = carry(torch.softmax, x, _axis(x, dim))
    return found


def log_softmax(x: Tensor, dim: Name) -> Tensor:
    """Return the logarithm of the softmax along a dimension."""
    found: Tensor = carry(torch.log_softmax, x, _axis(x, dim))
    return found


def cumsum(x: Tensor, dim: Name) -> Tensor:
    """Return the running sums along a dimension."""
    found: Tensor = carry(torch.cumsum, x, _axis(x, dim))
    return found


def cumprod(x: Tensor, dim: Name) -> Tensor:
    """Return the running products along a dimension."""
    found: Tensor = carry(torch.cumprod, x, _axis(x, dim))
    return found


def sort(x: Tensor, dim: Name, descending: bool = False) -> Pair:
    """Return the elements sorted along a dimension, and where they were."""
    found: Pair = carry(torch.sort, x, _axis(x, dim), descending)
    return found


def argsort(x: Tensor, dim: Name, descending: bool = False) -> Tensor:
    """Return the order of the elements along a dimension."""
    found: Tensor = carry(torch.argsort, x, _axis(x, dim), descending)
    return found


def topk(x: Tensor, k: int, dim: Name, largest: bool = True) -> Pair:
    """Return the `k` largest elements along a dimension, and where they were."""
    found: Pair = carry(torch.topk, x, k, _axis(x, dim), largest)
    return found


def flip(x: Tensor, dim: Names) -> Tensor:
    """Reverse the order along dimensions."""
    found: Tensor = carry(torch.flip, x, _axes(x, dim))
    return found


def roll(x: Tensor, shifts: int, dim: Name) -> Tensor:
    """Shift the elements along a dimension."""
    found: Tensor = carry(torch.roll, x, shifts, _axis(x, dim))
    return found
