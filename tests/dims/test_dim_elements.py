"""The algebra of dimension objects against lists of elements: what is equal is laid out alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from shapecheck.dims import Dim, IntSize, dims, substitute, symbols

a, b, c = dims("a b c")

Element = tuple[str, ...]
SIZES: tuple[dict[str, int], ...] = ({"a": 2, "b": 3, "c": 5}, {"a": 3, "b": 2, "c": 2})


@dataclass(frozen=True)
class Laid:
    """A dimension, or a number, and the elements that it has, in their order, for some sizes.

    Those of a number have no names. A sum has those of one operand and then those of the other. An
    element of a product is one of the left operand and, in that, one of the right.
    """

    dim: Dim | int
    elements: Callable[[Mapping[str, int]], list[Element]]

    def __add__(self, other: Laid) -> Laid:
        return Laid(self.dim + other.dim, lambda env: self.elements(env) + other.elements(env))

    def __mul__(self, other: Laid) -> Laid:
        return Laid(
            self.dim * other.dim,
            lambda env: [x + y for x in self.elements(env) for y in other.elements(env)],
        )

    def __repr__(self) -> str:
        return str(self.dim)


def named(dim: Dim) -> Laid:
    return Laid(dim, lambda env: [(f"{dim.name}{index}",) for index in range(env[dim.name])])


def number(count: int) -> Laid:
    return Laid(count, lambda env: [()] * count)


leaves = st.one_of(st.sampled_from([a, b, c]).map(named), st.integers(1, 3).map(number))
laid = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(Laid.__add__, inner, inner), st.builds(Laid.__mul__, inner, inner)
    ),
    max_leaves=5,
)


def at(size: IntSize, env: Mapping[str, int]) -> IntSize:
    return substitute(size, {symbol: env[symbol.name] for symbol in symbols(size)})


def are_one(left: Dim | int, right: Dim | int) -> bool:
    """Whether two dimensions are the same, in all that is asked of them."""
    if isinstance(left, int) or isinstance(right, int):
        return left == right
    if left != right:
        return False
    assert hash(left) == hash(right)
    assert left.size == right.size
    assert left.dim == right.dim
    return True


def is_spelled_out(one: Laid) -> bool:
    """Whether it has no more copies of anything than are written one behind the other."""
    return len(one.elements({"a": 1, "b": 1, "c": 1})) <= 16


@given(laid, laid)
def test_what_is_equal_has_the_same_elements(left: Laid, right: Laid) -> None:
    """And what has the same elements for some sizes and others is equal."""
    assume(is_spelled_out(left) and is_spelled_out(right))
    alike = all(left.elements(env) == right.elements(env) for env in SIZES)
    if isinstance(left.dim, Dim) and isinstance(right.dim, Dim):
        assert are_one(left.dim, right.dim) is alike


@given(laid)
def test_there_are_as_many_elements_as_the_size_says(one: Laid) -> None:
    size = one.dim if isinstance(one.dim, int) else one.dim.size
    for env in SIZES:
        assert at(size, env) == len(one.elements(env))


@given(laid, laid, laid)
@example(named(c), named(a) + number(1), named(a))
@example(named(a), named(a) + number(2), named(a) + named(b))
@example(named(a), named(a) + named(a) * number(2), named(a) + named(a))
@example(named(a), named(a) + named(a) * number(2), named(a) + named(b))
def test_products_and_sums_are_associative(x: Laid, y: Laid, z: Laid) -> None:
    assume(is_spelled_out(x * y * z))
    assert are_one(((x * y) * z).dim, (x * (y * z)).dim)
    assert are_one(((x + y) + z).dim, (x + (y + z)).dim)


@given(laid, laid, laid)
def test_a_sum_distributes_over_what_stands_behind_it(x: Laid, y: Laid, z: Laid) -> None:
    assume(is_spelled_out((x + y) * z))
    assert are_one(((x + y) * z).dim, (x * z + y * z).dim)


@given(laid, laid)
def test_what_is_taken_away_again(x: Laid, y: Laid) -> None:
    """From the right; the size of a quotient is the same from whichever side."""
    assume(isinstance(x.dim, Dim) and isinstance(y.dim, Dim))
    assert isinstance(x.dim, Dim)
    assert isinstance(y.dim, Dim)
    assert are_one(x.dim + y.dim - y.dim, x.dim)
    product = x.dim * y.dim
    assert (product // y.dim).size == x.dim.size
    assert product.div_left(x.dim).size == y.dim.size


@given(laid, st.lists(st.sampled_from([a, b, c]), min_size=1, max_size=3))
def test_a_product_of_names_is_taken_away_from_either_side(x: Laid, names: list[Dim]) -> None:
    assume(isinstance(x.dim, Dim))
    assert isinstance(x.dim, Dim)
    product = names[0]
    for one in names[1:]:
        product = product * one
    assert are_one(x.dim * product // product, x.dim)
    assert are_one((product * x.dim).div_left(product), x.dim)


@pytest.mark.parametrize("count", [8, 9])
def test_of_many_copies_each_is_the_same(count: int) -> None:
    """Whether they are spelled out or not."""
    many = count * (a + b)
    assert many.size == count * a.size + count * b.size
    assert are_one(many, (a + b) + (count - 1) * (a + b)) is (count == 8)
