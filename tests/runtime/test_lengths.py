"""Sizes that a function reads from a shape keep their names on the way to an op."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from shapecheck import Float, ShapeError, dims_of, shapecheck

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="no columns in the bytecode")
CONFIG = 3


def unpacked(x: Float[Tensor, "b t d"]) -> Any:
    b, t, d = x.shape
    return dims_of(torch.zeros(t, d, b))


def starred(x: Float[Tensor, "b t d"]) -> Any:
    first, *_, last = x.shape
    return dims_of(x.new_ones(last, first))


def methods(x: Float[Tensor, "b t d"]) -> Any:
    return dims_of(torch.rand(x.size(-1), x.size()[1], x.shape[0]))


def computed(x: Float[Tensor, "b t d"]) -> Any:
    b, t = x.shape[0], x.size(1)
    rows = b * t
    return dims_of(torch.ones((rows, t + 1, t // 2 + b - 2)))


def sequences(x: Float[Tensor, "b t d"]) -> Any:
    shape = x.shape
    lead = shape[:-1]
    return dims_of(torch.empty(*lead, 7)) + dims_of(torch.full(size=lead, fill_value=0))


def renamed(x: Float[Tensor, "b t d"]) -> Any:
    x = x.transpose(0, 1)
    first, second = x.shape[:2]
    x = x[..., 0]
    return dims_of(torch.eye(first, second))


def recursive(x: Float[Tensor, "b t d"], depth: int = 2) -> Any:
    """What another activation of the function has read since isn't this one's."""
    b, t, _ = x.shape
    if depth:
        recursive.__wrapped__(x.permute(2, 0, 1), depth - 1)  # type: ignore[attr-defined]
        return dims_of(torch.zeros(b, t))
    return dims_of(torch.zeros(b, t))


recursive = shapecheck(recursive)


def several(x: Float[Tensor, "b t d"]) -> Any:
    """A variable that is assigned twice may be anything."""
    n = x.shape[0]
    for _ in range(2):
        n = x.shape[1]
    return dims_of(torch.zeros(n))


def number(x: Float[Tensor, "b t d"]) -> Any:
    n = CONFIG
    return dims_of(torch.zeros(n, 3, len(x)))


def inner(x: Float[Tensor, "b t d"]) -> Any:
    b = x.shape[0]
    made = [torch.zeros(b) for _ in range(2)]
    later = lambda: torch.zeros(b)  # noqa: E731 - another function, in which `b` isn't local
    return dims_of(made[0]) + dims_of(later())


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (unpacked, ("t", "d", "b")),
        (starred, ("d", "b")),
        (methods, ("d", "t", "b")),
        (computed, ("b*t", "t+1", "b+t//2-2")),
        (sequences, ("b", "t", None, "b", "t")),
        (renamed, ("t", "b")),
        (recursive, (None, None)),
        (several, (None,)),
        (number, (None, None, None)),
        (inner, (None, None)),
    ],
)
@pytest.mark.parametrize("sizes", [(3, 3, 3), (3, 4, 5)])
def test_names_of_what_is_made(
    function: Callable[..., Any], expected: tuple[str | None, ...], sizes: tuple[int, ...]
) -> None:
    checked = shapecheck(function)
    for _ in range(2):  # found out, then remembered
        assert checked(torch.rand(sizes)) == expected


def test_a_view_by_the_wrong_sizes() -> None:
    @shapecheck
    def restore(tokens: Float[Tensor, "b n c"], like: Float[Tensor, "b h w"]) -> Any:
        b, h, w = like.shape
        flat = like.flatten(1)
        return flat.view(b, w, h) + like

    with pytest.raises(ShapeError, match=r"axis -1 is mixed\(h w\) on the left and w on the right"):
        restore(torch.rand(2, 9, 4), torch.rand(2, 3, 3))

    @shapecheck
    def scramble(x: Float[Tensor, "b h t d"]) -> Any:
        b, h, t, d = x.shape
        return x.reshape(b, t, h * d)

    for _ in range(2):
        with pytest.raises(ShapeError) as caught:
            scramble(torch.rand(2, 3, 3, 4))
    assert str(caught.value).splitlines()[0] == (
        '"reshape" scrambles (b h t d) into (b t d*h): t is axis 2 before and axis 1 after, but a '
        "regrouping moves no axis; transpose first  [shape]"
    )


def test_right_views_of_equal_sizes() -> None:
    @shapecheck
    def attend(x: Float[Tensor, "b t c"], heads: int) -> Float[Tensor, "b t c"]:
        b, t, c = x.shape
        x = x.view(b, t, heads, c // heads).transpose(1, 2)
        assert dims_of(x)[0] == "b"
        return x.transpose(1, 2).reshape(b, t, c)

    for sizes in ((4, 4, 4), (2, 2, 4), (2, 3, 8)):
        for heads in (1, 2, 4):
            attend(torch.rand(sizes), heads)
