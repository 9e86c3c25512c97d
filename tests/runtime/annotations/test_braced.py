"""`{self.d}` is a dimension of its own at run time, although its size may be another's."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from shapecheck import Float, ShapeError, assert_shape, dims_of, shapecheck


@shapecheck
class Layer(nn.Module):
    def __init__(self, d: int, h: int) -> None:
        super().__init__()
        self.d = d
        self.h = h
        self.linear = nn.Linear(d, d)

    def gram(self, x: Float[Tensor, "b t {self.d}"]) -> Float[Tensor, "b t t"]:
        return x @ x.transpose(1, 2)

    def no_gram(self, x: Float[Tensor, "b t {self.d}"]) -> Float[Tensor, "b t t"]:
        return x @ x

    def turned(self, x: Float[Tensor, "t {self.d}"]) -> Float[Tensor, "t {self.d}"]:
        return x.T

    def renamed(self, x: Float[Tensor, "b d"]) -> Float[Tensor, "b {self.d}"]:
        return x

    def widened(self, x: Float[Tensor, "b {self.d}"]) -> Float[Tensor, "b {self.h}"]:
        return x.repeat(1, self.h // self.d)

    def residual(
        self, x: Float[Tensor, "b {self.d}"], y: Float[Tensor, "b {self.h}"]
    ) -> Float[Tensor, "b {self.d}"]:
        return x + y if self.d == self.h else x

    def project(
        self, x: Float[Tensor, "t {self.d}"], w: Float[Tensor, "{self.d} {self.h}"]
    ) -> Float[Tensor, "t {self.h}"]:
        return x @ w

    def no_project(
        self, x: Float[Tensor, "t {self.d}"], w: Float[Tensor, "{self.h} {self.d}"]
    ) -> Float[Tensor, "t {self.h}"]:
        return x @ w

    def forward(self, x: Float[Tensor, "b t {self.d}"]) -> Float[Tensor, "b t {self.d}"]:
        y = self.linear(x) + self.inner(x)
        assert_shape(y, "b t {self.d}")
        b, t, _ = x.shape
        return y.view(b * t, self.d).view(b, t, -1)

    def inner(self, x: Float[Tensor, "... {self.d}"]) -> Float[Tensor, "... {self.d}"]:
        assert dims_of(x)[-1] == "<d>"
        return x * 2


@given(st.integers(2, 5), st.integers(2, 5), st.integers(2, 5))
@settings(max_examples=30, deadline=None)
def test_correct_programs_are_quiet(b: int, t: int, d: int) -> None:
    layer = Layer(d, 2 * d)
    layer.gram(torch.ones(b, t, d))
    layer.renamed(torch.ones(b, d))
    layer.widened(torch.ones(b, d))
    layer(torch.ones(b, t, d))
    layer.project(torch.ones(t, d), torch.ones(d, 2 * d))
    layer.residual(torch.ones(b, d), torch.ones(b, 2 * d))
    square = Layer(d, d)
    square.residual(torch.ones(b, d), torch.ones(b, d))
    square.project(torch.ones(t, d), torch.ones(d, d))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda layer: layer.no_gram(torch.ones(2, 4, 4)),
            '"@" can\'t multiply (b t <d>) by (b t <d>): the inner dimensions are <d> (axis -1) '
            "and t (axis -2)  [shape]",
        ),
        (
            lambda layer: layer.turned(torch.ones(4, 4)),
            'returned value "x.T" is (<d> t), declared "t {self.d}": axis 0 is <d>, declared t  '
            "[shape]",
        ),
        (
            lambda layer: layer.no_project(torch.ones(3, 4), torch.ones(4, 4)),
            '"@" can\'t multiply (t <d>) by (<h> <d>): the inner dimensions are <d> (axis -1) '
            "and <h> (axis -2)  [shape]",
        ),
    ],
)
def test_what_stands_side_by_side_is_different(call: Callable[[Layer], object], text: str) -> None:
    for layer in (Layer(4, 4), Layer(4, 4)):  # what one instance taught holds for another
        with pytest.raises(ShapeError) as caught:
            call(layer)
        assert str(caught.value).splitlines()[0] == text


def test_side_by_side_in_one_function_is_not_so_in_another() -> None:
    @shapecheck
    def apart(x: Float[Tensor, "t {d}"], d: int) -> None:
        x + x.T

    @shapecheck
    def together(x: Float[Tensor, "b {d}"], y: Float[Tensor, "t b"], d: int) -> Tensor:
        return x + y.T

    @shapecheck
    def side(x: Float[Tensor, "b {d}"], y: Float[Tensor, "t {d}"], d: int) -> None:
        x + y.T

    square = torch.ones(4, 4)
    for _ in range(2):
        with pytest.raises(ShapeError, match=r"\(t <d>\) with \(<d> t\)"):
            apart(square, 4)
        together(square, square.clone(), 4)
        with pytest.raises(ShapeError):
            side(square, square.clone(), 4)


def test_other_expressions_are_numbers() -> None:
    @shapecheck
    def split(x: Float[Tensor, "t {2*d}"], d: int) -> Float[Tensor, "t {d}"]:
        assert dims_of(x) == ("t", None)
        return x[:, :d]

    split(torch.ones(4, 4), 2)
