"""Which axes are batches, by what a program calls them."""

from __future__ import annotations

from typing import Final

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.dims import symbol_of
from shapecheck.shapes import Item, Run

_BATCHES: Final = frozenset("b bs bsz nb batch batchsize batch_size n_batch num_batch".split())


def called_batch(frame: Frame, item: Item) -> str:
    """Return what an axis is called, where that says that it is a batch; else nothing."""
    known = item if isinstance(item, Run) else frame.state.facts.dim(item)
    symbol = None if isinstance(known, Run) else symbol_of(known)
    return symbol.name if symbol is not None and symbol.name.lower() in _BATCHES else ""
