"""What slices leave of an axis is known by numbers, which are put together again."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import Tensor

from shapecheck import Float, ShapeError, dims_of, named, shapecheck


@pytest.mark.parametrize("sizes", [(2, 3, 8), (2, 5, 10), (4, 4, 4), (2, 7, 5), (3, 1, 1)])
def test_two_parts_that_are_put_together(sizes: tuple[int, ...]) -> None:
    @shapecheck
    def rotary(x: Float[Tensor, "b t d"]) -> Any:
        h = x.shape[-1] // 2
        turned = torch.cat((-x[..., h:], x[..., :h]), dim=-1)
        return dims_of(turned), dims_of(turned.flatten(1)), dims_of(x + turned)

    for _ in range(2):
        whole = ("b", "t", "d")
        assert rotary(torch.rand(sizes)) == (whole, ("b", "(t d)"), whole)


def test_a_slice_that_is_shorter_than_it_says() -> None:
    @shapecheck
    def head(x: Float[Tensor, "t d"], y: Float[Tensor, "t d"]) -> Float[Tensor, "t d"]:
        return x[:8] + y[:8]

    @shapecheck
    def other(x: Float[Tensor, "t d"], y: Float[Tensor, "k d"]) -> Float[Tensor, "k d"]:
        return x[:8] + y

    for t in (1, 5, 8):
        assert head(torch.rand(t, 2), torch.rand(t, 2)).shape == (t, 2)
        assert other(torch.rand(t, 2), torch.rand(t, 2)).shape == (t, 2)
    message = (
        'value "x[:8] + y[:8]" is (min(t,8) d), declared "t d": axis 0 is min(t,8), declared t'
    )
    with pytest.raises(ShapeError, match=re.escape(message)):
        head(torch.rand(9, 2), torch.rand(9, 2))


def test_parts_of_parts() -> None:
    @shapecheck
    def halved(x: Float[Tensor, "t d"], y: Float[Tensor, "t d"]) -> Any:
        return x[:8][: len(x[:8]) // 2] + y[:8][: len(x[:8]) // 2]

    for t in (4, 7, 12):
        assert halved(torch.rand(t, 3), torch.rand(t, 3)).shape == (min(t, 8) // 2, 3)


def test_thin_factors() -> None:
    @shapecheck
    def low_rank(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        q, r = torch.linalg.qr(x)
        u, s, v = torch.linalg.svd(x, full_matrices=False)
        u, s, v = u[:, :4], s[:4], v[:4]
        return q @ r + u @ torch.diag(s) @ v + torch.einsum("nk,k,kd->nd", u, s, v)

    for n, d in ((3, 4), (8, 5), (5, 5), (1, 7)):
        assert low_rank(torch.rand(n, d)).shape == (n, d)


# Bounds that are numbers --------------------------------------------------------------------------

TIMES = [(5, 5), (7, 7), (7, 5), (2, 2), (8, 3)]


@pytest.mark.parametrize("times", TIMES)
def test_bounds_are_followed_in_the_source(times: tuple[int, int]) -> None:
    @shapecheck
    def last_two(x: Float[Tensor, "t d"], y: Float[Tensor, "s d"]) -> Any:
        t, s = x.size(0), len(y)
        z = x[t - 2 :] + y[s - 2 :]
        z[max(0, t - 9) :] = y[s - 2 :]
        return dims_of(x[: t // 2]), dims_of(x[1:]), [dims_of(y[:-1]) for _ in range(1)]

    for _ in range(2):
        found = last_two(torch.rand(times[0], 3), torch.rand(times[1], 3))
        assert found == (("t//2", "d"), ("t-1", "d"), [("s-1", "d")])


@pytest.mark.parametrize("times", TIMES)
def test_what_is_not_followed_has_no_name(times: tuple[int, int]) -> None:
    def least(t: int) -> int:
        return t - 2

    @shapecheck
    def last_two(x: Float[Tensor, "t d"], y: Float[Tensor, "s d"], k: int) -> Any:
        t, s = least(x.size(0)), least(y.size(0))
        y[s:] = x[t:] + y[s:]
        both = x[t:] + y[s:]
        return dims_of(x[t:]), dims_of(both), dims_of(y[:k, 1:]), dims_of(x[1:k])

    for k in (1, 2):
        found = last_two(torch.rand(times[0], 3), torch.rand(times[1], 3), k)
        assert found == ((None, "d"), (None, "d"), (None, "d-1"), (None, "d"))


def test_one_number_at_several_places() -> None:
    @shapecheck
    def cut(x: Float[Tensor, "t d"], k: int) -> Any:
        return dims_of(x[k:]), dims_of(x[2:]), dims_of(x[k:])

    for _ in range(3):
        assert cut(torch.rand(5, 3), 2) == ((None, "d"), ("t-2", "d"), (None, "d"))


def test_parts_of_dimensions_of_equal_size() -> None:
    @shapecheck
    def shifted(x: Float[Tensor, "t d"], y: Float[Tensor, "s d"]) -> Tensor:
        return x[1:] - y[:-1]

    message = """\
"-" can't broadcast (t-1 d) with (s-1 d): axis -2 is t-1 on the left and s-1 on the right  [shape]
  here t=5, d=3, s=5"""
    with pytest.raises(ShapeError) as caught:
        shifted(torch.rand(5, 3), torch.rand(5, 3))
    text = str(caught.value).splitlines()
    assert "\n".join([text[0], text[-1]]) == message


@pytest.mark.parametrize("times", [(3, 4), (5, 5), (7, 5), (8, 8)])
def test_padding_to_a_length(times: tuple[int, int]) -> None:
    def missing(x: Tensor) -> int:
        return 8 - len(x)

    @shapecheck
    def padded(x: Float[Tensor, "t d"], y: Float[Tensor, "s d"]) -> Any:
        one = torch.nn.functional.pad(x, (0, 0, 0, missing(x)))
        other = torch.nn.functional.pad(y, (0, 0, 0, missing(y)))
        return dims_of(one + other), dims_of(torch.nn.functional.pad(x, (1, 1), value=1.0))

    found = padded(torch.rand(times[0], 3), torch.rand(times[1], 3))
    assert found == ((None, "d"), ("t", "d+2"))


def test_a_part_is_called_like_the_whole_for_operations_by_name() -> None:
    @shapecheck
    def parts(x: Float[Tensor, "b t"], k: int) -> Any:
        rest, longer = x[:, k:], torch.nn.functional.pad(x, (0, k))
        assert dims_of(rest) == dims_of(longer) == ("b", None)
        return dims_of(named.sum(rest, "t")), dims_of(named.rename(longer, part="t"))

    for k in (1, 3):
        assert parts(torch.rand(2, 5), k) == (("b",), ("b", "part"))
