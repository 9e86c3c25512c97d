"""What is compiled, if it is: `_lookup.c` is what an op costs once its outcome is known.

Without a C compiler at installation `Lookup` is None, `keep` is in Python, and an op costs about a
microsecond more.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from shapecheck.runtime.names import Record, Table

__all__ = ["Lookup", "keep"]


def _keep(table: Table, tensor: torch.Tensor, known: Record, /) -> None:
    table[id(tensor)] = (weakref.ref(tensor), known)


try:
    from shapecheck.runtime._lookup import Lookup, keep
except ImportError:
    Lookup, keep = None, _keep  # type: ignore[assignment, misc]
