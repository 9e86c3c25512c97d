"""Shapes, facts and broadcasting: against torch, and the rules of what may be equal to what."""

from __future__ import annotations

import itertools
from math import prod
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import shapecheck.dims as dims
from shapecheck.dims import (
    Dim,
    DimExpr,
    IntSize,
    Kind,
    Relation,
    Size,
    Sym,
    merge,
    name,
    own,
    unknown,
)
from shapecheck.dims.origins import LengthOf
from shapecheck.shapes import Clash, Facts, Item, Matcher, Run, Shape, broadcast, groups
from shapecheck.spec import Axis, Braces, Spec, parse

a, b, c, d, h, t, w = map(name, "abcdhtw")
d_model, d_ff = own("d_model"), own("d_ff")


def shape(text: str) -> Shape:
    """Read a shape; `<d>` is an own size, `?` an unknown one, `...` and `*batch` are runs."""
    items: list[Item] = []
    for entry in parse(text.replace("<", "{").replace(">", "}").replace("?", "{_}")).entries:
        if isinstance(entry, Axis) and isinstance(entry.expr, Braces):
            source = entry.expr.source
            items.append(unknown() if source == "_" else own(source))
        else:
            built = Matcher(Facts()).build(Spec((entry,)), name, lambda n: Run(Sym(n)))
            items.extend(built.dims)
    return Shape(tuple(items))


def show(items: tuple[Item, ...]) -> str:
    return Shape(items).text()


# Shapes -----------------------------------------------------------------------------------------


def test_what_a_shape_tells() -> None:
    """Rank, axes from both ends, elements, text."""
    known = shape("b t 3")
    assert (known.rank, known.least_rank, known.opaque) == (3, 3, False)
    assert (known.at(0), known.at(-1), known.at(3), known.at(-4)) == (b, 3, None, None)
    assert known.numel() == 3 * b * t
    assert repr(known) == "(b t 3)"
    ragged = shape("b ... d")
    assert (ragged.rank, ragged.least_rank, ragged.known, ragged.numel()) == (None, 2, None, None)
    assert (ragged.at(0), ragged.at(-1), ragged.at(1), ragged.at(-2)) == (b, d, None, None)
    assert repr(ragged) == "(b ... d)"
    assert Shape.unknown().opaque
    assert not shape("*batch").opaque
    assert repr(shape("*batch d")) == "(*batch d)"
    assert repr(Shape(())) == "()"
    assert Shape(()).numel() == 1
    assert Shape.of_rank(2).rank == 2


# Facts ------------------------------------------------------------------------------------------


def test_a_name_is_learned_once() -> None:
    """`d` is 512 for the rest of the body; another equation is a contradiction."""
    facts = Facts()
    assert facts.unify(d, 512)
    assert facts.same(d, 512)
    assert facts.size(2 * d) == 1024
    assert not facts.unify(d, 10)
    assert facts.differ(d, 10)


def test_facts_follow_each_other() -> None:
    """What is learned of a name holds for what the name was learned to be."""
    facts = Facts()
    assert facts.unify(d, d_model)
    assert facts.unify(d_model, 64)
    assert facts.size(d * h) == 64 * h
    assert not facts.unify(d, 65)
    copy = facts.copy()
    assert copy == facts
    assert copy.unify(h, 3)
    assert copy != facts
    assert facts.size(h) == h


def test_joining_keeps_what_holds_on_both_paths() -> None:
    """After an `if`, only what both branches learned is known."""
    left, right = Facts(), Facts()
    assert left.unify(d, 512)
    assert right.unify(d, 512)
    assert left.unify(h, 2)
    assert right.unify(h, 3)
    joined = left.join(right)
    assert joined.size(d) == 512
    assert joined.size(h) == h


def test_a_name_is_not_made_one_by_need() -> None:
    """But where the program says the number, or under a condition, it may be."""
    for left, right in ((2 * h - 1, h), (h + 1, 2 * h)):
        assert not Facts().unify(left, right)
        assert not Facts().unify(right, left)
        assert Facts(under_unknown_condition=True).unify(left, right)
        facts = Facts()
        assert facts.unify(left, right, told=True)
        assert facts.size(left) == facts.size(right)


def test_names_never_become_each_other() -> None:
    """The naming rule of the design: only numbers, own sizes and unknowns are learned."""
    facts = Facts()
    assert not facts.unify(a, b)
    assert not facts.unify(a, b + 1)
    assert not facts.unify(a * b, a * c)
    assert facts.unify(a, unknown())
    assert facts.unify(a, d_model)
    assert facts.unify(a, d_model)
    assert not facts.unify(d_model, d_ff)


def test_a_condition_may_have_excluded_a_difference_of_own_sizes() -> None:
    """Under a condition that can't be read, own sizes may be equal; names still can't."""
    facts = Facts(under_unknown_condition=True)
    assert facts.unify(d_model, d_ff)
    assert not facts.unify(a, b)


@pytest.mark.parametrize(
    ("left", "right", "relation"),
    [
        (merge([h, d]), merge([h, d]), Relation.SAME),
        (merge([h, d]), merge([d, h]), Relation.DIFFERENT),
        (merge([h, d]), h * d, Relation.SAME),
        (h * d, merge([d, h]), Relation.SAME),
        (merge([a, h, d]), merge([a, d, h]), Relation.DIFFERENT),
        (merge([a * h, d]), merge([a, h, d]), Relation.SAME),
        (merge([h, 64]), merge([d_model, 64]), Relation.POSSIBLE),
        (merge([h, 64]), merge([64, h]), Relation.DIFFERENT),
        (merge([h, 64]), merge([64, d_model]), Relation.DIFFERENT),
        (merge([h, 2, 3]), merge([h, 3, 2]), Relation.SAME),
        (merge([h, 2, 3]), merge([h, 6]), Relation.SAME),
        (merge([h, d]), 512, Relation.POSSIBLE),
        (merge([h, d]), w, Relation.DIFFERENT),
        (merge([h, d]), merge([h, unknown()]), Relation.POSSIBLE),
        (merge([2, 3, h, d]), merge([3, 2, d, h]), Relation.DIFFERENT),
    ],
    ids=str,
)
def test_composites_are_ordered(left: DimExpr, right: DimExpr, relation: Relation) -> None:
    """`(h d)` is not `(d h)` though their sizes are equal; a plain product matches either."""
    assert Facts().compare(left, right).relation is relation
    assert Facts().compare(right, left).relation is relation


@pytest.mark.parametrize(
    ("left", "right", "beside", "fits"),
    [
        (t, d_model, ["b t <d_model>", "b t <d_model>"], False),
        (t, 64, ["b t 64"], False),
        (t, 64, ["b t d", "64 d"], True),
        (t, d_model, ["b t d", "<d_model> d"], True),
        (t, d_model, ["b t ?"], True),
        (h, 14, ["b c h w", "1 c 14 14"], True),
        (d_model, 64, ["b <d_model> 64"], False),
        (t, unknown(), ["b t d"], True),
    ],
)
def test_two_axes_of_one_tensor_are_different(
    left: IntSize, right: IntSize, beside: list[str], fits: bool
) -> None:
    """The beside rule: a dimension is never made equal to what it stands beside."""
    operands = [shape(text) for text in beside]
    assert Facts().unify(left, right, operands) is fits
    assert Facts().unify(left, right)


def test_a_missing_transpose() -> None:
    """`q @ k` of (b t <d>) and (b t <d>): t can't become <d>."""
    facts = Facts()
    q = shape("b t <d>")
    inner, time = q.at(-1), q.at(-2)
    assert inner is not None
    assert time is not None
    assert not facts.unify(inner, time, [q, q])


def test_what_the_op_itself_equates_may_be_equal() -> None:
    """(b c h w) + (1 c 14 14) makes both h and w 14, by the shapes before the op."""
    facts = Facts()
    left, right = shape("b c h w"), shape("1 c 14 14")
    result = broadcast(facts, left.dims, right.dims, [left, right])
    assert facts.size(h) == facts.size(w) == 14
    assert show(facts.items(result)) == "b c 14 14"


def test_an_assertion_overrides_the_beside_rule() -> None:
    """What the program says is true is no longer a question."""
    facts = Facts()
    facts.learn(Sym("h"), w)
    assert facts.unify(h, w, [shape("b h w")])


# Broadcasting -----------------------------------------------------------------------------------

sizes = st.lists(st.sampled_from([1, 1, 2, 3]), max_size=4)


def test_what_a_fact_is_about() -> None:
    """The symbols that are learned of, and those that these say something of."""
    facts, row, length = Facts(), Sym("row"), Sym("len", Kind.UNKNOWN, LengthOf(Sym("s")))
    assert facts.concerned == frozenset()
    facts.learn(Sym("a"), 3)
    facts.learn(length, 4)
    assert facts.concerned == {Sym("a"), length, Sym("s")}
    assert facts.concerned == {Sym("a"), length, Sym("s")}
    facts.learn_run(row, (b,))
    assert facts.concerned == {Sym("a"), length, Sym("s"), row}


def test_rows_where_a_quotient_is_known_on_one_path() -> None:
    row = Sym.suppose("...")
    (floor,) = dims.atoms_of(a // 2)
    one, other = Facts(), Facts()
    one.learn(floor, 3)
    one.learn_run(row, (a, b))
    other.learn_run(row, (a, name("z")))
    for joined in (one.join(other), other.join(one)):
        (first, _) = joined.runs[row]
        assert first == a


def test_parts_in_another_order_are_another_dimension() -> None:
    """As long as they are the same ones; numbers may be put together."""
    one, other = Dim("one"), Dim("other")
    for left, right, relation in (
        (one + other, other + one, Relation.DIFFERENT),
        (one + 3, 3 + one, Relation.DIFFERENT),
        (one + other + one, 2 * one + other, Relation.DIFFERENT),
        (1 + one + 2, one + 3, Relation.SAME),
        (one + 1 + other + 2, one + other + 3, Relation.SAME),
        (2 * one, one + one, Relation.SAME),
    ):
        assert Facts().compare(left.dim, right.dim).relation is relation


@given(sizes, sizes)
@settings(max_examples=100, deadline=None)
def test_broadcasting_numbers_is_torchs(left: list[int], right: list[int]) -> None:
    """The same result, and a clash where torch refuses."""
    try:
        expected = tuple(torch.broadcast_shapes(left, right))
    except RuntimeError:
        with pytest.raises(Clash):
            broadcast(Facts(), left, right)
        return
    assert broadcast(Facts(), left, right) == expected


symbolic_dims = st.sampled_from([1, 1, 2, 6, a, a, b, 2 * a, a + 1, d_model])
VALUES = [{"a": 2, "b": 3, "d_model": 6}, {"a": 3, "b": 5, "d_model": 8}]


@given(st.lists(symbolic_dims, max_size=4), st.lists(symbolic_dims, max_size=4))
@settings(max_examples=150, deadline=None)
def test_broadcasting_names_is_torchs_on_their_sizes(left: list[Any], right: list[Any]) -> None:
    """Put sizes in: what broadcasts by name broadcasts in torch, to the sizes of the result."""
    facts = Facts()
    try:
        result = broadcast(facts, left, right)
    except Clash:
        return
    for values in VALUES:
        env: dict[Any, Any] = {Sym(n): v for n, v in values.items()}
        env[Sym("d_model", dims.Kind.OWN)] = values["d_model"]
        learned = [(Size.of(atom), value) for atom, value in facts.atoms.items()]
        if any(dims.substitute(x, env) != dims.substitute(y, env) for x, y in learned):
            continue
        numbers = [[dims.substitute(x, env) for x in side] for side in (left, right, result)]
        assert tuple(torch.broadcast_shapes(*numbers[:2])) == tuple(numbers[2])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ("b t d", "d", "b t d"),
        ("b 1 d", "t d", "b t d"),
        ("b t d", "1", "b t d"),
        ("b t 1", "d", "b t d"),
        ("", "b t", "b t"),
        ("b ?", "b d", "b d"),
        ("b d", "1 512", "b d"),
        ("*batch d", "d", "*batch d"),
        ("*batch d", "*batch d", "*batch d"),
        ("*batch d", "1 1", None),
        ("*batch n d", "1 1", "*batch n d"),
        ("n *batch d", "1 1", "n *batch d"),
        ("n *batch d", "1 1 1", None),
        ("...", "d", "... d"),
        ("... d", "d", "... d"),
        ("... 1", "d", "... d"),
        ("b ...", "d", "... d"),
        ("... t d", "...", "... t d"),
    ],
)
def test_broadcasting(left: str, right: str, result: str | None) -> None:
    """Names, numbers, unknowns and runs, in both orders; None where little can be known."""
    for one, other in ((left, right), (right, left)):
        facts = Facts()
        found = broadcast(facts, shape(one).dims, shape(other).dims)
        if result is not None:
            assert show(found) == result


@pytest.mark.parametrize(
    ("left", "right", "axis"),
    [
        ("b d", "t d", -2),
        ("b 2*t", "b t", -1),
        ("b t+1", "t", -1),
        ("2 3", "2 4", -1),
        ("... b", "c", -1),
        ("<d_model>", "<d_ff>", -1),
        ("(h d)", "(d h)", -1),
    ],
)
def test_clashes(left: str, right: str, axis: int) -> None:
    """Dimensions that can't meet, at the axis counted from the right."""
    for one, other in ((left, right), (right, left)):
        with pytest.raises(Clash) as caught:
            broadcast(Facts(), shape(one).dims, shape(other).dims)
        assert caught.value.axis == axis


@pytest.mark.parametrize("behind", [(), (5,), (5, name("d"))], ids=str)
def test_a_row_that_is_supposed_is_as_long_as_what_it_meets(behind: tuple[Item, ...]) -> None:
    """So that it is known where what stands before it clashes, on the left as on the right."""
    supposed = (name("w"), name("v"), Run(Sym.suppose("...")))
    other = (1, name("k"), *behind)
    for sides in ((supposed, other), (other, supposed)):
        with pytest.raises(Clash) as caught:
            broadcast(Facts(), *sides)
        assert caught.value.axis == -1 - len(behind)
        assert {caught.value.left, caught.value.right} == {name("v"), name("k")}


# Groups -----------------------------------------------------------------------------------------


@given(
    st.lists(st.sampled_from([1, 2, 3, 4, 6, a, b, a * b, 2 * a]), max_size=6),
    st.randoms(use_true_random=False),
)
@settings(max_examples=100, deadline=None)
def test_groups_are_the_finest_common_cut(parts: list[IntSize], random: Any) -> None:
    """Any two factorisations of one product are cut wherever their running products agree."""
    other = regroup(parts, random)
    found = list(groups(parts, other))
    assert [x for left, _ in found for x in left] == parts
    assert [x for _, right in found for x in right] == other
    for left, right in found[:-1] if found else []:
        assert prod(left, start=1) == prod(right, start=1)
    ends = list(itertools.accumulate((len(left) for left, _ in found), initial=0))
    running = [prod(parts[:i], start=1) for i in range(len(parts) + 1)]
    theirs = {prod(other[:i], start=1) for i in range(len(other) + 1)}
    cuts = {prod(parts[:end], start=1) for end in ends}
    assert {product for product in running if product in theirs} <= cuts


def regroup(parts: list[IntSize], random: Any) -> list[IntSize]:
    """Merge some neighbours and put some ones in: another factorisation of the same product."""
    found: list[IntSize] = []
    for part in parts:
        if found and random.random() < 0.4:
            found[-1] = found[-1] * part
        else:
            found.append(part)
        if random.random() < 0.1:
            found.append(1)
    return found


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ([b, t * c], [b * t, c], [([b, t * c], [b * t, c])]),
        ([b, t, h * d], [b, t, h, d], [([b], [b]), ([t], [t]), ([h * d], [h, d])]),
        ([b, t], [b * t], [([b, t], [b * t])]),
        ([2, 3, 4], [6, 4], [([2, 3], [6]), ([4], [4])]),
        ([], [1], [([], [1])]),
    ],
)
def test_groups(left: list[IntSize], right: list[IntSize], expected: list[Any]) -> None:
    """How a row-major reshape relates the dimensions of its input to those of its result."""
    assert [(list(x), list(y)) for x, y in groups(left, right)] == expected
