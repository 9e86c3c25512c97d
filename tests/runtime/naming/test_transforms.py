"""Names go into functions that `torch.vmap` maps, and come out of them where they can."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap

from shapecheck import Float, ShapeError, dims_of, shapecheck

X, W, Y = torch.zeros(3, 5, 7), torch.zeros(7, 4), torch.zeros(5, 7)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x, w, y: vmap(lambda r: r.sum(0))(x), ("b", "d")),
        (lambda x, w, y: vmap(lambda r: (r @ w).softmax(-1))(x), ("b", "t", "k")),
        (lambda x, w, y: vmap(lambda r: r * 2, in_dims=1)(x), ("t", "b", "d")),
        (lambda x, w, y: vmap(lambda r: (r, r.mT)[1])(x), ("b", "d", "t")),
        (lambda x, w, y: vmap(lambda r, s: r + s, in_dims=(0, None))(x, y[0]), ("b", "t", "d")),
        (lambda x, w, y: vmap(vmap(lambda r: r * 2))(x), ("b", "t", "d")),
        (lambda x, w, y: vmap(lambda r: r * 2, out_dims=1)(x), (None, None, None)),
        (lambda x, w, y: vmap(lambda r: r @ w)(torch.zeros(3, 7)), (None, None)),
        (lambda x, w, y: grad(lambda r: (r @ w).sum())(x), (None, None, None)),
    ],
)
def test_names(call: Any, expected: tuple[str | None, ...]) -> None:
    @shapecheck
    def run(x: Float[Tensor, "b t d"], w: Float[Tensor, "d k"], y: Float[Tensor, "n d"]) -> Any:
        return dims_of(call(x, w, y))

    assert run(X, W, Y) == expected


def test_what_is_mapped_is_seen_by_its_names() -> None:
    @shapecheck
    def run(x: Float[Tensor, "b t d"], y: Float[Tensor, "n d"]) -> Tensor:
        return vmap(lambda r: r + y)(x)

    with pytest.raises(ShapeError, match="t on the left and n on the right"):
        run(X, Y)


def test_results_and_gradients_are_torchs_own() -> None:
    layer = torch.nn.Linear(7, 4)
    params = dict(layer.named_parameters())
    x = torch.randn(3, 5, 7)

    def compute(x: Float[Tensor, "b t d"]) -> tuple[Tensor, Tensor]:
        out = vmap(lambda row: functional_call(layer, params, (row,)))(x)
        return out, vmap(grad(lambda row: (row @ W.T.T).square().sum()))(x)

    for found, wanted in zip(shapecheck(compute)(x), compute(x), strict=True):
        assert torch.equal(found, wanted)
