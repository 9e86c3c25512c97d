"""Operators on sizes by what they are written as."""

from __future__ import annotations

import ast

import pytest

import shapecheck.dims as dims


@pytest.mark.parametrize("symbol", dims.ARITHMETIC)
@pytest.mark.parametrize(("a", "b"), [(7, 2), (6, 3), (9, 1)])
def test_numbers_are_as_in_python(symbol: str, a: int, b: int) -> None:
    """Of numbers an operator gives what it gives in Python."""
    assert dims.ARITHMETIC[symbol](a, b) == eval(f"{a} {symbol} {b}")


def test_sizes() -> None:
    """Of sizes it gives sizes; a zero divisor raises, as in Python."""
    h = dims.name("h")
    assert str(dims.ARITHMETIC["//"](h, 2)) == "h//2"
    assert dims.ARITHMETIC["**"](h, 2) == h * h
    for symbol in ("//", "%"):
        with pytest.raises(ZeroDivisionError):
            dims.ARITHMETIC[symbol](h, 0)


def test_each_operator_is_written_as_it_parses() -> None:
    """The text of an operator is the one that makes it."""
    for kind, symbol in dims.SYMBOLS.items():
        node = ast.parse(f"a {symbol} b", mode="eval").body
        assert isinstance(node, ast.BinOp)
        assert type(node.op) is kind
