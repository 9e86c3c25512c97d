"""What is compiled, if it is: `_lookup.c` is what an op costs once its outcome is known.

Without a C compiler at installation `Lookup` is None, the others are in Python, and an op costs
about a microsecond more.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from shapecheck.runtime.naming.records import Record, Table

__all__ = ["Lookup", "keep", "kept"]


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
