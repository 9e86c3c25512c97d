"""Sizes as polynomials in canonical form.

A size is an `int` or a `Size`: a polynomial with rational coefficients over *atoms*, which are
symbols (`b`, `<d_model>`), floor divisions, powers, minima and maxima. Two sizes that are equal as
polynomials are equal as Python objects.

Every operation ends: a sum of too many terms, an atom made of too many others and a number that is
too long give a new unknown, of which nothing is said.

An exact quotient, `c//h` where `h` is known to divide `c`, is the monomial `c * h**-1`, so that
`h * (c//h)` is `c` again without a rewrite rule.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, TypeAlias, TypeVar, cast

from shapecheck.dims.symbols import Sym


@dataclass(slots=True, eq=False, repr=False)
class Made:
    """An atom that is made of sizes; never changed. What is asked of it often is kept with it.

    `sizes` are those that it is made of.
    """

    sizes: Collection[IntSize] = field(default=(), init=False)
    _key: tuple[Any, ...] = field(default=(), init=False)
    _hash: int = field(default=0, init=False)
    _count: int = field(default=0, init=False)
    _symbols: frozenset[Sym] | None = field(default=None, init=False)

    def _keep(self, sizes: Collection[IntSize], *key: Any) -> None:
        """Keep the sizes, and what it is made by, which tells it from others of its kind."""
        self.sizes, self._key, self._hash = sizes, key, hash(key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Made):
            return False
        return self is other or (type(self) is type(other) and self._key == other._key)

    def __reduce__(self) -> tuple[type[Made], tuple[Any, ...]]:
        return type(self), self._key

    def __repr__(self) -> str:
        return OPERATIONS.atom_text(self)

    def count(self) -> int:
        """Return of how many symbols and numbers it is made."""
        if not self._count:
            inside = [part.parts() if isinstance(part, Size) else 1 for part in self.sizes]
            self._count = _NESTING + sum(inside)
        return self._count

    def symbols(self) -> frozenset[Sym]:
        """Return the symbols that it is made of."""
        if self._symbols is None:
            inside = [part.symbols() for part in self.sizes if isinstance(part, Size)]
            self._symbols = frozenset[Sym]().union(*inside)
        return self._symbols


@dataclass(slots=True, eq=False, repr=False)
class FloorDiv(Made):
    """The atom `floor(num / den)`, where it doesn't simplify."""

    num: IntSize
    den: IntSize

    def __post_init__(self) -> None:
        self._keep((self.num, self.den), self.num, self.den)


@dataclass(slots=True, eq=False, repr=False)
class Power(Made):
    """The atom `base ** exponent` with a symbolic exponent, or a sum to a high power."""

    base: IntSize
    exponent: IntSize

    def __post_init__(self) -> None:
        self._keep((self.base, self.exponent), self.base, self.exponent)


@dataclass(slots=True, eq=False, repr=False)
class Extreme(Made):
    """The atom `min(...)` or `max(...)`."""

    function: str
    args: frozenset[IntSize]

    def __post_init__(self) -> None:
        self._keep(self.args, self.function, self.args)


Atom: TypeAlias = Sym | FloorDiv | Power | Extreme
Monomial: TypeAlias = frozenset[tuple[Atom, int]]
Coefficient: TypeAlias = int | Fraction
Terms: TypeAlias = dict[Monomial, Coefficient]

ONE: Monomial = frozenset()
MOST_TERMS: Final = 1 << 8
"""As many terms a sum may have."""
_MOST_PAIRS: Final = 1 << 12
"""As many terms are multiplied with each other."""
MOST_PARTS: Final = 1 << 8
"""Of as many symbols and numbers a floor division, a power, a minimum or a maximum is made."""
_NESTING: Final = 4
"""As much counts each of them by itself, so that they don't nest too deeply to be printed."""
MOST_BITS: Final = 1 << 9
"""As long are the numbers that are worked out."""
_LARGEST: Final = 1 << MOST_BITS


_forget_kept: Final[list[Callable[[], None]]] = []
_Answering = TypeVar("_Answering", bound=Callable[..., Any])


def keeping(most: int) -> Callable[[_Answering], _Answering]:
    """Have a function of sizes keep its last answers, until `forget`."""

    def kept(function: _Answering) -> _Answering:
        known = lru_cache(maxsize=most)(function)
        _forget_kept.append(known.cache_clear)
        return cast("_Answering", known)

    return kept


@keeping(1 << 12)
def _of_symbol(symbol: Sym) -> Size:
    """Return the size that is just a symbol; kept here, since what a symbol keeps keeps itself."""
    size = _new({frozenset(((symbol, 1),)): 1})
    size.symbol = symbol
    return size


def forget() -> None:
    """Forget what is kept by sizes, and with them all that their symbols come from."""
    for forget_kept in _forget_kept:
        forget_kept()


@keeping(1 << 16)
def times(a: Monomial, b: Monomial, sign: int = 1) -> Monomial:
    """Return the product of two monomials, or with sign -1 their quotient."""
    powers = dict(a)
    for atom, exponent in b:
        total = powers.get(atom, 0) + sign * exponent
        if total:
            powers[atom] = total
        else:
            powers.pop(atom, None)
    return frozenset(powers.items())


class Size:
    """A symbolic size that is no plain integer; immutable, hashable, in canonical form.

    Arithmetic with `+ - * // % **` mixes freely with `int` and gives an `int` where it can.
    `layout` is what stands one behind the other in an axis of this size, where dimension objects
    say it (see `joined`): an order of which arithmetic knows nothing.
    """

    __slots__ = ("_hash", "_parts", "_symbols", "layout", "symbol", "terms")

    terms: Terms
    _hash: int | None
    _parts: int | None
    _symbols: frozenset[Sym] | None
    symbol: Sym | None
    """The symbol, if this size is just one symbol."""
    layout: tuple[IntSize, ...]

    def __init__(self, terms: Terms, layout: tuple[IntSize, ...] = ()) -> None:
        self.terms = terms
        self.layout = layout
        self._hash = None
        self._parts = None
        self._symbols = None
        self.symbol = None

    @staticmethod
    def of(atom: Atom) -> Size:
        """Return the size that is just this atom; of a symbol, mostly the same object each time."""
        if isinstance(atom, Sym):
            return _of_symbol(atom)
        if _count_parts(atom) > MOST_PARTS:
            return Size.of(Sym.fresh())
        return _new({frozenset(((atom, 1),)): 1})

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Size):
            return False
        return self.terms == other.terms and self.layout == other.layout

    def __add__(self, other: IntSize) -> IntSize:
        if isinstance(other, int):
            if not other:
                return self
            terms = self.terms.copy()
            terms[ONE] = terms.get(ONE, 0) + other
            return canonical(terms)
        if not isinstance(other, Size):
            return NotImplemented
        terms = self.terms.copy()
        for monomial, coefficient in other.terms.items():
            terms[monomial] = terms.get(monomial, 0) + coefficient
        return canonical(terms)

    def __radd__(self, other: int) -> IntSize:
        return self + other

    def __sub__(self, other: IntSize) -> IntSize:
        if isinstance(other, int):
            return self + -other
        if not isinstance(other, Size):
            return NotImplemented
        terms = self.terms.copy()
        for monomial, coefficient in other.terms.items():
            terms[monomial] = terms.get(monomial, 0) - coefficient
        return canonical(terms)

    def __rsub__(self, other: int) -> IntSize:
        return -self + other

    def __neg__(self) -> Size:
        return _new({monomial: -coefficient for monomial, coefficient in self.terms.items()})

    def __mul__(self, other: IntSize) -> IntSize:
        if isinstance(other, int):
            if other == 1:
                return self
            return bounded({m: c * other for m, c in self.terms.items()})
        if not isinstance(other, Size):
            return NotImplemented
        if len(self.terms) * len(other.terms) > _MOST_PAIRS:
            return Size.of(Sym.fresh())
        terms: Terms = {}
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                monomial = times(left, right)
                terms[monomial] = terms.get(monomial, 0) + a * b
        return bounded(terms)

    def __rmul__(self, other: int) -> IntSize:
        return self * other

    def __floordiv__(self, other: IntSize) -> IntSize:
        if not isinstance(other, (int, Size)):
            return NotImplemented
        return OPERATIONS.floordiv(self, other)

    def __rfloordiv__(self, other: int) -> IntSize:
        return OPERATIONS.floordiv(other, self) if isinstance(other, int) else NotImplemented

    def __mod__(self, other: IntSize) -> IntSize:
        if not isinstance(other, (int, Size)):
            return NotImplemented
        return self - self // other * other

    def __rmod__(self, other: int) -> IntSize:
        return other - other // self * self if isinstance(other, int) else NotImplemented

    def __pow__(self, other: IntSize) -> IntSize:
        return OPERATIONS.power(self, other) if isinstance(other, (int, Size)) else NotImplemented

    def __rpow__(self, other: int) -> IntSize:
        return OPERATIONS.power(other, self) if isinstance(other, int) else NotImplemented

    def __bool__(self) -> bool:
        return True

    def __reduce__(self) -> tuple[Callable[..., IntSize], tuple[object, ...]]:
        return (joined, (self.layout,)) if self.layout else (canonical, (self.terms,))

    def __copy__(self) -> Size:
        return self

    def __deepcopy__(self, memo: object) -> Size:
        return self

    def __repr__(self) -> str:
        return OPERATIONS.text(self)

    @property
    def atom(self) -> Atom | None:
        """The atom, if this size is just one atom."""
        if len(self.terms) == 1:
            ((monomial, coefficient),) = self.terms.items()
            if coefficient == 1 and len(monomial) == 1:
                ((atom, exponent),) = monomial
                if exponent == 1:
                    return atom
        return None

    def atoms(self) -> Iterator[Atom]:
        """Yield the atoms of the polynomial, each once for each monomial it is in."""
        for monomial in self.terms:
            for atom, _ in monomial:
                yield atom

    def parts(self) -> int:
        """Return of how many symbols and numbers the size is made, those inside of atoms too."""
        if self._parts is None:
            self._parts = len(self.terms) + sum(map(_count_parts, self.atoms()))
        return self._parts

    def symbols(self) -> frozenset[Sym]:
        """Return all symbols, those inside of other atoms included."""
        if self._symbols is None:
            found: set[Sym] = set()
            for monomial in self.terms:
                for atom, _ in monomial:
                    if isinstance(atom, Sym):
                        found.add(atom)
                    else:
                        found |= atom.symbols()
            self._symbols = frozenset(found)
        return self._symbols


IntSize: TypeAlias = int | Size


class Operations:
    """What sizes and atoms do by functions that are themselves written with sizes.

    They stand in modules above this one. The package, which is imported first whichever of its
    modules is asked for, hands them in.
    """

    __slots__ = ("atom_text", "floordiv", "power", "text")

    floordiv: Callable[[IntSize, IntSize], IntSize]
    power: Callable[[IntSize, IntSize], IntSize]
    text: Callable[[Size], str]
    atom_text: Callable[[Made], str]


OPERATIONS: Final = Operations()


def _new(terms: Terms) -> Size:
    return Size(terms)


def joined(parts: Iterable[IntSize]) -> IntSize:
    """Return the size of what stands one behind the other, which remembers the order of objects.

    Names have no order in a sum: `a+b` is `b+a`, as in any formula for sizes.
    """
    layout: list[IntSize] = []
    total: IntSize = 0
    for part in parts:
        total = total + part
        for one in part.layout if isinstance(part, Size) and part.layout else (part,):
            if layout and isinstance(one, int) and isinstance(layout[-1], int):
                layout[-1] = layout[-1] + one
            elif one != 0:
                layout.append(one)
    if not isinstance(total, Size) or total.symbol is not None or len(layout) < 2:
        return total
    if any(symbol.origin.of_object is None for symbol in total.symbols()):
        return total
    return Size(total.terms, tuple(layout))


MOST_COPIES: Final = 16
"""So many at most are spelled out: `2*(a+b)` is `a+b+a+b`."""


def copies(size: IntSize, count: IntSize) -> IntSize:
    """Return the size of a dimension that stands behind itself a number of times."""
    if isinstance(count, int) and 0 < count <= MOST_COPIES:
        return joined([size] * count)
    return size * count


def canonical(terms: Terms) -> IntSize:
    """Return the size with these terms, which must be no one else's: they are cleaned in place."""
    for coefficient in terms.values():
        if type(coefficient) is not int or not coefficient:
            _clean(terms)
            break
    if not terms:
        return 0
    if len(terms) > MOST_TERMS:
        return Size.of(Sym.fresh())
    if len(terms) == 1:
        ((monomial, coefficient),) = terms.items()
        if not monomial and type(coefficient) is int:
            return coefficient
        if coefficient == 1 and len(monomial) == 1:
            ((atom, exponent),) = monomial
            if exponent == 1:
                return Size.of(atom)
    return _new(terms)


def _clean(terms: Terms) -> None:
    """Leave out the terms that are nothing, and write whole numbers as such."""
    for monomial, coefficient in list(terms.items()):
        if not coefficient:
            del terms[monomial]
        elif type(coefficient) is not int and coefficient.denominator == 1:
            terms[monomial] = int(coefficient)


def bounded(terms: Terms) -> IntSize:
    """Return the size with these terms, an unknown one where a number in them is too long."""
    for coefficient in terms.values():
        if not -_LARGEST < coefficient < _LARGEST:
            return Size.of(Sym.fresh())
    return canonical(terms)


def measured(size: IntSize) -> IntSize:
    """Return a size, or an unknown one in the place of a number that is too long."""
    if isinstance(size, int) and not -_LARGEST < size < _LARGEST:
        return Size.of(Sym.fresh())
    return size


def product(sizes: Iterable[IntSize]) -> IntSize:
    """Return the product of sizes, 1 of none."""
    total: IntSize = 1
    for size in sizes:
        total = measured(total * size)
    return total


def terms_of(size: IntSize) -> Terms:
    """Return the terms of a size, those of an integer included; not to be changed."""
    return {ONE: size} if isinstance(size, int) else size.terms


def atoms_of(size: IntSize) -> Iterable[Atom]:
    """Return the atoms of a size, of which a number has none."""
    return () if isinstance(size, int) else size.atoms()


def parts_of(atom: Atom) -> Iterable[IntSize]:
    """Return the sizes that an atom is made of; of a symbol, none."""
    return atom.sizes if isinstance(atom, Made) else ()


def _count_parts(atom: Atom) -> int:
    """Return of how many symbols and numbers an atom is made."""
    return 1 if isinstance(atom, Sym) else atom.count()


def symbols_in(atom: Atom) -> frozenset[Sym]:
    """Return the symbols that an atom is made of."""
    return frozenset((atom,)) if isinstance(atom, Sym) else atom.symbols()


def concerned(atoms: Iterable[Atom]) -> frozenset[Sym]:
    """Return the symbols in atoms, and those of which these say something: of a length its run."""
    found = frozenset[Sym]()
    more = found.union(*map(symbols_in, atoms))
    while more:
        found |= more
        more = frozenset(symbol for one in more for symbol in one.origin.symbols) - found
    return found
