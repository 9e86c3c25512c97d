"""Ops that reorder, add, drop and widen axes: against torch, and on names."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from op_oracle import agrees, apply, parse, refusal, show

import shapecheck.dims as dims

SHAPES = st.lists(st.sampled_from((1, 1, 2, 3, 4)), max_size=4)
AXES = st.integers(-5, 4)
COUNTS = st.lists(st.sampled_from((-1, 1, 2, 3, 4)), min_size=1, max_size=5)


def check(name: str, x: torch.Tensor, *args: Any, **kwargs: Any) -> None:
    real = getattr(torch, name) if hasattr(torch, name) else getattr(torch.Tensor, name)
    prefix = "torch" if hasattr(torch, name) else "torch.Tensor"
    agrees(lambda *a, **k: apply(f"{prefix}.{name}", *a, **k), real, x, *args, **kwargs)


@given(shape=SHAPES, first=AXES, second=AXES)
@settings(max_examples=100, deadline=None)
def test_one_or_two_axes(shape: list[int], first: int, second: int) -> None:
    x = torch.zeros(shape)
    for name in ("transpose", "swapaxes", "movedim", "diagonal"):
        check(name, x, *(() if name != "diagonal" else (0,)), first, second)
    for name in ("unsqueeze", "squeeze", "unbind"):
        check(name, x, first)
    check("squeeze", x, (first, second), symbols=False)
    check("select", x, first, 0)
    check("narrow", x, first, 0, 1)
    check("repeat_interleave", x, 3, first)
    check("unfold", x, first, 1, 2, exact=bool(shape))
    check("rot90", x, 1, (first, second))
    check("roll", x, (1, 1), (first, second))
    for name in ("squeeze", "ravel", "t", "fliplr", "flipud", "tril", "diag", "diag_embed"):
        check(name, x, strict=name != "diag", symbols=name != "squeeze")


@given(shape=SHAPES, order=st.lists(AXES, max_size=4), data=st.data())
@settings(max_examples=100, deadline=None)
def test_orders(shape: list[int], order: list[int], data: st.DataObject) -> None:
    x = torch.zeros(shape)
    check("permute", x, tuple(order))
    check("flip", x, tuple(order))
    whole = data.draw(st.permutations(range(len(shape))))
    check("permute", x, tuple(whole))


@given(shape=SHAPES, counts=COUNTS)
@settings(max_examples=150, deadline=None)
def test_widening(shape: list[int], counts: list[int]) -> None:
    x = torch.zeros(shape)
    check("expand", x, *counts)
    if -1 not in counts:
        check("broadcast_to", x, counts)
        check("repeat", x, *counts)
        check("tile", x, tuple(counts))


@pytest.mark.parametrize(
    ("name", "shape", "args", "result"),
    [
        ("permute", "b t h d", (0, 2, 1, 3), "b h t d"),
        ("permute", "b t h d", ((0, 2, 1, 3),), "b h t d"),
        ("transpose", "b t (h d)", (1, 2), "b (h d) t"),
        ("transpose", "*batch n d", (-1, -2), "*batch d n"),
        ("mT", "*batch n d", (), "*batch d n"),
        ("T", "n d", (), "d n"),
        ("t", "n d", (), "d n"),
        ("t", "*batch", (), "..."),
        ("T", "*batch d", (), "d ..."),
        ("unsqueeze", "b t", (1,), "b 1 t"),
        ("unsqueeze", "b t", (-1,), "b t 1"),
        ("squeeze", "b 1 t 1", (), "b t"),
        ("squeeze", "b 1 t", (1,), "b t"),
        ("squeeze", "b t", (1,), "b t"),
        ("squeeze", "b 1 t", ((0, 1),), "b t"),
        ("squeeze", "b _", (1,), "b ..."),
        ("movedim", "b t h d", (1, -1), "b h d t"),
        ("expand", "b 1 d", (-1, "t", -1), "b t d"),
        ("expand", "d", ("b", "t", "d"), "b t d"),
        ("expand", "1 d", ("b", -1), "b d"),
        ("expand_as", "b 1", (parse("b t"),), "b t"),
        ("repeat", "b t", (2, 1), "2*b t"),
        ("repeat", "d", ("b", 1), "b d"),
        ("tile", "b d", (2,), "b 2*d"),
        ("repeat_interleave", "b h t", (4, 1), "b 4*h t"),
        ("repeat_interleave", "b t", (2,), "2*b*t"),
        ("repeat_interleave", "b t", (parse("t"), 1), "b _"),
        ("select", "b t", (1, 0), "b"),
        ("narrow", "b t", (1, 0, "n"), "b n"),
        ("unfold", "b t", (1, 4, 2), "b (t-4)//2+1 4"),
        ("diagonal", "b n n", (0, -2, -1), "b n"),
        ("diag_embed", "b n", (), "b n n"),
        ("flip", "b t", (-1,), "b t"),
        ("tril", "t t", (), "t t"),
    ],
)
def test_names(name: str, shape: str, args: tuple[Any, ...], result: str) -> None:
    given = [dims.name(arg) if isinstance(arg, str) else arg for arg in args]
    found = show(apply(f"torch.Tensor.{name}", parse(shape), *given))
    assert found.replace("t//2-1", "(t-4)//2+1") == result


@pytest.mark.parametrize(
    ("name", "shape", "args", "message"),
    [
        (
            "permute",
            "b t c",
            (0, 2),
            "can't permute (b t c) by (0, 2): the tensor has 3 axes, and 2 are given",
        ),
        (
            "permute",
            "b t c",
            (0, 2, 2),
            "can't use the axes (0, 2, 2) of (b t c): an axis is named twice",
        ),
        (
            "transpose",
            "b t",
            (1, 2),
            "has no axis 2 in (b t): a tensor with 2 axes allows -2 to 1",
        ),
        (
            "expand",
            "b 3",
            ("b", 4),
            "can't expand (b 3) to (b 4): axis -1 is 3, which can't become 4",
        ),
        (
            "expand",
            "b t",
            (-1, "c"),
            "can't expand (b t) to (-1 c): axis -1 is t, which can't become c",
        ),
        (
            "expand",
            "b",
            (-1, "b"),
            "can't expand (b) to (-1 b): -1 keeps a dimension, and axis -2 is new",
        ),
        (
            "t",
            "b t c",
            (),
            "can't transpose (b t c): it takes at most 2 axes, and the tensor has 3",
        ),
        ("mT", "b", (), "can't transpose (b): it takes at least 2 axes, and the tensor has 1"),
        (
            "unsqueeze",
            "b",
            (3,),
            "has no axis 3 in (b): a tensor with 1 axis allows -2 to 1",
        ),
        (
            "narrow",
            "b 3",
            (1, 2, 2),
            "can't narrow (b 3) to 2 from 2 on: axis 1 has 3 elements",
        ),
        (
            "unfold",
            "b 3",
            (1, 4, 1),
            "can't unfold (b 3): windows of 4 don't fit into the 3 elements of axis 1",
        ),
        (
            "repeat_interleave",
            "b t",
            (parse("n"), 1),
            "can't repeat (b t) by counts of (n): there are n counts for the t elements of axis 1",
        ),
    ],
)
def test_errors(name: str, shape: str, args: tuple[Any, ...], message: str) -> None:
    given = [dims.name(arg) if isinstance(arg, str) else arg for arg in args]
    assert refusal(apply, f"torch.Tensor.{name}", parse(shape), *given) == message


def test_questions() -> None:
    x = parse("*batch n (h d)")
    h, d = dims.name("h"), dims.name("d")
    assert apply("torch.Tensor.shape", x) == x.shape.dims
    assert apply("torch.Tensor.size", x, -2) == dims.name("n")
    assert apply("torch.Tensor.size", parse("b t")) == (dims.name("b"), dims.name("t"))
    assert apply("torch.Tensor.dim", parse("b t")) == 2
    assert apply("torch.Tensor.ndim", parse("b t")) == 2
    assert apply("torch.Tensor.numel", parse("b (h d)")) == dims.name("b") * h * d
    assert apply("torch.Tensor.__len__", parse("b t")) == dims.name("b")
    assert refusal(apply, "torch.Tensor.size", parse("b"), 1) == (
        "has no axis 1 in (b): a tensor with 1 axis allows -1 to 0"
    )
