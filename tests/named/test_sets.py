"""Dimensions of a set in the order in which a tensor has them: `assert_shape(x, {"t", "b"})`."""

from __future__ import annotations

import itertools

import pytest
from op_oracle import parse

from shapecheck.dims import Dim
from shapecheck.ops.named.naming import Part, arranged
from shapecheck.shapes import Facts


@pytest.mark.parametrize("names", [*itertools.permutations("btd")])
def test_names_stand_where_they_are(names: tuple[str, ...]) -> None:
    shape = parse(" ".join(names)).shape
    assert arranged(Facts(), shape, frozenset("btd")) == [*names]


ten = Dim("ten", size=10)


@pytest.mark.parametrize(
    ("shape", "given", "found"),
    [
        ("b t", "t", ["t"]),
        ("b 3", "b t", ["b", "t"]),
        ("3 t", "b t", ["b", "t"]),
        ("3 4", "b t", ["_", "_"]),
        ("b 3 4", "b t d", ["b", "_", "_"]),
        ("b 3 k", "b t d", ["b", "d", "t"]),
        ("b t", "b t d", ["b", "t", "d"]),
        ("b b", "b", ["b"]),
        ("b b", "b t", ["b", "t"]),
        ("b 2*t", "b 2*t", ["b", "2*t"]),
        ("2*t b", "b 2*t", ["2*t", "b"]),
        ("... t", "t", None),
        ("", "", []),
    ],
)
def test_what_else_there_is_takes_the_places_that_are_left(
    shape: str, given: str, found: list[str] | None
) -> None:
    """`_` where any may be any."""
    assert arranged(Facts(), parse(shape).shape, given.split()) == found


def test_dimension_objects_and_numbers() -> None:
    """An object is found by its size where none of its name is there."""
    given: list[Part] = [ten, "b", 4]
    assert arranged(Facts(), parse("4 b 10").shape, given) == [4, "b", ten]
    assert arranged(Facts(), parse("ten b 4").shape, given) == [ten, "b", 4]
    assert arranged(Facts(), parse("10 10").shape, [ten, "b"]) == ["_", "_"]
