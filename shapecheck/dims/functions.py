"""Powers, minima and maxima of sizes, and the substitution of sizes for symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from math import comb, lcm
from typing import Final

from shapecheck.dims.algebra import (
    MOST_BITS,
    MOST_TERMS,
    ONE,
    Atom,
    Extreme,
    FloorDiv,
    IntSize,
    Power,
    Size,
    Terms,
    bounded,
    canonical,
    joined,
    keeping,
    product,
    terms_of,
    times,
)
from shapecheck.dims.composites import Composite, DimExpr, size_of
from shapecheck.dims.division import divide, exact_quotient, floordiv, promised_quotient
from shapecheck.dims.origins import EqualPart
from shapecheck.dims.symbols import Sym, in_order

_MULTIPLIED_OUT: Final = 8


def power(base: IntSize, exponent: IntSize) -> IntSize:
    """Return `base ** exponent`; `2**(n+1) == 2 * 2**n`.

    A sum is multiplied out up to a fixed exponent of 8, where that doesn't give too many terms.
    """
    if isinstance(exponent, int):
        if exponent == 1 and isinstance(base, Size):
            return base
        return _power_int(base, exponent)
    if base == 1:
        return 1
    if any(not isinstance(c, int) for c in exponent.terms.values()):
        return Size.of(Power(base, exponent))
    result: IntSize = 1
    for monomial, coefficient in exponent.terms.items():
        if not monomial:
            factor = _canonical_power(base, int(coefficient))
        else:
            atom = Size.of(Power(base, canonical({monomial: 1})))
            factor = _canonical_power(atom, int(coefficient))
        if factor is None:
            return Size.of(Power(base, exponent))
        result = result * factor
    return result


def _power_int(base: IntSize, exponent: int) -> IntSize:
    found = _canonical_power(base, exponent) if exponent >= 0 else None
    return Size.of(Power(base, exponent)) if found is None else found


def _canonical_power(base: IntSize, exponent: int) -> IntSize | None:
    """Return a fixed power as a polynomial with, for a negative exponent, a promised quotient."""
    if isinstance(base, int):
        if abs(exponent) * base.bit_length() > MOST_BITS:
            return None
        if exponent >= 0:
            return int(base**exponent)
        return canonical({ONE: Fraction(1, base**-exponent)}) if base else None
    if len(base.terms) == 1:
        ((monomial, coefficient),) = base.terms.items()
        whole = Fraction(coefficient) ** exponent
        return canonical({frozenset((a, e * exponent) for a, e in monomial if exponent): whole})
    if 0 <= exponent <= _MULTIPLIED_OUT:
        if comb(len(base.terms) + exponent - 1, exponent) <= MOST_TERMS:
            return product([base] * exponent)
    return None


def extreme(function: str, args: Iterable[IntSize]) -> IntSize:
    """Return `min` or `max` (the `function`) of sizes; `min(a, a+1) == a`."""
    better: Callable[[int, int], int] = min if function == "min" else max
    kept: list[IntSize] = []
    for arg in args:
        parts: Iterable[IntSize] = (int(arg) if isinstance(arg, bool) else arg,)
        if isinstance(arg, Size) and isinstance(arg.atom, Extreme):
            if arg.atom.function == function:
                parts = arg.atom.args
        for part in parts:
            for index, other in enumerate(kept):
                gap = part - other
                if isinstance(gap, int):
                    kept[index] = part if better(gap, 0) == gap else other
                    break
            else:
                kept.append(part)
    if len(kept) == 1:
        return kept[0]
    return Size.of(Extreme(function, frozenset(kept)))


# Substitution -----------------------------------------------------------------------------------


def substitute(size: IntSize, values: Mapping[Atom, IntSize]) -> IntSize:
    """Replace atoms by sizes, also inside of other atoms, once.

    Where what was promised to divide doesn't, the quotient is rounded down.
    """
    if isinstance(size, int):
        return size
    if size.symbol is not None:
        return values.get(size.symbol, size)
    if not _is_concerned(size, values):
        return size
    if size.layout:
        return joined([substitute(one, values) for one in size.layout])
    above, below = fraction(size)
    num = _substitute_polynomial(above, values)
    if below == 1:
        return num
    den = _substitute_polynomial(below, values)
    if den == 0:
        return size
    exact = promised_quotient(num, den)
    return floordiv(num, den) if exact is None else exact


def _is_concerned(size: Size, values: Mapping[Atom, IntSize]) -> bool:
    """Whether there is an atom in a size in the place of which another may stand."""
    for monomial in size.terms:
        for atom, _ in monomial:
            if atom in values or not isinstance(atom, Sym):
                return True
    return False


def part(symbol: Sym, count: int) -> Size:
    """Return the size of one of `count` equal parts of a symbol which `count` divides."""
    return Size.of(Sym(f"{symbol.name}//{count}", symbol.kind, EqualPart(symbol, count)))


def whole(size: IntSize) -> IntSize:
    """Return a size by what the parts in it are of: four of the four parts of `d` are `d`."""
    for symbol in () if isinstance(size, int) else in_order(size.symbols()):
        if isinstance(origin := symbol.origin, EqualPart):
            base, parts = Size.of(origin.symbol), origin.count * Size.of(symbol)
            quotient = divide(size, origin.count)
            found = None if quotient is None else substitute(quotient, {symbol: base})
            if found is None or substitute(found, {origin.symbol: parts}) != size:
                found = substitute(size, {symbol: floordiv(base, origin.count)})
            size = found
    return size


@keeping(1 << 12)
def as_exact(size: IntSize) -> IntSize:
    """Return a size in which every division is exact, as `heads*(width//heads)` is `width`.

    Divisions come first that others are inside of.
    """
    while isinstance(size, Size):
        floors = [atom for atom in size.atoms() if isinstance(atom, FloorDiv)]
        if not floors:
            break
        outermost = max(floors, key=lambda atom: len(repr(atom)))
        exact = exact_quotient(outermost.num, outermost.den)
        if exact is None:
            break
        size = substitute(size, {outermost: exact})
    return size


def renamed(dim: DimExpr, names: Mapping[Sym, Sym]) -> DimExpr:
    """Put other symbols in the place of some, a different one for each."""
    if isinstance(dim, Composite):
        return Composite(tuple(size_of(renamed(part, names)) for part in dim.parts))
    if isinstance(dim, int):
        return dim
    if dim.symbol is not None:
        new = names.get(dim.symbol)
        return dim if new is None else Size.of(new)
    if names.keys().isdisjoint(dim.symbols()):
        return dim
    terms: Terms = {}
    for monomial, coefficient in dim.terms.items():
        powers: list[tuple[Atom, int]] = []
        for atom, exponent in monomial:
            if not isinstance(atom, Sym):
                return substitute(dim, {old: Size.of(new) for old, new in names.items()})
            powers.append((names.get(atom, atom), exponent))
        terms[frozenset(powers)] = coefficient
    return canonical(terms)


def renaming(a: IntSize, b: IntSize) -> tuple[Sym, Sym] | None:
    """Return which name stands in the place of which, where two sizes are else one expression."""
    if isinstance(a, int) or isinstance(b, int):
        return None
    mine, other = a.symbols() - b.symbols(), b.symbols() - a.symbols()
    if len(mine) != 1 or len(other) != 1:
        return None
    ((old,), (new,)) = mine, other
    return (old, new) if renamed(a, {old: new}) == b else None


def fraction(size: Size) -> tuple[IntSize, IntSize]:
    """Return a size as a polynomial with integer coefficients over one of a single term."""
    least = lcm(*(coefficient.denominator for coefficient in size.terms.values()))
    below: dict[Atom, int] = {}
    for monomial in size.terms:
        for atom, exponent in monomial:
            if exponent < 0:
                below[atom] = max(below.get(atom, 0), -exponent)
    if least == 1 and not below:
        return size, 1
    common = frozenset(below.items())
    above = canonical({times(m, common): c * least for m, c in size.terms.items()})
    return above, canonical({common: least})


def _substitute_polynomial(size: IntSize, values: Mapping[Atom, IntSize]) -> IntSize:
    found: Terms = {}
    for monomial, coefficient in terms_of(size).items():
        assert isinstance(coefficient, int)
        new = [(atom, _substitute_atom(atom, values), exponent) for atom, exponent in monomial]
        same = [(atom, exponent) for atom, other, exponent in new if other is None]
        if len(same) == len(new):
            found[monomial] = found.get(monomial, 0) + coefficient
            continue
        term: IntSize = 1 if not same else canonical({frozenset(same): 1})
        for _, other, exponent in new:
            if other is not None:
                term = term * power(other, exponent)
        for inner, count in terms_of(term).items():
            found[inner] = found.get(inner, 0) + count * coefficient
    return bounded(found)


def _substitute_atom(atom: Atom, values: Mapping[Atom, IntSize]) -> IntSize | None:
    """Return what stands in the place of an atom; None where it is as it was."""
    if atom in values:
        return values[atom]
    match atom:
        case FloorDiv(num, den):
            inner = substitute(num, values), substitute(den, values)
            unchanged = inner == (num, den) or inner[1] == 0
            return None if unchanged else floordiv(*inner)
        case Power(base, exponent):
            powers = substitute(base, values), substitute(exponent, values)
            return None if powers == (base, exponent) else power(*powers)
        case Extreme(function, args):
            parts = [substitute(arg, values) for arg in args]
            return None if args == frozenset(parts) else extreme(function, parts)
    return None
