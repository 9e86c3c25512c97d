"""What is said of a dimension that doesn't fit: its value is told where the text doesn't say it."""

from __future__ import annotations

import pytest

import shapecheck.dims as dims
from shapecheck import explain, spec
from shapecheck.dims import DimExpr
from shapecheck.shapes import Facts, Matcher, Misfit, Shape

N, D, K = dims.name("n"), dims.name("d"), dims.name("k")


def built(text: str) -> DimExpr:
    """Return the dimension that a text says in these names."""
    (entry,) = spec.parse(text).entries
    assert isinstance(entry, spec.Axis)
    found = Matcher(Facts(), names={"n": N, "d": D, "k": K}).value(entry.expr)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("declared", "value", "here"),
    [
        ("min(n,d)", "min(d,n)", ""),
        ("max(n,d)", "max(d,n)", ""),
        ("min(n,d,k)", "min(k,min(d,n))", ""),
        ("min(n,2*d)", "min(2*d,n)", ""),
        ("min(n,d)+1", "1+min(d,n)", ""),
        ("d*n", "n*d", ""),
        ("n+n", "2*n", ""),
        ("(n d)", "(n d)", ""),
        ("n", "n", ""),
        ("4", "4", ""),
        ("min(n,d)", "max(n,d)", " (here max(d,n))"),
        ("min(n,d)", "min(n,k)", " (here min(k,n))"),
        ("(n d)", "(d n)", " (here (d n))"),
        ("n", "4", " (here 4)"),
        ("n", "d", " (here d)"),
        ("{self.d}", "d", " (here d)"),
        ("n=4", "n", " (here n)"),
    ],
)
def test_a_value_is_told_where_the_text_does_not_say_it(
    declared: str, value: str, here: str
) -> None:
    misfit = Misfit(0, declared, built(value), 7)
    said = explain.boundary("x", Shape((7,)), spec.parse(declared), misfit)
    assert said.reason == f"axis 0 is 7, declared {declared}{here}"


def test_of_a_message_without_end_the_middle_is_left_out() -> None:
    text = f"in \"{'b ' * 2000}{{#}}\": '#' isn't a Python expression"
    message = explain.Message(text, notes=("short", text))
    assert message.notes == ("short", message.text)
    assert message.text == f"{text[:700]} [...] {text[-700:]}"
    assert explain.Message(text[:1500]).text == text[:1500]
