"""Axes that no annotation names, composites, dimension objects: what may be equal to what."""

from __future__ import annotations

from typing import Any

import pytest

from shapecheck.dims import (
    Dim,
    DimExpr,
    IntSize,
    Kind,
    Relation,
    Size,
    Sym,
    Untold,
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
    Free,
    Item,
    Matcher,
    Misfit,
    Run,
    Shape,
    Tensor,
    broadcast,
    either,
)
from shapecheck.spec import parse

a, b, c, d, h, n, t, w = map(name, "abcdhntw")
d_model, d_ff = own("d_model"), own("d_ff")
same, possible, different = Relation.SAME, Relation.POSSIBLE, Relation.DIFFERENT


def axes(count: int, tensor: str = "x") -> list[Size]:
    """Return axes of a tensor of which no annotation says any."""
    return [Size.of(Sym.distinct("_", Kind.UNKNOWN, Untold(tensor))) for _ in range(count)]


p, q, r = axes(3)
(alien,) = axes(1, "y")

# Axes without names -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "beside", "together"),
    [
        (p, d_model, [Shape((p, d_model))], True),
        (p * q, d_model, [Shape((p * q, d_model))], True),
        (p // 2, d_model, [Shape((p // 2, d_model))], True),
        (p // d_ff, d_model, [Shape((p // d_ff, d_model))], True),
        (p, 5, [Shape((p, 5))], True),
        (p, 4, [Shape((p, 4))], False),
        (p, d_model, [Shape((p, d_model, d_model))], False),
        (p, d_model, [Shape((p, d_ff))], False),
        (p, h, [Shape((p, h))], False),
        (p, q, [Shape((p, q))], False),
        (p, q, [Shape((p, q, r)), Shape((q, r))], True),
        (p, r, [Shape((p, q, r)), Shape((q, r))], True),
        (q, r, [Shape((p, q, r)), Shape((q, r))], False),
        (p, q, [Shape((p, q)), Shape((q,))], False),
        (p, q, [Shape((p, q, r)), Shape((p, q, r))], False),
        (p, alien, [Shape((p, alien, r)), Shape((alien, r))], False),
    ],
)
def test_what_an_axis_without_a_name_stands_beside(
    one: Size, other: IntSize, beside: list[Shape], together: bool
) -> None:
    """Sizes that the program chooses are others; a batch, in front, is none of the other axes."""
    for left, right in ((one, other), (other, one)):
        assert Facts().stand_together(left, right, beside) is together
        assert not Facts(under_unknown_condition=True).stand_together(left, right, beside)


def test_what_stands_beside_an_axis_elsewhere() -> None:
    """In tensors that are no operands, where a trial is to mind that."""
    facts = Facts().minding((Shape((p, d_model)),))
    assert facts.stand_together(p, d_model, [Shape((p, c))])
    assert not Facts().stand_together(p, d_model, [Shape((p, c))])


def test_a_row_that_is_known_is_looked_into() -> None:
    run = Run(Sym("batch"))
    facts = Facts()
    assert not facts.stand_together(p, d_model, [Shape((run, d_model))])
    facts.learn_run(run.symbol, (p, c))
    assert facts.stand_together(p, d_model, [Shape((run, d_model))])


def test_axes_that_meet_by_a_shift_clash() -> None:
    """A matrix of a batch and a bare vector of it: the batch would be the last axis."""
    operands = [Shape((p, q, r)), Shape((p, r))]
    with pytest.raises(Clash):
        broadcast(Facts(), [q, r], [p, r], operands)
    assert len(broadcast(Facts(), [p], [q])) == 1
    assert len(broadcast(Facts(), [unknown()], [unknown() + 1])) == 1


@pytest.mark.parametrize(
    ("one", "other", "declared", "together"),
    [
        (a, 2 * b, [(a, b)], True),
        (a, b * c, [(a, b)], False),
        (a, b * c, [(a, b, c)], True),
        (a, d_model, [(a, b)], False),
        (a, b + d_model, [(a, b)], False),
        (2 * a, b, [(a, b)], True),
        (2 * a, b + 1, [(a, b)], False),
    ],
)
def test_what_a_parameter_has_beside_a_name(
    one: IntSize, other: IntSize, declared: list[tuple[Item, ...]], together: bool
) -> None:
    """A name is nothing that is made of such, where these differ by their names."""
    facts = Facts(declared=tuple(map(Shape, declared)))
    assert facts.stand_together(one, other, [Shape((c, t))]) is together
    assert facts.stand_together(other, one, [Shape((c, t))]) is together


def test_one_number_of_axes_in_a_trial_is_no_size() -> None:
    axis = Size.of(Sym("i", Kind.NAME, Arbitrary()))
    assert Facts().stand_together(axis, 5, [Shape((a,))])
    assert not Facts().stand_together(axis, 1, [Shape((a,))])
    assert not Facts().stand_together(a, 5, [Shape((a,))])


# Composites and objects -------------------------------------------------------------------------

one, two = Dim("one"), Dim("two")
ten, five = Dim("ten", 10), Dim("five", 5)
u = unknown()


@pytest.mark.parametrize(
    ("left", "right", "relation", "learn"),
    [
        (merge([h, w]), merge([d_model, w]), possible, (h, d_model)),
        (merge([w, h]), merge([d_model, w]), different, None),
        (merge([h, d_model]), merge([h, d_ff]), different, None),
        (merge([h, d]), merge([d_model, 8]), possible, None),
        (merge([u, d]), merge([h, d]), possible, (u, h)),
        (merge([u, d]), merge([d, h]), different, None),
        (merge([a, u]), merge([b, u]), different, None),
        (merge([2, u]), merge([h, 3]), possible, (h, 2)),
        (merge([u, 3]), merge([h, 3, 2]), different, None),
        (merge([h, u]), merge([h, 3, 2]), possible, (u, 6)),
        (merge([d_model, 4]), merge([h, 4]), possible, (h, d_model)),
        (merge([4, d_model]), merge([h, 4]), different, None),
        (
            merge([exact_quotient(c * d, d_model) or 0, d_model]),
            merge([c, d]),
            possible,
            (d_model, d),
        ),
        (
            merge([d_model, exact_quotient(c * d, d_model) or 0]),
            merge([d, c]),
            possible,
            (d_model, d),
        ),
        (merge([n * d_model, d_ff]), merge([n, d_model * d_ff]), different, None),
        # objects stand one behind the other, or in each other
        ((one + two).dim, (two + one).dim, different, None),
        ((one + two).dim, (one + two).size, same, None),
        ((2 * one).dim, (one * 2).dim, different, None),
        ((3 * one).dim, (one * 3).dim, different, None),
        ((2 * one * two).dim, (one * two + one * two).dim, same, None),
        ((ten * five).dim, (five * ten).dim, same, None),
        ((ten * one).dim, (one * ten).dim, different, None),
        ((ten * one).dim, merge([10, one.dim]), same, None),
        ((ten * five).dim, merge([5, 10]), same, None),
        ((ten * five).dim, 50, same, None),
    ],
)
def test_which_composites_are_equal(
    left: DimExpr, right: DimExpr, relation: Relation, learn: tuple[Size, IntSize] | None
) -> None:
    """Where their parts are, one by one; what is learned makes them so."""
    for verdict in (Facts().compare(left, right), Facts().compare(right, left)):
        assert verdict.relation is relation
        assert verdict.learn == (None if learn is None else (learn[0].atom, learn[1]))


def test_several_parts_that_have_to_be_learned_are_left_open() -> None:
    for left, right in ((merge([h, w]), merge([d_model, d_model])), (merge([u, p]), merge([h, w]))):
        facts = Facts()
        assert facts.unify(left, right)
        assert not facts.atoms


def test_a_name_of_an_inner_function() -> None:
    """It may be what it is called outside; a hint is tried as if it were."""
    inner = Size.of(Sym("a", Kind.NAME, NamedAlike(a)))
    assert Facts().compare(inner, a).relation is possible
    assert Facts().compare(inner, b).relation is different
    certain = CertainFacts.of(Facts())
    for facts in (certain, certain.copy()):
        for left, right, is_same in [
            (inner, a, True),
            (inner + 1, a + 1, True),
            (merge([inner, b]), merge([a, b]), True),
            (inner, b, False),
            (a, d_model, False),
            (a, 5, False),
            (a, unknown(), False),
        ]:
            assert facts.compare(left, right).relation is (same if is_same else different)
            assert facts.compare(right, left).relation is (same if is_same else different)


# Rows that are one of several, first-class dimensions ---------------------------------------------

several = either((b, c), (c,))


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([(a, b), (a, b)], "a b"),
        ([(a, b), (a, c)], "a b|c"),
        ([(a,), (b, c)], "[a|b c]"),
        ([(a, b), (Run(Sym("s")),)], "[a b|*s]"),
        ([(a, *several, d), (a,)], "[a b c d|a c d|a]"),
        ([(a, *several), (*several, a)], "[a b c|a c|b c a|c a]"),
        ([(a,), (u, c)], "..."),
        ([(a,), (b,), (c,), (d,), (h,)], "..."),
        ([(a,), (b, b), (c, c, c), (d,), (h,)], "..."),
        ([several * 3, (a,)], "..."),
        ([several * 7], "..."),
        ([(name("a" * 300),), (name("b" * 300), a)], "..."),
    ],
)
def test_one_of_several_rows(rows: list[tuple[Item, ...]], text: str) -> None:
    """Each of them is spelled out, as long as they are few and all have names."""
    assert Shape(either(*rows)).text() == text


def test_where_an_axis_stands() -> None:
    """It isn't known where it is in a row or behind one, from that end."""
    shape = Shape((Run(Sym("batch")), a, b))
    assert [shape.position(axis) for axis in (-4, -3, -2, -1, 0, 1, 2, 3)] == [
        *(None, None, 1, 2),
        *(None, None, None, None),
    ]
    shape = Shape((a, Run(Sym("batch"))))
    assert [shape.position(axis) for axis in (-2, -1, 0, 1)] == [None, None, 0, None]
    assert Shape((a, 3, b)).without({1}) == (a, b)
    assert str(Shape((a, Run(Sym("s")))).axes) == "len(*s)+1"


def test_a_first_class_dimension() -> None:
    """It has a size once it is bound, which is learned."""
    i, j = Free(Sym("i")), Free(Sym("j"))
    assert (repr(i), i.size) == ("i", name("i"))
    assert i.bound is Free(Sym("i")).bound is not j.bound
    facts = Facts()
    facts.learn(i.bound, 1)
    assert facts.size(Size.of(i.bound)) == 1
    tensor = Tensor(Shape((a,)), free=(i, j), inserted=True)
    assert repr(tensor) == "(a) over i, j"
    assert repr(Tensor(Shape((a,)))) == "(a)"
    assert tensor.with_shape(Shape((b,))) == Tensor(Shape((b,)), free=(i, j), inserted=True)


# Annotations ------------------------------------------------------------------------------------


def promised(text: str, shape: tuple[Item, ...], **names: DimExpr) -> Misfit | None:
    """Fit a shape to an annotation whose names are kept for every size."""
    matcher = Matcher(Facts(), names=dict(names), promises={*names})
    return matcher.match(parse(text), Shape(shape)) or matcher.settle()


@pytest.mark.parametrize(
    ("text", "dim", "fits"),
    [
        ("n", n, True),
        ("n", 3, False),
        ("3", n, False),
        ("n//2+1", n, False),
        ("n-n//2", (n + 1) // 2, True),
        ("n", d_model, True),
        ("min(n,2)", 2, True),
        ("min(n,h)", n, False),
        ("min(n,2)", extreme("min", [n, 2]), True),
        ("v", 10, True),
        ("v", 11, False),
    ],
)
def test_what_is_promised_holds_for_every_size(text: str, dim: Any, fits: bool) -> None:
    """And not only where a name is a number, or one of two."""
    found = promised(text, (dim,), n=n, h=h, v=ten.dim)
    assert (found is None) is fits


@pytest.mark.parametrize("step", [*range(2, 65, 7), 81, 128, 143, 343, 625, 1001, 4096, 5040])
def test_what_holds_for_sizes_that_are_cut_into_equal_pieces(step: int) -> None:
    """It may be promised, however long the pieces are, and whatever is left."""
    for rest in (0, 1, step - 1):
        assert promised("n", (step * (n // step) + rest,), n=n) is None


def test_groups_in_annotations_that_meet_what_is_unknown() -> None:
    """`*#b` has then met any dimensions; parts that have no name bind nothing."""
    matcher = Matcher(Facts())
    assert matcher.match(parse("*#b d"), Shape((Run(Sym.fresh("...")),))) is None
    assert Shape(matcher.runs["b"]).text() == "..."
    matcher = Matcher(Facts())
    assert matcher.match(parse("*#b *c d"), Shape((Run(Sym.fresh("...")),))) is None
    assert {*matcher.runs} == {"b"}
    matcher = Matcher(Facts())
    matcher.loosen(parse("*#b *c ... d"))
    assert {*matcher.runs} == {"b"}
    for text, bound in (("(h *_)", set()), ("(h *rest)", {"rest"})):
        matcher = Matcher(Facts(), names={"h": a})
        assert matcher.match(parse(text), Shape((merge([a, b, c]),))) is None
        assert matcher.settle() is None
        assert {*matcher.runs} == bound
    matcher = Matcher(Facts(), names={"h": a}, runs={"rest": (b, c)})
    assert matcher.match(parse("(h *rest)"), Shape((merge([a, c, b]),))) is not None
    assert matcher.runs == {"rest": (b, c)}


def test_what_an_annotation_leaves_open_has_a_name() -> None:
    """An axis `_` and a group `...` are declared to be anything."""
    shape = Matcher(Facts()).build(parse("_ ... x"), name, lambda group: Run(Sym(group)))
    open_ = [item.symbol for item in shape.dims[:2] if isinstance(item, (Size, Run))]
    assert all(symbol is not None and symbol.left_open for symbol in open_)
    assert len(open_) == 2
    found = Matcher(Facts()).build(parse("_ ... x"))
    first = found.dims[0]
    assert isinstance(first, Size)
    assert first.symbol is not None
    assert found.dims[1] != found.dims[0]


def test_a_group_that_is_promised() -> None:
    """Its dimensions are for every size, too, and a bare axis is of one tensor alone."""
    matcher = Matcher(Facts(), runs={"s": (n, a)}, promises={"s", "n", "a"})
    assert matcher.match(parse("*s d"), Shape((3, a, d))) is not None
    matcher = Matcher(Facts(), runs={"s": (n, a)}, promises={"n", "a"})
    assert matcher.match(parse("*s d"), Shape((3, a, d))) is None


def test_an_axis_is_no_square_of_itself_under_any_condition() -> None:
    rows, columns = (Size.of(Sym(text, Kind.OWN, Untold("x"))) for text in ("rows", "columns"))
    for condition in (False, True):
        facts = Facts(under_unknown_condition=condition)
        assert facts.differ(rows * rows, rows)
        assert facts.differ(rows, columns) is not condition
        assert facts.differ(d_model * d_model, d_model) is not condition


def test_what_waits_for_a_name() -> None:
    matcher = Matcher(Facts())
    assert matcher.match(parse("h*w n"), Shape((12, 3))) is None
    assert [matcher.awaits(text) for text in ("h", "w", "n", "x")] == [True, True, False, False]
    matcher.names["h"] = 3
    assert not matcher.awaits("h")
    assert matcher.settle() is None
    assert matcher.names["w"] == 4
    assert not matcher.awaits("w")
