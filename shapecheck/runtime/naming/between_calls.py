"""What the dimensions of a call are called at its caller, and those of the caller in the call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import shapecheck.dims as dims
from shapecheck.dims import DimExpr, IntSize, Size, Sym
from shapecheck.runtime.naming.facts import value_of
from shapecheck.runtime.naming.records import Record, record
from shapecheck.shapes import Item

Pairs = Iterable[tuple[Sym, DimExpr]]


def outwards(
    known: Record,
    names: Mapping[str, DimExpr],
    runs: Mapping[str, tuple[Item, ...]],
    values: Mapping[Sym, int],
) -> Record | None:
    """Return a call's record in the caller's names; dimensions without one there are plain.

    `names` and `runs` are what the call's names and groups are at the caller, `values` the sizes
    there.
    """
    return record(translated(known, _symbols(names, runs), values), known.sizes, values)


def inwards(
    known: Record,
    names: Mapping[str, DimExpr],
    runs: Mapping[str, tuple[Item, ...]],
    values: Mapping[Sym, int],
) -> tuple[DimExpr, ...]:
    """Return the dimensions of a caller's record in a call's names, as sizes where it has none.

    One of the caller's dimensions that has two names in the call has none: either may be meant.
    """
    found: dict[Sym, DimExpr] = {}
    twice: set[Sym] = set()
    for inner, dim in _symbols(names, runs):
        outer = dim.symbol if isinstance(dim, Size) else None
        if outer is not None:
            twice |= {outer} & found.keys()
            found[outer] = Size.of(inner)
    pairs = [(outer, inner) for outer, inner in found.items() if outer not in twice]
    return translated(known, pairs, values)


def _symbols(
    names: Mapping[str, DimExpr], runs: Mapping[str, tuple[Item, ...]]
) -> Iterator[tuple[Sym, Any]]:
    """Yield what names and groups are inside of a call's shapes, and at its caller."""
    for name, dim in names.items():
        yield Sym(name), dim
    for group, run in runs.items():
        for index, item in enumerate(run):
            yield Sym(f"*{group}" if len(run) == 1 else f"{group}[{index}]"), item


def translated(known: Record, pairs: Pairs, values: Mapping[Sym, int]) -> tuple[DimExpr, ...]:
    """Return a record's dimensions with dimensions in the place of symbols.

    A dimension with another symbol in it, or of another size by `values`, is its size.
    """
    whole = dict(pairs)
    swap: dict[Any, IntSize] = {symbol: dims.size_of(dim) for symbol, dim in whole.items()}
    return tuple(
        _translated(dim, size, swap, whole, values)
        for dim, size in zip(known.dims, known.sizes, strict=True)
    )


def _translated(
    dim: DimExpr,
    size: int,
    swap: Mapping[Any, IntSize],
    whole: Mapping[Sym, DimExpr],
    values: Mapping[Sym, int],
) -> DimExpr:
    if isinstance(dim, int) or not dims.symbols(dim) <= set(swap):
        return size
    new: DimExpr
    if isinstance(dim, dims.Composite):
        new = dims.merge(_translated(part, 0, swap, whole, values) for part in dim.parts)
    elif dim.symbol is not None:
        new = whole[dim.symbol]
    else:
        new = dims.substitute(dim, swap)
    return new if size == 0 or value_of(new, values) == size else size
