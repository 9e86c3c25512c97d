"""`Dim` objects: identity, the algebra of sizes, and the order of merges and concatenations."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shapecheck.dims import (
    Composite,
    Dim,
    Relation,
    compare,
    dims,
    joined,
    name,
    power,
    size_of,
    substitute,
    symbols,
)
from shapecheck.dims.objects import object_of

a, b, c = dims("a b c")
vocab = Dim("vocab", size=10)


def up(dim: Dim, by: int) -> Dim:
    """Return a quotient that is rounded up, RETURNN's `ceildiv_right`."""
    return -(-dim // by)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (2 * a, a + a),
        (3 * a, a + a + a),
        ((a + b) * c, a * c + b * c),
        ((a + 1) * c, a * c + c),
        (a * b // b, a),
        ((a + b) * c // c, a + b),
        ((a * b).div_left(a), b),
        ((2 * a * b).div_left(2 * a), b),
        ((a * b * c).div_left(a * b), c),
        (2 * a // 2, a),
        (2 * (a + b), a + b + a + b),
        ((a * b) * c, a * (b * c)),
        (a + (b + c), (a + b) + c),
        (a + b - b, a),
        (a + 1 - 1, a),
        (a - a, b - b),
        (a * 1, a),
        (1 * a, a),
        (a + 0, a),
        (0 * a, a - a),
        (-(b - a), a - b),
        (a - b, a + -b),
        (a // 2, a // 2),
        (a % 2, a % 2),
        (a // 2 // 2, a // 4),
        (a // a, b // b),
        # what RETURNN tests of its `Dim`: sums of multiples, products, quotients, padding
        (a + 2 * a, 3 * a),
        (2 * a + a, a * 0 + 3 * a),
        (3 * a - a, 2 * a),
        (-b + (b + a), a),
        ((a + b + c) - c - b, a),
        (1 + a - 1 + 1, 1 + a),
        ((1 + a + 1) - 1, 1 + a),
        (2 * a * b, 2 * (a * b)),
        ((2 * a) * b // b, 2 * a),
        (a * b * c // c // b, a),
        (6 * a // 3 // 2, a),
        ((a * 2) // 2, a),
        ((2 * a + 2 * b) // 2, a + b),
        ((a + b) * 1, a + b),
        ((a + b) * (c * b), a * c * b + b * c * b),
        ((a + b) * c - b * c, a * c),
        (vocab * a // a, vocab),
        # quotients that are rounded up, one after the other
        (up(up(a, 2), 3), up(a, 6)),
        (up(up(a, 3), 2), up(a, 6)),
        (up(up(up(a, 2), 2), 2), up(a, 8)),
        (up(up(a + 1, 2), 3), up(a + 1, 6)),
        (up(2 * a, 2), a),
        # a sum distributes over what is merged behind it, wherever it stands
        ((c * (a + 1)) * a, c * ((a + 1) * a)),
        ((c * (a + b)) * a * b, c * (a + b) * (a * b)),
        ((a + 1) * (b * c), (a + 1) * b * c),
    ],
    ids=str,
)
def test_the_same_layout_is_the_same_dimension(left: Dim, right: Dim) -> None:
    """Dimensions that are laid out alike are equal, and hash alike."""
    assert left == right
    assert hash(left) == hash(right)
    assert left.size == right.size
    assert left.dim == right.dim


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (a * b, b * a),
        (a + b, b + a),
        (a + 1, 1 + a),
        (2 * a, a * 2),
        (c * (a + b), c * a + c * b),
        (c * (a + b), c * (b + a)),
        (a * b * c, a * c * b),
        (1 + a + b, a + b + 1),
        (b + 2 * a, a + b + a),
        (2 * (a * b), a * 2 * b),
        ((a + b) * c, c * (a + b)),
        # what is taken away from the left by what takes away from the right
        (a * b // a, b),
        (2 * a * b // (2 * a), b),
        (a * b // a * c, b * c),
        (a * (b + c) // a, b + c),
        (a * b * c // a, b * c),
    ],
    ids=str,
)
def test_order_is_part_of_the_identity(left: Dim, right: Dim) -> None:
    """Merging and concatenating in another order is another dimension, of equal size."""
    assert left != right
    assert left.size == right.size


def test_what_is_left_of_a_product_has_the_size_of_its_right_factor() -> None:
    """In an axis, too, where it isn't the object."""
    left = a * b // a
    assert left != b
    assert left.dim == b.dim
    assert (left + left).dim == (2 * left).dim
    assert size_of((left * c).dim) == (b * c).size


def test_an_ordered_product_is_a_composite() -> None:
    """What an axis holds: `(a b)` for a product, a size for everything else."""
    assert isinstance((a * b).dim, Composite)
    assert str((a * b).dim) == "(a b)"
    assert size_of((a * b).dim) == (a * b).size
    assert (a + b).dim == joined((a.size, b.size)) != (a + b).size
    assert (2 * a).dim == (a + a).dim
    assert str((a * 2).dim) == "(a 2)"


def test_a_dimension_is_an_object_not_a_name() -> None:
    """Two dimensions of one name never meet."""
    one, two = Dim("n"), Dim("n")
    assert one != two
    assert one.name == two.name == "n"
    assert compare(one.size, two.size).relation is Relation.DIFFERENT
    assert one != "n"
    assert len({one, two, one}) == 2


def test_batches_that_are_called_alike_are_the_same() -> None:
    """But for those with a size of their own, and those to which sequences are padded."""
    batch = Dim("batch", kind="batch")
    assert batch == Dim("batch", kind="batch")
    assert len({batch, Dim("batch", kind="batch"), batch + 1}) == 2
    assert batch != Dim("other", kind="batch")
    assert Dim("batch", 3, kind="batch") != Dim("batch", 3, kind="batch")
    assert Dim("batch", kind="spatial") != Dim("batch", kind="spatial")


def test_a_dimension_is_called_as_its_variable() -> None:
    """Where it is given no name."""
    local = Dim()
    assert local.name == "local"
    assert Hidden.name == "Hidden"
    assert [Dim().name, Dim(size=2).name] == ["dim", "dim"]
    assert Dim() != Dim()


Hidden = Dim(size=4)


def test_what_a_dimension_is_computed_from() -> None:
    """In the order in which these were made."""
    assert a.bases == (a,)
    assert (b + 2 * a - b * c // c).bases == (a,)
    assert ((c * b + a) // 2).bases == (a, b, c)
    assert (vocab + 1).bases[0] is vocab


def test_they_are_sorted_as_they_were_made() -> None:
    """What is computed stands behind what it is computed from."""
    assert sorted([c, 2 * a, vocab, b, a, b]) == [a, 2 * a, b, b, c, vocab]
    assert a < b
    assert a <= a
    assert not b < a


def test_what_is_declared_to_be_the_same() -> None:
    """Also in all that is computed from it."""
    out, enc, feature = Dim("out"), Dim("enc"), Dim("feature", size=12)
    out.declare_same_as(enc // 2)
    assert out == enc // 2
    assert (out + 1) * a == (enc // 2 + 1) * a
    assert hash(out) == hash(enc // 2)
    assert out.dim == (enc // 2).dim
    half = feature // 2
    again = half + half
    assert again != feature
    again.declare_same_as(feature)
    assert {feature, half, again} == {feature, half}
    again.declare_same_as(feature)
    late, more, twice = Dim("late"), Dim("more"), Dim("twice")
    before = [late + 1, more * late, late // 3, c * (late + b), twice * twice]
    late.declare_same_as(enc - 1)
    twice.declare_same_as(2 * enc)
    assert before[:3] == [enc - 1 + 1, more * (enc - 1), (enc - 1) // 3]
    assert before[3:] == [c * (enc - 1 + b), 2 * enc * (2 * enc)]
    assert [dim.size for dim in before[:1]] == [enc.size]
    with pytest.raises(ValueError, match='"feature" is 12, and "vocab" is 10'):
        feature.declare_same_as(vocab)
    with pytest.raises(ValueError, match='"enc\\+1" is computed from "enc"'):
        enc.declare_same_as(enc + 1)


def test_what_stands_behind_each_other_has_an_order() -> None:
    """Of objects; names have none."""
    assert str((a + b).dim) == "a+b"
    assert str((b + a).dim) == "b+a"
    assert (a + b).dim != (b + a).dim
    assert compare((a + b).size, (b + a).size).relation is Relation.SAME
    assert compare(size_of((a + b).dim), size_of((b + a).dim)).relation is Relation.SAME
    assert power(size_of((2 * a).dim), 1) == (2 * a).dim != power((2 * a).size, 1)
    for dim in (a + b, b + a + b, a * b, a * 2, 2 * a, a * (b + 1), vocab + 1):
        assert object_of(dim.dim) == dim
        assert pickle.loads(pickle.dumps(dim.dim)) == dim.dim
    assert object_of((a - b).dim) is None
    assert object_of(name("a") + name("b")) is None


@pytest.mark.parametrize(("count", "is_said"), [(16, True), (17, False)])
def test_copies_stand_behind_each_other(count: int, is_said: bool) -> None:
    """So many at most are told apart in an axis."""
    assert (object_of((count * a).dim) == count * a) is is_said
    assert substitute((count * a).size, dict.fromkeys(symbols(a.dim), 3)) == 3 * count


def test_sizes() -> None:
    """A size is a number where it is promised, and symbolic otherwise."""
    assert vocab.size == 10
    assert (2 * vocab + 1).size == 21
    assert (vocab * vocab).size == 100
    assert str((vocab + a).size) == "a+10"
    assert size_of(vocab.dim) != 10
    assert compare(size_of(vocab.dim), 10).relation is Relation.SAME
    assert compare(size_of(vocab.dim), 11).relation is Relation.DIFFERENT
    assert (a - a).size == 0
    assert Dim("empty", size=0).size == 0


@pytest.mark.parametrize(
    ("dim", "text"),
    [
        (a, "Dim('a')"),
        (vocab, "Dim('vocab', size=10)"),
        (Dim("time", kind="spatial"), "Dim('time', kind='spatial')"),
        (2 * vocab, "Dim('2*vocab', size=20)"),
        (a + 1, "Dim('a+1')"),
        (1 + a, "Dim('1+a')"),
        (a - 1, "Dim('a-1')"),
        (a * b, "Dim('(a b)')"),
        (2 * a * b, "Dim('2*a*b')"),
        (c * (a + b), "Dim('(c (a+b))')"),
        (a // 2, "Dim('a//2')"),
        (a // 2 * 3 + b, "Dim('(a//2)*3+b')"),
        (5 - a, "Dim('5-a')"),
    ],
)
def test_repr(dim: Dim, text: str) -> None:
    """A dimension is shown in the notation of annotations, in its own order."""
    assert repr(dim) == text


def test_in_patterns() -> None:
    """Its text is its name, and where it is a length it is its size."""
    heads, key = Dim("heads", size=4), Dim("key")
    assert f"{key} {heads * key} {2 * key}" == "key (heads key) 2*key"
    assert range(heads) == range(4)
    assert range(heads * 2) == range(8)
    message = re.escape('"(heads key)" has no size that is a number: Dim("...", size=...)')
    with pytest.raises(TypeError, match=message):
        range(heads * key)


def test_kinds_survive_where_they_agree() -> None:
    """What is computed from dimensions of one kind, and numbers, is of that kind."""
    time, freq = Dim("time", kind="spatial"), Dim("freq", kind="spatial")
    feature = Dim("feature", kind="feature")
    assert (time + 1).kind == (2 * time).kind == (time * freq).kind == (time // 2).kind == "spatial"
    assert (time * feature).kind is None
    assert a.kind is None


@pytest.mark.parametrize("dim", [a, vocab, a * b, 2 * a + 1, a // 2, c * (a + b)], ids=str)
def test_copies_are_the_same_dimension(dim: Dim) -> None:
    """Copying and pickling keep the identity within a process."""
    for duplicate in (copy.copy(dim), copy.deepcopy(dim), pickle.loads(pickle.dumps(dim))):
        assert duplicate == dim
        assert duplicate.dim == dim.dim
        assert repr(duplicate) == repr(dim)


def test_a_vocabulary() -> None:
    """Labels say the size, and stand for their places."""
    phones = Dim("phones", labels=["a", "b", "c"])
    assert phones.size == 3
    assert phones.index("c") == 2
    assert phones.labels == ("a", "b", "c")
    assert pickle.loads(pickle.dumps(phones)).labels == phones.labels
    assert (phones + 1).labels is None
    for dim, label in ((phones, "d"), (a, "b")):
        with pytest.raises(ValueError, match=f'"{dim.name}" has no label "{label}"'):
            dim.index(label)


def test_dimensions_cannot_change() -> None:
    """A dimension is a key of dicts and part of annotations."""
    with pytest.raises(AttributeError):
        a.kind = "batch"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("two words",), 'a dimension\'s name is an identifier such as "time", not "two words"'),
        (("",), 'a dimension\'s name is an identifier such as "time", not ""'),
        (("_x",), 'a dimension\'s name is an identifier such as "time", not "_x"'),
        (("n", -1), 'the size of "n" is a number from 0 on, not -1'),
        (("n", 1.5), 'the size of "n" is a number from 0 on, not 1.5'),
        (("n", True), 'the size of "n" is a number from 0 on, not True'),
        (("n", 2, None, ["a"]), '"n" has 1 labels, and size=2'),
        (("n", None, None, ["a", "a"]), '"n" has a label twice'),
        (("n", 3, "x"), "the kind of \"n\" is one of batch, spatial, feature, not 'x'"),
    ],
)
def test_what_makes_no_dimension(arguments: tuple[Any, ...], message: str) -> None:
    """Bad names, sizes and kinds are told apart."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is asserted whole
        Dim(*arguments[:3], labels=arguments[3] if len(arguments) > 3 else None)
    assert str(caught.value) == message


def test_dims() -> None:
    """One name gives a dimension, several a tuple of them."""
    assert [dim.name for dim in dims("batch  time feature")] == ["batch", "time", "feature"]
    assert dims("batch").name == "batch"
    with pytest.raises(ValueError, match="write the names of dimensions"):
        dims(" ")


def test_arithmetic_with_anything_else_is_a_type_error() -> None:
    """Dimensions mix with dimensions and integers."""
    for other in ("a", 1.5, None):
        with pytest.raises(TypeError):
            a + other  # type: ignore[operator]


NUMBERS = {"a": 3, "b": 4, "c": 5}
atoms = st.one_of(st.sampled_from([a, b, c]), st.integers(1, 3))
OPERATIONS: dict[str, Any] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
}


@given(st.lists(st.tuples(st.sampled_from("+-*"), atoms, st.booleans()), max_size=6))
@settings(max_examples=100, deadline=None)
def test_sizes_follow_the_arithmetic(steps: list[tuple[str, Any, bool]]) -> None:
    """Whatever is computed with dimensions, its size is what numbers would give."""
    dim, number = a, NUMBERS["a"]
    for op, other, swapped in steps:
        value = other if isinstance(other, int) else NUMBERS[other.name]
        pair, values = (
            ((other, dim), (value, number)) if swapped else ((dim, other), (number, value))
        )
        dim, number = OPERATIONS[op](*pair), OPERATIONS[op](*values)
    size = dim.size
    assert substitute(size, {s: NUMBERS[s.name] for s in symbols(size)}) == number


def test_the_public_names() -> None:
    """`from shapecheck import dims` is callable although `shapecheck.dims` is also a module."""
    from shapecheck import Dim as PublicDim
    from shapecheck import dims as public_dims

    batch, time = public_dims("batch time")
    assert isinstance(batch, PublicDim)
    assert str((batch * time).size) == "batch*time"
