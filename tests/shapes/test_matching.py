"""Matching annotations: names, equations in any order, groups; and jaxtyping's own verdicts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import jaxtyping
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shapecheck.dims import IntSize, Size, Sym, exact_quotient, merge, name, own, unknown
from shapecheck.shapes import Facts, Item, Matcher, Misfit, Run, Shape
from shapecheck.spec import parse

a, b, c, d, h, n, t, w = map(name, "abcdhntw")


def fit(*pairs: tuple[str, Sequence[Item]], **values: IntSize) -> Matcher | Misfit:
    """Match shapes to annotations one after the other, and settle; `values` are those of `{x}`."""
    matcher = Matcher(Facts(), values.get)
    for text, shape in pairs:
        misfit = matcher.match(parse(text), Shape(tuple(shape)))
        if misfit is not None:
            return misfit
    return matcher.settle() or matcher


def fits(*pairs: tuple[str, Sequence[Item]], **values: IntSize) -> bool:
    return isinstance(fit(*pairs, **values), Matcher)


def bound(*pairs: tuple[str, Sequence[Item]], **values: IntSize) -> dict[str, Any]:
    matcher = fit(*pairs, **values)
    assert isinstance(matcher, Matcher), matcher
    assert not matcher.pending
    return {**matcher.names, **{f"*{group}": dims for group, dims in matcher.runs.items()}}


# Names and numbers ------------------------------------------------------------------------------


def test_names_are_bound_by_what_they_meet() -> None:
    """The first meeting binds, the others check."""
    assert bound(("b t 3", (2, 5, 3)), ("b", (2,))) == {"b": 2, "t": 5}
    assert fit(("b t", (2, 5)), ("t b", (5, 3))) == Misfit(-2 + 3, "b", 2, 3)
    assert fit(("b 3", (2, 4))) == Misfit(1, "3", 3, 4)
    assert fit(("b t", (2,))) == Misfit(None)
    assert fit(("", (2,))) == Misfit(None)
    assert fits(("", ()))
    assert fits(("b b", (2, 2)))
    assert not fits(("b b", (2, 3)))
    assert bound(("b t", (h, w))) == {"b": h, "t": w}
    assert not fits(("b b", (h, w)))


def test_anonymous_dimensions_link_nothing() -> None:
    """`_`, `_x` and `...` are never checked, and bind nothing."""
    assert bound(("_ _x ... height=_", (1, 2, 3, 4, 5))) == {}
    assert bound(("_x", (1,)), ("_x", (2,)), ("*_y", (3,)), ("*_y", ())) == {}


def test_per_leaf_names_hold_for_one_tensor() -> None:
    """`?n` is the same within one tensor, and free in the next."""
    assert fits(("?n ?n", (2, 2)), ("?n ?n", (3, 3)))
    assert not fits(("?n ?n", (2, 3)))
    assert fits(("?n", (2,)), ("n", (3,)))


def test_a_dimension_that_may_be_one() -> None:
    """`#b` is `b` or 1; a 1 binds nothing, and `b` is not made larger by what comes later."""
    assert bound(("#b", (1,)), ("b", (3,)), ("#b", (1,)), ("#b", (3,))) == {"b": 3}
    assert not fits(("#b", (2,)), ("#b", (3,)))
    assert not fits(("b", (1,)), ("#b", (3,)))
    assert fits(("#3", (1,)), ("#3", (3,)))
    assert not fits(("#3", (2,)))
    assert fits(("b", (4,)), ("#2*b", (8,)), ("#2*b", (1,)))


def test_braces_are_asked_for() -> None:
    """`{n}` is what the call says; what it can't say is not checked."""
    assert fits(("{n}", (3,)), n=3)
    assert not fits(("{n}", (4,)), n=3)
    assert fits(("{unknown}", (4,)))
    assert fits(("2*{n}+1", (7,)), n=3)
    assert bound(("b*{n}", (12,)), n=3) == {"b": 4}
    assert fits(("{n}", (own("n"),)), n=own("n"))


# Equations --------------------------------------------------------------------------------------

SOLVED: list[tuple[list[tuple[str, tuple[int, ...]]], dict[str, int] | None]] = [
    ([("2*n", (6,)), ("n", (3,))], {"n": 3}),
    ([("2*n", (6,))], {"n": 3}),
    ([("2*n", (7,))], None),
    ([("2*n", (6,)), ("n", (4,))], None),
    ([("n-1", (6,))], {"n": 7}),
    ([("n-1", (0,))], {"n": 1}),
    ([("n+1", (0,))], None),
    ([("n+1", (1,))], {"n": 0}),
    ([("h*w", (12,)), ("h", (3,))], {"h": 3, "w": 4}),
    ([("h*w", (12,)), ("h", (5,))], None),
    ([("h*w", (12,)), ("h+w", (7,)), ("h", (3,))], {"h": 3, "w": 4}),
    ([("h+w", (7,)), ("h-w", (1,)), ("w", (3,))], {"h": 4, "w": 3}),
    ([("(h w)", (12,)), ("w", (4,))], {"h": 3, "w": 4}),
    ([("(h w)", (12,)), ("w", (5,))], None),
    ([("n**2", (49,))], {"n": 7}),
    ([("n**2", (50,))], None),
    ([("2**n", (8,))], {"n": 3}),
    ([("2**n", (9,))], None),
    ([("2*n", (0,))], {"n": 0}),
    ([("h//2", (3,)), ("h", (7,))], {"h": 7}),
    ([("h//2", (3,)), ("h", (8,))], None),
    ([("min(h,w)", (3,)), ("h w", (3, 5))], {"h": 3, "w": 5}),
    ([("min(h,w)", (4,)), ("h w", (3, 5))], None),
    ([("-(-h//2)", (4,)), ("h", (7,))], {"h": 7}),
    ([("a+b b", (5, 2))], {"a": 3, "b": 2}),
    ([("a*b b*c c", (6, 12, 4))], {"a": 2, "b": 3, "c": 4}),
    ([("n//m m n", (0, 0, 3))], {"n": 3, "m": 0}),
]


@pytest.mark.parametrize(("pairs", "names"), SOLVED, ids=[str(pairs) for pairs, _ in SOLVED])
def test_equations_in_any_order_of_arguments(
    pairs: list[tuple[str, tuple[int, ...]]], names: dict[str, int] | None
) -> None:
    """What stands before its names are bound elsewhere is solved; no integer solves some."""
    for order in itertools.permutations(pairs):
        found = fit(*order)
        assert (found.names if isinstance(found, Matcher) else None) == names


def test_what_cannot_be_solved_waits() -> None:
    """One equation for two names, or several solutions: nothing is claimed."""
    for text, size in (("h*w", 12), ("h//2", 3), ("min(h,w)", 3)):
        found = fit((text, (size,)))
        assert isinstance(found, Matcher)
        assert found.names == {}
        assert len(found.pending) == 1


def test_equations_of_names() -> None:
    """The same with symbolic sizes: a solution may be a promised quotient."""
    assert bound(("2*n", (2 * h,))) == {"n": h}
    assert bound(("2*n", (h,))) == {"n": exact_quotient(h, 2)}
    assert bound(("n+1", (h,))) == {"n": h - 1}
    assert bound(("h*w", (a * b,)), ("h", (a,))) == {"h": a, "w": b}
    assert not fits(("2*n", (2 * h + 1,)))
    assert not fits(("2*n n", (h, h)))


def test_the_misfit_says_what_was_expected() -> None:
    """The annotation's words, their value here, and what the tensor has."""
    assert fit(("b", (2,)), ("2*b", (5,))) == Misfit(0, "2*b", 4, 5)
    assert fit(("2*b", (5,))) == Misfit(0, "2*b", None, 5)
    assert fit(("... 2*b", (1, 1, 5)), ("b", (2,))) == Misfit(-1, "2*b", 4, 5)
    assert fit(("#b 3", (1, 4))) == Misfit(1, "3", 3, 4)


# Composites -------------------------------------------------------------------------------------


def test_composites_are_bound_part_by_part() -> None:
    """`(h d)` meets a merge in this order; a plain size only where it is solvable."""
    assert bound(("(h d)", (merge([a, b]),))) == {"h": a, "d": b}
    assert bound(("(h d)", (merge([a, b, c]),)), ("h", (a,))) == {"h": a, "d": merge([b, c])}
    assert bound(("(h d)", (merge([a, b, c]),)), ("d", (c,))) == {"h": merge([a, b]), "d": c}
    assert bound(("(h *rest)", (merge([a, b, c]),)), ("h", (a,))) == {"h": a, "*rest": (b, c)}
    assert bound(("(h 2)", (merge([a, 2]),))) == {"h": a}
    assert fits(("h d", (a, b)), ("(h d)", (merge([a, b]),)))
    assert not fits(("h d", (a, b)), ("(h d)", (merge([b, a]),)))
    assert not fits(("h d", (a, b)), ("(d h)", (merge([a, b]),)))
    assert fits(("h d", (a, b)), ("h*d", (merge([b, a]),)))
    assert fits(("h d", (a, b)), ("(d h)", (a * b,)))
    assert not fits(("h d", (a, b)), ("(h d)", (c,)))
    assert fits(("h d", (2, 3)), ("(h d) (d h)", (6, 6)))
    assert fits(("*b d", (a, b, c)), ("(*b d)", (merge([a, b, c]),)))
    assert not fits(("*b d", (2, 3, 4)), ("(*b d)", (25,)))


# Groups -----------------------------------------------------------------------------------------


def test_groups_are_bound_to_what_is_left() -> None:
    """`*batch` is any number of dimensions, the same ones everywhere."""
    assert bound(("*b d", (2, 3, 4)), ("*b", (2, 3))) == {"*b": (2, 3), "d": 4}
    assert bound(("*b d", (4,)), ("*b", ())) == {"*b": (), "d": 4}
    assert bound(("a *b c", (2, 3))) == {"a": 2, "*b": (), "c": 3}
    assert fit(("*b d", ())) == Misfit(None)
    assert fit(("*b", (2, 3)), ("*b d", (2, 4, 5))) == Misfit(1, "*b", 3, 4)
    assert fit(("*b", (2, 3)), ("*b d", (2, 5))) == Misfit(None, "*b", 2, 1)


def test_several_groups_are_shared_out_once_it_is_clear_how() -> None:
    """All but one must be bound elsewhere, before or after."""
    for order in itertools.permutations([("*a *b", (2, 3, 4)), ("*a", (2,))]):
        assert bound(*order) == {"*a": (2,), "*b": (3, 4)}
    for order in itertools.permutations([("*a c *b", (2, 3, 4)), ("*b", (4,))]):
        assert bound(*order) == {"*a": (2,), "c": 3, "*b": (4,)}
    assert not fits(("*a *b", (2, 3, 4)), ("*a", (3,)))
    assert not fits(("*a *b", (2, 3)), ("*a *b", (2,)), ("*a", (2, 3)))
    assert bound(("*a x *b", (2,))) == {"*a": (), "x": 2, "*b": ()}
    assert fit(("*a x y *b", (2,))) == Misfit(None)
    assert fits(("... c ...", (1, 2, 3)))
    assert fits(("*b", (3,)), ("+a *b", (2, 3)))
    assert not fits(("*b", (2, 3)), ("+a *b", (2, 3)))
    batch = Run(Sym("batch"))
    assert fits(("*a *b", (a, batch, c)), ("*a", (a,)))
    assert fits(("*a x *b", (batch,)), ("*b x", (2, 3)))


def test_groups_that_broadcast() -> None:
    """`*#b` fits what broadcasts to `b`; groups met only so grow together."""
    assert bound(("*#b", (1, 3)), ("*#b", (2, 1)))["*b"] == (2, 3)
    assert bound(("*#b", (1,)), ("*b", (2, 3)), ("*#b", (3,)))["*b"] == (2, 3)
    assert not fits(("*#b", (2,)), ("*b", (1, 3)))
    assert not fits(("*b", (1, 3)), ("*#b", (2, 3)))
    assert not fits(("*b", (3,)), ("*#b", (2, 3)))
    assert not fits(("*#b", (2,)), ("*#b", (3,)))
    assert fit(("*#b d", (2, 1)), ("*#b d", (3, 1))) == Misfit(0, "*#b", 2, 3)


def test_runs_of_unknown_length() -> None:
    """A run is bound whole, or spelled out where the annotation says how long it is."""
    batch = Run(Sym("batch"))
    assert bound(("*b d", (batch, h))) == {"*b": (batch,), "d": h}
    assert fits(("*b d", (batch, h)), ("*b d", (batch, h)))
    assert fits(("*b d e", (Run(Sym.fresh("...")),)))
    assert fit(("d", (a, batch, h))) == Misfit(None)
    matcher = Matcher(Facts())
    ragged = Shape((a, Run(Sym.fresh("...")), b))
    assert matcher.match(parse("x y z w"), ragged) is None
    known = matcher.facts.shape(ragged)
    assert known.rank == 4
    assert known.text() == "a y z b"
    assert matcher.names["y"] == known.dims[1]
    assert matcher.match(parse("x 3 z w"), ragged) is None
    assert matcher.facts.items(ragged.dims)[1] == 3


# Building ---------------------------------------------------------------------------------------


def test_building_a_shape_from_an_annotation() -> None:
    """What is bound is put in; what isn't is new, and bound from then on."""
    matcher = fit(("*b d", (2, 3, 4)))
    assert isinstance(matcher, Matcher)
    assert matcher.build(parse("*b 2*d (b2 d) 1")).dims[:3] == (2, 3, 8)
    new = matcher.build(parse("x x+1")).dims
    assert isinstance(new[0], Size)
    assert new[1] == new[0] + 1
    assert matcher.names["x"] == new[0]
    assert Matcher(Facts()).build(parse("{x} {y}+1")).text() == "_ _"
    assert Matcher(Facts()).build(parse("{x} _"), name).text() == "{x} _"
    declared = Matcher(Facts()).build(parse("*s b b//2 _ ..."), name, lambda group: Run(Sym(group)))
    assert declared.text() == "*s b b//2 _ ..."


def test_each_dimension_that_may_be_one_is_its_own() -> None:
    """Two parameters declared `#b` may be 1 one by one."""
    one, two = (Matcher(Facts()).build(parse("#b *#s"), name, lambda s: Run(Sym(s))) for _ in "12")
    assert one.text() == "#b *#s"
    assert one != two


def test_names_are_told_apart_from_unknowns() -> None:
    """An unknown dimension fits everything, a name only itself."""
    assert fits(("b b", (unknown(), 3)))
    assert not fits(("b b", (a, c)))
    assert fits(("b b", (a, unknown())))


# jaxtyping --------------------------------------------------------------------------------------

words = st.sampled_from(["a", "b", "c"])
plain = st.one_of(
    words, words.map("#".__add__), st.sampled_from(["1", "2", "#2", "_", "x=b", "x=2"])
)
late = st.sampled_from(["a+1", "2*a", "a*b", "a//2", "a-b", "min(a,b)", "#a+b", "a**2", "-(-b//2)"])
variadic = st.sampled_from(["*s", "*#s", "*t", "...", "#*t"])
small = st.lists(st.integers(1, 3), max_size=4).map(tuple)


@st.composite
def annotations(draw: st.DrawFn) -> str:
    entries = draw(st.lists(st.one_of(plain, plain, late), max_size=3))
    if draw(st.booleans()):
        entries.insert(draw(st.integers(0, len(entries))), draw(variadic))
    return " ".join(entries)


def jaxtyping_says(pairs: Sequence[tuple[str, tuple[int, ...]]]) -> bool | None:
    """Return whether jaxtyping accepts these arguments of one call; None where it can't say."""
    with jaxtyping.jaxtyped("context"):
        try:
            return all(
                isinstance(torch.empty(shape, device="meta"), jaxtyping.Float[torch.Tensor, text])
                for text, shape in pairs
            )
        except jaxtyping.AnnotationError:
            return None


@given(st.lists(st.tuples(annotations(), small), min_size=1, max_size=4))
@settings(max_examples=400, deadline=None)
def test_jaxtyping_agrees(pairs: list[tuple[str, tuple[int, ...]]]) -> None:
    """Where jaxtyping has a verdict on a set of arguments, it is ours."""
    theirs = jaxtyping_says(pairs)
    assume(theirs is not None)
    assert fits(*pairs) == theirs


@st.composite
def calls(draw: st.DrawFn) -> list[tuple[str, tuple[int, ...]]]:
    """Arguments that fit, or nearly: made from sizes for the names."""
    sizes = {x: draw(st.integers(1, 4)) for x in "abc"}
    group = draw(st.lists(st.integers(1, 3), max_size=2))
    pairs = [("a b c", tuple(sizes.values()))]
    for _ in range(draw(st.integers(1, 3))):
        text = draw(annotations())
        found: list[int] = []
        for word in text.split():
            if word == "..." or "*s" in word or "*t" in word or "*#" in word:
                found += [1 if draw(st.booleans()) and "#" in word else x for x in group]
            elif word.startswith("#") and draw(st.booleans()):
                found.append(1)
            else:
                source = word.removeprefix("#").rpartition("=")[2].replace("_", "1")
                found.append(max(0, eval(source, {}, dict(sizes))))
        if found and draw(st.integers(0, 3)) == 0:
            found[draw(st.integers(0, len(found) - 1))] += 1
        pairs.append((text, tuple(found)))
    return pairs


@given(calls())
@settings(max_examples=250, deadline=None)
def test_jaxtyping_agrees_on_calls_that_nearly_fit(
    pairs: list[tuple[str, tuple[int, ...]]],
) -> None:
    """The same for arguments of which most are right."""
    theirs = jaxtyping_says(pairs)
    assume(theirs is not None)
    assert fits(*pairs) == theirs
