"""What einops packs has its names again once it is unpacked, and never other ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from einops import pack, unpack
from torch import Tensor

import shapecheck
from shapecheck import Float, dims_of

Names = tuple[Any, ...]
SIZES = [(2, 3, 4, 5), (2, 2, 2, 2), (3, 1, 4, 2), (3, 4, 4, 1)]


def pack_one(x: Tensor, pattern: str) -> tuple[Tensor, Any]:
    return pack([x], pattern)


def unpack_one(x: Tensor, ps: Any, pattern: str) -> Tensor:
    return unpack(x, ps, pattern)[0]


def with_inverse(x: Tensor, pattern: str) -> tuple[Tensor, Callable[[Tensor, str], Tensor]]:
    packed, ps = pack_one(x, pattern)
    return packed, lambda y, other: unpack_one(y, ps, other)


class Held:
    """Something that shapes are kept in."""

    ps: Any = None


@shapecheck.shapecheck
def of_one(x: Float[Tensor, "b h w d"]) -> list[tuple[Names, Names]]:
    found = []
    for pattern in ("* w d", "b * d", "b *", "*"):
        y, ps = pack([x], pattern)
        found.append((dims_of(y), dims_of(unpack(y.exp(), ps, pattern)[0])))
    y, Held.ps = pack_one(x, "* d")
    found.append((dims_of(y), dims_of(unpack_one(y, Held.ps, "* d"))))
    y, inverse = with_inverse(x, "* d")
    found.append((dims_of(y), dims_of(inverse(y.sum(-1), "*"))))
    return found


@pytest.mark.parametrize("sizes", SIZES)
def test_one(sizes: tuple[int, ...]) -> None:
    whole = ("b", "h", "w", "d")
    for _ in range(2):
        found = of_one(torch.rand(sizes))
        if 1 not in sizes:
            assert [packed for packed, _ in found] == [
                ("(b h)", "w", "d"),
                ("b", "(h w)", "d"),
                ("b", "(h w d)"),
                ("(b h w d)",),
                ("(b h w)", "d"),
                ("(b h w)", "d"),
            ]
        assert [unpacked for _, unpacked in found] == [whole] * 5 + [whole[:3]]


@shapecheck.shapecheck
def of_several(
    token: Float[Tensor, "b d"], r: Float[Tensor, "b r d"], x: Float[Tensor, "b h w d"]
) -> list[list[Names]]:
    found = []
    for parts in ([r, x], [token, x], [token, r, x], [x, r, token]):
        y, ps = pack(parts, "b * d")
        found.append([dims_of(y), *map(dims_of, unpack(y, ps, "b * d"))])
    y, ps = pack([token, x], "b * d")
    found.append([dims_of(one) for one in unpack(y, [[], [-1]], "b * d")])
    found.append([dims_of(one) for one in unpack(y, [ps[0], [-1]], "b * d")])
    found.append([dims_of(one) for one in unpack(y, [[1], ps[1]], "b * d")])
    return found


@pytest.mark.parametrize("sizes", [(2, 3, 4, 5, 6), (2, 2, 2, 2, 2), (3, 4, 4, 4, 16)])
def test_several(sizes: tuple[int, ...]) -> None:
    b, r, h, w, d = sizes
    one, row, grid = ("b", "d"), ("b", "r", "d"), ("b", "h", "w", "d")
    for _ in range(2):
        found = of_several(torch.rand(b, d), torch.rand(b, r, d), torch.rand(b, h, w, d))
        assert found == [
            [("b", "h*w+r", "d"), row, grid],
            [("b", "h*w+1", "d"), one, grid],
            [("b", "h*w+r+1", "d"), one, row, grid],
            [("b", "h*w+r+1", "d"), grid, row, one],
            [one, ("b", "h*w", "d")],
            [one, ("b", "h*w", "d")],
            [("b", None, "d"), grid],
        ]


@shapecheck.shapecheck
def of_other_shapes(x: Float[Tensor, "b h w d"], y: Float[Tensor, "b n d"]) -> list[Names]:
    _, ps = pack([x], "b * d")
    copied = [tuple(ps[0])]
    return [
        dims_of(unpack(y, ps, "b * d")[0]),
        dims_of(unpack(y, copied, "b * d")[0]),
        *(dims_of(one) for one in unpack(y, [[2], [-1]], "b * d")),
        *(dims_of(one) for one in unpack(y, [[-1], [2]], "b * d")),
    ]


def test_names_are_those_of_the_packed_shapes() -> None:
    x, y = torch.rand(2, 3, 4, 5), torch.rand(2, 12, 5)
    for _ in range(2):
        packed, copied, *rest = of_other_shapes(x, y)
        assert packed == ("b", "h", "w", "d")
        assert copied == ("b", None, None, "d")
        assert rest == [("b", None, "d")] * 4


@shapecheck.shapecheck
def kept_for_later(x: Float[Tensor, "b n d"]) -> Names:
    before, (y, Held.ps) = Held.ps, pack([x], "b *")
    return dims_of(unpack(y, before or Held.ps, "b *")[0])


def test_what_another_call_has_packed_has_no_names() -> None:
    Held.ps = None
    assert kept_for_later(torch.rand(2, 3, 4)) == ("b", "n", "d")
    assert kept_for_later(torch.rand(2, 3, 4)) == ("b", None, None)
