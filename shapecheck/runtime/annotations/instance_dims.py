"""Names that belong to an instance: `@shapecheck(dims="d_model heads")` on its class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_ATTRIBUTE: Final = "__shapecheck_dims__"


def held(names: frozenset[str], instance: Any) -> dict[str, int]:
    """Return the sizes of the instance's names: of the int attribute, else from first use."""
    if not names:
        return {}
    found: dict[str, int] = {}
    seen: Mapping[str, int] = getattr(instance, _ATTRIBUTE, None) or {}
    for name in names:
        value = getattr(instance, name, None)
        if isinstance(value, int) and not isinstance(value, bool):
            found[name] = value
        elif name in seen:
            found[name] = seen[name]
    return found


def hold(names: frozenset[str], instance: Any, sizes: Mapping[str, int]) -> None:
    """Remember the sizes of the instance's names from their first use."""
    if not names:
        return
    new = {name: sizes[name] for name in names if name in sizes}
    if not new:
        return
    seen: dict[str, int] | None = getattr(instance, _ATTRIBUTE, None)
    if seen is None:
        try:
            object.__setattr__(instance, _ATTRIBUTE, new)
        except (AttributeError, TypeError):
            return
    else:
        for name, size in new.items():
            seen.setdefault(name, size)
