"""What is said of dimensions, of rows of them and of annotations that meet them, line by line.

The laws that it must keep are in the other files of this folder; here nothing of it changes unseen.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import expected
import pytest

from shapecheck.dims import (
    Dim,
    DimExpr,
    IntSize,
    Kind,
    Size,
    Sym,
    Untold,
    Verdict,
    exact_quotient,
    extreme,
    merge,
    name,
    own,
    unknown,
)
from shapecheck.dims.origins import Arbitrary, NamedAlike
from shapecheck.shapes import (
    CertainFacts,
    Clash,
    Facts,
    Item,
    Matcher,
    Run,
    Shape,
    broadcast,
    broadcast_dim,
    either,
)
from shapecheck.spec import parse

FOLDER = Path(__file__).parent

a, b, c, n = map(name, "abcn")
d, f = own("d"), own("f")
u, v = unknown("u"), unknown("v")
rows, columns = (Size.of(Sym(text, Kind.OWN, Untold("x"))) for text in ("rows", "columns"))
p, q = (Size.of(Sym.distinct(text, Kind.UNKNOWN, Untold("x"))) for text in "pq")
inner = name("inner", NamedAlike(a))
ten = Size.of(Sym("ten", size=10))
any_axis = Size.of(Sym("any", Kind.NAME, Arbitrary()))
counted = Size.of(Sym.count("counted"))
supposed = Size.of(Sym.suppose("supposed"))
mask = Size.of(Sym.suppose("mask", of_mask=True))
names = Size.of(Sym.one_of("a|b", (a, b)))
few = Size.of(Sym.one_of("1|4", (1, 4)))
one, other = Dim("one"), Dim("other")

DIMS: list[DimExpr] = [
    *(1, 3, 5, a, b, 2 * a, a + 1, a * b, a // 2, a - a // 2, extreme("min", [a, 3])),
    *(extreme("min", [a, b]), d, f, d + f, 2 * d, d // 2, d // 2 - 1, d - 2, a * d, a + d),
    *(exact_quotient(a * b, d) or 0, rows, columns, rows * rows, p, q, p * q, p // 2, inner, ten),
    *(any_axis, counted, supposed, mask, names, few, u, u + 1, 2 * u),
    *(merge([a, b]), merge([b, a]), merge([a, d]), merge([d, a]), merge([2, a]), merge([u, b])),
    *((one + other).dim, (other + one).dim, (2 * one).dim, (one * 2).dim),
]
PAIRS = list(itertools.combinations(DIMS, 2))


def told(verdict: Verdict) -> str:
    """Return a verdict in words."""
    learn = ""
    if verdict.learn is not None:
        learn = f", {Size.of(verdict.learn[0])} is {verdict.learn[1]}"
    return verdict.relation.name.lower() + (" as own sizes" if verdict.own else "") + learn


def under_a_condition() -> Facts:
    return Facts(under_unknown_condition=True)


def with_features() -> Facts:
    facts = Facts()
    facts.features = frozenset(symbol for symbol in (d.symbol, f.symbol) if symbol)
    return facts


def in_doubt() -> Facts:
    facts = Facts()
    facts.doubted = frozenset({frozenset({d, f}), frozenset({a, d})})
    return facts


def with_sizes() -> Facts:
    facts = Facts()
    for symbol, size in ((a.symbol, 4), (u.symbol, b), (d.symbol, 8)):
        assert symbol is not None
        facts.learn(symbol, size)
    for symbol in (a.symbol, b.symbol):
        assert symbol is not None
        facts.tell_apart(symbol)
    return facts


FACTS: Mapping[str, Callable[[], Facts]] = {
    "nothing": Facts,
    "condition": under_a_condition,
    "features": with_features,
    "doubt": in_doubt,
    "sizes": with_sizes,
    "certain": lambda: CertainFacts.of(with_sizes()),
}


def test_which_dimensions_are_equal(request: pytest.FixtureRequest) -> None:
    """Under what is known; where only nothing else is told, it is as with nothing known."""
    said: dict[str, str] = {}
    for left, right in PAIRS:
        plain = told(Facts().compare(left, right))
        found = [plain]
        for known in list(FACTS)[1:]:
            verdict = told(FACTS[known]().compare(left, right))
            found += [] if verdict == plain else [f"{known}: {verdict}"]
        said[f"{left} == {right}"] = "; ".join(found)
    expected.check(FOLDER / "equal.txt", said, request)


PARTS: list[IntSize] = [2, 3, a, b, d, f, u, a * b]


def test_which_composites_are_equal(request: pytest.FixtureRequest) -> None:
    """Of two parts and of three, where they may be one at all."""
    some = [merge(parts) for count in (2, 3) for parts in itertools.permutations(PARTS[:7], count)]
    some += [merge([a * b, d]), merge([d, a * b]), merge([2 * a, b]), merge([a // 2, 2])]
    said: dict[str, str] = {}
    for left, right in itertools.combinations(some[::7], 2):
        verdict = told(Facts().compare(left, right))
        if verdict != "different":
            said[f"{left} == {right}"] = verdict
    expected.check(FOLDER / "composites.txt", said, request)


def test_which_composites_of_sizes_that_are_called_alike_are_equal(
    request: pytest.FixtureRequest,
) -> None:
    """A size of the program's own and a name that is called like it are two."""
    outer, inner = name("d"), name("f")
    parts: list[IntSize] = [a, outer, inner, d, f]
    parts += [exact_quotient(*pair) or 0 for pair in ((a * outer, d), (outer * inner, f))]
    some = [merge(pair) for pair in itertools.permutations(parts, 2)]
    said: dict[str, str] = {}
    for left, right in itertools.combinations(some, 2):
        verdict = Facts().compare(left, right)
        if verdict.learn is not None:
            said[f"{left} == {right}"] = told(verdict)
    expected.check(FOLDER / "called_alike.txt", said, request)


BESIDE: Mapping[str, Callable[[DimExpr, DimExpr], list[tuple[Item, ...]]]] = {
    "together": lambda x, y: [(x, y)],
    "apart": lambda x, y: [(x, c), (c, y)],
    "shifted": lambda x, y: [(x, y, c), (y, c)],
    "twice": lambda x, y: [(x, y, y)],
    "elsewhere": lambda x, y: [(b, c)],
}


KNOWN: Mapping[str, Callable[[DimExpr, DimExpr], Facts]] = {
    "nothing": lambda x, y: Facts(),
    "condition": lambda x, y: under_a_condition(),
    "sizes": lambda x, y: with_sizes(),
    "a parameter (a b)": lambda x, y: Facts(declared=(Shape((a, b)),)),
    "a parameter with both": lambda x, y: Facts(declared=(Shape((x, y)),)),
}


def test_which_dimensions_may_meet(request: pytest.FixtureRequest) -> None:
    """By what they stand beside: an x for each of what is `KNOWN` by which they can't be one."""
    said: dict[str, str] = {}
    for left, right in PAIRS:
        apart: list[str] = []
        for where, rows_of in BESIDE.items():
            beside = [Shape(row) for row in rows_of(left, right)]
            marks = "".join(
                ".x"[known(left, right).stand_together(left, right, beside)]
                for known in KNOWN.values()
            )
            apart += [f"{where} {marks}"] if "x" in marks else []
        said[f"{left}, {right}"] = ", ".join(apart) or "may meet"
    expected.check(FOLDER / "beside.txt", said, request)


def learned(facts: Facts) -> str:
    """Return what has been learned, in words."""
    atoms = [f"{Size.of(atom)} is {size}" for atom, size in facts.atoms.items()]
    runs = [f"{Run(symbol)} is {Shape(row).text()}" for symbol, row in facts.runs.items()]
    return "".join(f"; {one}" for one in (*atoms, *runs))


def met(left: DimExpr, right: DimExpr, beside: list[Shape]) -> str:
    facts = Facts()
    try:
        found = str(broadcast_dim(facts, left, right, beside))
    except Clash:
        return "clash"
    return found + learned(facts)


def test_what_dimensions_broadcast_to(request: pytest.FixtureRequest) -> None:
    """In both orders, alone and beside each other."""
    said: dict[str, str] = {}
    for left, right in PAIRS:
        ways = {
            "": met(left, right, []),
            "in the other order ": met(right, left, []),
            "beside each other ": met(left, right, [Shape((left, right))]),
        }
        plain = ways[""]
        rest = [f"{way}{found}" for way, found in ways.items() if way and found != plain]
        said[f"{left}, {right}"] = " | ".join([plain, *rest])
    expected.check(FOLDER / "broadcast.txt", said, request)


RUNS: Mapping[str, Callable[[], Run]] = {
    "named": lambda: Run(Sym("batch")),
    "fresh": lambda: Run(Sym.fresh("...")),
    "supposed": lambda: Run(Sym.suppose("...")),
    "mask": lambda: Run(Sym.suppose("...", of_mask=True)),
    "untold": lambda: Run(Sym.untold("x")),
    "several": lambda: either((b, c), (c,))[0],  # type: ignore[return-value]
}
AROUND: list[tuple[tuple[Item, ...], tuple[Item, ...]]] = [
    ((), ()),
    ((), (c,)),
    ((), (1,)),
    ((a,), ()),
    ((a,), (b, c)),
]


def test_what_rows_broadcast_to(request: pytest.FixtureRequest) -> None:
    """And what is learned of those that are supposed."""
    said: dict[str, str] = {}
    others: list[tuple[Item, ...]] = [(), (1,), (c,), (b, c), (1, b, c), (d, 3), (5,), (a, 1, 1)]
    for kind, (front, back) in itertools.product(RUNS, AROUND):
        for row in [*others, *RUNS]:
            run = RUNS[kind]()
            left = (*front, run, *back)
            right = (RUNS[row](), c) if isinstance(row, str) else row
            facts = Facts()
            try:
                found = Shape(broadcast(facts, left, right)).text() + learned(facts)
            except Clash as clash:
                found = f"clash at {clash.axis} of {clash.left} and {clash.right}"
            with_ = f"{row} c" if isinstance(row, str) else Shape(right).text()
            said[f"{Shape(left).text()} ({kind}) with ({with_})"] = found
    expected.check(FOLDER / "rows.txt", said, request)


def test_what_is_used_of_rows(request: pytest.FixtureRequest) -> None:
    """Axes from either end, so many in all, by an index, as layers do."""
    said: dict[str, str] = {}
    uses = [
        {"front": front, "back": back, **more}
        for front, back in itertools.product((0, 1, 3), (0, 1, 2))
        for more in ({}, {"likely": 2}, {"apart": True}, {"guess": True})
    ]
    uses += [{"count": count} for count in (0, 1, 2, 4, 63, 64)]
    for kind, (front, back) in itertools.product(RUNS, AROUND):
        run = RUNS[kind]()
        shape = Shape((*front, run, *back))
        for use in uses:
            facts = Facts()
            found = facts.stretched(shape, **use)  # type: ignore[arg-type]
            if found != shape:
                about = ", ".join(f"{key} {value}" for key, value in use.items() if value)
                said[f"{shape.text()} ({kind}) used: {about}"] = found.text() + learned(facts)
        for axis in (-65, -64, -63, -3, -2, -1, 0, 1, 2, 62, 63, 64):
            facts = Facts()
            dim = facts.reach(shape.dims, axis)
            if dim is not None:
                said[f"{shape.text()} ({kind}) at {axis}"] = f"{dim}{learned(facts)}"
        for number, steps_first in itertools.product((0, 1, 2, 3), (False, True)):
            facts = Facts()
            text = facts.batched(shape, number, steps_first).text() + learned(facts)
            batches = [
                symbol.origin
                for items in facts.runs.values()
                for item in items
                if isinstance(item, Size)
                for symbol in item.symbols()
            ]
            marks = [
                mark
                for origin in batches
                for mark in ("is_batch", "counts_items")
                if getattr(origin, mark, False)
            ]
            first = ", steps first" if steps_first else ""
            said[f"{shape.text()} ({kind}) in batches of {number}{first}"] = " ".join(
                [text, *marks]
            )
    expected.check(FOLDER / "used.txt", said, request)


def test_two_paths(request: pytest.FixtureRequest) -> None:
    """What is known behind an if of what was learned of a row on either side."""
    said: dict[str, str] = {}
    batch = Run(Sym("rest"))
    t = Size.of(Sym.suppose("t"))
    ways: list[tuple[Item, ...] | None] = [
        *(None, (), (a,), (a, b), (a, c), (3, b), (u, b), (t, b), (d, b), (batch, b), (a, batch)),
        *((a, batch, c), (batch, a, b), (a, b, batch), (batch, batch), (a, d, b)),
    ]
    spelled = {"nothing" if row is None else f"({Shape(row).text()})": row for row in ways}
    unnamed: dict[str, tuple[Item, ...]] = {
        "(unknown b)": (unknown(), b),
        "(supposed b)": (Size.of(Sym.suppose("_")), b),
        "(open b)": (Size.of(Sym.fresh("_", left_open=True)), b),
    }
    pairs = [*itertools.product(spelled, repeat=2)]
    pairs += itertools.product(unnamed, ("(a b)", "(u b)", "(t b)", *unnamed))
    pairs += itertools.product(("(u b)", "(t b)"), unnamed)
    spelled |= unnamed
    for kind in ("named", "supposed"):
        for first, second in pairs:
            run = RUNS[kind]()
            paths = Facts(), Facts()
            for path, text in zip(paths, (first, second), strict=True):
                row = spelled[text]
                if row is not None:
                    path.learn_run(run.symbol, row)
            joined = paths[0].join(paths[1])
            found = joined.runs.get(run.symbol)
            items = () if found is None else joined.items(found)
            symbols = [one.symbol for one in items if isinstance(one, Size)]
            open_ = sum(bool(symbol and symbol.left_open) for symbol in symbols)
            said[f"{kind}: {first} or {second}"] = (
                "nothing" if found is None else f"({Shape(items).text()})"
            ) + (f", {open_} open" if open_ else "")
    expected.check(FOLDER / "paths.txt", said, request)


ANNOTATIONS = (
    "b t|2*n|n+1 n|h*w|(h d)|(h *s)|*s d|*s|... d|b ... d|*s *r d|*#s d|#b d|?n ?n|_ t|3 t|"
    "*#s *r d|*#s *s d|*#s *s|*r *#s|*s *s|*s d *s|"
    "min(n,3)|n//2 n|-n|(2 n)|*s 3|+s d|*_s d|{x} t|t {x}+1|#3 t"
).split("|")
SHAPES: list[tuple[Item, ...]] = [
    *(
        (),
        (3,),
        (a,),
        (a, b),
        (3, 4),
        (2, 3, 4),
        (a, a),
        (1, a),
        (6,),
        (2 * a,),
        (a + 1, a),
        (4, 3),
    ),
    *((merge([a, b]),), (merge([2, a]),), (d, a), (u, b), (a, b, c), (Run(Sym("batch")),)),
    *((Run(Sym("batch")), a), (a, Run(Sym("batch")), b), (3, 6), (6, 3), (-3,)),
    *((Run(Sym.untold("x")),), (a, Run(Sym.suppose("...")))),
]
GIVEN: list[tuple[str, dict[str, DimExpr], dict[str, tuple[Item, ...]]]] = [
    ("", {}, {}),
    ("n, h are 3, s is a", {"n": 3, "h": 3}, {"s": (a,)}),
    ("b, t, h are b, a, a, s, r are 2, 3", {"b": b, "t": a, "h": a}, {"s": (2,), "r": (3,)}),
    ("h is 4", {"h": 4}, {}),
]


def matched(
    text: str,
    shape: tuple[Item, ...],
    known: tuple[dict[str, DimExpr], dict[str, tuple[Item, ...]]],
    promises: set[str] | None,
) -> str:
    """Return how a shape fits an annotation, and what is bound by it."""
    matcher = Matcher(Facts(), {"x": 3}.get, dict(known[0]), dict(known[1]), promises=promises)
    misfit = matcher.match(parse(text), Shape(shape)) or matcher.settle()
    if misfit is not None:
        where = "rank" if misfit.axis is None else f"axis {misfit.axis}"
        return f"{where}: {misfit.expected} ({misfit.value}) and {misfit.actual}"
    bound = [f"{key} is {dim}" for key, dim in matcher.names.items() if key not in known[0]]
    bound += [
        f"*{key} is ({Shape(tuple(items)).text()})"
        for key, items in matcher.runs.items()
        if items != known[1].get(key)
    ]
    bound += [f"{len(matcher.pending)} left"] if matcher.pending else []
    return ", ".join(bound) + learned(matcher.facts)


def test_what_fits_annotations(request: pytest.FixtureRequest) -> None:
    said: dict[str, str] = {}
    for text, shape in itertools.product(ANNOTATIONS, SHAPES):
        ways = {about: matched(text, shape, known, None) for about, *known in GIVEN}  # type: ignore[arg-type]
        promised = matched(text, shape, ({"n": n, "b": b}, {}), {"n", "b", "s"})
        found = [ways[""]]
        found += [f"{way}: {one}" for way, one in ways.items() if one != ways[""]]
        found += [f"promised: {promised}"] if promised != ways[""] else []
        said[f"{text} meets ({Shape(shape).text()})"] = " | ".join(found)
    expected.check(FOLDER / "matched.txt", said, request)


def built() -> Iterator[tuple[str, str]]:
    for text in ANNOTATIONS:
        for about, bound, runs in GIVEN[:-1]:
            for default in (None, name):
                matcher = Matcher(Facts(), {"x": 3}.get, dict(bound), dict(runs))
                run = None if default is None else lambda group: Run(Sym(group))
                shape = matcher.build(parse(text), default, run)
                open_ = [
                    str(item)
                    for item in shape.dims
                    for symbol in [getattr(item, "symbol", None)]
                    if isinstance(symbol, Sym) and symbol.left_open
                ]
                mark = f", open {' '.join(open_)}" if open_ else ""
                by = "unknown" if default is None else "named"
                yield f"{text}, {by}, {about}", f"({shape.text()}){mark}"


def test_what_annotations_build(request: pytest.FixtureRequest) -> None:
    expected.check(FOLDER / "built.txt", dict(built()), request)
