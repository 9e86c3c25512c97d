"""Lower bounds: whether a size is certainly 0 or more."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from typing import Final

from shapecheck.dims.algebra import (
    ONE,
    Atom,
    Coefficient,
    Extreme,
    FloorDiv,
    IntSize,
    Monomial,
    Size,
    canonical,
    terms_of,
)
from shapecheck.dims.composites import symbols
from shapecheck.dims.functions import substitute
from shapecheck.dims.symbols import Kind, Sym

_CASES: Final = 64


def nonnegative(size: IntSize, free: Collection[Sym] = (), cases: int = _CASES) -> bool:
    """Whether a size is certainly 0 or more.

    Names and own sizes are at least 1; so are the sizes that floor divisions divide by. Unknown
    symbols may be negative, but for those in `free`, which are sizes too. As many `cases` of what
    minima and maxima are may be tried.
    """
    if isinstance(size, int):
        return size >= 0
    if _is_line(size):
        return _line_nonnegative(size, free)
    for monomial, coefficient in size.terms.items():
        for atom, _ in monomial:
            if isinstance(atom, Extreme):
                low_end = (atom.function == "min") is (coefficient > 0)
                return _in_cases(size, atom, free, cases, every=low_end)
    low = _least(size, free)
    if low is None or isinstance(low, int):
        return low is not None and low >= 0
    return _line_nonnegative(low, free) if _is_line(low) else _grows(low, free)


def _least(size: Size, free: Collection[Sym]) -> IntSize | None:
    """Return a polynomial in symbols that a size is at least, None where there is none."""
    low: IntSize = 0
    for monomial, coefficient in size.terms.items():
        term = _bound(monomial, coefficient, free)
        if term is None:
            return None
        low = low + term
    return low


def _grows(low: Size, free: Collection[Sym]) -> bool:
    """Whether a polynomial is 0 or more where its symbols are least, and only grows from there."""
    shift: dict[Atom, IntSize] = {}
    for symbol in symbols(low):
        if symbol.kind is not Kind.UNKNOWN:
            shift[symbol] = Size.of(symbol) + 1
        elif symbol not in free:
            return False
    return all(coefficient >= 0 for coefficient in terms_of(substitute(low, shift)).values())


def _in_cases(size: Size, atom: Extreme, free: Collection[Sym], cases: int, every: bool) -> bool:
    """Whether a size is 0 or more if an atom is one of its arguments, or whichever it is."""
    left = cases // len(atom.args)
    if left <= 0:
        return False
    for arg in atom.args:
        if nonnegative(substitute(size, {atom: arg}), free, left) is not every:
            return not every
    return every


def _is_line(size: Size) -> bool:
    """Whether a size is a sum of multiples of symbols."""
    return all(
        len(monomial) < 2 and all(isinstance(atom, Sym) and e == 1 for atom, e in monomial)
        for monomial in size.terms
    )


def _line_nonnegative(size: Size, free: Collection[Sym]) -> bool:
    """Decide it for a sum of multiples of symbols: each is least where its symbol is."""
    least: Coefficient = 0
    for monomial, coefficient in size.terms.items():
        if not monomial:
            least += coefficient
            continue
        ((symbol, _),) = monomial
        assert isinstance(symbol, Sym)
        if coefficient < 0 or (symbol.kind is Kind.UNKNOWN and symbol not in free):
            return False
        least += coefficient if symbol.kind is not Kind.UNKNOWN else 0
    return least >= 0


def _bound(monomial: Monomial, coefficient: Coefficient, free: Collection[Sym]) -> IntSize | None:
    """Return a polynomial in symbols that a term is at least, None where there is none."""
    result: IntSize = canonical({ONE: coefficient})
    for atom, exponent in monomial:
        factor: IntSize
        if isinstance(atom, Sym):
            if exponent < 0:
                if coefficient > 0:
                    return 0
                continue
            factor = Size.of(atom)
        elif not isinstance(atom, FloorDiv) or exponent < 0:
            return 0 if coefficient > 0 else None
        elif isinstance(atom.den, int):
            up = atom.den - 1 if coefficient > 0 else 0
            factor = _over(atom.num - up, atom.den)
        else:
            rises = nonnegative(atom.num, free)
            if not rises and not _falls(atom.num, free):
                return None
            if rises is (coefficient > 0):
                return 0
            factor = atom.num
        if isinstance(factor, Size) and any(not isinstance(a, Sym) for a in factor.atoms()):
            is_none = isinstance(atom, FloorDiv) and coefficient > 0 and nonnegative(atom.num, free)
            return 0 if is_none else None
        result = result * factor**exponent
    return result


def _falls(num: IntSize, free: Collection[Sym]) -> bool:
    """Whether a sum of multiples of symbols, or a number, is certainly 0 or less."""
    if isinstance(num, int):
        return num <= 0
    return _is_line(num) and _line_nonnegative(-num, free)


def _over(num: IntSize, den: int) -> IntSize:
    return canonical({m: Fraction(c) / den for m, c in terms_of(num).items()})
