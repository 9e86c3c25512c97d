"""Which axes are batches, by what a program calls them and by what it gets them from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import shapecheck.dims as dims
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Value
from shapecheck.dims import Batched, Size, Sym, Untold, size_of, symbol_of
from shapecheck.shapes import Item, Run, dim_of

_BATCHES: Final = frozenset("b bs bsz nb batch batchsize batch_size n_batch num_batch".split())


def called_batch(frame: Frame, item: Item) -> str:
    """Return what an axis is called, where that says that it is a batch; else nothing.

    A product of a batch and others is one as well, as where windows are put into the batch.
    """
    known = size_of(dim_of(item if isinstance(item, Run) else frame.state.facts.dim(item)))
    if isinstance(item, Run) or not isinstance(known, Size) or len(known.terms) > 1:
        return ""
    factors = [symbol for symbol in dims.symbols(known) if _is_called_batch(symbol)]
    return factors[0].name if factors else ""


def known_batch(frame: Frame, item: Item) -> str:
    """Return what messages call an axis that is a batch, by its name or where it comes from."""
    named = called_batch(frame, item)
    if named or isinstance(item, Run):
        return named
    symbol = symbol_of(frame.state.facts.dim(item))
    return "the batch" if symbol is not None and _is_counted(symbol) else ""


def is_batch_first(instance: Mapping[str, Value]) -> bool | None:
    """Return whether a layer takes the batch first, None where that isn't known.

    A stack of layers takes it as these do.
    """
    for name in ("encoder_layer", "decoder_layer"):
        inner = instance.get(name)
        if isinstance(inner, Mapping):
            return is_batch_first(inner)
    told = instance.get("batch_first")
    return told if isinstance(told, bool) else None


def _is_called_batch(symbol: Sym) -> bool:
    return symbol.name.lower() in _BATCHES


def _is_counted(symbol: Sym) -> bool:
    """Whether a loader, or a layer, takes as many items as a symbol says."""
    origin = symbol.origin
    return isinstance(origin, Batched) or (isinstance(origin, Untold) and origin.counts_items)
