"""Annotated local variables mean the same to both sides: to the analysis and at run time."""

from __future__ import annotations

import itertools
import linecache
import random
from typing import Any

import pytest
import torch
from annotated_programs import HEAD, Writer
from hypothesis import given, settings
from hypothesis import strategies as st

from shapecheck import ShapeError, shapecheck
from shapecheck.analysis import Options, Source, analyze_module

_numbers = itertools.count()


class NoSources:
    """A host that has no other module."""

    def source(self, module: str) -> Source | None:
        """There is none."""
        return None


def found_by_check(text: str) -> list[str]:
    """Return what the analysis says of a module."""
    found = analyze_module(Source("m", "m.py", text), NoSources(), Options())
    return [one.message for one in found if one.severity == "error"]


def found_in_call(text: str, *args: Any) -> str:
    """Return the first line of what a call of `f` raises with its variables checked, or nothing."""
    path = f"<program {next(_numbers)}>.py"
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    space: dict[str, Any] = {"__name__": "program"}
    exec(compile(text, path, "exec"), space)
    try:
        shapecheck(variables=True)(space["f"])(*args)
    except ShapeError as error:
        return str(error).splitlines()[0].removesuffix("  [shape]")
    finally:
        del linecache.cache[path]
    return ""


@settings(max_examples=150, deadline=None)
@given(st.integers(min_value=0))
@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
def test_neither_complains_about_what_is_right(number: int) -> None:
    writer = Writer(random.Random(number))
    text = writer.program()
    tensors = [torch.rand([writer.sizes[dim] for dim in of]) for of in writer.params.values()]
    assert found_by_check(text) == []
    for flag in (True, False):
        assert found_in_call(text, *tensors, writer.sizes["k"], flag) == ""


RIGHT = """
def f(x: Float[Tensor, "N D"]) -> None:
    a: Float[Tensor, "N C"] = torch.zeros(x.shape[0], 5)
    b: Float[Tensor, "N C"] = x
    both = a + x
    c: Float[Tensor, "N D"] = a
    d: Float[Tensor, "N C"] = both
---
def f(x: Float[Tensor, "N D"]) -> Float[Tensor, "N C"]:
    b: Float[Tensor, "N C"] = x
    a: Float[Tensor, "N C"] = torch.zeros(x.shape[0], 5)
    return a + x
---
def f(x: Float[Tensor, "N D"]) -> Float[Tensor, "N C"]:
    a: Float[Tensor, "N C"] = torch.zeros(x.shape[0], 5)
    return x
---
def f(x: Float[Tensor, "N D"]) -> None:
    a: Float[Tensor, "C"] = torch.zeros(5)
    b: Float[Tensor, "E"] = torch.zeros(5)
    c: Float[Tensor, "C"] = b
    a + b
---
def f(x: Float[Tensor, "N D"]) -> None:
    a: Float[Tensor, "N C"] = torch.zeros(x.shape[0], 5)
    b: Float[Tensor, "N C+1"] = torch.cat((a, a[:, :1]), 1)
    c: Float[Tensor, "N C"] = x
    d: Float[Tensor, "N D+1"] = b
---
def f(x: Float[Tensor, "N D"]) -> None:
    a: Float[Tensor, "N C"] = x[:, :1]
    a + x
---
def f(x: Float[Tensor, "N D"]) -> None:
    a: Float[Tensor, "*B"] = torch.zeros(3, 5)
    b: Float[Tensor, "*B"] = x
    a + x
---
def f(x: Float[Tensor, "N D"]) -> None:
    a: Float[Tensor, "A B"] = torch.zeros(5, 3)
    b: Float[Tensor, "N D"] = a.view(3, 5) + x
---
def f(x: Float[Tensor, "N D"]) -> None:
    a: Float[Tensor, "2 2"] = torch.zeros(x[:2].shape[0], 2)
---
def f(x: Float[Tensor, "N D"]) -> Float[Tensor, "C D"]:
    a: Float[Tensor, "C D"] = x[:2]
    b: Float[Tensor, "C N"] = x.T[:2]
    c: Float[Tensor, "C"] = x[0, :2] + x.T[0, :2]
    return a
---
def f(x: Float[Tensor, "N D"]) -> None:
    a: Float[Tensor, "C"] = torch.arange(20.0)[torch.arange(20) > 14]
    b: Float[Tensor, "C"] = x[0]
    a + x
---
def f(x: Float[Tensor, "N D"]) -> Float[Tensor, "N C"]:
    for size in (2, 3):
        a: Float[Tensor, "N C"] = nn.Linear(x.shape[1], size)(x)
        b: Float[Tensor, "N C"] = a * 2
    return b
---
def f(x: Float[Tensor, "N D"]) -> None:
    for size in (2, 3):
        a: Float[Tensor, "*B C"] = torch.zeros([1] * size)
        b: list[Float[Tensor, "*B C"]] = [a, a]
"""

WRONG = """
def f(x: Float[Tensor, "N D"]) -> None:
    a: Float[Tensor, "N C"] = torch.zeros(x.shape[0], 4)
    b: Float[Tensor, "N C"] = torch.zeros(x.shape[0], 5)
-- "torch.zeros(x.shape[0], 5)" is (N 5), declared "N C": axis 1 is 5, declared C
---
def f(x: Float[Tensor, "N D"]) -> None:
    a: Float[Tensor, "N C"] = x
    b: Float[Tensor, "C N"] = x
-- "x" is (N D), declared "C N": axis 0 is N, declared C
---
def f(x: Float[Tensor, "N D"]) -> None:
    for size in (2, 3):
        a: Float[Tensor, "C"] = torch.zeros(size)
        b: Float[Tensor, "C"] = torch.zeros(size + 1)
-- "torch.zeros(size + 1)" is (3), declared "C": axis 0 is 3, declared C
---
def f(x: Float[Tensor, "N D"]) -> None:
    a: Float[Tensor, "*B"] = torch.zeros(2, 5)
    b: Float[Tensor, "*B"] = torch.zeros(3, 5)
-- "torch.zeros(3, 5)" is (3 5), declared "*B": axis 0 is 3, declared *B
"""


def programs(texts: str) -> list[str]:
    """Return the modules of a table, each with its function."""
    return [HEAD + text.lstrip("\n") for text in texts.split("---\n")]


@pytest.mark.parametrize("text", programs(RIGHT))
def test_a_local_name_may_stand_for_what_has_another_name(text: str) -> None:
    assert found_by_check(text) == []
    assert found_in_call(text, torch.rand(3, 5)) == ""


@pytest.mark.parametrize("text", programs(WRONG))
def test_a_local_name_stands_for_one_thing(text: str) -> None:
    program, _, said = text.partition("-- ")
    (first, *_) = found_by_check(program)
    assert first.startswith(said.rstrip("\n"))
    assert found_in_call(program, torch.rand(3, 5)).startswith(said.rstrip("\n"))
