"""A gradient has the axes of what it is taken by."""

from __future__ import annotations

from op_oracle import apply, parse, show

from shapecheck.ops import UNKNOWN


def test_autograd() -> None:
    x, w = parse("b d"), parse("d k")
    assert show(apply("torch.autograd.grad", UNKNOWN, x)) == ("b d",)
    assert show(apply("torch.autograd.grad", UNKNOWN, [x, w])) == ("b d", "d k")
    assert apply("torch.autograd.grad", UNKNOWN, [x, w], allow_unused=True) == (UNKNOWN, UNKNOWN)
    assert apply("torch.autograd.grad", UNKNOWN, UNKNOWN) is UNKNOWN
