"""Equations between polynomials: verdicts on names and own sizes, and solutions."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import permutations
from math import isqrt, lcm
from typing import Final

from shapecheck.dims.algebra import (
    ONE,
    Atom,
    IntSize,
    Monomial,
    Power,
    Size,
    Terms,
    canonical,
    symbols_in,
    times,
)
from shapecheck.dims.division import exact_quotient, never_zero
from shapecheck.dims.functions import fraction, substitute
from shapecheck.dims.origins import EqualPart, OfInstance, StandIn
from shapecheck.dims.symbols import Kind, Sym, Untold, in_order


class Relation(IntEnum):
    """What is known about two dimensions: equal, different, or it depends."""

    SAME = 0
    POSSIBLE = 1
    DIFFERENT = 2


@dataclass(frozen=True, slots=True)
class Verdict:
    """A relation and, where it depends, the equation under which the two are equal.

    `learn` maps an atom to the size it then has. `own` marks a difference between two sizes of
    the program's own, which a condition on the way there may have excluded.
    """

    relation: Relation
    learn: tuple[Atom, IntSize] | None = None
    own: bool = False


SAME: Final = Verdict(Relation.SAME)
POSSIBLE: Final = Verdict(Relation.POSSIBLE)
DIFFERENT: Final = Verdict(Relation.DIFFERENT)


def judge(gap: Size) -> Verdict:
    """Decide `gap == 0` for names and own sizes, none of them unknown."""
    if never_zero(gap):
        return DIFFERENT
    reduced, common = reduced_gap(gap)
    vanishes = any(not isinstance(atom, Sym | Power) for atom, _ in common)  # a floor may be 0
    if isinstance(reduced, int):
        return POSSIBLE if vanishes else DIFFERENT
    gap = reduced
    found = gap.symbols()
    names = {s for s in found if s.kind is Kind.NAME}
    own = found - names
    if vanishes and (own or len(names) == 1):
        return POSSIBLE
    if len(found) == 1:
        return _of_one(gap, next(iter(found)), common)
    if _one_sign(gap):
        return DIFFERENT
    axes = _axes_of_one(own)
    if axes:
        verdict = _mixed(gap, names | axes) if names or own - axes else _of_names(gap, axes)
        return replace(verdict, own=True)
    if not names:
        return _of_own(gap, own)
    if not own:
        return _of_names(gap, found)
    if len(names) == 1:
        (symbol,) = names
        return solve(gap, symbol)
    return _mixed(gap, names)


def _of_one(gap: Size, symbol: Sym, common: Monomial) -> Verdict:
    """Decide an equation in one symbol; `common` was a factor of both sides."""
    verdict = solve(gap, symbol)
    whole = not isinstance(symbol.origin, StandIn)  # what stands in for `a` is 1 where `a` is 2
    if whole and verdict.learn == (symbol, 1) and common:  # b*t against b: a dim is missing
        if symbol.kind is not Kind.NAME:
            return Verdict(Relation.DIFFERENT, own=True)
        if any(_is_name(atom) for atom, _ in common):
            return DIFFERENT
    return verdict


def _of_own(gap: Size, own: frozenset[Sym]) -> Verdict:
    """Decide an equation between several of the program's own sizes.

    See decisions.md, "Two sizes of an instance's own are different, unless a condition may have
    said otherwise".
    """
    if len({symbol.owner for symbol in own}) > 1:
        return _of_instances(gap, own)
    undivided = _undivided(gap)
    if isinstance(undivided, Size):
        gap, own = undivided, undivided.symbols()
    simple = len(gap.terms) == 2 and all(len(m) == 1 and next(iter(m))[1] == 1 for m in gap.terms)
    plain = simple and len(set(map(abs, gap.terms.values()))) == 1
    if not plain or vanishes_by_default(gap) or _vanishes_for_some(gap, own):
        return POSSIBLE
    return Verdict(Relation.DIFFERENT, own=True)


def _undivided(gap: Size) -> IntSize:
    """Return a difference in which two halves of a size are the size."""
    found: IntSize = gap
    for symbol in in_order(gap.symbols()):
        times = gap.terms.get(frozenset(((symbol, 1),)), 0)
        if isinstance(origin := symbol.origin, EqualPart) and times % origin.count == 0:
            parts = int(times) // origin.count
            found += parts * (Size.of(origin.symbol) - origin.count * Size.of(symbol))
    return found


def _axes_of_one(own: frozenset[Sym]) -> frozenset[Sym]:
    """Return those of some sizes that are axes of one tensor, and have names in the program only.

    As the names of an annotation these are different from each other, and from what is made of
    each other. None are returned where there are fewer than two, or axes of several tensors.
    """
    axes = frozenset(symbol for symbol in own if isinstance(symbol.origin, Untold))
    return axes if len(axes) > 1 and len({symbol.owner for symbol in axes}) == 1 else frozenset()


def vanishes_by_default(gap: Size) -> bool:
    """Whether sizes that differ in general are equal where the program chooses none."""
    chosen: dict[Atom, IntSize] = {s: s.default for s in gap.symbols() if s.default is not None}
    return substitute(gap, chosen) == 0


_TRIED: Final = (1009, 31, 7, 3)
"""Sizes that nothing is known of, the first of them large beside the others."""


def _vanishes_for_some(gap: Size, own: frozenset[Sym]) -> bool:
    """Whether a floor, or a largest of several, makes sizes equal that look different.

    `n` and `(n*v + 2*n + v - k) // (v + 2)` are one wherever `k` is at most `v`.
    """
    if len(own) > len(_TRIED) or all(isinstance(atom, Sym) for atom in gap.atoms()):
        return False
    symbols = in_order(own)
    return any(
        substitute(gap, dict(zip(symbols, sizes, strict=False))) == 0
        for sizes in permutations(_TRIED, len(symbols))
    )


def _of_instances(gap: Size, own: frozenset[Sym]) -> Verdict:
    """Decide an equation between sizes of several instances, which may share any of them."""
    for symbol in sorted(own, key=lambda one: (one.name, one.serial)):
        verdict = solve(gap, symbol)
        if verdict.learn is not None:
            return verdict
    return POSSIBLE


def _is_name(atom: Atom) -> bool:
    return isinstance(atom, Sym) and atom.kind is Kind.NAME


def reduced_gap(gap: Size) -> tuple[IntSize, Monomial]:
    """Return a difference without the factor that all its terms share, and that factor."""
    common = _common_factor(gap)
    if not common:
        return gap, common
    return canonical({times(m, common, -1): c for m, c in gap.terms.items()}), common


def _common_factor(gap: Size) -> Monomial:
    shared: dict[Atom, int] | None = None
    for monomial in gap.terms:
        powers = dict(monomial)
        if shared is None:
            shared = powers
        else:
            shared = {a: min(e, powers[a]) for a, e in shared.items() if a in powers}
    least: dict[Atom, int] = {}
    for monomial in gap.terms:
        for atom, exponent in monomial:
            if exponent < 0:
                least[atom] = min(least.get(atom, 0), exponent)
    return frozenset({**(shared or {}), **least}.items())


def _of_names(gap: Size, names: frozenset[Sym]) -> Verdict:
    """Decide an equation between several names: possible only where it says what a number is."""
    constant = gap.terms.get(ONE, 0)
    mixed = any((c > 0) == (constant > 0) for m, c in gap.terms.items() if m)
    if constant == 0 or (mixed and not _is_met_by_few(gap, names)):
        return DIFFERENT
    sized: dict[Atom, IntSize] = {s: s.size for s in names if s.size is not None}
    if sized and isinstance(value := substitute(gap, sized), int):
        return DIFFERENT if value else SAME
    return POSSIBLE


def _is_met_by_few(gap: Size, names: frozenset[Sym]) -> bool:
    """Whether some, but only a few pairs of positive numbers make `p*x*y + q*x + r*y + s` zero.

    That is `(p*x + r) * (p*y + q) == q*r - p*s`, whose right side has few divisors.
    """
    if len(names) != 2:
        return False
    x, y = names
    one, other, both = (frozenset((s, 1) for s in some) for some in ((x,), (y,), (x, y)))
    scale = lcm(*(c.denominator for c in gap.terms.values()))
    terms = {m: int(c * scale) for m, c in gap.terms.items()}
    if not terms.get(both) or not terms.keys() <= {both, one, other, ONE}:
        return False
    p, q, r, s = (terms.get(m, 0) for m in (both, one, other, ONE))
    product = q * r - p * s
    if not 0 < abs(product) <= _LARGEST:
        return False
    for divisor in _divisors(abs(product)):
        for left in (divisor, -divisor):
            right = product // left
            if (left - r) % p == 0 and (right - q) % p == 0:
                if (left - r) // p > 0 and (right - q) // p > 0:
                    return True
    return False


def _mixed(gap: Size, names: AbstractSet[Sym]) -> Verdict:
    """Two names or more and own sizes: different if one side is a name and nothing of it recurs.

    On the other side is a name as well, `n` against `c//<self.heads>`. A size that a caller
    chooses at each call may be chosen so that it fits; one of an instance is as it is for all.
    """
    sides = [[m for m, c in gap.terms.items() if (c > 0) is positive] for positive in (True, False)]
    for side, other in (sides, sides[::-1]):
        if len(side) != 1 or len(other) != 1:
            continue
        ((left,), (right,)) = (side, other)
        there = {symbol for atom, _ in right for symbol in symbols_in(atom)}
        alone = [atom for atom, exponent in left if exponent == 1 and atom in names]
        if len(left) == 1 and alone and alone[0] not in there and there & names:
            if all(isinstance(s.owner, OfInstance) for s in there - names):
                return DIFFERENT
    return POSSIBLE


def _one_sign(gap: Size) -> bool:
    """Whether all terms have one sign, so that their sum can't be zero for positive sizes."""
    signs = {c > 0 for c in gap.terms.values()}
    plain = all(isinstance(atom, Sym | Power) for atom in gap.atoms())
    return len(signs) == 1 and plain


def solve(gap: IntSize, symbol: Sym) -> Verdict:
    """Solve `gap == 0` for a symbol; DIFFERENT if no integer from 0 on does.

    POSSIBLE without an equation where there are several solutions or it can't tell.
    """
    if isinstance(gap, int):
        return DIFFERENT if gap else SAME
    if never_zero(gap):
        return DIFFERENT
    factor: Terms = {}
    rest: Terms = {}
    for monomial, coefficient in gap.terms.items():
        others = frozenset(pair for pair in monomial if pair[0] is not symbol)
        if any(symbol in symbols_in(atom) for atom, _ in others):
            return _solve_otherwise(gap, symbol)
        if others == monomial:
            rest[monomial] = -coefficient
        elif times(monomial, others, -1) == frozenset(((symbol, 1),)):
            factor[others] = coefficient
        else:
            return _solve_otherwise(gap, symbol)
    value = exact_quotient(canonical(rest), canonical(factor)) if factor else None
    if value is None:
        known = set(factor) <= {ONE} and set(rest) <= {ONE}
        return DIFFERENT if factor and known else POSSIBLE
    if isinstance(value, int):
        if value < 0:
            return DIFFERENT
        if symbol.size is not None:
            return SAME if symbol.size == value else DIFFERENT
    return Verdict(Relation.POSSIBLE, (symbol, value))


_LARGEST: Final = 1 << 24


def _solve_otherwise(gap: Size, symbol: Sym) -> Verdict:
    """Solve an equation with one symbol in it that isn't linear, such as `n**2 == 49`."""
    above, _ = fraction(gap)
    if isinstance(above, int) or above.symbols() != {symbol}:
        return POSSIBLE
    constant = abs(int(above.terms.get(ONE, 0)))
    if all(atom is symbol for atom in above.atoms()):
        if not 0 < constant <= _LARGEST:
            return POSSIBLE
        candidates: Iterable[int] = _divisors(constant)
    elif all(_is_exponential(atom, symbol) for atom in above.atoms()):
        candidates = range(constant.bit_length() + 1)
    else:
        return POSSIBLE
    roots = [n for n in candidates if substitute(above, {symbol: n}) == 0]
    if not roots:
        return DIFFERENT
    return Verdict(Relation.POSSIBLE, (symbol, roots[0])) if len(roots) == 1 else POSSIBLE


def _is_exponential(atom: Atom, symbol: Sym) -> bool:
    return (
        isinstance(atom, Power)
        and isinstance(atom.base, int)
        and atom.base > 1
        and isinstance(atom.exponent, Size)
        and atom.exponent.symbol is symbol
    )


def _divisors(number: int) -> list[int]:
    small = [n for n in range(1, isqrt(number) + 1) if number % n == 0]
    return sorted({*small, *(number // n for n in small)})
