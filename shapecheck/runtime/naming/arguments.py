"""An op's arguments on the way to its rule: numbers stay, what holds others is made anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

import torch

from shapecheck.ops import Value

NUMBERS: Final = (bool, int, float, complex)
HOLDERS: Final = (tuple, list, slice)


T = TypeVar("T")


def by_class(table: Mapping[type, T], value: object) -> T:
    """Return what a table has for the class of a value, or for the nearest of its bases."""
    for cls in type(value).__mro__:
        if cls in table:
            return table[cls]
    raise KeyError(type(value))  # no table is without `object`


def each_in(holder: Any, convert: Callable[[Any], Value]) -> Value:
    """Return a tuple, a list or a slice of what its items are as rules see them."""
    if isinstance(holder, slice):
        return slice(convert(holder.start), convert(holder.stop), convert(holder.step))
    parts = [convert(item) for item in holder]
    return parts if isinstance(holder, list) else tuple(parts)


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """Yield a tensor, or the tensors in tuples and lists."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors_in(item)
