"""What slices leave of an axis is known by numbers, which are put together again."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import Tensor

from shapecheck import Float, ShapeError, dims_of, shapecheck


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
