"""What numbers of which nothing is known leave of an axis has the axis' name, whatever its size."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from shapecheck import Float, shapecheck
from shapecheck.runtime.naming.call_names import state

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="no columns in the bytecode")


def said(tensor: Tensor) -> tuple[str | None, ...]:
    """Return what axes are called in messages; `dims_of` leaves out what has a `<_>` in it."""
    known = state.here.of(tensor)
    assert known is not None
    return tuple(None if isinstance(dim, int) else str(dim) for dim in known.dims)


class Settings:
    side = 4
    window = (4, 4)


SETTINGS = Settings()
HEIGHT, WIDTH = "height//<_>", "width//<_>"


def patches(x: Float[Tensor, "batch c height width"]) -> Any:
    """As CSATv2 cuts a picture."""
    b, c, h, w = x.shape
    k = SETTINGS
    x = x.reshape(b, c, h // k.side, k.side, w // k.side, k.side)
    x = x.permute(0, 2, 4, 1, 3, 5).exp()
    merged = x.reshape(-1, c, k.side * k.side)
    apart = merged.reshape(b, h // k.side, w // k.side, c, -1)
    return [said(merged)[:1], said(apart)]


def partition(x: Tensor, window: tuple[int, int]) -> Tensor:
    b, h, w, c = x.shape
    x = x.view(b, h // window[0], window[0], w // window[1], window[1], c)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, window[0], window[1], c)


def windows(x: Float[Tensor, "batch height width c"]) -> Any:
    """As DaViT and Hiera do, and back: what the function returns is merged."""
    h, w = x.shape[1:3]
    y = partition(x, SETTINGS.window)
    one, two = SETTINGS.window
    back = y.view(-1, h // one, w // two, one, two, y.shape[-1])
    return [said(y)[:1], said(back)]


def rows(x: Float[Tensor, "batch c height width"]) -> Any:
    """As MobileViT does, which rounds to whole patches."""
    one, two = SETTINGS.window
    b, c, h, w = x.shape
    high, wide = math.ceil(h / one) * one, int(math.ceil(w / two) * two)
    down, across = high // one, wide // two
    x = x.reshape(b * c * down, one, across, two).transpose(1, 2).exp()
    x = x.reshape(b, c, down * across, one * two)
    return [said(x)]


BOTH = f"({HEIGHT} {WIDTH})"
MERGED = f"(batch {HEIGHT} {WIDTH})"


@pytest.mark.parametrize("sizes", [(2, 3, 12, 20), (12, 12, 12, 12), (3, 3, 20, 12), (8, 8, 8, 8)])
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (patches, [(MERGED,), ("batch", HEIGHT, WIDTH, "c", None)]),
        (windows, [(MERGED,), ("batch", HEIGHT, WIDTH, None, None, "c")]),
        (rows, [("batch", "c", BOTH, None)]),
    ],
)
def test_patches(function: Callable[..., Any], expected: list[Any], sizes: tuple[int, ...]) -> None:
    checked = shapecheck(function)
    if function is windows:
        sizes = sizes[0], *sizes[2:], sizes[1]
    for _ in range(2):  # found out, then remembered
        assert checked(torch.rand(sizes)) == expected


def test_other_numbers_at_the_same_place() -> None:
    @shapecheck
    def f(x: Float[Tensor, "batch height"], settings: Settings) -> Any:
        h = x.shape[1]
        x = x.view(-1, h // settings.side, settings.side)
        return said(x), tuple(x.shape)

    for side in (2, 3, 4, 6, 2):
        made = Settings()
        made.side = side
        assert f(torch.rand(5, 12), made) == (("batch", HEIGHT, None), (5, 12 // side, side))


def test_what_is_left_agrees_with_what_is_promised() -> None:
    @shapecheck
    def f(x: Float[Tensor, "b h w"]) -> Float[Tensor, "b h//4 w//4 16"]:
        b, h, w = x.shape
        k = SETTINGS.side
        x = x.view(b, h // k, k, w // k, k).transpose(2, 3)
        return x.reshape(b, h // k, w // k, k * k)

    @shapecheck
    def g(
        x: Float[Tensor, "b h w"], y: Float[Tensor, "b h//4 w//4"]
    ) -> Float[Tensor, "b h//4 w//4"]:
        b, h, w = x.shape
        k = SETTINGS.side
        return x.view(b, h // k, k, w // k, k).mean((2, 4)) + y

    for sizes in ((2, 8, 12), (4, 4, 4), (4, 16, 16), (3, 4, 8)):
        assert f(torch.rand(sizes)).shape[1:3] == (sizes[1] // 4, sizes[2] // 4)
        g(torch.rand(sizes), torch.rand(sizes[0], sizes[1] // 4, sizes[2] // 4))


def test_an_axis_that_is_cut_otherwise_keeps_to_its_sizes() -> None:
    """Two computed sizes, or one that is made of another axis, say nothing of what is left."""

    @shapecheck
    def f(x: Float[Tensor, "b h w"]) -> Any:
        b, h, w = x.shape
        k = SETTINGS.side
        return said(x.view(b, h // k, h // (h // k), w)), said(x.view(b, b // k * k, -1, w))

    assert f(torch.rand(4, 8, 3)) == (("b", None, None, "w"), ("b", None, None, "w"))


def test_what_is_left_is_equal_to_a_name_by_chance() -> None:
    @shapecheck
    def f(x: Float[Tensor, "b s d"], y: Float[Tensor, "n m"]) -> Tensor:
        b, s, d = x.shape
        n, m = y.shape
        x = x.view(b, s // SETTINGS.side, SETTINGS.side, d)
        return x.view(b, n, m)  # type: ignore[shape]  # that 96 are filled is known when it runs

    for m in (3, 4, 6, 8):  # s//4 is 4
        assert f(torch.rand(2, 16, 6), torch.rand(96 // m, m)).shape == (2, 96 // m, m)
