"""How messages say the values that a program hands over."""

from __future__ import annotations

from collections.abc import Mapping
from types import EllipsisType
from typing import Final

from shapecheck.dims import Composite, Size
from shapecheck.shapes import Tensor

_LITERALS: Final = (str, bytes, bool, int, float, complex, type(None))
PYTHONS: Final = (*_LITERALS, tuple, list, dict, set, frozenset, slice)
"""The classes whose `repr` is Python's; other values say themselves in words."""
_LONGEST: Final = 40


def said(value: object) -> str:
    """Return a value as a sentence calls it: as `written`, but a dimension in quotes."""
    return f'"{value}"' if isinstance(value, (Size, Composite)) else written(value)


def written(value: object) -> str:
    """Return a value as it stands among others: a literal as it is, else what it is."""
    if isinstance(value, EllipsisType):
        return "..."
    if isinstance(value, Tensor):
        return "a tensor"
    if isinstance(value, Mapping) and "__class__" in value:  # the attributes of an instance
        return one_of_kind(str(value["__class__"]))
    if not isinstance(value, PYTHONS):
        return repr(value)
    text = _text(value)
    return one_of_kind(_kind(value)) if text is None or len(text) > _LONGEST else text


def _text(value: object) -> str | None:
    """Return a value of Python's own as it is written, None for what has no short text."""
    if isinstance(value, (tuple, list)):
        parts = [written(part) for part in value[: _LONGEST // 2]]
        if isinstance(value, list):
            return f"[{', '.join(parts)}]"
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
    return repr(value) if isinstance(value, _LITERALS) else None


def one_of_kind(name: str) -> str:
    """Return what an instance of a class of this dotted name is called: `a Linear`."""
    last = name.rpartition(".")[2]
    return f"{'an' if last[:1] in 'aeiouAEIOU' else 'a'} {last}"


def a_function(name: str) -> str:
    """Return what a function of this name is called."""
    return "a lambda" if name in ("lambda", "<lambda>") else f"the function {name}"


def _kind(value: object) -> str:
    return next(cls.__name__ for cls in type(value).__mro__ if cls in PYTHONS)
