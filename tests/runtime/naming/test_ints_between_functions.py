"""Sizes keep their names on the way into functions, and on the way out of them."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import shapecheck
from shapecheck import Float, dims_of

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="no columns in the bytecode")


class Positions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("ids", torch.arange(128)[None])

    def forward(self, x: Tensor, past: int = 0) -> Any:
        b, n = x.shape[:2]
        ids = self.get_buffer("ids")[:, past : past + n]
        span = torch.arange(
            past,
            past + n,
        ).expand(b, -1)
        return dims_of(ids), dims_of(span), dims_of(torch.ones(b, past + n))


def folded(x: Tensor, height: int, *, width: int) -> Tensor:
    b, _, c = x.shape
    return x.view(b, height, width, c)


class Fold(nn.Module):
    def forward(this, x: Tensor, height: int, width: int) -> Tensor:
        return folded(x, height, width=width)


class Patches(nn.Module):
    def __init__(self, side: int) -> None:
        super().__init__()
        self.layer = nn.Conv2d(3, 8, side, side)

    def forward(self, x: Tensor) -> tuple[Tensor, int, int]:
        x = self.layer(x)
        _, _, height, width = x.shape
        return x.flatten(2).transpose(1, 2), height, width


def either(x: Tensor, first: bool) -> int:
    if first:
        return x.shape[0]
    return x.shape[1]


def early(x: Tensor, nothing: bool) -> tuple[Tensor | None, int | None]:
    if nothing:
        return None, None
    count = x.shape[1]
    return x, count


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.positions, self.fold = Positions(), Fold()
        self.small, self.large = Patches(2), Patches(4)

    def forward(self, x: Float[Tensor, "b t d"], image: Float[Tensor, "b 3 h w"]) -> Any:
        fine, height, width = self.small(image)
        coarse, rows, columns = self.large(image)
        _, count = early(x, False)
        return (
            self.positions(x),
            self.positions(x, 4),
            dims_of(self.fold(coarse, rows, columns)),
            dims_of(self.fold(fine, height, width)),
            dims_of(torch.zeros(count or 0)),
            dims_of(torch.zeros(either(x, True))),
            dims_of(torch.zeros(count)),  # type: ignore[call-overload]
        )


@pytest.mark.parametrize("sizes", [(2, 5, 8, 16), (5, 5, 16, 16), (16, 16, 16, 16)])
def test_on_the_way_into_functions_and_out(sizes: tuple[int, ...]) -> None:
    b, t, h, w = sizes
    model = Model()
    with shapecheck.watch(model):
        found = model(torch.rand(b, t, 3), torch.rand(b, 3, h, w))
    begun, later, coarse, fine, *counts = found
    assert begun == ((None, "t"), ("b", "t"), ("b", "t"))
    assert later == ((None, "t"), ("b", "t"), ("b", "t+4"))
    assert coarse == ("b", "h//4", "w//4", None)
    assert fine == ("b", "h//2", "w//2", None)
    # What one of several ways out gives has no name.
    assert counts == [(None,), (None,), ("t",)]


@shapecheck.shapecheck
def summed(x: Float[Tensor, "b t d"]) -> Any:
    both = torch.stack((x, x)).flatten(0, 1)
    begun = torch.zeros(1, *x.shape[1:])
    one = torch.cat((begun, both.view(4, 2, *x.shape[1:])[:, 0]))
    other = torch.cat((begun, both.view(2, 4, *x.shape[1:])[0]))
    return dims_of(one), dims_of(other), one + other


def test_what_cuts_across_others_contradicts_nothing() -> None:
    _, _, total = summed(torch.rand(4, 3, 5))
    assert total.shape == (5, 3, 5)


def width_of(x: Tensor) -> int:
    return x.shape[-1]


@shapecheck.shapecheck
def widths(x: Float[Tensor, "b d"], other: list[int]) -> list[Any]:
    found = []
    for one in (x, torch.tensor(other)):
        width = width_of(one)
        found.append(dims_of(torch.zeros(width)))
    return found


def test_what_a_function_returned_of_another_tensor_is_forgotten() -> None:
    assert widths(torch.rand(2, 3), [0, 0, 0]) == [("d",), (None,)]
