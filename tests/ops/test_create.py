"""Ops that make tensors: against torch, and of named sizes."""

from __future__ import annotations

from math import ceil
from typing import Any

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from op_oracle import agrees, apply, parse, refusal, show

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.ops import DType

b, t, h, w = map(dims.name, ("b", "t", "h", "w"))


def check(name: str, *args: Any, **kwargs: Any) -> None:
    real = getattr(torch, name)
    agrees(lambda *a, **k: apply(f"torch.{name}", *a, **k), real, *args, symbols=False, **kwargs)


@given(sizes=st.lists(st.integers(-1, 3), max_size=3))
@settings(max_examples=30, deadline=None)
def test_sizes(sizes: list[int]) -> None:
    for name in ("zeros", "ones", "rand", "randn", "empty"):
        if sizes:
            check(name, *sizes)
        check(name, tuple(sizes))
    check("full", tuple(sizes), 1)
    check("full", tuple(sizes), True, dtype=torch.float64)
    check("randint", 10, tuple(sizes))
    check("randint", 0, 10, size=tuple(sizes))


@given(start=st.integers(-6, 6), end=st.integers(-6, 6), step=st.integers(-3, 3))
@settings(max_examples=100, deadline=None)
def test_arange(start: int, end: int, step: int) -> None:
    check("arange", start, end, step)
    if end >= 0:
        check("arange", end)


@given(start=st.integers(0, 6), end=st.integers(1, 20), step=st.integers(1, 4))
@settings(max_examples=50, deadline=None)
def test_arange_of_names(start: int, end: int, step: int) -> None:
    assume(start <= end)
    found = apply("torch.arange", start, t, step).shape.dims[0]
    (symbol,) = dims.symbols(found)
    assert dims.substitute(found, {symbol: end}) == ceil((end - start) / step)


def test_arange_dtypes() -> None:
    assert apply("torch.arange", t).dtype == dtypes.INT64
    assert apply("torch.arange", 0, 1, 0.1).dtype == dtypes.FLOAT
    assert apply("torch.arange", t, dtype=DType(dtypes.of("float32"))).dtype == dtypes.of("float32")
    for args in ((0, 1, 0.1), (0.5, 3.2), (5, 0, -2)):
        check("arange", *args)


DATA = (
    3,
    2.5,
    True,
    [],
    [1, 2],
    [1, 2.5],
    [[1, 2], [3, 4]],
    [[1, 2], [3]],
    [[True], [False]],
    (1, (2,)),
    [torch.tensor(1), 2],
    [torch.ones(1), 2],
    [[torch.ones(1, 1), 0], [2, torch.ones(1)]],
)


@pytest.mark.parametrize("data", DATA)
def test_literals(data: Any) -> None:
    check("tensor", data, strict=False)
    check("as_tensor", data, strict=False)


@pytest.mark.parametrize(
    ("name", "args", "result"),
    [
        ("zeros", (b, t), "b t"),
        ("zeros", ((b, 3),), "b 3"),
        ("randn", (b, t * 2), "b 2*t"),
        ("arange", (t,), "t"),
        ("arange", (1, t), "t-1"),
        ("arange", (0, t, 2), "(t+1)//2"),
        ("linspace", (0, 1, t), "t"),
        ("eye", (t,), "t t"),
        ("eye", (t, 3), "t 3"),
        ("full", ((b, t), 0), "b t"),
        ("randint", (0, 10, (b,)), "b"),
        ("randperm", (t,), "t"),
        ("tensor", ([b, t],), "2"),
        ("zeros_like", (parse("b t"),), "b t"),
        ("Tensor.new_zeros", (parse("b t"), t), "t"),
        ("Tensor.new_full", (parse("b t"), (t, 2), 1), "t 2"),
        ("meshgrid", (parse("h"), parse("w")), ("h w", "h w")),
        ("meshgrid", ([parse("h"), parse("w")],), ("h w", "h w")),
        ("tril_indices", (t, t), "2 (t+t**2)//2"),
        ("normal", (parse("b t"), parse("t")), "b t"),
        ("normal", (0.0, 1.0, (b,)), "b"),
        ("bernoulli", (parse("b t"),), "b t"),
        ("multinomial", (parse("b v"), 1), "b 1"),
        ("LongTensor", ([1, 2, 3],), "3"),
    ],
)
def test_names(name: str, args: tuple[Any, ...], result: Any) -> None:
    found = show(apply(f"torch.{name}", *args))
    assert (found.replace("(t**2+t)//2", "(t+t**2)//2") if isinstance(found, str) else found) == (
        result
    )


def test_meshgrid_indexing() -> None:
    found = apply("torch.meshgrid", parse("h"), parse("w"), indexing="xy")
    assert show(found) == ("w h", "w h")
    for indexing in ("ij", "xy"):
        agrees(
            lambda *a, **k: apply("torch.meshgrid", *a, **k),
            torch.meshgrid,
            torch.zeros(2),
            torch.zeros(3),
            torch.zeros(4),
            indexing=indexing,
        )


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("zeros", (2, -3), "can't make a tensor of shape (2 -3): -3 isn't a size"),
        (
            "arange",
            (5, 0),
            "can't count from 5 to 0: the step 1 leads away from the end",
        ),
        (
            "tensor",
            ([[1, 2], [3]],),
            "can't make a tensor of lists of different lengths: "
            "element 0 has shape (2) and element 1 has shape (1)",
        ),
        ("arange", (0, 5, 0), "can't count from 0 to 5: the step is 0"),
    ],
)
def test_errors(name: str, args: tuple[Any, ...], message: str) -> None:
    assert refusal(apply, f"torch.{name}", *args) == message


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
@pytest.mark.parametrize("rows", range(6))
def test_triangles(name: str, rows: int) -> None:
    for columns in range(6):
        for offset in range(-8, 9):
            check(name, rows, columns, offset)


def test_large_triangles() -> None:
    assert show(apply("torch.tril_indices", 10_000, 10_001)) == "2 50005000"
    assert show(apply("torch.triu_indices", 10**6, 10**6, -1)) == "2 500001499999"
    assert show(apply("torch.tril_indices", 10**6, 10**9, 10**9)) == "2 1000000000000000"
