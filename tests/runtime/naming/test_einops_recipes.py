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


class Side:
    """A number that no parameter has."""

    side = 2


def in_blocks(x: Tensor, n: int) -> Tensor:
    y = rearrange(x, "b (h s) d -> (b h) s d", s=n)
    return rearrange(y.exp(), "(b h) s d -> b (h s) d", h=x.shape[1] // n)


def in_grids(x: Tensor, n: int) -> Tensor:
    y = rearrange(x, "b (s h) d -> (b h) s d", s=n)
    return rearrange(y.exp(), "(b h) s d -> b (s h) d", h=x.shape[1] // n)


@in_columns
@pytest.mark.parametrize("time", [2, 4, 8, 12])
@pytest.mark.parametrize("n", [Side.side, None])
def test_blocks_and_grids(time: int, n: int | None) -> None:
    """As CrossFormer and MaxViT have them: what is cut and put together again is the same axis."""

    @shapecheck.shapecheck
    def beside(x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
        return in_blocks(x, n or Side.side) + in_grids(x, n or Side.side) + x

    @shapecheck.shapecheck
    def one_in_another(x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
        k = n or Side.side
        return in_grids(in_blocks(x, k), k) + in_blocks(in_grids(x, k), k) + x

    @shapecheck.shapecheck
    def by_literals(x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
        blocks = rearrange(x, "b (h s) d -> b h s d", s=2)
        grids = rearrange(x, "b (s h) d -> b h s d", s=2)
        return rearrange(blocks, "b h s d -> b (h s) d") + rearrange(grids, "b h s d -> b (s h) d")

    for function in (beside, one_in_another, by_literals):
        for _ in range(2):
            assert function(torch.rand(3, time, 5)).shape == (3, time, 5)


@in_columns
@pytest.mark.parametrize("height", [8, 16, 24])
def test_a_number_is_no_axis_that_has_its_size(height: int) -> None:
    """Of `(height//4 4)` as `(s h)`, 4 for `s`, `s` isn't `height//4` where that is 4 as well."""

    class Grid(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = Rearrange("b (h s) -> b h s", s=4)
            self.back = Rearrange("b h s -> b (h s)")
            self.grid = Rearrange("b (s h) -> b s h", s=4)

        def forward(self, x: Tensor) -> Any:
            x = self.back(self.blocks(x))
            return dims_of(x), dims_of(self.grid(x))

    with shapecheck.watch(model := Grid(), {"x": "batch height"}):
        merged, cut = model(torch.rand(2, height))
    assert merged == ("batch", "(height//4 4)")
    assert "height//4" not in cut
