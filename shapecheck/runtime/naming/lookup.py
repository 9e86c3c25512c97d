"""What is compiled, if it is: what an op costs once its outcome is known.

`_lookup.c` makes keys and gives results their records, `_readings.c` follows sizes to where they
were read. Without a C compiler at installation `Lookup` is None, the others are in Python, and an
op costs some microseconds more.
"""

from __future__ import annotations

import weakref
from collections.abc import Set
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from shapecheck.runtime.naming.records import Record, Table

__all__ = ["Lookup", "keep", "kept", "kinds"]

_KINDS = {"reads": 1, "given": 2, "numbered": 4, "other": 8}
"""What ops are beside their names, as `_lookup.c` counts it."""


def kinds(**several: Set[Any]) -> dict[Any, int]:
    """Return the kinds of ops that are of any: they read sizes, are given some, go by numbers.

    Those of the kind `other` are left to Python.
    """
    found: dict[Any, int] = {}
    for name, ops in several.items():
        for op in ops:
            found[op] = found.get(op, 0) | _KINDS[name]
    return found


def _keep(table: Table, tensor: torch.Tensor, known: Record, /) -> None:
    table[id(tensor)] = (weakref.ref(tensor), known)


def _kept(
    cache: dict[Any, Any],
    table: Table,
    checked: bool,
    head: object,
    rest: object,
    /,
    *tensors: torch.Tensor,
) -> Any:
    """Return what is kept under two parts of a key and the records of tensors, None for nothing.

    `checked`: where a tensor's sizes aren't those of its record any more, that is nothing.
    """
    key = [head, rest]
    for tensor in tensors:
        found = table.get(id(tensor))
        if found is None or found[0]() is not tensor:
            return None
        if checked and tensor.shape != found[1].sizes:
            return None
        key.append(found[1])
    return cache.get(tuple(key))


try:
    from shapecheck.runtime.naming._lookup import Lookup, keep, kept
except ImportError:
    Lookup, keep, kept = None, _keep, _kept  # type: ignore[assignment, misc]
