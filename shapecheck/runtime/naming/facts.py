"""Equality of dimensions where the sizes are known: names decide, and values never contradict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, Final

import shapecheck.dims as dims
from shapecheck.dims import (
    Atom,
    Composite,
    DimExpr,
    Extreme,
    IntSize,
    Kind,
    Relation,
    Size,
    Sym,
    Verdict,
)
from shapecheck.dims.algebra import parts_of
from shapecheck.dims.origins import AnyNumber, Mixed, OfRecord, OfSize
from shapecheck.runtime.annotations.braced import stand_beside
from shapecheck.shapes import Facts, Shape
from shapecheck.shapes.ordered import otherwise_laid_out

_SAME: Final = Verdict(Relation.SAME)
_POSSIBLE: Final = Verdict(Relation.POSSIBLE)
_DIFFERENT: Final = Verdict(Relation.DIFFERENT)


def value_of(dim: DimExpr, values: Mapping[Sym, int]) -> int | None:
    """Return the number that a dimension comes to, None where a symbol in it has no value."""
    if isinstance(dim, int):
        return dim
    if isinstance(dim, Composite):
        parts = [value_of(part, values) for part in dim.parts]
        known = [part for part in parts if part is not None]
        return prod(known) if len(known) == len(parts) else None
    symbol = dim.symbol
    if symbol is not None:
        return values.get(symbol)
    try:
        found = dims.substitute(dim, dict(values.items()))
    except ZeroDivisionError:
        return None
    return found if isinstance(found, int) else None


def decided(dim: DimExpr, values: Mapping[Sym, int]) -> DimExpr:
    """Put what a minimum or maximum is here in its place: a number, where that isn't one size.

    `min(n,2)` is 2, so that what is left of two dimensions after `x[:2]` and `y[:2]` is equal.
    """
    if not isinstance(dim, Size):
        return dim
    found: dict[Atom, IntSize] = {}
    for atom in _extremes(dim):
        value = value_of(Size.of(atom), values)
        if value is not None:
            chosen = [arg for arg in atom.args if value_of(arg, values) == value]
            found[atom] = dims.size_of(decided(chosen[0], values)) if len(chosen) == 1 else value
    return dims.substitute(dim, found) if found else dim


def simplest(dim: DimExpr, values: Mapping[Sym, int]) -> DimExpr:
    """Return the name that a size comes to once its minima and maxima are numbers, or the size.

    `d+min(d,4)-4`, the two halves of `d` put together, is `d`. A number that may be another one
    next time leaves no name, if there is nothing beside it.
    """
    if not isinstance(dim, Size) or dim.symbol is not None:
        return dim
    open_numbers: dict[Atom, IntSize] = {
        symbol: symbol.origin.value
        for symbol in dims.symbols(dim)
        if isinstance(symbol.origin, AnyNumber)
    }
    closed = dims.substitute(dim, open_numbers) if open_numbers else dim
    if isinstance(closed, int):
        return closed
    if isinstance(dim.atom, Extreme):
        return dim
    found = decided(dim, values)
    return found if isinstance(found, Size) and found.symbol is not None else dim


def _extremes(size: Size) -> Iterator[Extreme]:
    """Yield the minima and maxima in a size, but for those that are inside of others."""
    for atom in size.atoms():
        if isinstance(atom, Extreme):
            yield atom
        else:
            for part in parts_of(atom):
                yield from _extremes(part) if isinstance(part, Size) else ()


class ValueFacts(Facts):
    """Facts in a running program: every name has a value, and an unnamed dimension is its size.

    Different names are different dimensions although their sizes agree, and so are names and
    expressions such as `{self.d}` that stand side by side. A plain int agrees with anything of its
    size, and a name of 1 with all that is 1. Ordered composites agree part by part. Other
    expressions agree by value, but for the same expression over different names, as `2*h` and
    `2*w`.

    `strict` is for what must be equal without broadcasting; otherwise a named dimension of size 1
    is left to torch where it meets an unnamed one.
    """

    __slots__ = ("strict", "values")

    def __init__(self, values: Mapping[Sym, int], strict: bool = False) -> None:
        super().__init__()
        self.values = values
        self.strict = strict

    def copy(self) -> ValueFacts:
        """Return an independent copy."""
        made = ValueFacts(self.values, self.strict)
        made.atoms, made.runs = dict(self.atoms), dict(self.runs)
        return made

    def compare(self, a: DimExpr, b: DimExpr) -> Verdict:
        """Decide whether two dimensions are equal."""
        if a is b or a == b:
            return _SAME
        a, b = self.dim(a), self.dim(b)
        if a == b:
            return _SAME
        left, right = value_of(a, self.values), value_of(b, self.values)
        if left is None or right is None:
            return super().compare(a, b)
        if left != right:
            lone = any(v == 1 and not isinstance(d, int) for d, v in ((a, left), (b, right)))
            loose = not self.strict and lone and not (_name(a) and _name(b))
            return _POSSIBLE if loose else _DIFFERENT
        if left == 1 and all(self.values.get(s) == 1 for d in (a, b) for s in dims.symbols(d)):
            return _POSSIBLE  # there is nothing to mix up, and which axis it was isn't certain
        one, other = decided(a, self.values), decided(b, self.values)
        if one == other:
            return _SAME
        if isinstance(one, int) or isinstance(other, int):
            return _POSSIBLE
        if (one, other) != (a, b) and super().compare(a, b).relation is not Relation.DIFFERENT:
            return _POSSIBLE  # as `min(n,8)` and `m`, which may be 8 another time
        a, b = one, other
        if stand_beside(a, b):
            return _DIFFERENT
        if _name(a) and _name(b):
            both = mixed(a) is not None and mixed(b) is not None
            loose = both or _vague(a) or _vague(b) or _of_two_records(a, b)
            return _POSSIBLE if loose else _DIFFERENT
        if isinstance(a, Composite) and isinstance(b, Composite):
            return _SAME if self._same_order(a.parts, b.parts) else _DIFFERENT
        if left and otherwise_laid_out(a, b):
            return _DIFFERENT
        return _DIFFERENT if self._renamed(a, b) else _SAME

    def same(self, a: DimExpr, b: DimExpr) -> bool:
        """Whether two dimensions are certainly equal; an unnamed one is by its size."""
        verdict = self.compare(a, b)
        if verdict.relation is Relation.POSSIBLE:
            left, right = value_of(self.dim(a), self.values), value_of(self.dim(b), self.values)
            return left is not None and left == right
        return verdict.relation is Relation.SAME

    def of_running_program(self) -> bool:
        """Whether the program runs."""
        return True

    def below_none(self, size: IntSize) -> bool:
        """Whether a size comes to less than nothing: a slice of it is empty."""
        value = value_of(size, self.values)
        return value is not None and value < 0

    def stand_together(self, a: Any, b: Any, beside: Sequence[Shape]) -> bool:
        """Two axes of one tensor may be of one size: here the sizes are known."""
        return False

    def _same_order(self, a: Sequence[IntSize], b: Sequence[IntSize]) -> bool:
        """Whether composites of equal size can be the same merge: cut where the sizes agree.

        A part of size 1 has no place in the order, and where one is 0 there is nothing in it.
        """
        if 0 in map(self._number, (*a, *b)):
            return True
        a, b = ([part for part in parts if self._number(part) != 1] for parts in (a, b))
        i = j = 0
        while i < len(a) and j < len(b):
            start = i, j
            left, right = self._number(a[i]), self._number(b[j])
            i, j = i + 1, j + 1
            while left != right:
                if left < right and i < len(a):
                    left *= self._number(a[i])
                    i += 1
                elif j < len(b):
                    right *= self._number(b[j])
                    j += 1
                else:
                    return True
            one, other = a[start[0] : i], b[start[1] : j]
            if len(one) == len(other) == 1:
                if self.compare(one[0], other[0]).relation is Relation.DIFFERENT:
                    return False
            elif one != other and self._reordered(one, other):
                return False
        return True

    def _reordered(self, a: Sequence[IntSize], b: Sequence[IntSize]) -> bool:
        """Whether parts stand in another order; a number may be the size of a name.

        What a number leaves of an axis may be ahead of it, or behind: `(h//2 2)` is `h` put
        together again, as `(2 h//2)` may be.
        """
        named = {part for part in a if isinstance(part, Size) and part.symbol is not None}
        sizes = (sorted(map(self._number, parts)) for parts in (a, b))
        return not named.isdisjoint(b) and next(sizes) == next(sizes)

    def _renamed(self, a: DimExpr, b: DimExpr) -> bool:
        """Whether two sizes are one expression, but for a name that is another name in it.

        Two names of size 1 are nothing to tell `(h w)` from `w*d` by, and an axis that cuts across
        others is nothing to tell `mixed(2 b)+1` from another such by.
        """
        if is_open(a) or is_open(b):
            return False
        names = dims.renaming(dims.size_of(a), dims.size_of(b))
        if names is None or not all(map(_distinct, names)):
            return False
        sizes = [Size.of(symbol) for symbol in names]
        if _of_two_records(*sizes) or any(mixed(size) is not None for size in sizes):
            return False
        return not all(self.values.get(symbol) == 1 for symbol in names)

    def _number(self, size: IntSize) -> int:
        found = value_of(size, self.values)
        return 1 if found is None else found


def is_open(dim: DimExpr) -> bool:
    """Whether a dimension is computed from a number that may be another one next time."""
    return any(isinstance(symbol.origin, AnyNumber) for symbol in dims.symbols(dim))


def _name(dim: DimExpr) -> bool:
    return isinstance(dim, Size) and dim.symbol is not None and _distinct(dim.symbol)


def _distinct(symbol: Sym) -> bool:
    """Whether a symbol is a name that is no other name."""
    return symbol.kind is Kind.NAME and not isinstance(symbol.origin, OfSize)


def _of_two_records(a: DimExpr, b: DimExpr) -> bool:
    """Whether one of two names is of a record that the other isn't of."""
    owners = {symbol.owner for dim in (a, b) for symbol in dims.symbols(dim)}
    return len(owners) > 1 and any(isinstance(owner, OfRecord) for owner in owners)


def mixed(dim: DimExpr) -> Mixed | None:
    """Return what a dimension cuts across, if it is an axis that does so (see `regroup`)."""
    origin = None if not isinstance(dim, Size) or dim.symbol is None else dim.symbol.origin
    return origin if isinstance(origin, Mixed) else None


def _vague(dim: DimExpr) -> bool:
    """Whether an axis cuts across something that has no name of its own, which may be any."""
    origin = mixed(dim)
    whole = () if origin is None else origin.whole
    return any(not isinstance(part, Size) or part.symbol is None for part, _ in whole)
