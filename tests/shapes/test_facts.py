"""What is learned of dimensions and of rows of them: by use, by exclusion, on two paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from shapecheck import dtypes
from shapecheck.dims import (
    Atom,
    DimExpr,
    IntSize,
    Relation,
    Size,
    Sym,
    extreme,
    merge,
    name,
    own,
    substitute,
    unknown,
)
from shapecheck.shapes import (
    CertainFacts,
    Clash,
    Facts,
    Item,
    Run,
    Shape,
    broadcast,
    broadcast_dim,
    either,
)

a, b, c, d, h, n, w = map(name, "abcdhnw")
d_model, d_ff, heads = map(own, ("d_model", "d_ff", "heads"))

ROWS: Mapping[str, Callable[[], Sym]] = {
    "supposed": lambda: Sym.suppose("..."),
    "untold": lambda: Sym.untold("x"),
    "fresh": lambda: Sym.fresh("..."),
    "named": lambda: Sym("batch"),
}
"""Rows of dimensions: as the program needs it, of a tensor without annotation, unknown, a name."""


def row(before: tuple[Item, ...], kind: str, behind: tuple[Item, ...]) -> tuple[Run, Shape]:
    """Return a row of dimensions, and a shape in which it stands between others."""
    run = Run(ROWS[kind]())
    return run, Shape((*before, run, *behind))


def learned(facts: Facts, run: Run) -> str | None:
    """Return what is known of a row of dimensions."""
    items = facts.runs.get(run.symbol)
    return None if items is None else Shape(items).text()


def learns(items: tuple[Item, ...], run: Run) -> Facts:
    facts = Facts()
    facts.learn_run(run.symbol, items)
    return facts


# A row of dimensions that is used ---------------------------------------------------------------

USED: list[tuple[tuple[Item, ...], str, tuple[Item, ...], dict[str, Any], str, str | None]] = [
    ((), "supposed", (), {"back": 1}, "... _", "... _"),
    ((), "supposed", (), {"front": 1}, "_ ...", "_ ..."),
    ((), "supposed", (), {"front": 2, "back": 1}, "_ _ ... _", "_ _ ... _"),
    ((), "supposed", (), {"count": 3}, "_ _ _", "_ _ _"),
    ((), "supposed", (), {"count": 0}, "", ""),
    ((), "supposed", (), {}, "...", None),
    ((), "supposed", (), {"back": 1, "likely": 3}, "... _ _ _", "... _ _ _"),
    ((), "untold", (), {"back": 1, "likely": 3}, "... _", "... _"),
    ((), "fresh", (), {"back": 1}, "... _", None),
    ((), "fresh", (), {"back": 1, "guess": True}, "...", None),
    ((), "fresh", (), {"count": 2}, "_ _", None),
    ((), "named", (), {"back": 1}, "*batch", None),
    ((a,), "supposed", (), {"back": 1}, "a ...", None),
    ((a,), "supposed", (), {"back": 1, "apart": True}, "a ... _", "... _"),
    ((a,), "untold", (), {"back": 1, "apart": True}, "a ...", None),
    ((a,), "supposed", (b,), {"back": 2, "apart": True}, "a ... _ b", "... _"),
    ((a,), "supposed", (), {"front": 2, "back": 1}, "a _ ... _", "_ ... _"),
    ((a,), "supposed", (b,), {"front": 2, "back": 1}, "a _ ... b", "_ ..."),
    ((a,), "supposed", (b,), {"count": 3}, "a _ b", "_"),
    ((a,), "supposed", (), {"count": 1}, "a", ""),
    ((a, b), "supposed", (), {"count": 1}, "a b ...", None),
    ((), "supposed", (), {"count": 64}, "...", None),
]


@pytest.mark.parametrize(("before", "kind", "behind", "use", "shape", "known"), USED)
def test_a_row_has_the_axes_that_are_used(
    before: tuple[Item, ...],
    kind: str,
    behind: tuple[Item, ...],
    use: dict[str, Any],
    shape: str,
    known: str | None,
) -> None:
    """What is supposed, or untold, has them from then on; of what is unknown this shape alone."""
    run, given_ = row(before, kind, behind)
    facts = Facts()
    assert facts.stretched(given_, **use).text() == shape
    assert learned(facts, run) == known


REACHED: list[tuple[tuple[Item, ...], str, tuple[Item, ...], int, str | None, str | None]] = [
    ((), "supposed", (), 0, "_", "_ ..."),
    ((), "supposed", (), 2, "_", "_ _ _ ..."),
    ((), "supposed", (), -1, "_", "... _"),
    ((), "supposed", (), -3, "_", "... _ _ _"),
    ((a,), "supposed", (), 0, "a", None),
    ((a,), "supposed", (), 2, "_", "_ _ ..."),
    ((a,), "supposed", (), -1, None, None),
    ((), "supposed", (b,), -1, "b", None),
    ((), "supposed", (b,), -2, "_", "... _"),
    ((), "supposed", (b,), 0, None, None),
    ((), "untold", (b,), 0, "_", "_ ..."),
    ((), "untold", (b,), 1, None, None),
    ((a,), "untold", (b,), 1, None, None),
    ((a,), "untold", (b,), -2, None, None),
    ((a,), "fresh", (), 1, "_", "_ ..."),
    ((), "fresh", (), 64, None, None),
    ((), "fresh", (), -64, None, None),
]


@pytest.mark.parametrize(("before", "kind", "behind", "axis", "found", "known"), REACHED)
def test_an_index_reaches_into_a_row(
    before: tuple[Item, ...],
    kind: str,
    behind: tuple[Item, ...],
    axis: int,
    found: str | None,
    known: str | None,
) -> None:
    """From the end at which nothing else stands; nothing is said where it isn't clear which."""
    run, shape = row(before, kind, behind)
    facts = Facts()
    dim = facts.reach(shape.dims, axis)
    assert (None if dim is None else str(dim)) == found
    assert learned(facts, run) == known
    if known is not None:
        assert facts.shape(shape).at(axis) == dim


def test_the_batch_in_front_is_asked_for_once() -> None:
    """Of a row that stands before others; what else is in it isn't known."""
    _, shape = row((), "untold", (b,))
    facts = Facts()
    batch = facts.reach(shape.dims, 0)
    assert batch is not None
    assert facts.reach(shape.dims, 0) is None
    assert facts.shape(shape).at(0) == batch


def test_a_layer_is_given_a_batch() -> None:
    """Where no annotation tells what stands before the axes that the layer uses."""
    for kind, behind, text in [
        ("untold", (a,), "_ a"),
        ("untold", (), "_ _"),
        ("untold", (a, b), "a b"),
        ("untold", (a, b, a), "... a b a"),
        ("supposed", (a,), "... a"),
    ]:
        _, shape = row((), kind, behind)
        assert Facts().batched(shape, 1).text() == text


PARTS: list[tuple[Any, int, tuple[Item, ...], str | None]] = [
    ("first", 1, (a,), "a ..."),
    ("first", 2, (a, b), "a b ..."),
    ("first", 2, (a,), None),
    ("last", 1, (a,), "... a"),
    ("after", 1, (a, b), "_ a b"),
    ("after", 2, (a,), "_ _ a"),
    ("after", 1, (), None),
    ("before", 1, (a, b), "a b _"),
    ("before", 1, (), None),
]


@pytest.mark.parametrize(("which", "count", "items", "whole"), PARTS)
def test_a_part_of_a_row_says_what_the_row_is(
    which: Any, count: int, items: tuple[Item, ...], whole: str | None
) -> None:
    run = Run(Sym("batch"))
    facts = learns(items, run.part(which, count))
    assert learned(facts, run) == whole


@pytest.mark.parametrize(
    ("length", "spelled"), [(0, ""), (3, "_ _ _"), (64, "_ " * 63 + "_"), (65, None)]
)
def test_the_length_of_a_row_spells_it_out(length: int, spelled: str | None) -> None:
    run = Run(Sym("batch"))
    facts = Facts()
    assert facts.unify(run.length, length)
    assert learned(facts, run) == spelled


def test_one_of_several_rows_is_known_by_its_length() -> None:
    """And what isn't known of its dimensions is learned from it."""
    (run,) = either((b, c), (c,))
    assert isinstance(run, Run)
    u, v = unknown(), unknown()
    facts = learns((u, v), run)
    assert learned(facts, run) == "b c"
    assert (facts.size(u), facts.size(v)) == (b, c)
    assert learned(learns((u,), run), run) == "c"
    assert learned(learns((u, v, u), run), run) == "_ _ _"


@pytest.mark.parametrize(
    ("add", "other", "known"), [(0, 1, "b c"), (0, 2, "c"), (1, 3, "c"), (0, 5, None)]
)
def test_a_length_that_is_excluded(add: int, other: int, known: str | None) -> None:
    (run,) = either((b, c), (c,))
    assert isinstance(run, Run)
    facts = Facts()
    facts.exclude(run.length + add, other)
    assert learned(facts, run) == known


def test_a_size_that_is_excluded() -> None:
    """Of several that it may be; what is left is one of fewer."""
    one = Size.of(Sym.one_of("3|4|a", (3, 4, a)))
    facts = Facts()
    facts.exclude(2 * one, 8)
    assert str(facts.size(one)) == "3|a"
    facts.exclude(facts.size(one), 3)
    assert facts.size(one) == a
    other = Size.of(Sym.one_of("3|4", (3, 4)))
    facts = Facts()
    for size, number in ((other, 5), (7, 3), (other, a)):
        facts.exclude(size, number)
    assert facts == Facts()


# Two paths --------------------------------------------------------------------------------------


def test_what_two_paths_need_of_what_is_supposed() -> None:
    """It has what either needs of it, where both can be."""
    for one, other, joined in [
        ({"back": 1}, {}, "... _"),
        ({"front": 1}, {"back": 1}, "_ ... _"),
        ({"count": 2}, {"back": 1}, "_ _"),
        ({"back": 3}, {"count": 3}, "_ _ _"),
        ({"back": 3}, {"count": 2}, None),
        ({"front": 1, "back": 1}, {"front": 1, "back": 2}, "_ ... _ _"),
        ({"count": 2}, {"count": 3}, None),
    ]:
        for first, second in ((one, other), (other, one)):
            run, shape = row((), "supposed", ())
            left, right = Facts(), Facts()
            left.stretched(shape, **first)  # type: ignore[arg-type]
            right.stretched(shape, **second)  # type: ignore[arg-type]
            assert learned(left.join(right), run) == joined


def test_a_path_that_was_taken_for_the_length_of_a_row_says_nothing_of_it() -> None:
    """It is that long there, and as the other needs it elsewhere."""
    run, shape = row((), "supposed", ())
    left, right = Facts(), Facts()
    assert left.unify(run.length, 2)
    right.stretched(shape, back=1)
    assert learned(left, run) == "_ _"
    assert learned(left.join(right), run) is None
    assert learned(right.join(left), run) is None


def test_what_two_paths_say_of_a_row() -> None:
    """A name stays what it is on both; of an axis that isn't the same on both little is known."""
    batch, supposed = Run(Sym("batch")), Run(ROWS["supposed"]())
    for run, one, other, joined in [
        (batch, (a,), (a,), "a"),
        (batch, (a,), (b,), None),
        (batch, (a,), None, None),
        (supposed, (a, b), (a, c), "a _"),
        (supposed, (a, b), None, "a b"),
        (supposed, (batch, a), (batch, a), "*batch a"),
        (supposed, (a, batch, b), (a, c, b), "a c b"),
        (supposed, (a, batch, c), (batch, c), "a *batch c"),
        (supposed, (batch, batch, c), (a, c), None),
    ]:
        for first, second in ((one, other), (other, one)):
            left = Facts() if first is None else learns(first, run)
            right = Facts() if second is None else learns(second, run)
            assert learned(left.join(right), run) == joined


def test_an_axis_that_one_path_needs_is_what_the_other_says() -> None:
    """And what is known of the sizes in a row comes with it."""
    run, shape = row((), "supposed", ())
    left, right = Facts(), learns((d_model, 3), run)
    left.stretched(shape, count=2)
    assert left.join(right).shape(shape).text() == "<d_model> 3"
    assert right.join(left).shape(shape).text() == "<d_model> 3"
    first = unknown()
    right = learns((first, d), run)
    right.learn(first.symbol or Sym("_"), 3)
    assert Facts().join(right).shape(shape).text() == "3 d"


def test_an_axis_of_another_tensor_need_not_be_that_of_a_row() -> None:
    """Where one path meets it; what the program chooses it is."""
    for met, is_it in ((unknown("t"), False), (a, False), (d_model, True)):
        _, shape = row((), "supposed", ())
        left, right = Facts(), Facts()
        left.stretched(shape, count=1)
        axis = right.stretched(shape, count=1).at(0)
        assert isinstance(axis, Size)
        right.learn(axis.symbol or Sym("_"), met)
        for joined in (left.join(right), right.join(left)):
            assert (joined.shape(shape).at(0) == met) is is_it


def test_own_sizes_that_had_to_be_equal_on_one_path_are_in_doubt_behind_it() -> None:
    one, other = Facts(under_unknown_condition=True), Facts()
    assert not other.unify(d_model, d_ff)
    assert one.unify(d_model, d_ff)
    for joined in (one.join(other), other.join(one)):
        assert joined.unify(d_model, d_ff)
        assert not joined.unify(d_model, heads)
        assert not joined.unify(a, b)


def test_numbers_are_given_up() -> None:
    """What was a number of a row is an axis of any size."""
    run, shape = row((), "supposed", ())
    facts = learns((3, d, Run(Sym("batch"))), run)
    facts.leave_numbers(run.symbol)
    assert facts.shape(shape).text() == "_ d *batch"
    facts.leave_numbers(Sym("other"))
    assert facts.shape(shape).text() == "_ d *batch"


def test_conditions_and_dtypes_of_two_paths() -> None:
    half = dtypes.of("float16")
    one, other = Facts(autocast=half), Facts(under_unknown_condition=True)
    assert (Facts().autocast, one.join(other).autocast) == (0, half)
    assert not one.join(other).under_unknown_condition
    assert other.join(other).under_unknown_condition
    assert one != Facts()
    assert other != Facts()


# Names ------------------------------------------------------------------------------------------


def test_names_are_forgotten() -> None:
    facts = Facts()
    for dim in (a, b, d_model):
        assert facts.unify(dim, 512)
    facts.forget({"a", "d_model"})
    assert (facts.size(a), facts.size(b), facts.size(d_model)) == (a, 512, 512)


def test_two_names_that_were_given_to_sizes_are_different_dimensions() -> None:
    """Although both are 2; but 1 broadcasts whatever it is called."""
    for size, relation in ((2, Relation.DIFFERENT), (1, Relation.SAME)):
        facts = Facts()
        facts.learn(Sym("a"), size)
        facts.learn(Sym("b"), size)
        assert facts.same(a, b)
        facts.tell_apart(Sym("a"))
        assert facts.same(a, b)
        facts.tell_apart(Sym("b"))
        assert facts.compare(a, b).relation is relation
        assert facts.copy().compare(a, b).relation is relation


def test_features_are_never_none() -> None:
    """What is concatenated with some has more; of a size that may be 0 it isn't known."""
    facts = Facts()
    assert not facts.differ(h + d_model, h)
    facts.features = frozenset(symbol for symbol in [d_model.symbol] if symbol)
    assert facts.differ(h + d_model, h)
    assert facts.differ(h + d_model * d_model, h)
    assert not facts.differ(h + d_ff, h)
    assert not facts.differ(h + d_ff * d_model, h)
    facts.under_unknown_condition = True
    assert not facts.differ(h + d_model, h)


@pytest.mark.parametrize(
    ("half", "whole", "differ"),
    [
        (d_model // 2 - 1, d_model - 2, True),
        (d_model // 2, d_model - 1, True),
        (d_model // 3, d_model - 2, False),
        (d_model - 1, d_ff, False),
        ((h - 1) // 2, h - 2, False),
    ],
)
def test_the_half_of_what_a_program_chooses_is_less(
    half: IntSize, whole: IntSize, differ: bool
) -> None:
    assert Facts().differ(half, whole) is differ
    assert Facts().differ(whole, half) is differ
    assert not Facts(under_unknown_condition=True).differ(half, whole)


def test_one_of_several_names_is_no_other_name() -> None:
    one = Size.of(Sym.one_of("a|b", (a, b)))
    facts = Facts()
    assert facts.differ(one, c)
    assert facts.differ(c, one)
    assert not facts.differ(one, a)
    assert not facts.differ(one, d_model)
    assert not facts.differ(Size.of(Sym.one_of("a|3", (a, 3))), c)


@pytest.mark.parametrize(
    ("whole", "parts", "beside", "taken", "is_n"),
    [
        (n, d_model * d_ff, [], True, d_model * d_ff),
        (n + 1, d_model * d_ff, [], True, d_model * d_ff - 1),
        (n, a * b, [Shape((n, c))], True, a * b),
        (n, a * b, [Shape((n, a))], False, n),
        (n, a * b, [Shape((c, a))], True, a * b),
        (n * b, d_model * d_ff, [], False, n),
        (2 * n, a * b, [], False, n),
        (n, d_model + d_ff, [], False, n),
        (n, d_model, [], False, n),
        (n, 6, [], False, n),
        (d_ff, a * b, [], False, n),
    ],
)
def test_a_name_that_is_written_as_a_product(
    whole: IntSize, parts: IntSize, beside: list[Shape], taken: bool, is_n: IntSize
) -> None:
    """Where the program writes it, and no tensor has one of the factors beside the name."""
    facts = Facts()
    assert facts.take_apart(whole, parts, beside) is taken
    assert facts.size(n) == is_n
    assert not CertainFacts().take_apart(whole, parts, beside)


BESIDE: list[tuple[DimExpr, DimExpr, bool]] = [
    (a, b, True),
    (a, d_model, True),
    (a, a + 1, True),
    (d_model, d_ff, True),
    (d_model // 2, d_ff, True),
    (a, 5, True),
    (a, 1, True),
    (d_model, 1, False),
    (3, 4, False),
    (a, unknown(), False),
    (a, Size.of(Sym.count("k")), True),
    (2 * (d_model // 2), d_model, False),
    (2 * (a // 2), a, True),
    (extreme("min", [n, h]), n, False),
    (extreme("min", [n, h]), extreme("min", [n, w]), False),
    (extreme("min", [n, h]), c, True),
    (extreme("min", [n, 2]), 2, False),
    (heads, d_model * d_ff, True),
]


@pytest.mark.parametrize(("one", "other", "apart"), BESIDE)
def test_what_stands_beside_each_other(one: DimExpr, other: DimExpr, apart: bool) -> None:
    """Two axes of one tensor are different dimensions, but where they may well be one number."""
    together = [Shape((c, one, other))]
    for left, right in ((one, other), (other, one)):
        assert Facts().stand_together(left, right, together) is apart
        assert not Facts().stand_together(left, right, [Shape((one, h)), Shape((other, h))])
        assert not Facts().stand_together(left, right, [])


def test_own_sizes_may_be_equal_under_a_condition_though_they_stand_beside_each_other() -> None:
    facts = Facts(under_unknown_condition=True)
    assert not facts.stand_together(d_model, d_ff, [Shape((d_model, d_ff))])
    assert facts.stand_together(a, d_ff, [Shape((a, d_ff))])


def test_a_name_is_no_number_that_a_parameter_has_beside_it() -> None:
    """But a 1, which is there to broadcast."""
    for number, apart in ((5, True), (1, False)):
        facts = Facts(declared=(Shape((a, number)),))
        assert facts.stand_together(a, number, [Shape((a, b))]) is apart
        assert facts.stand_together(number, a, [Shape((a, b))]) is apart
        assert not facts.stand_together(b, number, [Shape((a, b))])


def test_what_was_learned_before_an_operation_counts() -> None:
    """Shapes are judged as they were when they were resolved."""
    facts = Facts()
    run = Run(Sym("batch"))
    shapes = [Shape((run, a)), Shape((3,))]
    assert facts.resolved(shapes) == shapes
    facts.learn(Sym("a"), 2)
    facts.learn_run(run.symbol, (b, a))
    assert [shape.text() for shape in facts.resolved(shapes)] == ["b 2 2", "3"]


# Broadcasting with rows -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "result", "known"),
    [
        ((1, c, d), "_ c d", "_ _ _"),
        ((d_model, d_ff), "... <d_model> <d_ff>", "... _ _"),
        ((c, d), "... c d", None),
        ((3,), "... 3", "... _"),
        ((4,), "... 4", "... _"),
        ((5,), "...", None),
        ((d_model, 1), "... <d_model> _", "... _ _"),
        ((1,), "...", None),
        ((Run(Sym("batch")), 1), "... _", "... _"),
        ((Run(Sym("batch")), c), "... c", None),
    ],
)
def test_what_is_supposed_has_the_axes_that_it_is_combined_with(
    other: tuple[Item, ...], result: str, known: str | None
) -> None:
    """A 1 is there to stand for one; few and chosen sizes are those of what they meet."""
    for swapped in (False, True):
        run = Run(ROWS["supposed"]())
        facts = Facts()
        sides: list[tuple[Item, ...]] = [(run,), other]
        found = broadcast(facts, *(sides[::-1] if swapped else sides))
        assert Shape(facts.shape(Shape(found)).dims).text() == result
        assert learned(facts, run) == known


def test_one_of_several_rows_is_broadcast_as_each_of_them() -> None:
    several = either((b, c), (c,))
    for left, right, result in [
        (several, (c,), "[b c|c]"),
        (several, (a, b, c), "a b c"),
        ((a, *several), (b, c), "a b c"),
        (several, several, "[b c|c]"),
    ]:
        assert Shape(broadcast(Facts(), left, right)).text() == result
        assert Shape(broadcast(Facts(), right, left)).text() == result


def test_what_two_unknown_dimensions_broadcast_to() -> None:
    """Either may be 1; of what isn't 1 for certain the other need be."""
    u, v = unknown(), unknown()
    (found,) = broadcast(Facts(), [u], [v])
    assert found not in (u, v)
    three, four = (Size.of(Sym.one_of(f"1|{n}", (1, n))) for n in (3, 4))
    assert broadcast(Facts(), [three], [5]) == broadcast(Facts(), [5], [three]) == (5,)
    assert broadcast(Facts(), [extreme("min", [n, 3]) - 2], [5]) == (5,)
    (found,) = broadcast(Facts(), [three], [four])
    assert found not in (three, four)
    with pytest.raises(Clash) as caught:
        broadcast_dim(Facts(), a, b)
    assert (caught.value.axis, caught.value.left, caught.value.right) == (-1, a, b)


def test_what_was_unknown_is_shown_by_what_it_is() -> None:
    """In each place; names stay."""
    u = unknown()
    facts = Facts()
    facts.learn(Sym("a"), 3)
    shapes = [Shape(items) for items in ((u,), (a, u), (2 * u, b), (merge([a, u]),), (a,))]
    assert [facts.shape(one) for one in shapes] == shapes
    facts.learn(u.symbol or Sym("_"), b + 1)
    found = [facts.shape(one).text() for one in shapes]
    assert found == ["b+1", "a b+1", "2*b+2 b", "(a b+1)", "a"]
    facts.learn(Sym("b"), 4)
    assert facts.items(shapes[1].dims) == (3, 5)
    assert facts.dim(merge([a, u])) == 15
    assert facts.size(a * u + h) == 15 + h


class Running(Facts):
    """What a program learns that runs."""

    __slots__ = ()

    def of_running_program(self) -> bool:
        return True


def test_a_name_is_shown_before_what_is_equal_to_it() -> None:
    """In a program that runs, and but for a merge, whose order says more."""
    facts = Running()
    facts.learn(Sym("c"), a * b)
    for left, right, result in [
        (a * b, c, c),
        (c, a * b, c),
        (merge([a, b]), c, merge([a, b])),
        (c, merge([a, b]), merge([a, b])),
    ]:
        assert broadcast(facts, [left], [right]) == (result,)


@given(
    st.lists(st.sampled_from([1, 2, a, b, d_model]), max_size=3),
    st.lists(st.sampled_from([1, 2, a, b, d_model]), max_size=3),
    st.lists(st.integers(1, 3), max_size=2),
)
def test_broadcasting_a_row_is_torchs_on_what_it_stands_for(
    left: list[IntSize], right: list[IntSize], inside: list[int]
) -> None:
    """Put dimensions in for `*batch`, and sizes for names: torch gives what was said."""
    batch = Sym("batch")
    facts = Facts()
    try:
        found = broadcast(facts, [Run(batch), *left], right)
    except Clash:
        return
    facts.learn_run(batch, tuple(inside))
    env: dict[Atom, IntSize] = {Sym("a"): 2, Sym("b"): 3}
    env |= {symbol: 2 for symbol in [d_model.symbol] if symbol}
    if any(size != substitute(Size.of(atom), env) for atom, size in facts.atoms.items()):
        return
    numbers = [[substitute(size, env) for size in side] for side in (left, right)]
    assume(all(isinstance(size, int) for side in numbers for size in side))
    try:
        expected = torch.broadcast_shapes((*inside, *numbers[0]), numbers[1])  # type: ignore[arg-type]
    except RuntimeError:
        return
    known = Shape(facts.items(found))
    assert known.least_rank <= len(expected)
    for axis in range(1, known.least_rank + 1):
        if (dim := known.at(-axis)) is not None and isinstance(dim, (int, Size)):
            value = substitute(dim, env)
            assert not isinstance(value, int) or value == expected[-axis]
