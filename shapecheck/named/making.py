"""New tensors by the names and sizes of their dimensions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

from shapecheck.dims import Dim
from shapecheck.named.core import Name, called, given_as, new_name, planned, refuse_as
from shapecheck.ops import Other
from shapecheck.ops.named.making import no_sizes, not_one, sized

Sizes: TypeAlias = "Mapping[str, int] | Mapping[Dim, int] | Mapping[str | Dim, int]"
"""The size of each dimension, by its name or itself."""
Device: TypeAlias = "torch.device | str | int | None"


def zeros(
    sizes: Sizes | None = None,
    *,
    dtype: torch.dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    **more: int,
) -> Tensor:
    """Make a tensor of zeros, `zeros({"b": 2, "t": 3})` or `zeros(b=2, t=3)`."""
    return _made(torch.zeros, sizes, more, (), dtype, device, requires_grad)


def ones(
    sizes: Sizes | None = None,
    *,
    dtype: torch.dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    **more: int,
) -> Tensor:
    """Make a tensor of ones, `ones({"b": 2, "t": 3})` or `ones(b=2, t=3)`."""
    return _made(torch.ones, sizes, more, (), dtype, device, requires_grad)


def empty(
    sizes: Sizes | None = None,
    *,
    dtype: torch.dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    **more: int,
) -> Tensor:
    """Make a tensor without any data in it as yet, `empty(b=2, t=3)`."""
    return _made(torch.empty, sizes, more, (), dtype, device, requires_grad)


def rand(
    sizes: Sizes | None = None,
    *,
    dtype: torch.dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    **more: int,
) -> Tensor:
    """Make a tensor of random numbers between 0 and 1, `rand(b=2, t=3)`."""
    return _made(torch.rand, sizes, more, (), dtype, device, requires_grad)


def randn(
    sizes: Sizes | None = None,
    *,
    dtype: torch.dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    **more: int,
) -> Tensor:
    """Make a tensor of normally distributed numbers, `randn(b=2, t=3)`."""
    return _made(torch.randn, sizes, more, (), dtype, device, requires_grad)


def full(
    sizes: Sizes | None = None,
    fill_value: float = 0,
    *,
    dtype: torch.dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    **more: int,
) -> Tensor:
    """Make a tensor of one number, `full({"b": 2}, 0.5)` or `full(fill_value=0.5, b=2)`."""
    return _made(torch.full, sizes, more, (fill_value,), dtype, device, requires_grad)


def randint(
    sizes: Sizes | None = None,
    low: int = 0,
    high: int | None = None,
    *,
    dtype: torch.dtype | None = None,
    device: Device = None,
    **more: int,
) -> Tensor:
    """Make a tensor of random integers, `randint({"b": 2}, 0, 10)` or `randint(high=10, b=2)`.

    They are from `low` to `high - 1`; `randint({"b": 2}, 10)` begins at 0.
    """
    first, end = (0, low) if high is None else (low, high)

    def drawn(shape: Sequence[int], **given: Any) -> Tensor:
        return torch.randint(first, end, shape, **given)

    return _made(drawn, sizes, more, (), dtype, device, False)


def arange(
    sizes: Sizes | None = None,
    *,
    start: float = 0,
    step: float = 1,
    dtype: torch.dtype | None = None,
    device: Device = None,
    **more: int,
) -> Tensor:
    """Make a row of numbers, `arange(t=5)`, from `start` on by steps of `step`."""
    pairs = _pairs(sizes, more)
    if len(pairs) != 1:
        refuse_as(not_one(len(pairs)))

    def counted(shape: Sequence[int], **given: Any) -> Tensor:
        (count,) = shape
        found = torch.arange(count, **given)
        return found if (start, step) == (0, 1) else found * step + start

    return _made(counted, sizes, more, (), dtype, device, False)


def _pairs(sizes: Any, more: Mapping[str, int]) -> tuple[tuple[Name, int], ...]:
    if sizes is not None and not isinstance(sizes, Mapping):
        refuse_as(no_sizes(given_as(sizes)))
    return (*(sizes or {}).items(), *more.items())


def _made(
    function: Callable[..., Tensor],
    sizes: Any,
    more: Mapping[str, int],
    args: tuple[Any, ...],
    dtype: torch.dtype | None,
    device: Device,
    requires_grad: bool,
) -> Tensor:
    pairs = _pairs(sizes, more)
    planned(_sized, (), tuple([(new_name(name), _size(size)) for name, size in pairs]))
    given = {"requires_grad": True} if requires_grad else {}
    found = function([size for _, size in pairs], *args, dtype=dtype, device=device, **given)
    return called(found, tuple([(at, name) for at, (name, _) in enumerate(pairs)]))


def _size(size: Any) -> Any:
    """Return a size so that it can be looked up; what is none comes out as what is refused."""
    if torch.compiler.is_dynamo_compiling():
        return size
    is_one = hasattr(type(size), "__index__") and not isinstance(size, (bool, Dim))
    return operator.index(size) if is_one else Other(given_as(size))


def _sized(call: Any, pairs: Any) -> bool:
    sized(call, [(name.dim if isinstance(name, Dim) else name, size) for name, size in pairs])
    return True
