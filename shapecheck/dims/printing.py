"""Sizes as people write them: `h-1`, `2*h`, `(h+1)//2`, `-(-h//4)`, `c//h`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from shapecheck.dims.algebra import (
    ONE,
    Atom,
    Coefficient,
    Extreme,
    FloorDiv,
    IntSize,
    Made,
    Monomial,
    Power,
    Size,
    Terms,
    canonical,
    keeping,
    terms_of,
)
from shapecheck.dims.symbols import Sym

_SUM, _PRODUCT, _UNARY, _POWER, _ATOM = range(5)  # how tightly a text binds


@dataclass(frozen=True, slots=True)
class _Piece:
    """One summand without its sign, and what decides where it stands in the sum."""

    text: str
    binds: int
    negative: bool
    degree: int
    plain: bool

    @property
    def place(self) -> tuple[bool, int, bool, str]:
        return (self.negative, -self.degree, not self.plain, self.text)


def render(size: Size) -> str:
    """Return the text of a size; where it has only names in it, `spec.parse` reads it again.

    What canonical form took out of a floor is put back where that is no longer:
    `2*d+2*d//3` is written `8*d//3`, `h-3*h//4` as the ceiling `-(-h//4)`, `h-2*(h//2)` as `h%2`.
    """
    symbol = size.symbol
    return _written(size)[0] if symbol is None else repr(symbol)  # which may get a name later on


def render_atom(atom: Made) -> str:
    """Return the text of an atom by itself."""
    return _atom(atom)[0]


def _text(size: IntSize) -> tuple[str, int]:
    """Return the text of a size and how tightly it binds."""
    if isinstance(size, int):
        return str(size), _ATOM if size >= 0 else _UNARY
    return _written(size) if size.symbol is None else (repr(size.symbol), _ATOM)


def _written(size: Size) -> tuple[str, int]:
    """Return the text of a sum, which is another one once an unknown in it has got a name."""
    if size.layout:
        return _in_order(size.layout), _SUM
    return _sum_text(size, frozenset(one for one in size.symbols() if one.is_anonymous))


def _in_order(layout: Sequence[IntSize]) -> str:
    """Return what stands one behind the other, of what is alike how many there are."""
    rows = [(part, len([*alike])) for part, alike in groupby(layout)]
    texts = [_text(part if count == 1 else part * count)[0] for part, count in rows]
    return "+".join(texts)


@keeping(1 << 12)
def _sum_text(size: Size, nameless: frozenset[Sym]) -> tuple[str, int]:
    """Return the text of a sum in which these unknowns have no name as yet.

    It is kept, since a floor is written in several ways to choose one, and those in it each time.
    """
    terms: Terms = size.terms
    folded: list[_Piece] = []
    best = _join(terms, folded)
    while True:
        tried = [(_join(rest, [*folded, piece]), rest, piece) for rest, piece in _folds(terms)]
        if not tried:
            return best
        text, rest, piece = min(tried, key=lambda trial: (len(trial[0][0]), trial[0][0]))
        if len(text[0]) > len(best[0]):
            return best
        best, terms, folded = text, rest, [*folded, piece]


def _join(terms: Terms, folded: list[_Piece]) -> tuple[str, int]:
    pieces = [
        *folded,
        *(_piece(monomial, c) for monomial, c in terms.items() if monomial),
    ]
    pieces.sort(key=lambda piece: piece.place)
    if constant := terms.get(ONE):
        last = _piece(ONE, constant)
        first = bool(pieces) and pieces[0].negative and not last.negative
        pieces.insert(0 if first else len(pieces), last)
    head = pieces[0]
    text, binds = head.text, head.binds
    if head.negative:
        text = "-" + (f"({text})" if _rounds(text) else text)
        binds = min(binds, _UNARY)
    if len(pieces) == 1:
        return text, binds
    return text + "".join("+-"[piece.negative] + piece.text for piece in pieces[1:]), _SUM


def _rounds(text: str) -> bool:
    """Whether a text has a division outside of parentheses, before which a sign would change it."""
    depth = 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if not depth and char in "/%":
            return True
    return False


def _folds(terms: Terms) -> Iterator[tuple[Terms, _Piece]]:
    """Yield ways to put a part of a sum back into a floor in it: what is left, and the floor."""
    for monomial, factor in terms.items():
        if len(monomial) != 1 or not isinstance(factor, int):
            continue
        ((atom, exponent),) = monomial
        if exponent != 1 or not isinstance(atom, FloorDiv) or not isinstance(atom.den, int):
            continue
        left = {m: c for m, c in terms.items() if m != monomial}
        if found := _as_remainder(atom, atom.den, factor, left):
            yield found
        inside = {m for m in terms_of(atom.num) if m and m in left and left[m] % factor == 0}
        choices = [inside] if inside else []
        if ONE in left and left[ONE] % factor == 0:
            choices.append({*inside, ONE})
        for moved in choices:
            num = dict(terms_of(atom.num))
            for m in moved:
                num[m] = num.get(m, 0) + atom.den * (left[m] // factor)
            rest = {m: c for m, c in left.items() if m not in moved}
            yield rest, _floor_piece(canonical(num), "//", atom.den, factor)


def _as_remainder(
    floor: FloorDiv, den: int, factor: int, left: Terms
) -> tuple[Terms, _Piece] | None:
    """Read `k*num - k*den*(num//den)` as `k*(num%den)`."""
    inside = terms_of(floor.num)
    if factor % den or any(2 * c > den for c in inside.values()):
        return None
    times = -factor // den
    rest = dict(left)
    for monomial, coefficient in inside.items():
        if monomial and monomial not in left:
            return None
        rest[monomial] = left.get(monomial, 0) - times * coefficient
    kept = {monomial: coefficient for monomial, coefficient in rest.items() if coefficient}
    return kept, _floor_piece(floor.num, "%", den, times)


def _floor_piece(num: IntSize, op: str, den: int, factor: int) -> _Piece:
    above = _wrapped(num, _PRODUCT)
    text = f"{above}{op}{den}"
    if abs(factor) != 1:
        text = f"{abs(factor)}*({text})"
    return _Piece(text, _PRODUCT, factor < 0, 1, plain=False)


def _piece(monomial: Monomial, coefficient: Coefficient) -> _Piece:
    text, binds = _term(monomial, abs(Fraction(coefficient)))
    degree = sum(exponent for _, exponent in monomial)
    plain = all(isinstance(atom, Sym) for atom, _ in monomial)
    return _Piece(text, binds, coefficient < 0, degree, plain)


def _term(monomial: Monomial, coefficient: Fraction) -> tuple[str, int]:
    above: list[str] = []
    below: list[str] = []
    if coefficient.numerator != 1:
        above.append(str(coefficient.numerator))
    if coefficient.denominator != 1:
        below.append(str(coefficient.denominator))
    lone = len(monomial) == 1 and coefficient == 1
    binds = _ATOM
    factors = sorted((not isinstance(atom, Sym), *_atom(atom), e) for atom, e in monomial)
    for _, text, binds, exponent in factors:
        if abs(exponent) != 1:
            text = f"{text if binds == _ATOM else f'({text})'}**{abs(exponent)}"
            binds = _POWER
        elif not (lone and exponent == 1) and binds <= _PRODUCT:
            text = f"({text})"
        (above if exponent > 0 else below).append(text)
    if not below:
        return "*".join(above) or "1", binds if len(above) == 1 else _PRODUCT
    bottom = "*".join(below)
    return (
        f"{'*'.join(above) or '1'}//{bottom if len(below) == 1 else f'({bottom})'}",
        _PRODUCT,
    )


def _atom(atom: Atom | Made) -> tuple[str, int]:
    match atom:
        case FloorDiv(num, den):
            return f"{_wrapped(num, _PRODUCT)}//{_wrapped(den, _UNARY)}", _PRODUCT
        case Power(base, exponent):
            return f"{_wrapped(base, _ATOM)}**{_wrapped(exponent, _UNARY)}", _POWER
        case Extreme(function, args):
            ordered = sorted(args, key=lambda arg: (isinstance(arg, int), str(arg)))
            return f"{function}({','.join(map(str, ordered))})", _ATOM
        case _:
            return repr(atom), _ATOM


def _wrapped(size: IntSize, binds: int) -> str:
    text, own = _text(size)
    return text if own >= binds else f"({text})"
