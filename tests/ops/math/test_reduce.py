"""Reductions, sorts and running sums: against torch, and on names."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from op_oracle import agrees, apply, parse, refusal, show

from shapecheck import dtypes
from shapecheck.ops import UNKNOWN

SHAPES = st.lists(st.sampled_from((1, 2, 3, 4)), max_size=3)
AXES = st.integers(-4, 3)
KEEPDIM = st.booleans()
MANY = ("sum", "mean", "amax", "amin", "all", "any", "std", "var", "logsumexp", "norm")
ONE = ("argmax", "prod", "max", "min", "median", "mode", "cummax", "kthvalue")
KEEP = ("cumsum", "softmax", "log_softmax", "sort", "argsort", "cumprod", "logcumsumexp", "unbind")


def check(name: str, x: torch.Tensor, *args: Any, **kwargs: Any) -> None:
    agrees(
        lambda *a, **k: apply(f"torch.{name}", *a, **k), getattr(torch, name), x, *args, **kwargs
    )


@given(shape=SHAPES, dim=st.none() | AXES | st.lists(AXES, min_size=1, max_size=3), keep=KEEPDIM)
@settings(max_examples=60, deadline=None)
def test_over_several_axes(shape: list[int], dim: Any, keep: bool) -> None:
    x = torch.ones(shape)
    for name in MANY:
        if name == "logsumexp" and dim is None:
            continue
        check(name, x, dim=dim, keepdim=keep, strict=name != "norm")


@given(shape=SHAPES, dim=AXES, keep=st.booleans())
@settings(max_examples=60, deadline=None)
def test_over_one_axis(shape: list[int], dim: int, keep: bool) -> None:
    x = torch.ones(shape)
    for name in ONE:
        if name == "kthvalue":
            check(name, x, 1, dim, keep)
        elif name != "cummax":
            check(name, x, dim, keep)
    for name in KEEP:
        check(name, x, dim)
    for count in (1, 3):
        check("topk", x, count, dim)
    check("diff", x, 1, dim)
    check("quantile", x, torch.tensor([0.5, 0.1]), dim, keep)
    for name in ("sum", "max", "argmax", "median"):
        check(name, x)


@pytest.mark.parametrize(
    ("name", "shape", "args", "result"),
    [
        ("sum", "b t c", {"dim": -1}, "b t"),
        ("sum", "b t c", {"dim": (0, 2)}, "t"),
        ("mean", "b t c", {"dim": 1, "keepdim": True}, "b 1 c"),
        ("sum", "b t c", {"axis": 1, "keepdims": True}, "b 1 c"),
        ("mean", "b t c", {}, ""),
        ("mean", "*batch d", {"dim": -1}, "*batch"),
        ("mean", "*batch d", {"dim": -1, "keepdim": True}, "*batch 1"),
        ("std", "b t c", {"dim": 0}, "t c"),
        ("max", "b t", {"dim": 1}, ("b", "b")),
        ("max", "b t", {}, ""),
        ("argmax", "b t", {"dim": -1}, "b"),
        ("topk", "b v", {"k": 5}, ("b 5", "b 5")),
        ("sort", "b v", {}, ("b v", "b v")),
        ("softmax", "b t", {"dim": -1}, "b t"),
        ("cumsum", "b t", {"dim": -1}, "b t"),
        ("norm", "b t c", {"dim": -1}, "b t"),
        ("linalg.norm", "b t c", {"dim": -1, "keepdim": True}, "b t 1"),
        ("diff", "b t", {}, "b t-1"),
        ("sum", "b t c", {"dim": UNKNOWN}, "..."),
    ],
)
def test_names(name: str, shape: str, args: dict[str, Any], result: Any) -> None:
    assert show(apply(f"torch.{name}", parse(shape), **args)) == result


@pytest.mark.parametrize(
    ("name", "shape", "args", "message"),
    [
        (
            "softmax",
            "b t",
            {"dim": 2},
            "has no axis 2 in (b t): a tensor with 2 axes allows -2 to 1",
        ),
        ("sum", "b", {"dim": -2}, "has no axis -2 in (b): a tensor with 1 axis allows -1 to 0"),
        ("mean", "b t", {"dim": 5}, "has no axis 5 in (b t): a tensor with 2 axes allows -2 to 1"),
        (
            "sum",
            "b t",
            {"dim": (1, -1)},
            "can't use the axes (1, -1) of (b t): an axis is named twice",
        ),
        ("topk", "b 3", {"k": 5}, "can't take the 5 largest of (b 3): axis 1 has 3 elements"),
    ],
)
def test_errors(name: str, shape: str, args: dict[str, Any], message: str) -> None:
    assert refusal(apply, f"torch.{name}", parse(shape), **args) == message


def test_mean_of_integers() -> None:
    assert refusal(apply, "torch.mean", parse("b t", dtypes.BOOL)) == (
        "can't take the mean of (b t): it takes floating elements, and they are bool"
    )


def test_two_tensors() -> None:
    assert show(apply("torch.max", parse("b t"), parse("t"))) == "b t"
    assert apply("torch.max", parse("b t"), UNKNOWN) is UNKNOWN
