"""Where the sequences of several lengths are in what is computed from their dimensions."""

from __future__ import annotations

import pickle

import pytest
import torch

from shapecheck.dims import Dim

time = Dim("time", lengths=torch.tensor([1, 3]))
other = Dim("other", lengths=torch.tensor([2, 0]))
two, three, key = Dim("two", size=2), Dim("three", size=3), Dim("key")


@pytest.mark.parametrize(
    ("dim", "rows"),
    [
        (time, ["x..", "xxx"]),
        (other, ["xx", ".."]),
        (time + 1, ["x..x", "xxxx"]),
        (1 + time, ["xx..", "xxxx"]),
        (time + two, ["x..xx", "xxxxx"]),
        (2 * time, ["x..x..", "xxxxxx"]),
        (two * time, ["x..x..", "xxxxxx"]),
        (time * 2, ["xx....", "xxxxxx"]),
        (time * two, ["xx....", "xxxxxx"]),
        (time + other, ["x..xx", "xxx.."]),
        (other + time, ["xxx..", "..xxx"]),
        ((time + 1) * 2, ["xx....xx", "xxxxxxxx"]),
        (2 * (time + 1), ["x..xx..x", "xxxxxxxx"]),
        (time - 1, ["..", "xx"]),
        (time // 2, [".", "x"]),
        ((time + 1) // 2, ["x.", "xx"]),
        ((time - 1) // 2 + 1, ["x.", "xx"]),
        (time.with_lengths(torch.tensor([[0, 2]])), [".. xx"]),
    ],
    ids=str,
)
def test_a_mask_has_each_sequence_in_its_place(dim: Dim, rows: list[str]) -> None:
    """In a sum each has its own, with its padding behind it; a formula has them in front."""
    for one in (dim, pickle.loads(pickle.dumps(dim))):
        found = ["".join(".x"[bool(x)] for x in row.flatten()) for row in one.mask()]
        assert found == [row.replace(" ", "") for row in rows]


def test_more_padding_than_there_need_be() -> None:
    """Of a sum it is said how long its parts are with theirs."""
    assert time.mask(4).tolist() == [[True, False, False, False], [True, True, True, False]]
    both = time + 1
    (symbol,) = time.dim.symbols()  # type: ignore[union-attr]
    assert both.frames(None, {symbol: 4}).tolist() == [
        [True, False, False, False, True],
        [True, True, True, False, True],
    ]
    assert both.frames(6, {}, joined=False).sum(-1).tolist() == [2, 4]
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is asserted whole
        both.mask(9)
    assert str(caught.value) == '"time+1" is 9 long, and its parts are [3, 1]'


def test_it_may_not_be_clear_where_they_are() -> None:
    for dim, name in ((time * other, "(time other)"), ((other + time) // 2, "(other+time)//2")):
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is asserted whole
            dim.mask()
        assert str(caught.value) == (
            f'it isn\'t clear where the sequences of "{name}" are; with_lengths(...) says how much '
            "of it, from its beginning, each of them has"
        )
        assert dim.with_lengths(torch.tensor([1, 2])).mask(2).tolist() == [
            [True, False],
            [True] * 2,
        ]
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is asserted whole
        two.mask()
    assert str(caught.value) == '"two" has no lengths; with_lengths(...) gives them'


@pytest.mark.parametrize(
    ("dim", "lengths"),
    [
        (time + 1, [2, 4]),
        (1 + time, [2, 4]),
        (time - 1, [0, 2]),
        (5 - time, [4, 2]),
        (-time, [-1, -3]),
        (time * three, [3, 9]),
        (3 * time, [3, 9]),
        (time // 2, [0, 1]),
        (7 // time, [7, 2]),
        (time % 2, [1, 1]),
        (7 % time, [0, 1]),
        (time - other, [-1, 3]),
        (time * other, [2, 0]),
        (time + key, None),
        (key + 1, None),
        ((time * 2).div_left(time), [2, 2]),
    ],
    ids=str,
)
def test_lengths_follow_the_arithmetic(dim: Dim, lengths: list[int] | None) -> None:
    """As sizes do; with a dimension of no known size nothing is known of them."""
    assert (None if dim.lengths is None else dim.lengths.tolist()) == lengths


def test_what_stands_one_behind_the_other() -> None:
    for dim, parts in [
        (time, ()),
        (time + 1, (time, 1)),
        (1 + time, (1, time)),
        (2 * time, (time, time)),
        (time + other + 2, (time, other, 2)),
        ((time + 1) * two, (time * two, 1 * two)),
        (key + 1, ()),
        ((time - 1) + 1, ()),
    ]:
        assert dim.parts == parts
    assert time.ragged is Dim("x", ragged=True).ragged is (time + 1).ragged is True
    assert not key.ragged
