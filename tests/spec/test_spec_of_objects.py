"""Annotations that are made of dimension objects, against the texts of the same dimensions."""

from __future__ import annotations

import pickle

import pytest

from shapecheck.dims import Dim, dims
from shapecheck.spec import Axis, Name, SpecError, parse
from shapecheck.spec.objects import ObjectName, in_objects, is_of_objects, is_part, of_objects

a, b, c = dims("a b c")


@pytest.mark.parametrize(
    ("dim", "text"),
    [
        (a, "a"),
        (2 * a + 1, "2*a+1"),
        (a * b, "(a b)"),
        (2 * a * b, "2*a*b"),
        (a * 2, "(a 2)"),
        (a - 1, "a-1"),
        (1 - a, "1-a"),
        (-a, "-a"),
        (-2 * a, "-(2*a)"),
        (5 - a - b, "5-a-b"),
        (a + b - c, "a+b-c"),
        (a * b + c, "a*b+c"),
        ((a + b) * c, "a*c+b*c"),
        (c * (a + b), "(c a+b)"),
        (a // 2, "a//2"),
        (3 * (a // 2), "3*(a//2)"),
        ((a - 1) // b, "(a-1)//b"),
        (a % 2, "a%2"),
        (a - a, "0"),
        (a - a + 2, "2"),
    ],
    ids=str,
)
def test_a_dimension_is_written_as_its_text(dim: Dim, text: str) -> None:
    """But that the names in it are those of objects."""
    spec, objects = of_objects([dim])
    assert str(spec) == text
    assert spec.names() is not None
    assert parse(text) == parse(str(spec))
    assert dict(objects) == {one.name: one for one in dim.bases}
    (entry,) = spec.entries
    assert isinstance(entry, Axis)
    assert is_of_objects(entry.expr) is bool(objects)
    assert pickle.loads(pickle.dumps(spec)) == spec


def test_an_annotation_of_several() -> None:
    spec, objects = of_objects([a, "b c", 3, ..., 2 * b])
    assert str(spec) == "a b c 3 ... 2*b"
    assert objects == (("a", a), ("b", b))
    assert [is_part(one) for one in (a, "b", 3, ..., True, 1.5, None)] == [True] * 4 + [False] * 3


def test_objects_that_are_called_alike() -> None:
    """Are different; in one quotient it couldn't be said which is which."""
    one, two = Dim("n"), Dim("n")
    spec, objects = of_objects([one, two])
    assert str(spec) == "n n"
    assert [dim for _, dim in objects] == [one, two]
    first, second = spec.names()
    assert first != second
    assert first == "n" == second
    assert isinstance(first, ObjectName)
    assert {first: 1, second: 2}[first] == 1
    assert hash(first) == hash("n")
    with pytest.raises(SpecError) as caught:
        of_objects([(one + two) // 3])
    assert str(caught.value) == 'in "(n+n)//3": two dimensions in it are called alike'
    assert not is_of_objects(Name("n"))


@pytest.mark.parametrize(
    "text", ["{} b", "({} b)", "(b (c {}))", "min({},b) max(c,{}+1)", "-{}+2*{}**b", "#{} *{} ..."]
)
def test_names_are_put_in_wherever_they_stand(text: str) -> None:
    """But for those of groups, which are no objects."""
    before, after = (parse(text.replace("*{} .", "*a .").replace("{}", x)) for x in "ax")
    assert in_objects(before.entries, {"a": "x"}) == after.entries
    assert in_objects(before.entries, {"x": "y"}) == before.entries
