"""What is said of every two of many sizes, line by line in files beside this one.

The laws that it must keep are in `test_dims.py`; here nothing of it changes unseen.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import expected
import pytest

from shapecheck.dims import (
    HERE,
    IntSize,
    Kind,
    Size,
    Sym,
    Untold,
    Verdict,
    as_exact,
    compare,
    divide,
    exact_quotient,
    extreme,
    floordiv,
    name,
    nonnegative,
    own,
    part,
    power,
    solve,
    substitute,
    unknown,
    whole,
)
from shapecheck.dims.origins import (
    Default,
    Each,
    ElementsOf,
    LengthOf,
    NamedAlike,
    OfAnotherSize,
    OfInstance,
    OfKind,
    OfObject,
    Padded,
    PartOf,
    StandIn,
    spanning,
)

FOLDER = Path(__file__).parent

a, b, h, n = map(name, "abhn")
d, f = own("d"), own("f")
heads, width = (own(text, OfInstance("self")) for text in ("heads", "width"))
others = own("others", OfInstance("other"))
four, five = (own(text, Default(HERE, size)) for text, size in (("four", 4), ("five", 5)))
rows, columns = (Size.of(Sym(text, Kind.OWN, Untold("x"))) for text in ("rows", "columns"))
inner = name("inner", NamedAlike(a))
ten = Size.of(Sym("ten", size=10))
quarter = part(Sym("d", Kind.OWN), 4)
u, v = unknown("u"), unknown("v")
some = Size.of(Sym.one_of("3|a", (3, a)))
few = Size.of(Sym.one_of("3|4", (3, 4)))


def exactly(num: IntSize, den: IntSize) -> IntSize:
    found = exact_quotient(num, den)
    assert found is not None
    return found


NAMES: list[IntSize] = [
    *(0, 1, 3, 6, a, b, a + 1, a - 3, 2 * a, 2 * a + 1, 6 * a, a + b, a - b, 2 * a + 4 * b),
    *(a * b, a * b + b, 2 * a * b, a * b - a, a**2, a**2 - b**2, a**2 * b, (a + b) ** 2),
    *(a // 2, (a + 1) // 2, 2 * (a // 2), -(-a // 4), a // 2 + a // 3, a % 2, a // b, b * (a // b)),
    *(
        (a + b) // 2,
        a * b // 2,
        (a // 2 + 1) // 3,
        exactly(h, a),
        exactly(3 * a, 2),
        exactly(h, a * b),
    ),
    *(2**n, 2 ** (n + 1), 2**n + 1, (a + b) ** n, a**n, power(a + b, 12)),
    *(
        extreme("min", [a, b]),
        extreme("max", [a, 3]),
        extreme("min", [a, 3]) - 1,
        a - extreme("min", [a, b]),
    ),
]
"""Made of names."""

OWN: list[IntSize] = [
    *(
        1,
        7,
        a,
        a * b,
        a // 2,
        d,
        f,
        d + 1,
        2 * d,
        d + f,
        d * f,
        d * f // 2,
        d // 2,
        d // f,
        f * (d // f),
        -(-d // 2),
    ),
    *(a + d, a * d, a // d, exactly(a, d), exactly(d, f), (a + d) // 2, (a - d) // f + 1),
    *(
        heads,
        width,
        heads * width,
        exactly(h, heads),
        2 * heads,
        others,
        others * heads,
        four,
        five,
        2 * four,
    ),
    *(rows, columns, rows * columns, rows**2, rows + columns, quarter, 2 * quarter, 4 * quarter),
    *(extreme("min", [d, f]), extreme("max", [d, a])),
]
"""With sizes of the program's own in them."""

OPEN: list[IntSize] = [
    *(
        1,
        7,
        a,
        b,
        a + b,
        a * b,
        a // 2,
        d,
        d * f,
        inner,
        inner + 1,
        inner * b,
        inner // 2,
        ten,
        ten + a,
        ten * b,
    ),
    *(
        u,
        u + 1,
        2 * u,
        2 * u + 1,
        u * a,
        u * v,
        u + v,
        u // 2,
        2 * (u // 2),
        u * d,
        u**2,
        exactly(u, 2),
    ),
    *(some, few, few + 1, few * a, extreme("min", [u, a]), rows, rows * u),
]
"""With unknowns, names of inner functions and promised sizes in them."""

GROUPS: Mapping[str, list[IntSize]] = {"names": NAMES, "own": OWN, "open": OPEN}


DIVISORS: Mapping[str, list[IntSize]] = {
    "names": [-2, 6, a, -2 * a, a * b, a + b, -a - 1, 2 * a + 1, a**2 * b, a // 2, exactly(h, a)],
    "own": [2, a, d, 2 * d, d * f, d // 2, heads, rows, quarter],
    "open": [2, u, 2 * a, inner, ten],
}


def told(verdict: Verdict) -> str:
    """Return a verdict in words."""
    learn = ""
    if verdict.learn is not None:
        learn = f", {Size.of(verdict.learn[0])} is {verdict.learn[1]}"
    return verdict.relation.name.lower() + (" as own sizes" if verdict.own else "") + learn


@pytest.mark.parametrize("group", GROUPS)
def test_which_sizes_are_equal(group: str, request: pytest.FixtureRequest) -> None:
    """Told of both orders where that isn't the same."""
    said: dict[str, str] = {}
    for left, right in itertools.combinations(GROUPS[group], 2):
        found, back = told(compare(left, right)), told(compare(right, left))
        said[f"{left} == {right}"] = found if found == back else f"{found}; {back}"
    expected.check(FOLDER / f"equal_{group}.txt", said, request)


def quotients(left: IntSize, right: IntSize) -> Iterator[str]:
    """Yield what is known of a quotient."""
    try:
        down = floordiv(left, right)
    except ZeroDivisionError:
        yield "by zero"
        return
    yield str(down)
    if divide(left, right) is not None:
        yield "exactly" if divide(left, right) == down else f"exactly {divide(left, right)}"
    elif (promised := exact_quotient(left, right)) is not None:
        yield f"promised {promised}"


@pytest.mark.parametrize("group", GROUPS)
def test_quotients(group: str, request: pytest.FixtureRequest) -> None:
    """Rounded down, exactly, and as they are promised to be."""
    pairs = itertools.product(GROUPS[group], DIVISORS[group])
    said = {f"({x}) // ({y})": ", ".join(quotients(x, y)) for x, y in pairs}
    expected.check(FOLDER / f"quotients_{group}.txt", said, request)


def facts_of(size: IntSize) -> Iterator[str]:
    """Yield what is asked of one size."""
    for sign, text in ((1, "never negative"), (-1, "never positive")):
        if nonnegative(sign * size):
            yield text
    if (exact := as_exact(size)) != size:
        yield f"if all divisions are exact {exact}"
    if (found := whole(size)) != size:
        yield f"of wholes {found}"
    for value in (1, 4, h + 1, exactly(h, 2), h // 2):
        yield f"at {value} {substitute(size, {Sym('a'): value, Sym('d', Kind.OWN): value})}"
    yield f"squared {power(size, 2)}"
    yield f"power of two {power(2, size)}"
    yield f"remainder {size % 4}"


def test_what_is_said_of_one_size(request: pytest.FixtureRequest) -> None:
    said = {str(size): "; ".join(facts_of(size)) for size in dict.fromkeys((*NAMES, *OWN, *OPEN))}
    expected.check(FOLDER / "single.txt", said, request)


def test_solutions(request: pytest.FixtureRequest) -> None:
    """Of equations with zero, for a name and for a size of the program's own."""
    said: dict[str, str] = {}
    for size, number in itertools.product(dict.fromkeys((*NAMES, *OWN)), (0, 3, 8, b, f)):
        for symbol in (Sym("a"), Sym("d", Kind.OWN)):
            if isinstance(size, Size) and symbol in size.symbols():
                said[f"{size} == {number} for {symbol}"] = told(solve(size - number, symbol))
    expected.check(FOLDER / "solutions.txt", said, request)


SYMBOLS: Mapping[str, Callable[[], Sym]] = {
    "a name": lambda: Sym("a"),
    "an own size": lambda: Sym("d", Kind.OWN),
    "an own size of an instance": lambda: Sym("d", Kind.OWN, OfInstance("self")),
    "by default": lambda: Sym("d", Kind.OWN, Default(OfInstance(("self", 1)), 12)),
    "one of several": lambda: Sym("d", Kind.OWN, Each(OfInstance(("self", 1)))),
    "a promised size": lambda: Sym("v", size=3),
    "an unknown": Sym.fresh,
    "a named unknown": lambda: Sym.fresh("u"),
    "a row of unknowns": lambda: Sym.fresh("..."),
    "left open": lambda: Sym.fresh("_", left_open=True),
    "a choice": lambda: Sym.one_of("3|4", (3, 4)),
    "counted": lambda: Sym.count("k"),
    "a batch": Sym.batch,
    "supposed": lambda: Sym.suppose("_"),
    "supposed of a mask": lambda: Sym.suppose("m", of_mask=True),
    "untold": lambda: Sym.untold("x"),
    "untold of a symbol": lambda: Sym.untold(Sym("x")),
    "untold of an item": lambda: Sym.untold(Sym("x"), of_item=True),
    "an axis of a tensor": lambda: Sym("rows", Kind.OWN, Untold("x")),
    "elements": lambda: Sym("(*s)", Kind.UNKNOWN, ElementsOf(Sym("s"))),
    "elements of unknowns": lambda: Sym("(...)", Kind.UNKNOWN, ElementsOf(Sym.fresh("..."))),
    "a length": lambda: Sym("len(*s)", Kind.UNKNOWN, LengthOf(Sym("s"))),
    "a part": lambda: Sym("...", Kind.UNKNOWN, PartOf(Sym("s"), "last", 2)),
    "a quarter": lambda: part(Sym("d", Kind.OWN, Default(HERE, 12)), 4).symbol or Sym("none"),
    "a stand-in": lambda: Sym("a", Kind.NAME, StandIn(Sym("a"))),
    "an inner name": lambda: Sym("a", Kind.NAME, NamedAlike(a)),
    "an object": lambda: Sym("t", Kind.NAME, OfObject(b"1")),
    "a padded object": lambda: Sym("t", Kind.NAME, OfKind(Padded(OfObject(b"1")), "spatial")),
    "an object of another size": lambda: Sym(
        "t", Kind.NAME, OfAnotherSize(Padded(OfObject(b"1")), 3)
    ),
    "rows that span": lambda: spanning([Sym.suppose("..."), Sym.suppose("...")]),
}
ASKED = (
    *("is_anonymous", "has_name", "varies", "supposed", "of_mask", "is_untold", "stretches"),
    *("counted", "left_open", "padded", "is_derived", "moves", "options", "default", "spanned"),
)


def asked(symbol: Sym) -> Iterator[str]:
    """Yield what is asked of a symbol, where there is anything to say."""
    for name_ in ASKED:
        if found := getattr(symbol, name_):
            yield name_ if found is True else f"{name_} {found}"
    if (origin := symbol.origin).kind_of_object:
        yield f"of kind {origin.kind_of_object}"
    yield from ["an object"] if origin.of_object else []
    yield from ["its own owner"] if symbol.owner == origin else []
    yield from [f"called after {origin.called_after}"] if origin.called_after else []


def test_what_symbols_are_asked(request: pytest.FixtureRequest) -> None:
    """And those that are like them: another time, of the result of an op, labelled, elsewhere."""
    said: dict[str, str] = {}
    for about, made in SYMBOLS.items():
        others = {
            "": made(),
            " again": made().again(),
            " again, by another name": made().again("other"),
            " of a result": made().of_result(),
            " of another symbol": made().following(lambda symbol: Sym("b")),
            " at another path": made().at(lambda path: ("other", 2)),
        }
        labelled = made()
        labelled.label("n")
        for way, symbol in {**others, " labelled": labelled}.items():
            same = "the same " if symbol is made() else ""
            said[f"{about}{way}"] = f"{same}{symbol}: {', '.join(asked(symbol))}"
    expected.check(FOLDER / "symbols.txt", said, request)
