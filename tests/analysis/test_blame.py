"""What an error is about: the annotation that isn't kept, and the calls that lead there."""

from __future__ import annotations

import pytest

from shapecheck.analysis import Options, Source, analyze_module
from shapecheck.blame import OPERATION, UNFIT, Blame

HEAD = """\
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypedDict
import torch
from torch import Tensor, nn
from shapecheck import Float, Int
"""


class Files:
    """A host that has one other module."""

    def __init__(self, **texts: str) -> None:
        self.texts = texts

    def source(self, module: str) -> Source | None:
        text = self.texts.get(module)
        return None if text is None else Source(module, f"{module}.py", HEAD + text)


def blamed(text: str, *, strict: bool = False, **others: str) -> Blame | None:
    """Return what the only error of a program is about."""
    options = Options(strict=strict)
    said = analyze_module(Source("a", "a.py", HEAD + text), Files(**others), options)
    assert all(one.blame is None for one in said if one.severity == "note")
    (error,) = (one for one in said if one.severity == "error")
    return error.blame


def line(text: str, *words: str) -> tuple[int, ...]:
    """Return the lines on which some words stand."""
    lines = (HEAD + text).splitlines()
    return tuple(next(i for i, one in enumerate(lines, 1) if word in one) for word in words)


MATRIX = 'Float[Tensor, "a b"]'


@pytest.mark.parametrize(
    ("text", "blame"),
    [
        (
            f"def f(x: {MATRIX}) -> None: ...\nf(torch.zeros(3))\n",
            Blame("unfit", "parameter", "f", "x", of_rank=True),
        ),
        (
            f"def f(x: {MATRIX}) -> None: ...\nf(torch.zeros(3, 4).long())\n",
            Blame("unfit", "parameter", "f", "x"),
        ),
        (
            f"def f(*x: {MATRIX}) -> None: ...\nf(torch.zeros(2, 3), torch.zeros(3))\n",
            Blame("unfit", "parameter", "f", "x", of_rank=True),
        ),
        (
            f"class Net:\n    def run(self, x: {MATRIX}) -> None: ...\n"
            "net = Net()\nnet.run(torch.zeros(3))\n",
            Blame("unfit", "parameter", "net.run", "x", of_rank=True),
        ),
        (
            f"class Net:\n    def f(self, x: {MATRIX}) -> {MATRIX}:\n        return x.sum(0)\n",
            Blame("unfit", "result", "f"),
        ),
        (
            f"def f(x: {MATRIX}) -> Iterator[{MATRIX}]:\n    yield x.sum(0)\n",
            Blame("unfit", "yielded", "f"),
        ),
        (
            f'def f(x: {MATRIX}) -> None:\n    y: Float[Tensor, "b a"] = x\n',
            Blame("unfit", "local", "f", "y"),
        ),
        (f"x: {MATRIX} = torch.zeros(3)\n", Blame("unfit", "local", "", "x")),
        (
            f"@dataclass\nclass Box:\n    x: {MATRIX}\nBox(torch.zeros(3))\n",
            Blame("unfit", "field", "Box", "x"),
        ),
        (
            f"class Box(TypedDict):\n    x: {MATRIX}\nBox(x=torch.zeros(3))\n",
            Blame("unfit", "field", "Box"),
        ),
        (f"def f(g: Callable[[{MATRIX}], Tensor]) -> None:\n    g(torch.zeros(3))\n", UNFIT),
        (
            f"class A:\n    def f(self, x: {MATRIX}) -> {MATRIX}: return x\n"
            f'class B(A):\n    def f(self, x: {MATRIX}) -> Float[Tensor, "a"]: return x.sum(1)\n',
            UNFIT,
        ),
        (
            f"class A:\n    def f(self, x: {MATRIX}) -> None: ...\n"
            'class B(A):\n    def f(self, x: Float[Tensor, "a"]) -> None: ...\n',
            Blame("unfit", "parameter", "f", "x"),
        ),
        (
            'def f(x: Float[Tensor, "a"]) -> Float[Tensor, "4"]:\n    return x\n',
            Blame("unfit", "result", "f"),
        ),
        ("torch.zeros(3) @ torch.zeros(4)\n", OPERATION),
    ],
)
def test_the_annotation_that_isnt_kept(text: str, blame: Blame) -> None:
    assert blamed(text) == blame


@pytest.mark.parametrize(
    ("text", "blame"),
    [
        (
            'def f(x: Float[Tensor, "3"]) -> None: ...\n'
            'def g(x: Float[Tensor, "b"]) -> None:\n    f(x)\n',
            Blame("number", "parameter", "f"),
        ),
        ('def f(x: Float[Tensor, "a"]) -> None:\n    x @ torch.zeros(4)\n', Blame("number")),
        (
            "class Net(nn.Module):\n    def __init__(self, d: int) -> None:\n"
            "        super().__init__()\n        self.fc = nn.Linear(d, 10)\n"
            '    def forward(self, x: Float[Tensor, "b d"]) -> None:\n        self.fc(x)\n',
            Blame("equal"),
        ),
        (
            "class Net(nn.Module):\n    def __init__(self, d: int) -> None:\n"
            "        super().__init__()\n        self.d = d\n"
            '    def forward(self, x: Float[Tensor, "b"]) -> Float[Tensor, "{self.d}"]:\n'
            "        return x\n",
            Blame("equal", "result", "forward"),
        ),
    ],
)
def test_what_no_annotation_says(text: str, blame: Blame) -> None:
    assert blamed(text, strict=True) == blame


def test_the_calls_that_lead_there() -> None:
    text = (
        f"def fits(x: {MATRIX}) -> None: ...\n"
        "def inner(x):\n    return fits(x)\n"
        "def outer(x):\n    return inner(x)\n"
        "outer(torch.zeros(3))\n"
    )
    through = line(text, "return inner(x)", "outer(torch")
    inside = tuple(("a.py", at) for at in line(text, "def inner", "def outer"))
    assert blamed(text) == Blame(
        "unfit", "parameter", "fits", "x", through, of_rank=True, inside=inside
    )


def test_the_calls_of_another_module_are_none_of_this_one() -> None:
    other = "def last(x):\n    return x.sum(7)\ndef twice(x):\n    return last(x.relu())\n"
    text = "import b\ndef outer(x):\n    return b.twice(x)\nouter(torch.zeros(3, 3))\n"
    here, there = line(text, "def outer"), line(other, "def last", "def twice")
    inside = (*(("b.py", at) for at in there), *(("a.py", at) for at in here))
    assert blamed(text, b=other) == Blame(through=line(text, "outer(torch"), inside=inside)


def test_a_call_that_fails_inside_is_told_once() -> None:
    """A method that makes such a call isn't checked again with the constructor's defaults."""
    base = """
class Base(nn.Module):
    def summed(self, a, b):
        return (a + b).sum()
"""
    text = """
from b import Base

class Layer(Base):
    def __init__(self, n, m, groups=1, scaled=True):
        super().__init__()
        self.scaled = scaled
        self.one = nn.Parameter(torch.Tensor(n, m // groups, 3))
        self.other = nn.Parameter(torch.Tensor(m, n // groups, 3))

    def loss(self):
        return self.summed(self.one, self.other)
"""
    said = analyze_module(Source("a", "a.py", HEAD + text), Files(b=base), Options())
    assert [one.message for one in said if one.severity == "error"] == [
        '"self.summed" with a (<n> <m>//<groups> 3), b (<m> <n>//<groups> 3) fails in '
        '"Base.summed": "+" can\'t broadcast (<n> <m>//<groups> 3) with (<m> <n>//<groups> 3): '
        "axis -3 is <n> on the left and <m> on the right"
    ]
