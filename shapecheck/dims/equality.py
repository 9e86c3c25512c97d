"""Equality of sizes under uncertainty: equal, different, or equal if something more holds."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import lcm, prod
from typing import Final, TypeAlias

from shapecheck.dims.algebra import (
    ONE,
    Atom,
    Extreme,
    FloorDiv,
    IntSize,
    Size,
    keeping,
    symbols_in,
    terms_of,
)
from shapecheck.dims.composites import is_name, symbols
from shapecheck.dims.division import exact_quotient, floordiv, never_zero
from shapecheck.dims.functions import substitute
from shapecheck.dims.origins import NamedAlike, StandIn
from shapecheck.dims.solving import (
    DIFFERENT,
    POSSIBLE,
    SAME,
    Relation,
    Verdict,
    judge,
    reduced_gap,
    solve,
    vanishes_by_default,
)
from shapecheck.dims.symbols import Kind, Sym, Untold, in_order

_CASES: Final = 256
_Choice: TypeAlias = tuple[Atom, IntSize] | None


def compare(a: IntSize, b: IntSize) -> Verdict:
    """Decide whether two sizes are equal; names never equal other names.

    A name may be equal to a number or to one of the program's own sizes, an unknown to anything.
    Sizes are taken to be at least 1, or 0 where nothing else solves an equation. Floor divisions
    by integers are decided by cases over remainders, others by supposing that they are exact.
    """
    if a is b:
        return SAME
    if isinstance(a, int) and isinstance(b, int):
        return SAME if a == b else DIFFERENT
    for left, right in ((a, b), (b, a)):
        if isinstance(left, Size) and (symbol := left.symbol) and symbol.kind is Kind.UNKNOWN:
            if isinstance(right, int) and _none_is(symbol, right):
                return DIFFERENT
            if isinstance(right, int) or (right.symbol is not None and right.symbol is not symbol):
                return Verdict(Relation.POSSIBLE, (symbol, right))
    return _compare(a, b)


def _none_is(symbol: Sym, number: int) -> bool:
    """Whether a symbol is one of several numbers, all of them others."""
    options = symbol.options
    return bool(options) and all(isinstance(one, int) and one != number for one in options)


@keeping(1 << 14)
def _compare(a: IntSize, b: IntSize) -> Verdict:
    if a == b:
        return SAME
    left, right = symbols(a), symbols(b)
    if any(symbol.kind is Kind.UNKNOWN for symbol in left | right):
        return _flexible(a, b)
    gap = a - b
    if isinstance(gap, int):
        return DIFFERENT if gap else SAME
    if (a == 0 or b == 0) and len(gap.terms) == 1:
        whole = b if a == 0 else a
        symbol = whole.symbol if isinstance(whole, Size) else None
        return POSSIBLE if symbol is None else solve(gap, symbol)
    verdict = compare_gap(gap)
    if verdict.relation is Relation.DIFFERENT:
        mine = gap.symbols()
        if any(isinstance(symbol.origin, NamedAlike) for symbol in mine):
            return _as_outside(gap)
        if all(symbol.kind is Kind.OWN for symbol in mine):
            # `t+<p>` and `t` are equal if <p> is 0; `2*<d>` and `<d>` never are, nor is an axis 0
            if len(gap.terms) == 1 and not mine <= left & right:
                return verdict if _is_product_of_axes(gap) else POSSIBLE
            if verdict.own and not (mine & left and mine & right):
                return POSSIBLE
    return verdict


def _as_outside(gap: Size) -> Verdict:
    """Decide a difference of names of which some may be what they are called further out."""
    for symbol in in_order(gap.symbols()):
        if not isinstance(symbol.origin, NamedAlike):
            continue
        outside = substitute(gap, {symbol: symbol.origin.outer})
        if outside == 0:
            return Verdict(Relation.POSSIBLE, (symbol, symbol.origin.outer))
        if isinstance(outside, Size):
            verdicts = compare_gap(outside), _as_outside(outside)
            if any(verdict.relation is not Relation.DIFFERENT for verdict in verdicts):
                return POSSIBLE
    return DIFFERENT


def _is_product_of_axes(gap: Size) -> bool:
    """Whether a difference is one product of axes of tensors, none of which is 0."""
    return len(gap.terms) == 1 and all(
        isinstance(atom, Sym) and isinstance(atom.origin, Untold) for atom in gap.atoms()
    )


def _flexible(a: IntSize, b: IntSize) -> Verdict:
    """Compare sizes of which at least one has an unknown in it."""
    for left, right in ((a, b), (b, a)):
        if isinstance(left, Size) and (symbol := left.symbol) and symbol.kind is Kind.UNKNOWN:
            if symbol not in symbols(right):
                return Verdict(Relation.POSSIBLE, (symbol, right))
    gap = a - b
    if isinstance(gap, int):
        return DIFFERENT if gap else SAME
    if _is_product_of_axes(gap):
        return DIFFERENT
    gap = reduced_gap(gap)[0]
    if isinstance(gap, int):
        return POSSIBLE
    flexible = {s for s in gap.symbols() if s.kind is Kind.UNKNOWN}
    if not flexible:
        return compare_gap(gap)
    if never_zero(gap):
        return DIFFERENT
    if len(flexible) == 1:
        (symbol,) = flexible
        verdict = solve(gap, symbol)
        if verdict.learn is None and verdict.relation is Relation.POSSIBLE:
            return Verdict(Relation.POSSIBLE, _alone(gap))
        return verdict
    axes = [s for s in gap.symbols() if isinstance(s.origin, Untold) and s.kind is Kind.OWN]
    if len(axes) == 1:  # `h*w` of which nothing is known says what an axis is
        verdict = solve(gap, axes[0])
        return verdict if verdict.learn is not None else POSSIBLE
    return POSSIBLE


def compare_gap(gap: IntSize) -> Verdict:
    """Decide whether a difference of two sizes is zero."""
    if isinstance(gap, int):
        return DIFFERENT if gap else SAME
    moving = {atom: None for atom in gap.atoms() if isinstance(atom, FloorDiv | Extreme)}
    if moving:
        return _by_cases(gap, sorted(moving, key=repr))
    return judge(gap)


# Floors, minima and maxima ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Case:
    """One case: the difference in it, and how to read an equation learned there.

    `residues`: what the remainder of each floor is. `shifts`: what stands for each symbol.
    `promise`: the case is not one that must be covered, but supposes that a floor is exact.
    """

    gap: IntSize
    residues: tuple[tuple[FloorDiv, int], ...]
    shifts: dict[Sym, tuple[Sym, int, int]]
    promise: tuple[Atom, IntSize] | None = None

    def translate(self, learn: tuple[Atom, IntSize] | None) -> tuple[Atom, IntSize] | None:
        """Return an equation learned in this case in terms of the symbols that were split."""
        if learn is None:
            return None
        stands_for = {s: (symbol, p, r) for symbol, (s, p, r) in self.shifts.items()}
        if any(symbol in stands_for for symbol in symbols(learn[1])):
            return None
        if not isinstance(learn[0], Sym) or learn[0] not in stands_for:
            return learn
        symbol, period, residue = stands_for[learn[0]]
        return symbol, period * learn[1] + residue


def _by_cases(gap: Size, moving: list[Atom]) -> Verdict:
    """Split a difference with floors, minima or maxima into cases and judge each."""
    if never_zero(gap) or _overshoots(gap):
        return DIFFERENT
    simpler = None if len(gap.symbols()) == 1 else _of_one_whole(gap)
    if simpler is not None and compare_gap(simpler).relation is Relation.DIFFERENT:
        return Verdict(Relation.DIFFERENT, own=any(s.kind is Kind.OWN for s in gap.symbols()))
    cases = _split(gap, moving)
    if cases is None:
        return POSSIBLE
    equal: list[_Case] = []
    open_: list[tuple[Atom, IntSize] | None] = []
    covered, own = True, False
    for case in cases:
        verdict = judge(case.gap) if isinstance(case.gap, Size) else compare_gap(case.gap)
        if verdict.relation is Relation.SAME:
            equal.append(case)
        elif verdict.relation is Relation.POSSIBLE:
            learn = case.translate(verdict.learn)
            if learn is not None and _refuted(gap, *learn):
                continue
            open_.append(learn)
        own = own or verdict.own
        covered = covered and (case.promise is not None or verdict.relation is Relation.SAME)
    if equal and covered:
        return SAME
    if not equal and vanishes_by_default(gap):
        return POSSIBLE
    if not equal and ONE not in gap.terms and all(learn and learn[1] == 1 for learn in open_):
        own = own or any(s.kind is Kind.OWN for s in gap.symbols())  # n+n//2 against n
        return Verdict(Relation.DIFFERENT, own=own)
    if not equal and not open_:
        return Verdict(Relation.DIFFERENT, own=own)
    return POSSIBLE if own else Verdict(Relation.POSSIBLE, _agreed(gap, equal, open_))


def _of_one_whole(gap: Size) -> IntSize | None:
    """Return a difference in which the only floor's numerator is one symbol, as `a*b` and its half.

    None where anything else is beside it.
    """
    floors = [atom for atom in gap.atoms() if isinstance(atom, FloorDiv)]
    if len(floors) != 1 or not isinstance(floors[0].den, int):
        return None
    (floor,) = floors
    times = terms_of(gap).get(frozenset(((floor, 1),)), 0)
    shift = terms_of(floor.num).get(ONE, 0)
    if not isinstance(times, int) or not isinstance(shift, int):
        return None
    whole, rest = floor.num - shift, gap - times * Size.of(floor)
    if not isinstance(whole, Size) or any(part < 0 for part in terms_of(whole).values()):
        return None
    first, once = next(iter(terms_of(whole).items()))
    share = Fraction(terms_of(rest).get(first, 0)) / once
    left = rest - int(share) * whole
    if share.denominator != 1 or not isinstance(left, int):
        return None
    one = Size.of(Sym("whole", Kind.OWN))
    return times * floordiv(one + shift, floor.den) + int(share) * one + left


def _overshoots(gap: Size) -> bool:
    """Whether a difference is `d` less `2*n*(d//n)` or more: that is above `d`, or nothing."""
    rest = reduced_gap(gap)[0]
    for floor in rest.atoms() if isinstance(rest, Size) else ():
        if not isinstance(floor, FloorDiv) or len(terms_of(floor.num)) != 1:
            continue
        ((whole, once),) = terms_of(floor.num).items()
        share = Fraction(terms_of(rest).get(whole, 0)) / once
        left = rest - int(share) * floor.num
        part = floor.den * Size.of(floor)
        times = Fraction(next(iter(terms_of(left).values()), 0)) / next(
            iter(terms_of(part).values())
        )
        exact = share.denominator == times.denominator == 1 and left == int(times) * part
        if exact and share * times < 0 and abs(times) >= 2 * abs(share):
            return True
    return False


def _refuted(gap: Size, atom: Atom, value: IntSize) -> bool:
    """Whether a solution found in one case lies outside of that case."""
    left = substitute(gap, {atom: value})
    return (isinstance(left, int) and left != 0) or (isinstance(value, int) and value < 0)


def _agreed(
    gap: Size, equal: list[_Case], open_: list[tuple[Atom, IntSize] | None]
) -> tuple[Atom, IntSize] | None:
    """Return the equation that holds in all cases in which the difference may be zero."""
    if not open_:
        promises = {case.promise for case in equal}
        if len(promises) == 1 and (promise := equal[0].promise) is not None:
            return promise
        if None in promises:
            for floor, residue in equal[0].residues:
                if all((floor, residue) in case.residues for case in equal):
                    exact = exact_quotient(floor.num - residue, floor.den)
                    assert exact is not None  # some sizes have this residue
                    return floor, exact
        return _bound_that_holds(gap)
    if not equal and len(set(open_)) == 1 and open_[0] is not None:
        return open_[0]
    return _alone(gap)


def _bound_that_holds(gap: Size) -> tuple[Atom, IntSize] | None:
    """Read `min(n,d) - d` as an equation for `min(n,d)`, of names alone."""
    found = [
        (atom, arg)
        for atom in gap.atoms()
        if isinstance(atom, Extreme) and all(map(is_name, atom.args))
        for arg in atom.args
        if substitute(gap, {atom: arg}) == 0
    ]
    return found[0] if len(found) == 1 else None


def _alone(gap: Size) -> tuple[Atom, IntSize] | None:
    """Read `h//2 - 7` as an equation for `h//2`."""
    floors = [atom for atom in gap.atoms() if isinstance(atom, FloorDiv)]
    if len(floors) != 1:
        return None
    floor = Size.of(floors[0])
    for value in (floor - gap, floor + gap):
        if not symbols_in(floors[0]) & symbols(value):
            return floors[0], value
    return None


def _split(gap: Size, moving: list[Atom]) -> list[_Case] | None:
    """Return the cases of a difference, or None where there are too many."""
    choices = _choices(moving)
    floors = _floors(moving, choices)
    period: dict[Sym, int] = {}
    for floor in floors:
        if isinstance(floor.den, int):
            _add_periods(floor, period)
    if prod(period.values()) * prod(map(len, choices)) > _CASES:
        return None
    symbols_ = sorted(period, key=lambda symbol: (symbol.name, symbol.serial))
    found: list[_Case] = []
    for remainders in itertools.product(*(range(period[s]) for s in symbols_)):
        shifts = {  # such that what stands in for a symbol is a size again, 1 or more
            s: (Sym(s.name, s.kind, StandIn(s)), period[s], (r or period[s]) - period[s])
            for s, r in zip(symbols_, remainders, strict=True)
        }
        values: dict[Atom, IntSize] = {s: p * Size.of(t) + r for s, (t, p, r) in shifts.items()}
        residues = tuple(_residues(floors, dict(zip(symbols_, remainders, strict=True))))
        for picks in itertools.product(*choices):
            picked = dict(choice for choice in picks if choice is not None)
            case = substitute(substitute(gap, picked), values)
            promise = next((c for c in picks if c and isinstance(c[0], FloorDiv)), None)
            found.append(_Case(case, residues, shifts, promise))
    return found


def _choices(moving: list[Atom]) -> list[list[_Choice]]:
    """Return what minima, maxima and floors by a symbolic divisor may be, None for itself."""
    choices: list[list[_Choice]] = []
    for atom in moving:
        if isinstance(atom, Extreme):
            choices.append([(atom, arg) for arg in sorted(atom.args, key=str)])
        elif isinstance(atom, FloorDiv) and not isinstance(atom.den, int):
            exact = exact_quotient(atom.num, atom.den)
            choices.append([None] if exact is None else [None, (atom, exact)])
    return choices


def _floors(moving: list[Atom], choices: list[list[_Choice]]) -> list[FloorDiv]:
    """Return the floors by integers, and all those in what others may be."""
    floors = [a for a in moving if isinstance(a, FloorDiv) and isinstance(a.den, int)]
    for choice in itertools.chain.from_iterable(choices):
        if choice is not None and isinstance(choice[1], Size):
            floors += [a for a in choice[1].atoms() if isinstance(a, FloorDiv) and a not in floors]
    return floors


def _add_periods(floor: FloorDiv, period: dict[Sym, int], outer: int = 1) -> None:
    """Note modulo what each symbol decides a floor, those nested in it included."""
    assert isinstance(floor.den, int)
    outer *= floor.den
    if isinstance(floor.num, Size):
        for atom in floor.num.atoms():
            if isinstance(atom, Sym):
                period[atom] = lcm(period.get(atom, 1), outer)
            elif isinstance(atom, FloorDiv) and isinstance(atom.den, int):
                _add_periods(atom, period, outer)


def _residues(
    floors: Iterable[FloorDiv], remainders: dict[Sym, int]
) -> Iterator[tuple[FloorDiv, int]]:
    values: dict[Atom, IntSize] = dict(remainders.items())
    for floor in floors:
        if isinstance(floor.den, int) and isinstance(floor.num, Size):
            if all(isinstance(atom, Sym) for atom in floor.num.atoms()):
                value = substitute(floor.num, values)
                if isinstance(value, int):
                    yield floor, value % floor.den
