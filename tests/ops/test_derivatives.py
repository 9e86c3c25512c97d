"""Derivatives have the axes of what they are taken by."""

from __future__ import annotations

from typing import Any

import pytest
from op_oracle import apply, forward, parse, show

from shapecheck.ops import UNKNOWN


@pytest.mark.parametrize(
    ("name", "expected"),
    [("grad", "b d"), ("jacrev", "... b d"), ("jacfwd", "... b d"), ("hessian", "... b d b d")],
)
def test_functions_of_functions(name: str, expected: str) -> None:
    def taken(*args: Any, **settings: Any) -> Any:
        return show(forward(f"torch.func.{name}", ((UNKNOWN,), settings), *args))

    assert taken(parse("b d"), parse("k")) == expected
    assert taken(parse("b d"), parse("k"), argnums=1) is UNKNOWN
    assert taken({"weight": parse("b d")}) is UNKNOWN
    assert taken((parse("b d"),)) is UNKNOWN
    assert taken(UNKNOWN) is UNKNOWN


def test_autograd() -> None:
    x, w = parse("b d"), parse("d k")
    assert show(apply("torch.autograd.grad", UNKNOWN, x)) == ("b d",)
    assert show(apply("torch.autograd.grad", UNKNOWN, [x, w])) == ("b d", "d k")
    assert apply("torch.autograd.grad", UNKNOWN, [x, w], allow_unused=True) == (UNKNOWN, UNKNOWN)
    assert apply("torch.autograd.grad", UNKNOWN, UNKNOWN) is UNKNOWN
    assert show(apply("torch.autograd.functional.jacobian", UNKNOWN, x)) == "... b d"
