"""Convolutions, pools, and pictures of other resolutions, against torch."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from op_oracle import agrees, apply, forward, parse, refusal, show
from torch import nn

from shapecheck.ops import UNKNOWN

FN = "torch.nn.functional."


def check(name: str, *args: Any, **kwargs: Any) -> None:
    agrees(lambda *a, **k: apply(FN + name, *a, **k), getattr(F, name), *args, **kwargs)


def check_module(name: str, init: dict[str, Any], *inputs: Any, **kwargs: Any) -> None:
    def real(*values: Any) -> Any:
        return getattr(nn, name)(**init)(*values)

    agrees(lambda *a: forward(f"torch.nn.{name}", ((), init), *a), real, *inputs, **kwargs)


def picture(rng: random.Random, count: int, channels: int) -> torch.Tensor:
    shape = [channels, *(rng.randrange(1, 12) for _ in range(count))]
    if rng.random() < 0.8:
        shape = [rng.choice((1, 2)), *shape]
    if rng.random() < 0.05:
        shape = [2, *shape]
    if rng.random() < 0.05:
        shape = shape[1:]
    return torch.zeros(shape)


def several(rng: random.Random, count: int, low: int, high: int) -> Any:
    if rng.random() < 0.6:
        return rng.randrange(low, high)
    return tuple(rng.randrange(low, high) for _ in range(count))


@pytest.mark.parametrize("seed", range(40))
def test_convolutions(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.choice((1, 2, 2, 3))
    groups = rng.choice((1, 1, 2, 3))
    channels, out = rng.choice((2, 3, 4, 6)), rng.choice((2, 3, 4, 6))
    x = picture(rng, count, channels if rng.random() < 0.9 else channels + 1)
    options: dict[str, Any] = {
        "stride": several(rng, count, 1, 4),
        "padding": rng.choice((several(rng, count, 0, 3), 0, "same", "valid")),
        "dilation": several(rng, count, 1, 3),
        "groups": groups,
    }
    kernel = several(rng, count, 1, 5)
    init = {"in_channels": channels, "out_channels": out, "kernel_size": kernel, **options}
    check_module(f"Conv{count}d", init, x)
    sides = kernel if isinstance(kernel, tuple) else (kernel,) * count
    weight = torch.zeros(out, max(channels // groups, 1), *sides)
    check(f"conv{count}d", x, weight, **options)
    if isinstance(options["padding"], str):
        options["padding"] = 1
    init = {**init, "padding": options["padding"], "output_padding": rng.choice((0, 0, 1))}
    x = torch.zeros([*x.shape[:-count], *(2 * size + 3 for size in x.shape[-count:])])
    check_module(f"ConvTranspose{count}d", init, x)
    weight = torch.zeros(channels, out, *sides)
    check(f"conv_transpose{count}d", x, weight, **options, output_padding=init["output_padding"])


@pytest.mark.parametrize("seed", range(40))
def test_pools(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.choice((1, 2, 2, 3))
    x = picture(rng, count, 3)
    kernel = several(rng, count, 1, 5)
    stride = rng.choice((None, several(rng, count, 1, 4)))
    ceil = rng.random() < 0.4
    padding = rng.choice((0, several(rng, count, 0, 3)))
    options = {"kernel_size": kernel, "stride": stride, "padding": padding, "ceil_mode": ceil}
    check(f"avg_pool{count}d", x, **options)
    more = {**options, "dilation": several(rng, count, 1, 3)}
    indices = rng.random() < 0.3
    check(f"max_pool{count}d", x, **more, return_indices=indices)
    check_module(f"MaxPool{count}d", more, x)
    check_module(f"AvgPool{count}d", options, x)
    size = rng.choice((1, 4, (2,) * count, (None,) * (count - 1) + (3,), (1, 2, 3)))
    check(f"adaptive_avg_pool{count}d", x, size)
    check_module(f"AdaptiveMaxPool{count}d", {"output_size": size}, x)


@pytest.mark.parametrize("seed", range(40))
def test_unfold_and_fold(seed: int) -> None:
    rng = random.Random(seed)
    x = picture(rng, 2, 3)
    options = {
        "kernel_size": several(rng, 2, 1, 4),
        "dilation": several(rng, 2, 1, 3),
        "padding": several(rng, 2, 0, 2),
        "stride": several(rng, 2, 1, 3),
    }
    check("unfold", x, **options)
    try:
        columns = F.unfold(x, **options)
    except (RuntimeError, IndexError):
        return
    size = tuple(x.shape[-2:]) if rng.random() < 0.9 else (5, 5)
    check("fold", columns, size, **options)
    check("fold", columns[..., :-1], size, **options)


@pytest.mark.parametrize("seed", range(30))
def test_resizing(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.choice((1, 2, 2, 3))
    x = torch.zeros([2, 3, *(rng.randrange(2, 9) for _ in range(count))])
    mode = rng.choice(("nearest", "bilinear", "area", "linear", "trilinear", "bicubic"))
    factor = rng.choice((2, 2.0, 0.5, 1.5, (2.0,) * count, (2, 0.5, 3)))
    check("interpolate", x, scale_factor=factor, mode=mode, exact=True)
    check("interpolate", x, size=rng.choice((4, (5,) * count, (4, 5))), mode=mode)
    check_module("Upsample", {"scale_factor": factor, "mode": mode}, x)
    y = torch.zeros(rng.choice((1, 4, 9, 8)), rng.choice((2, 4, 6)), rng.choice((2, 3, 6)))
    check("pixel_shuffle", y, rng.choice((1, 2, 3)))
    check("pixel_unshuffle", y, rng.choice((1, 2, 3)))


@pytest.mark.parametrize("seed", range(40))
def test_sampling(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.choice((2, 3))
    x = torch.zeros([2, 3, *(4,) * count])
    last = count if rng.random() < 0.8 else 5 - count
    grid = torch.zeros([rng.choice((2, 2, 2, 3)), *(5,) * rng.choice((count, 2)), last])
    agrees(
        lambda *a: apply(FN + "grid_sample", *a),
        lambda *a: F.grid_sample(*a, align_corners=False),
        x,
        grid,
    )
    theta = torch.zeros(2, count, rng.choice((count + 1, count + 1, count)))
    agrees(
        lambda *a: apply(FN + "affine_grid", *a),
        lambda *a: F.affine_grid(*a, align_corners=False),
        theta,
        [2, 3, *(4,) * count],
    )


@pytest.mark.parametrize("seed", range(40))
def test_padding(seed: int) -> None:
    rng = random.Random(seed)
    rank = rng.randrange(1, 5)
    x = torch.zeros([rng.randrange(1, 6) for _ in range(rank)])
    amounts = tuple(rng.randrange(-1, 4) for _ in range(rng.choice((2, 4, 6, 3, 2 * rank))))
    mode = rng.choice(("constant", "constant", "reflect", "replicate", "circular"))
    check("pad", x, amounts, mode, strict=mode == "constant")
    count = rng.choice((1, 2, 3))
    name = rng.choice(("ZeroPad", "ReflectionPad", "ReplicationPad", "CircularPad"))
    size = rng.choice((1, tuple(range(1, 2 * count + 1))))
    check_module(f"{name}{count}d", {"padding": size}, x, strict=False)


@pytest.mark.parametrize(
    ("name", "init", "shape", "expected"),
    [
        ("Conv2d", (3, 64, 3, 1, 1), "b 3 h w", "b 64 h w"),
        ("Conv2d", (3, 64, 3, 2, 1), "b 3 h w", "b 64 (h+1)//2 (w+1)//2"),
        ("Conv2d", (3, 64, 4, 2, 1), "b 3 h w", "b 64 h//2 w//2"),
        ("Conv2d", (3, 64, 7, 2, 3), "b c 224 224", "b 64 112 112"),
        ("Conv2d", (3, 64, 16, 16), "b 3 224 224", "b 64 14 14"),
        ("Conv2d", (3, 64, 5), "c h w", "64 h-4 w-4"),
        ("Conv2d", (3, 64, 5, 1, "same"), "b 3 h w", "b 64 h w"),
        ("Conv1d", (8, 8, 3), "b 8 t", "b 8 t-2"),
        ("Conv1d", (8, 8, 1), "b 8 (h w)", "b 8 (h w)"),
        ("ConvTranspose2d", (64, 32, 2, 2), "b 64 h w", "b 32 2*h 2*w"),
        ("ConvTranspose2d", (64, 32, 4, 2, 1), "b 64 h w", "b 32 2*h 2*w"),
        ("ConvTranspose2d", (64, 32, 3, 2, 1, 1), "b 64 h//2 w", "b 32 2*(h//2) 2*w"),
        ("MaxPool2d", (2,), "b c h w", "b c h//2 w//2"),
        ("MaxPool2d", (3, 2, 1), "b c h w", "b c (h+1)//2 (w+1)//2"),
        ("MaxPool2d", (2, 2, 0, 1, False, True), "b c h w", "b c (h+1)//2 (w+1)//2"),
        ("AvgPool1d", (3, 1, 1), "b c t", "b c t"),
        ("AdaptiveAvgPool2d", (1,), "b c h w", "b c 1 1"),
        ("AdaptiveAvgPool2d", ((None, 7),), "b c h w", "b c h 7"),
        ("Upsample", (None, 2), "b c h w", "b c 2*h 2*w"),
        ("PixelShuffle", (2,), "b 4*c h w", "b c 2*h 2*w"),
        ("PixelShuffle", (2,), "b 12 h w", "b 3 2*h 2*w"),
        ("ZeroPad2d", (1,), "b c h w", "b c h+2 w+2"),
        ("ReflectionPad2d", (3,), "b c h w", "b c h+6 w+6"),
        ("Unfold", (3, 1, 1), "b c h w", "b (c 3 3) (h w)"),
        ("Unfold", (4, 1, 0, 4), "b 3 32 32", "b 48 64"),
        ("LazyConv2d", (64, 3), "b c h w", "b 64 h-2 w-2"),
    ],
)
def test_names(name: str, init: tuple[Any, ...], shape: str, expected: str) -> None:
    assert show(forward(f"torch.nn.{name}", (init, {}), parse(shape))) == expected


def test_an_identity_gives_the_very_dimension_back() -> None:
    x = parse("b 3 h//2 (u v)")
    found = forward("torch.nn.Conv2d", ((3, 8, 3), {"padding": 1}), x)
    assert found.shape.dims[2:] == x.shape.dims[2:]


def test_what_is_not_known() -> None:
    found = forward("torch.nn.Conv2d", ((3, 8, 3), {"padding": UNKNOWN}), parse("b 3 h w"))
    assert found.shape.rank == 4
    assert str(found.shape.dims[1]) == "8"
    found = forward("torch.nn.Conv2d", ((3, UNKNOWN, 3), {}), UNKNOWN)
    assert found.shape.rank is None
    pooled = apply(FN + "max_pool2d", parse("*batch c h w"), 2)
    assert show(pooled) == "*batch c h//2 w//2"
    assert apply(FN + "max_pool2d", parse("b c h w"), 2, return_indices=UNKNOWN) is UNKNOWN
    assert apply(FN + "pad", parse("b c h w"), UNKNOWN).shape.rank == 4
    assert apply(FN + "interpolate", parse("b c h w"), scale_factor=UNKNOWN).shape.rank == 4


@pytest.mark.parametrize(
    ("name", "init", "shape", "text"),
    [
        (
            "Conv2d",
            (3, 64, 3),
            "b h w 3",
            'can\'t take (b h w 3): axis 1 of "input" is h, where 3 (in_channels) is expected',
        ),
        (
            "Conv2d",
            (3, 64, 3),
            "b 1 28 28",
            'can\'t take (b 1 28 28): axis 1 of "input" is 1, where 3 (in_channels) is expected',
        ),
        (
            "Conv2d",
            (3, 64, 3),
            "b d",
            'can\'t take (b d): "input" has 2 axes, where 3 or 4 are expected (c h w or b c h w)',
        ),
        (
            "Conv2d",
            (3, 64, 5),
            "b 3 4 4",
            "finds no place along axis 2: the kernel spans 5, and axis 2 is 4",
        ),
        (
            "Conv2d",
            (4, 64, 3, 1, 0, 1, 3),
            "b 4 h w",
            "can't take (b 4 h w): 4 input channels aren't divisible by 3 groups",
        ),
        (
            "MaxPool2d",
            (2, 2, 2),
            "b c h w",
            "needs a padding of at most half the kernel: it is 2, and the kernel spans 2",
        ),
        (
            "PixelShuffle",
            (2,),
            "b 6 h w",
            "can't shuffle the pixels of (b 6 h w): axis -3 is 6, which 4 doesn't divide",
        ),
        (
            "Upsample",
            (None, 2, "bilinear"),
            "c h w",
            'can\'t resize (c h w): "input" has 3 axes, where mode bilinear expects 4',
        ),
        (
            "ReflectionPad2d",
            (4,),
            "b c 4 4",
            "can't pad (b c 4 4) by (4, 4, 4, 4): axis -1 is 4, and mode reflect takes less than "
            "that",
        ),
    ],
)
def test_errors(name: str, init: tuple[Any, ...], shape: str, text: str) -> None:
    assert refusal(forward, f"torch.nn.{name}", (init, {}), parse(shape)) == text


@pytest.mark.parametrize(
    ("name", "args", "text"),
    [
        (
            "conv2d",
            ("b c h w", "o i 3 3"),
            "can't convolve (b c h w) with a weight of (o i 3 3): axis 1 of the input is c, "
            "axis 1 of the weight i",
        ),
        (
            "conv2d",
            ("b c h w", "o c 3"),
            "can't convolve (b c h w) with a weight of (o c 3): the weight has 3 axes, where 4 "
            "are expected",
        ),
        (
            "pad",
            ("b t", (1, 1, 1, 1, 1, 1)),
            "can't pad (b t) by (1, 1, 1, 1, 1, 1): 6 amounts are for 3 axes, it has 2",
        ),
        ("pad", ("b t", (1, 1, 1)), "can't pad (b t) by (1, 1, 1): 3 is no number of pairs"),
        ("pad", ("b 3", (-2, -2)), "can't pad (b 3) by (-2, -2): axis -1 would become -1"),
        (
            "grid_sample",
            ("b c h w", "n p q 2"),
            'can\'t sample (b c h w) at (n p q 2): axis 0 is b in "input" and n in "grid"',
        ),
        (
            "grid_sample",
            ("b c h w", "b p q 3"),
            'can\'t sample (b c h w) at (b p q 3): axis -1 of "grid" is 3, where 2 is expected',
        ),
    ],
)
def test_function_errors(name: str, args: tuple[Any, ...], text: str) -> None:
    given = [parse(arg) if isinstance(arg, str) else arg for arg in args]
    assert refusal(apply, FN + name, *given) == text
