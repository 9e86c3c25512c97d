"""An op's arguments on the way to its rule: numbers stay, what holds others is made anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from shapecheck.ops import Value

NUMBERS: Final = (bool, int, float, complex)
HOLDERS: Final = (tuple, list, slice)


def each_in(holder: Any, convert: Callable[[Any], Value]) -> Value:
    """Return a tuple, a list or a slice of what its items are as rules see them."""
    if isinstance(holder, slice):
        return slice(convert(holder.start), convert(holder.stop), convert(holder.step))
    parts = [convert(item) for item in holder]
    return parts if isinstance(holder, list) else tuple(parts)
