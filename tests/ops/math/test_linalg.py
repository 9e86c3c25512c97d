"""Products and torch.linalg: against torch, and on names."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from op_oracle import agrees, apply, parse, refusal, show

SHAPES = st.lists(st.sampled_from((1, 2, 3)), max_size=4)
PRODUCTS = ("matmul", "mm", "bmm", "mv", "dot", "outer", "inner", "kron", "cross", "cdist")


def check(name: str, *args: Any, **kwargs: Any) -> None:
    real = torch
    for part in name.split("."):
        real = getattr(real, part)
    agrees(lambda *a, **k: apply(f"torch.{name}", *a, **k), real, *args, **kwargs)


@given(left=SHAPES, right=SHAPES)
@settings(max_examples=150, deadline=None)
def test_products(left: list[int], right: list[int]) -> None:
    x, y = torch.ones(left), torch.ones(right)
    for name in PRODUCTS:
        check(name, x, y, strict=name != "cross", symbols=False)
    check("tensordot", x, y, 1, symbols=False)
    check("linalg.solve", torch.eye(2).expand(*left[:-2], 2, 2), y, symbols=False)


@given(batch=SHAPES, n=st.integers(1, 3), m=st.integers(1, 3), k=st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_products_that_fit(batch: list[int], n: int, m: int, k: int) -> None:
    x, y = torch.ones(*batch, n, m), torch.ones(m, k)
    check("matmul", x, y)
    check("matmul", x, torch.ones(m))
    check("matmul", x, torch.ones(*batch, m, k))
    check("tensordot", x, y, 1)
    check("cdist", x, torch.ones(*batch, k, m))
    check("addmm", torch.ones(k), torch.ones(n, m), y)
    check("baddbmm", torch.ones(n, k), torch.ones(3, n, m), torch.ones(3, m, k))
    for full in (True, False):
        check("linalg.svd", x, full)
    check("linalg.qr", x)
    check("linalg.pinv", x)
    for q in (1, 2, 6):
        check("svd_lowrank", x, q)
    square = torch.eye(n).expand(*batch, n, n)
    for name in ("inverse", "det", "linalg.inv", "linalg.cholesky", "linalg.eigh", "linalg.det"):
        check(name, square)
    check("linalg.solve", square, torch.ones(n, k), symbols=False)


@pytest.mark.parametrize(
    ("name", "shapes", "result"),
    [
        ("matmul", "b h n d, b h d m", "b h n m"),
        ("matmul", "b n d, d m", "b n m"),
        ("matmul", "*batch n d, d m", "*batch n m"),
        ("matmul", "*batch n d, *batch d m", "*batch n m"),
        ("matmul", "*batch d, d", "*batch"),
        ("matmul", "b n d, d", "b n"),
        ("matmul", "d, d m", "m"),
        ("bmm", "b n m, b m k", "b n k"),
        ("mm", "n m, m k", "n k"),
        ("outer", "n, m", "n m"),
        ("dot", "n, n", ""),
        ("cdist", "b n d, b m d", "b n m"),
        ("cdist", "n d, m d", "n m"),
        ("linalg.solve", "b n n, b n", "b n"),
        ("linalg.vecdot", "b n d, b n d", "b n"),
        ("kron", "a b, c d", "(a c) (b d)"),
        ("linalg.cross", "n 3, n 3", "n 3"),
    ],
)
def test_names(name: str, shapes: str, result: str) -> None:
    assert show(apply(f"torch.{name}", *map(parse, shapes.split(", ")))) == result


@pytest.mark.parametrize(
    ("name", "shapes", "message"),
    [
        (
            "matmul",
            "b h n d, b h m d",
            "can't multiply (b h n d) by (b h m d): "
            "the inner dimensions are d (axis -1) and m (axis -2)",
        ),
        ("matmul", "b, ", "can't multiply (b) by (): a 0-d tensor has no axis to contract"),
        (
            "matmul",
            "a n d, b d m",
            "can't multiply (a n d) by (b d m): axis -3 is a on the left and b on the right",
        ),
        (
            "bmm",
            "b n m, b n m",
            'can\'t take (b n m) with "input" (b n m): axis 1 of "mat2" is n, where m is expected',
        ),
        (
            "inverse",
            "b h w",
            'can\'t take (b h w): axis -2 of "input" is h, where w is expected',
        ),
    ],
)
def test_errors(name: str, shapes: str, message: str) -> None:
    found = refusal(apply, f"torch.{name}", *map(parse, shapes.split(", ")))
    assert found == message
