"""Arrays of numpy at the boundary of a call, by their annotations."""

from __future__ import annotations

import jaxtyping
import numpy as np
import pytest
import torch
from torch import Tensor

from shapecheck import Float, Int, ShapeError, UInt8, shapecheck


@shapecheck
def to_tensor(image: UInt8[np.ndarray, "h w 3"], scale: Float[Tensor, "h w"]) -> Tensor:
    return torch.from_numpy(image).to(scale.device).permute(2, 0, 1) * scale


@shapecheck
def distances(x: Float[np.ndarray, "n d"], y: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
    return x @ (y.T if len(y) < 9 else y[:5].T)


@shapecheck
def first(rows: list[jaxtyping.Float[np.ndarray, "n d"]]) -> jaxtyping.Float[np.ndarray, "n d"]:
    return rows[0]


@shapecheck
def mean(x: Float[np.ndarray, "n d"] | Float[Tensor, "n d"] | None = None) -> None: ...


def test_what_fits() -> None:
    image = np.zeros((4, 5, 3), np.uint8)
    assert to_tensor(image, torch.zeros(4, 5)).shape == (3, 4, 5)
    assert distances(np.zeros((4, 3)), np.zeros((5, 3))).shape == (4, 5)
    assert first([np.zeros((2, 3)), np.ones((2, 3))]).shape == (2, 3)
    mean(np.zeros((2, 3)))
    mean(torch.zeros(2, 3))
    mean()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: to_tensor(np.zeros((4, 5, 4), np.uint8), torch.zeros(4, 5)),
            'argument "image" of "to_tensor" is (4 5 4), declared "h w 3": axis 2 is 4, declared 3',
        ),
        (
            lambda: to_tensor(np.zeros((4, 5, 3), np.uint8), torch.zeros(5, 4)),
            'argument "image" of "to_tensor" is (4 5 3), declared "h w 3": axis 0 is 4, declared h '
            "(here 5)",
        ),
        (
            lambda: to_tensor(np.zeros((4, 5, 3)), torch.zeros(4, 5)),
            'argument "image" of "to_tensor" is float64, declared uint8',
        ),
        (
            lambda: to_tensor(torch.zeros(4, 5, 3), torch.zeros(4, 5)),
            'argument "image" of "to_tensor" is Tensor, declared an array "h w 3"',
        ),
        (
            lambda: distances(np.zeros((4, 3)), np.zeros((5, 2))),
            'argument "y" of "distances" is (5 2), declared "m d": axis 1 is 2, declared d '
            "(here 3)",
        ),
        (
            lambda: distances(np.zeros((4, 3)), np.zeros((9, 3))),
            'is (4 5), declared "n m": axis 1 is 5, declared m (here 9)',
        ),
        (
            lambda: first([np.zeros((2, 3)), np.ones((2, 4))]),
            'item 1 of argument "rows" of "first" is (2 4), declared "n d": axis 1 is 4, declared '
            "d (here 3)",
        ),
    ],
)
def test_what_does_not(call, said: str) -> None:
    with pytest.raises(ShapeError) as caught:
        call()
    assert said in str(caught.value)


def test_names_go_on_to_tensors() -> None:
    @shapecheck
    def f(x: Int[np.ndarray, "n d"], w: Float[Tensor, "d e"]) -> Float[Tensor, "n e"]:
        return torch.from_numpy(x).to(w) @ w

    assert f(np.zeros((2, 3), np.int64), torch.zeros(3, 4)).shape == (2, 4)
    with pytest.raises(ShapeError, match="declared d"):
        f(np.zeros((2, 4), np.int64), torch.zeros(3, 4))
