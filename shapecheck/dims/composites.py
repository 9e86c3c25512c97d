"""What an axis of a shape holds: a size, or an ordered composite of sizes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias, Union

from shapecheck.dims.algebra import IntSize, Size, product
from shapecheck.dims.symbols import HERE, Kind, Origin, Sym


@dataclass(frozen=True, slots=True)
class Composite:
    """The dimension that merging `parts`, in this order, gives; its size is their product.

    Parts are flat (no composite inside) and none is 1. Build one with `merge`.
    """

    parts: tuple[IntSize, ...]

    @property
    def size(self) -> IntSize:
        """The product of the parts."""
        return product(self.parts)

    def __reduce__(self) -> tuple[type[Composite], tuple[tuple[IntSize, ...]]]:
        return Composite, (self.parts,)

    def __repr__(self) -> str:
        return "(" + " ".join(map(str, self.parts)) + ")"


DimExpr: TypeAlias = Union[int, Size, Composite]  # noqa: UP007 - evaluated at import on 3.10


def merge(parts: Iterable[DimExpr]) -> DimExpr:
    """Return the ordered composite of dimensions; a single one is itself, of none it is 1."""
    flat: list[IntSize] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Composite) else (part,))
    kept = [part for part in flat if part != 1]
    if len(kept) == 1:
        return kept[0]
    if all(isinstance(part, int) for part in kept):
        return product(part for part in kept if isinstance(part, int))
    return Composite(tuple(kept))


def size_of(dim: DimExpr) -> IntSize:
    """Return the size of a dimension: of a composite, the product of its parts."""
    return dim.size if isinstance(dim, Composite) else dim


_NONE: Final = frozenset[Sym]()


def symbols(dim: DimExpr) -> frozenset[Sym]:
    """Return all symbols that a dimension is made of."""
    if isinstance(dim, Size):
        return dim.symbols()
    if isinstance(dim, int):
        return _NONE
    return _NONE.union(*map(symbols, dim.parts))


def symbol_of(dim: object) -> Sym | None:
    """Return the symbol that a dimension is; None for a number, for any other, for what is none."""
    return dim.symbol if isinstance(dim, Size) else None


def is_name(dim: object) -> bool:
    """Whether a dimension is a name, and nothing else."""
    symbol = symbol_of(dim)
    return symbol is not None and symbol.kind is Kind.NAME


@lru_cache(maxsize=4096)
def name(text: str, origin: Origin = HERE) -> Size:
    """Return the size that a dimension name stands for."""
    return Size.of(Sym(text, Kind.NAME, origin))


def own(text: str, origin: Origin = HERE) -> Size:
    """Return the size of the program's own that is printed `<text>`."""
    return Size.of(Sym(text, Kind.OWN, origin))


def unknown(label: str = "_") -> Size:
    """Return a new size of which nothing is known."""
    return Size.of(Sym.fresh(label))


_MOST_OPTIONS: Final = 4
LONGEST_CHOICE: Final = 1 << 9
"""As long a text names what is one of several, which may each be one of several before."""


def either(*some: DimExpr) -> DimExpr:
    """Return the size that is one of several, `3|4`; unknown where one of them is."""
    options = tuple(dict.fromkeys(option for dim in some for option in _options(dim)))
    if len(options) == 1:
        return options[0]
    telling = all(symbol.has_name for option in options for symbol in symbols(option))
    if not telling or len(options) > _MOST_OPTIONS:
        return unknown()
    text = "|".join(dict.fromkeys(map(str, options)))
    return Size.of(Sym.one_of(text, options)) if len(text) <= LONGEST_CHOICE else unknown()


def _options(dim: DimExpr) -> tuple[DimExpr, ...]:
    symbol = symbol_of(dim)
    return symbol.options if symbol is not None and symbol.options else (dim,)
