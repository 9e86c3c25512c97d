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


def counted(x: Float[Tensor, "b t d"]) -> Any:
    rows = len(x)
    inner = len(x[0]) - 1
    return dims_of(torch.randperm(rows)) + dims_of(torch.zeros(len(x.mT[0]), inner))


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
    return dims_of(torch.zeros(n, 3, x.ndim))


def drawn(x: Float[Tensor, "b t d"]) -> Any:
    b, t, d = x.shape
    made = torch.randint(0, d, (b, t)), torch.randperm(t), torch.linspace(0, 1, d)
    more = torch.normal(0.0, 1.0, (t, b)), x[0, 0].tile(b)
    return sum(map(dims_of, (*made, *more)), ())


def on_a_device(x: Float[Tensor, "b t d"]) -> Any:
    """`torch.device` is a mode of torch's, which stands before ours."""
    with torch.device("cpu"):
        b, t, _ = x.shape
        return dims_of(torch.zeros(t, b)) + dims_of(torch.ones(x.shape))


def inner(x: Float[Tensor, "b t d"]) -> Any:
    b = x.shape[0]
    made = list(torch.zeros(b) for _ in range(2))  # noqa: C400 - a list would be no function
    later = lambda: torch.zeros(b)  # noqa: E731 - another function, in which `b` isn't local
    return dims_of(made[0]) + dims_of(later())


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (unpacked, ("t", "d", "b")),
        (starred, ("d", "b")),
        (methods, ("d", "t", "b")),
        (counted, ("b", "d", "t-1")),
        (computed, ("b*t", "t+1", "b+t//2-2")),
        (sequences, ("b", "t", None, "b", "t")),
        (renamed, ("t", "b")),
        (recursive, (None, None)),
        (several, (None,)),
        (number, (None, None, None)),
        (drawn, ("b", "t", "t", "d", "t", "b", "b*d")),
        (on_a_device, ("t", "b", "b", "t", "d")),
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
        return like.view(b, w, h) + like

    with pytest.raises(ShapeError, match=r'"view" scrambles \(b h w\) into \(b w h\): h is axis 1'):
        restore(torch.rand(2, 9, 4), torch.rand(2, 3, 3))

    @shapecheck
    def unmerge(like: Float[Tensor, "b h w"]) -> Any:
        b, h, w = like.shape
        return like.flatten(1).view(b, w, h)

    with pytest.raises(
        ShapeError, match=r'"view" scrambles \(b \(h w\)\) into \(b w h\): h is axis 1'
    ):
        unmerge(torch.rand(2, 3, 3))

    @shapecheck
    def scramble(x: Float[Tensor, "b h t d"]) -> Any:
        b, h, t, d = x.shape
        return x.reshape(b, t, h * d)

    for _ in range(2):
        with pytest.raises(ShapeError) as caught:
            scramble(torch.rand(2, 3, 3, 4))
    assert str(caught.value).splitlines()[0] == (
        '"reshape" scrambles (b h t d) into (b t d*h): t is axis 2 before and axis 1 after, but a '
        "regrouping moves no axis; transpose(1, 2) first  [shape]"
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


# Ints that are called like a dimension -----------------------------------------------------------


@shapecheck
def heads_of(x: Float[Tensor, "b t (h d)"], h: int | None = None) -> Any:
    return dims_of(x.unflatten(-1, (h or 1, -1)))


def test_an_int_says_how_a_composite_is_made() -> None:
    for h in (2, 3, 2, 6):
        assert heads_of(torch.rand(2, 5, 12), h) == ("b", "t", "h", "d")
        assert heads_of(torch.rand(2, 5, 12), h=h) == ("b", "t", "h", "d")
    assert heads_of(torch.rand(2, 5, 12)) == ("b", "t", None, None)
    with pytest.raises(ShapeError, match=r"can't unflatten axis -1 of \(b t 12\) into \(5 -1\)"):
        heads_of(torch.rand(2, 5, 12), 5)


def test_what_an_int_says_is_held_against_the_result() -> None:
    @shapecheck
    def split(x: Float[Tensor, "b t (h d)"], h: int) -> Float[Tensor, "b h t d"]:
        return x.unflatten(-1, (-1, 2)).transpose(1, 2)

    assert split(torch.rand(3, 5, 8), 4).shape == (3, 4, 5, 2)
    with pytest.raises(ShapeError) as caught:
        split(torch.rand(3, 5, 8), 2)
    assert '(3 mixed(h d) 5 mixed(h d)), declared "b h t d"' in str(caught.value)
    assert "here b=3, t=5, h=2, d=4" in str(caught.value)


def test_an_int_that_is_something_else_is_left_alone() -> None:
    @shapecheck
    def padded(x: Float[Tensor, "b t d"], t: int) -> Float[Tensor, "b t2 d"]:
        return torch.cat([x, x.new_zeros(x.shape[0], t - x.shape[1], x.shape[2])], 1)

    @shapecheck
    def neighbours(x: Float[Tensor, "n d"], k: int) -> Float[Tensor, "n k"]:
        return x[:, : k + 1]

    @shapecheck
    def twice(x: Float[Tensor, "(h d)"], h: int) -> Float[Tensor, "h k"]:
        h = 2 * h
        return x.view(h, -1)

    for _ in range(2):
        assert padded(torch.rand(2, 3, 4), 7).shape == (2, 7, 4)
        assert neighbours(torch.rand(5, 6), 3).shape == (5, 4)
        with pytest.raises(ShapeError, match=r"axis 0 is mixed\(h d\), declared h"):
            twice(torch.rand(12), 2)


def test_a_length_that_only_the_result_has() -> None:
    @shapecheck
    def repeated(x: Float[Tensor, "n d"], k: int) -> Float[Tensor, "n k d"]:
        return x[None].expand(k, -1, -1)

    for n, k in ((3, 3), (4, 4)):
        with pytest.raises(
            ShapeError, match=r"is \(k n d\), declared \"n k d\": axis 0 is k, declared n"
        ):
            repeated(torch.rand(n, 2), k)


def test_sizes_that_are_left_to_a_view_have_no_odd_names() -> None:
    @shapecheck
    def qkv(x: Float[Tensor, "b t c"], heads: int) -> Any:
        b, t, _ = x.shape
        weight = torch.rand(96, 32)
        return dims_of(torch.nn.functional.linear(x, weight).view(b, t, 3, heads, -1))

    assert qkv(torch.rand(2, 4, 32), 8) == ("b", "t", None, None, None)


# What is solved from numbers ----------------------------------------------------------------------


def helper(x: Tensor, h: int, w: int) -> Any:
    return x.reshape(-1, 8, h, w)


def folded(x: Float[Tensor, "b 32 h w"]) -> Any:
    _, channels, h, w = x.shape
    inner = x.reshape(-1, channels // 4, h, w)
    return dims_of(x.reshape(-1, 8, h, w)) + dims_of(inner) + dims_of(helper(x, h, w))


def numbers_left(x: Float[Tensor, "b 32 h w"]) -> Any:
    b, h = len(x), x.shape[2]
    return dims_of(x.reshape(b, CONFIG + 1, 8, h, -1))


def counting_down(x: Float[Tensor, "b 32 h w"]) -> Any:
    h, w = x.shape[-2:]
    made = torch.arange(h - 1, -h, -1), torch.arange(-w, w), torch.arange(max(1, b_of(x)), h + 40)
    return sum(map(dims_of, made), ())


def b_of(x: Tensor) -> int:
    return x.shape[0]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (folded, (None, None, "h", "w") * 3),
        (numbers_left, ("b", None, None, "h", "w")),
        (counting_down, ("2*h-1", "2*w", None)),
    ],
)
@pytest.mark.parametrize("sizes", [(2, 32, 4, 6), (5, 32, 7, 10), (3, 32, 6, 5)])
def test_names_don_t_depend_on_the_sizes(
    function: Callable[..., Any], expected: tuple[str | None, ...], sizes: tuple[int, ...]
) -> None:
    checked = shapecheck(function)
    for _ in range(2):
        assert checked(torch.rand(sizes)) == expected


def test_a_size_that_is_computed_may_be_equal_to_a_name() -> None:
    @shapecheck
    def halved(x: Float[Tensor, "b t c"]) -> Any:
        b = x.shape[0]
        return x.reshape(2 * b, -1)

    for sizes in ((2, 4, 4), (4, 2, 8), (6, 4, 4), (2, 8, 12)):
        assert halved(torch.rand(sizes)).shape == (2 * sizes[0], sizes[1] * sizes[2] // 2)


@pytest.mark.parametrize("sizes", [(1, 4, 4, 4), (2, 4, 4, 4), (8, 4, 4, 4), (2, 8, 6, 2)])
def test_windows_that_are_folded_back(sizes: tuple[int, ...]) -> None:
    @shapecheck
    def halo(
        q: Float[Tensor, "batch c height width"], block: int, heads: int
    ) -> Float[Tensor, "batch c height width"]:
        b, c, height, width = q.shape
        rows, columns = height // block, width // block
        inner, blocks = c // heads, rows * columns
        y = q.reshape(-1, inner, rows, block, columns, block).permute(0, 1, 3, 5, 2, 4)
        y = y.reshape(b * heads, inner, -1, blocks).transpose(1, 3)
        k = torch.nn.functional.pad(q, [1, 1, 1, 1]).unfold(2, block + 2, block)
        k = k.unfold(3, block + 2, block).reshape(b * heads, inner, blocks, -1)
        k = k.permute(0, 2, 3, 1)
        out = ((y @ k.mT).softmax(-1) @ k).transpose(1, 3)
        out = out.reshape(-1, block, block, rows, columns).permute(0, 3, 1, 4, 2)
        return out.contiguous().view(b, c, height, width) + q

    for heads in (1, 2, 4):
        assert halo(torch.rand(sizes), 2, heads).shape == sizes


@pytest.mark.parametrize("h", [2, 4, 8])
def test_what_is_left_when_numbers_cancel(h: int) -> None:
    """Of `(32 h) 64`, seen as `32, h, -1, 16`, the `-1` is no `h`, although 32*64 is 32*4*16."""

    @shapecheck
    def f(x: Float[Tensor, "b (32 h) 64"], h: int, n: int) -> Any:
        b = len(x)
        return dims_of(x.view(b, 32, n, -1, 16)), dims_of(x.view(b, 32, h, -1, 16))

    known, told = f(torch.rand(2, 32 * h, 64), h, h)
    assert known in (("b", None, "h", None, None), ("b", None, None, None, None))
    assert told == ("b", None, "h", None, None)


@pytest.mark.parametrize("t", [3, 5, 8])
def test_sizes_that_are_left_keep_their_names(t: int) -> None:
    @shapecheck
    def f(x: Float[Tensor, "b t (n d)"], y: Float[Tensor, "b t 128"], n: int) -> Any:
        b, _, _ = x.shape
        return (
            dims_of(x.view(b, t, n, -1)),
            dims_of(x.reshape(-1, x.shape[-1])),
            dims_of(y.view(b, -1, 8, 16)),
            dims_of(y.view(b, -1, CONFIG - 2, 128)),
        )

    heads, tokens, split, back = f(torch.rand(2, t, 24), torch.rand(2, t, 128), 4)
    assert heads == ("b", "t", "n", "d")
    assert tokens == ("(b t)", "(n d)")
    assert split[:2] == back[:2] == ("b", "t")


def test_sizes_that_windows_and_resizing_are_given() -> None:
    functional = torch.nn.functional

    @shapecheck
    def f(x: Float[Tensor, "b c h w"], y: Float[Tensor, "b c k l"]) -> Any:
        k, l = y.shape[2:]
        return [
            dims_of(functional.interpolate(x, size=y.shape[-2:])),
            dims_of(functional.interpolate(x, (k, l), mode="bilinear")),
            dims_of(functional.adaptive_avg_pool2d(x, (k, l))),
            dims_of(functional.max_pool2d(x, kernel_size=(k, 1), stride=1)),
            dims_of(functional.avg_pool2d(x, x.size()[2:])),
            dims_of(x.topk(k, 1)[0]),
            dims_of(x.narrow(2, 1, l)),
        ]

    for _ in range(2):
        found = f(torch.rand(2, 7, 6, 8), torch.rand(2, 7, 3, 4))
        assert found == [
            *(("b", "c", "k", "l"),) * 3,
            ("b", "c", "h-k+1", "w"),
            ("b", "c", None, None),
            ("b", "k", "h", "w"),
            ("b", "c", "l", "w"),
        ]


@pytest.mark.parametrize("cached", [True, False])
def test_a_size_that_is_read_in_one_branch_or_the_other(cached: bool) -> None:
    @shapecheck
    def f(x: Float[Tensor, "b t"], y: Float[Tensor, "b s d"]) -> Any:
        if cached:
            shape = x.shape
            n = shape[1]
        else:
            shape = y.shape[:-1]
            n = shape[1]
        return dims_of(torch.zeros(n)), dims_of(torch.ones(shape))

    assert f(torch.rand(2, 5), torch.rand(2, 5, 4)) == (
        (("t",), ("b", "t")) if cached else (("s",), ("b", "s"))
    )


def test_a_size_below_nothing_is_no_size() -> None:
    """Where `t` is 1, `expand(-1, t-2, -1)` keeps an axis, and a slice from 2 on is empty."""

    @shapecheck
    def f(x: Float[Tensor, "b t d"]) -> Any:
        t = x.shape[1]
        x[:, 2:] = x[:, 2:] * 2
        return x.expand(-1, t - 2, -1), x.view(len(x), t - 2, 3)

    kept, left = f(torch.rand(2, 1, 3))
    assert kept.shape == left.shape == (2, 1, 3)


def test_what_is_put_together_with_a_number_has_no_name() -> None:
    """A part without a name may be what is missing to a length; of an item there is always one."""

    @shapecheck
    def f(x: Float[Tensor, "b t d"], y: Float[Tensor, "b s d"]) -> Any:
        rest = torch.zeros(len(x), 8 - x.shape[1], int(x.shape[2]))
        none = torch.zeros(len(y), int(8 - y.shape[1]), int(y.shape[2]))
        return (
            dims_of(torch.cat((x, torch.rand(2, 3, 4)), 1)),
            dims_of(torch.cat((x[:, :1].mean(1, keepdim=True), x), 1)),
            dims_of(torch.cat((x, x), 1)),
            dims_of(torch.cat([*x.unbind(2)] * 2, 1)),
            dims_of(torch.cat([x, x] + [x] * 2, 1)),
            torch.cat((x, rest), 1) + torch.cat((y, none), 1),
        )

    *names, total = f(torch.rand(2, 8, 4), torch.rand(2, 8, 4))
    assert names == [
        ("b", None, "d"),
        ("b", "t+1", "d"),
        ("b", "2*t", "d"),
        ("b", None),
        ("b", "4*t", "d"),
    ]
    assert total.shape == (2, 8, 4)


def test_a_window_as_large_as_an_axis_has_not_its_name() -> None:
    @shapecheck
    def f(x: Float[Tensor, "b h w c"], bias: Float[Tensor, "k k"]) -> Any:
        b, h, w, c = x.shape
        windows = x.view(b, h // 4, 4, w // 4, 4, c)
        windows[:, 0, :, 0, :, 0] + bias
        return dims_of(windows), dims_of(x.view(b, 1, h, 1, w, c))

    assert f(torch.rand(2, 4, 4, 3), torch.rand(4, 4)) == (
        ("b", "h//4", None, "w//4", None, "c"),
        ("b", None, "h", None, "w", "c"),
    )
