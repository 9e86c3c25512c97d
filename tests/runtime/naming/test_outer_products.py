"""An outer product by broadcasting is let through where it is written down, and only there."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from shapecheck import Float, Int, ShapeError, dims_of, named, shapecheck


def ages(p: Tensor, q: Tensor) -> Tensor:
    return p - q.view(-1, 1)


@shapecheck
def whole(n: Int[Tensor, "n"], m: Int[Tensor, "n"]) -> Int[Tensor, "n n"]:
    return ages(n, m)


@shapecheck
def real(n: Float[Tensor, "n"], m: Float[Tensor, "n"]) -> Float[Tensor, "n n"]:
    return ages(n, m)


def test_dtypes_are_asked_for_each_time() -> None:
    for _ in range(2):
        assert whole(torch.arange(3), torch.arange(3)).shape == (3, 3)
        with pytest.raises(ShapeError) as caught:
            real(torch.rand(3), torch.rand(3))
        assert str(caught.value).splitlines()[0] == (
            '"-" can\'t broadcast (n) with (n 1): n is axis -1 on the left and axis -2 on the '
            "right, so every n would meet every n  [shape-broadcast]"
        )


def test_the_result_has_names() -> None:
    @shapecheck
    def masks(x: Float[Tensor, "b t"]) -> None:
        p = torch.arange(x.shape[1])
        column = p.reshape(-1, 1)
        assert dims_of(p <= column) == ("t", "t")
        assert dims_of(x[0] - x[0, :, None]) == ("t", "t")

    for t in (3, 4):
        masks(torch.rand(4, t))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="no columns in the bytecode")
def test_the_source_says_which_variables_there_are() -> None:
    class Distances(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.rand(3))
            self.register_buffer("shift", torch.rand(3))
            self.plain = torch.rand(3)

        def own(self) -> Tensor:
            return self.scale - self.scale[:, None]

        def registered(self) -> Tensor:
            return self.shift - self.shift[:, None]

        def attribute(self) -> Tensor:
            return self.plain.exp() - self.plain.view(-1, 1)

        def mixed(self) -> Tensor:
            return self.plain - self.shift.view(-1, 1)

        @shapecheck
        def forward(self, x: Float[Tensor, "n"], function: Callable[[], Tensor]) -> Tensor:
            for kept in (self.scale, self.shift, self.plain):
                named(kept, "n")
            return function()

    model = Distances()
    for _ in range(2):
        for right in (model.own, model.registered, model.attribute):
            assert model(torch.rand(3), right).shape == (3, 3)
        with pytest.raises(ShapeError, match="so every n would meet every n"):
            model(torch.rand(3), model.mixed)


def test_without_source_an_axis_that_was_put_in_is_meant() -> None:
    names = {"Tensor": Tensor}
    exec("def difference(x, y): return x - y[:, None], x - x.mean()", names)  # no file has it

    @shapecheck
    def apart(x: Float[Tensor, "n"], y: Float[Tensor, "n"]) -> Float[Tensor, "n n"]:
        return names["difference"](x, y)[0]  # type: ignore[operator]

    assert apart(torch.rand(3), torch.rand(3)).shape == (3, 3)
