"""What a state says of the heap, and what holds of two values."""

from __future__ import annotations

import pytest

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.values.model import DictContent, ListContent, OneOf, Ref
from shapecheck.analysis.values.state import State
from shapecheck.ops import UNKNOWN, DType, Scalar, Sizes
from shapecheck.shapes import Shape, Tensor

LIST, DICT = ListContent((1, 2)), DictContent({"a": 3})
B, C = dims.name("b"), dims.name("c")


def test_contents_are_told_by_their_kind() -> None:
    """Each question is answered for its own kind, with None for all else."""
    state = State()
    one, other, lost = state.new(LIST), state.new(DICT), state.new(None)
    assert [state.list_of(v) for v in (one, other, lost, 5)] == [LIST, None, None, None]
    assert [state.dict_of(v) for v in (one, other, lost, 5)] == [None, DICT, None, None]
    assert [state.container_of(v) for v in (one, other, lost, 5)] == [LIST, DICT, None, None]
    assert [state.instance_of(v) for v in (one, other, lost, 5)] == [None] * 4


def test_contents_say_what_is_in_them() -> None:
    """The values of a list or dict are those that a change is asked about."""
    assert tuple(LIST.values) == (1, 2)
    assert DICT.changed(lambda v: "x" if v == 3 else v).items == {"a": "x"}


@pytest.mark.parametrize(
    ("a", "b", "joined"),
    [
        (3, 3, 3),
        ("x", "x", "x"),
        (0.5, float("0.5"), 0.5),
        (0.5, 0.25, Scalar(dtypes.DEFAULT_FLOAT)),
        (1, 2.5, Scalar(dtypes.INT64 | dtypes.DEFAULT_FLOAT)),
        (True, False, Scalar(dtypes.BOOL)),
        (2.5, 2.5, 2.5),
        (DType(dtypes.BOOL), DType(dtypes.INT64), DType(dtypes.BOOL | dtypes.INT64)),
        (Sizes((B, 1)), (B, 1), Sizes((B, 1))),
        ((B, 1), (B,), UNKNOWN),
        (None, "x", OneOf((None, "x"))),
        (OneOf((None, "x")), None, OneOf((None, "x"))),
        (UNKNOWN, 3, UNKNOWN),
        (Tensor(Shape((B, C))), Tensor(Shape((B, C))), Tensor(Shape((B, C)))),
    ],
)
def test_joining(a: Value, b: Value, joined: Value) -> None:
    """What holds of either of two values."""
    assert State().either(a, b) == joined


def test_lists_are_joined_item_by_item() -> None:
    """One of two lists of a kind is a list; one of a list and a dict is either."""
    state = State()
    one, other = state.new(LIST), state.new(ListContent((1, "x")))
    made = state.either(one, other)
    assert isinstance(made, Ref)
    assert state.list_of(made) == ListContent((1, OneOf((2, "x"))), like=(one, other))
    assert state.either(state.new(LIST), state.new(DICT)) is UNKNOWN


def test_one_of_several_lists_is_changed_with_them() -> None:
    """What is put into one of several may be in each of them, and the other way round."""
    state, longer = State(), ListContent((1, 2, 3))
    some = [state.new(LIST) for _ in range(4)]
    made, other = state.either(*some[:3]), state.either(some[0], some[3])
    state.put(made, longer)
    assert state.list_of(made) == longer
    assert [state.list_of(one) for one in (*some, other)] == [None, None, None, LIST, None]
    assert state.list_of(state.new(state.content(state.either(some[3], state.new(DICT))))) is None


def test_a_copy_of_one_of_several_lists_is_a_list_of_its_own() -> None:
    """What is put into a copy is in none of those that it was made of."""
    state = State()
    one = state.new(LIST)
    copy = state.new(state.content(state.either(one, state.new(LIST))))
    state.put(copy, ListContent(()))
    assert state.list_of(one) == LIST
