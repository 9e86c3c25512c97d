"""Sizes keep their names in what einops cuts, and in what it puts in."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch
from einops import rearrange, reduce, repeat
from einops.layers.torch import Rearrange, Reduce
from torch import Tensor, nn

import shapecheck
from shapecheck import Float, dims_of

in_columns = pytest.mark.skipif(sys.version_info < (3, 11), reason="no columns in the bytecode")
PATCHES = "b c (h p) (w q) -> b h w (p q c)"
SIZES = [(2, 3, 8, 12), (4, 4, 8, 8), (8, 8, 8, 8)]


class Model(nn.Module):
    def __init__(self, side: int) -> None:
        super().__init__()
        self.cut = Rearrange(PATCHES, p=side, q=side)
        self.pool = Reduce("b c (h 2) (w 2) -> b c h w", "max")

    def forward(self, x: Tensor) -> Any:
        return dims_of(self.cut(x)), dims_of(self.pool(x))


@pytest.mark.parametrize("sizes", SIZES)
def test_layers(sizes: tuple[int, ...]) -> None:
    model = Model(4)
    with shapecheck.watch(model, {"x": "batch c height width"}):
        cut, pooled = model(torch.rand(sizes))
    assert cut == ("batch", "height//4", "width//4", "(4 4 c)")
    assert pooled == ("batch", "c", "height//2", "width//2")


@shapecheck.shapecheck
def functions(x: Float[Tensor, "b c h w"], heads: int, token: Tensor) -> list[Any]:
    b, c, h, w = x.shape
    apart = x.view(b, c, h * w)
    return [
        dims_of(rearrange(x, PATCHES, p=4, q=4)),
        dims_of(rearrange(apart, "b c (h w) -> b c w h", h=h)),
        dims_of(rearrange(x, "b c (n h) w -> b c n h w", n=heads)),
        dims_of(reduce(x, "b c (h 2) w -> b c h w", "mean")),
        dims_of(repeat(token, "n -> b n", b=b)),
    ]


@in_columns
@pytest.mark.parametrize("sizes", SIZES)
def test_functions(sizes: tuple[int, ...]) -> None:
    cut, turned, split, reduced, repeated = functions(torch.rand(sizes), 2, torch.rand(5))
    assert cut == ("b", "h//4", "w//4", "(4 4 c)")
    assert turned == ("b", "c", "w", "h")
    # How many heads there are another time isn't known.
    assert split == ("b", "c", None, None, "w")
    assert reduced == ("b", "c", "h//2", "w")
    assert repeated == ("b", None)


@shapecheck.shapecheck
def on_device(x: Float[Tensor, "b c h w"], token: Tensor) -> list[Any]:
    b = x.shape[0]
    with torch.device("cpu"):
        cut, repeated = rearrange(x, PATCHES, p=4, q=4), repeat(token, "n -> b n", b=b)
    return [dims_of(cut), dims_of(repeated)]


@in_columns
def test_behind_another_mode() -> None:
    cut, repeated = on_device(torch.rand(2, 3, 8, 12), torch.rand(5))
    assert cut == ("b", "h//4", "w//4", "(4 4 c)")
    assert repeated == ("b", None)
