"""Division of sizes: rounded down, as polynomials, and under the promise that it is exact."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import gcd, lcm
from typing import Final

from shapecheck.dims.algebra import (
    ONE,
    Coefficient,
    FloorDiv,
    IntSize,
    Monomial,
    Size,
    Terms,
    canonical,
    keeping,
    symbols_in,
    terms_of,
    times,
)
from shapecheck.dims.symbols import Sym


@keeping(1 << 14)
def floordiv(num: IntSize, den: IntSize) -> IntSize:
    """Return `floor(num / den)`; raises ZeroDivisionError for a zero divisor.

    What divides exactly is taken out of the floor, common factors are cancelled, constant shifts
    and nested divisions are folded: `(h-2)//2+1 == h//2` and `h//2//2 == h//4`.
    """
    if isinstance(den, int):
        if isinstance(num, int):
            return num // den
        if den == 0:
            raise ZeroDivisionError
        return _floordiv_int(num, den) if den > 0 else _floordiv_int(-num, -den)
    exact = divide(num, den)
    if exact is not None:
        return exact
    if len(den.terms) == 1:
        ((divisor, factor),) = den.terms.items()
        quotient: Terms = {}
        rest: Terms = {}
        for monomial, coefficient in terms_of(num).items():
            ratio = times(monomial, divisor, -1)
            if coefficient % factor == 0 and all(exponent > 0 for _, exponent in ratio):
                quotient[ratio] = coefficient // factor
            else:
                rest[monomial] = coefficient
        if quotient:
            return canonical(quotient) + floordiv(canonical(rest), den)
    if isinstance(num, Size) and isinstance(inner := num.atom, FloorDiv):
        if all(coefficient > 0 for coefficient in den.terms.values()):
            return floordiv(inner.num, inner.den * den)
    return _floor_of_reduced(num, den)


def _floor_of_reduced(num: IntSize, den: Size) -> IntSize:
    """Return the floor with the factors that all terms of both sides share cancelled."""
    every = [*terms_of(num).items(), *den.terms.items()]
    shared = dict(every[0][0])
    content = every[0][1]
    for monomial, coefficient in every:
        powers = dict(monomial)
        shared = {a: min(e, powers[a]) for a, e in shared.items() if powers.get(a, 0) > 0 and e > 0}
        content = _content(content, coefficient)
    if all(coefficient < 0 for coefficient in den.terms.values()):
        content = -content
    if content == 1 and not shared:
        return Size.of(FloorDiv(num, den))
    common = frozenset(shared.items())
    smaller = [
        canonical({times(m, common, -1): Fraction(c) / content for m, c in terms.items()})
        for terms in (terms_of(num), den.terms)
    ]
    return floordiv(*smaller)


def _content(a: Coefficient, b: Coefficient) -> Fraction:
    """Return the greatest rational of which both are integer multiples."""
    x, y = Fraction(a), Fraction(b)
    return Fraction(gcd(x.numerator, y.numerator), lcm(x.denominator, y.denominator))


def _floordiv_int(num: Size, den: int) -> IntSize:
    fraction = lcm(*(c.denominator for c in num.terms.values()))
    quotient: Terms = {}
    rest: Terms = {}
    den *= fraction
    for monomial, coefficient in num.terms.items():
        quotient[monomial], left = divmod(int(coefficient * fraction), den)
        if left:
            rest[monomial] = left
    whole = canonical(quotient)
    constant = int(rest.pop(ONE, 0))
    if not rest:
        return whole
    shared = gcd(den, *(int(coefficient) for coefficient in rest.values()))
    den //= shared
    constant //= shared
    core = canonical({m: int(c) // shared for m, c in rest.items()})
    assert isinstance(core, Size)
    inner = _as_floor(core)
    if inner is not None:
        return whole + floordiv(inner[0] + constant * inner[1], inner[1] * den)
    return whole + Size.of(FloorDiv(core + constant, den))


def _as_floor(core: Size) -> tuple[IntSize, IntSize] | None:
    """Return what is divided by what in `h//2`, and in `2*h+h//2`, which is `5*h//2`."""
    floors = [atom for atom in core.atoms() if isinstance(atom, FloorDiv)]
    if len(floors) != 1:
        return None
    (floor,) = floors
    rest = core - Size.of(floor)
    if rest == 0:
        return floor.num, floor.den
    if isinstance(rest, int) or not isinstance(floor.den, int) or floor in {*rest.atoms()}:
        return None
    if not rest.symbols() <= symbols_in(floor):
        return None
    return rest * floor.den + floor.num, floor.den


def divide(num: IntSize, den: IntSize) -> IntSize | None:
    """Return the polynomial quotient if `den` divides `num` as a polynomial, else None."""
    if isinstance(den, int):
        if den == 0:
            return None
        terms = terms_of(num)
        if any(not isinstance(c, int) or c % den for c in terms.values()):
            return None
        return canonical({m: int(c) // den for m, c in terms.items()})
    if num == 0:
        return 0
    if isinstance(num, int):
        return None
    if len(den.terms) == 1:
        return _divide_by_term(num, den)
    order = list(dict.fromkeys((*num.atoms(), *den.atoms())))

    @cache
    def rank(monomial: Monomial) -> tuple[int, ...]:
        powers = dict(monomial)
        return (sum(powers.values()), *(powers.get(atom, 0) for atom in order))

    lead = max(den.terms, key=rank)
    quotient: Terms = {}
    rest: IntSize = num
    for _ in range(max(64, 4 * len(num.terms))):
        if rest == 0:
            return canonical(quotient)
        top = max(terms_of(rest), key=rank)
        ratio = times(top, lead, -1)
        divisor_powers = dict(lead)
        if any(exponent < 0 and atom in divisor_powers for atom, exponent in ratio):
            return None
        factor = Fraction(terms_of(rest)[top]) / Fraction(den.terms[lead])
        if factor.denominator != 1:
            return None
        step = canonical({ratio: factor.numerator})
        quotient[ratio] = quotient.get(ratio, 0) + factor.numerator
        rest = rest - step * den
    return None


def _divide_by_term(num: Size, den: Size) -> IntSize | None:
    ((divisor, factor),) = den.terms.items()
    quotient: Terms = {}
    for monomial, coefficient in num.terms.items():
        ratio = times(monomial, divisor, -1)
        left = coefficient % factor
        if left or any(pair[1] < 0 and pair not in monomial for pair in ratio):
            return None
        quotient[ratio] = coefficient // factor
    return canonical(quotient)


def never_zero(gap: Size) -> bool:
    """Whether no integers make a difference zero, as with `2*a+4*b-7`."""
    constant = Fraction(gap.terms.get(ONE, 0))
    if not constant or any(exponent < 0 for m in gap.terms for _, exponent in m):
        return False
    scale = lcm(*(c.denominator for c in gap.terms.values()))
    shared = gcd(*(int(c * scale) for m, c in gap.terms.items() if m))
    return shared != 0 and int(constant * scale) % shared != 0


_QUOTIENT: Final = Size.of(Sym.fresh("quotient"))


def indivisible(num: IntSize, den: IntSize) -> bool:
    """Whether no sizes make `den` a divisor of `num`, as with 7 and 2, or `2*n+1` and `4*k`.

    False for a divisor of 0, which is for others to refuse.
    """
    if isinstance(den, int) and den == 0:
        return False
    if isinstance(num, int) and isinstance(den, int):
        return num % den != 0
    gap = num - den * _QUOTIENT
    return isinstance(gap, Size) and never_zero(gap)


def exact_quotient(num: IntSize, den: IntSize) -> IntSize | None:
    """Return `num / den` under the promise that it is an integer, as `c * h**-1` if need be.

    None where the divisor is a sum and doesn't divide as a polynomial, or the promise can't hold.
    """
    found = divide(num, den)
    if found is not None or indivisible(num, den):
        return found
    return promised_quotient(num, den)


def promised_quotient(num: IntSize, den: IntSize) -> IntSize | None:
    """Return `exact_quotient`, that of `2*n+1` and 2 included, in a case that can't be.

    None for numbers of which one doesn't divide the other.
    """
    if isinstance(den, int) and den == 0:
        return None
    found = divide(num, den)
    if found is not None:
        return found
    if len(terms_of(den)) != 1:
        return None
    ((divisor, factor),) = terms_of(den).items()
    size = canonical(
        {times(m, divisor, -1): Fraction(c) / Fraction(factor) for m, c in terms_of(num).items()}
    )
    return None if isinstance(size, Size) and set(size.terms) == {ONE} else size
