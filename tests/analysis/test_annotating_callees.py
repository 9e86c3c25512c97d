"""What is found at a call is found however much the function that is called is annotated."""

from __future__ import annotations

import itertools

import pytest

from shapecheck.analysis import Options, Source, analyze_module

PRELUDE = """\
from typing import Any
import torch
import torch.nn as nn
from torch import FloatTensor, Tensor
from shapecheck import Float, Num
"""
PARAMETERS = (
    "x",
    "x: Tensor",
    "x: torch.Tensor",
    "x: Any",
    "x: Tensor | None",
    'x: "Tensor"',
    "x: FloatTensor",
    'x: Float[Tensor, "b d"]',
)
RESULTS = (
    "",
    " -> Any",
    " -> Tensor",
    ' -> "Tensor"',
    " -> FloatTensor",
    " -> Tensor | None",
    ' -> Float[Tensor, "..."]',
    ' -> Num[Tensor, "..."]',
    ' -> Float[Tensor, "*r"]',
    ' -> Float[Tensor, "*r k"]',
    ' -> Float[Tensor, "b _"]',
    ' -> Float[Tensor, "b k"]',
)
FORMS = {
    "function": """
def helper(PARAMETER)RESULT:
    BODY

def use(x: Float[Tensor, "b d"]) -> None:
    helper(x)REST
""",
    "caller without a result": """
def helper(PARAMETER)RESULT:
    BODY

def use(x: Float[Tensor, "b d"]):
    helper(x)REST
""",
    "closure": """
def use(x: Float[Tensor, "b d"]) -> None:
    def helper(PARAMETER)RESULT:
        BODY
    helper(x)REST
""",
    "method": """
class A:
    def helper(self, PARAMETER)RESULT:
        BODY

    def use(self, x: Float[Tensor, "b d"]) -> None:
        self.helper(x)REST
""",
    "static method": """
class A:
    @staticmethod
    def helper(PARAMETER)RESULT:
        BODY

    def use(self, x: Float[Tensor, "b d"]) -> None:
        self.helper(x)REST
""",
    "module": """
class Part(nn.Module):
    def forward(self, PARAMETER)RESULT:
        BODY

class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()

    def forward(self, x: Float[Tensor, "b d"]):
        self.part(x)REST
""",
}
WRONG = {
    "what it gives": ("return x.mean(1, keepdim=True)", " - x[:, 0]"),
    "what is in it": ("return x @ x", ""),
}
RIGHT = {
    "what it gives": ("return x.mean(1, keepdim=True)", " - x[:, :1]"),
    "what is in it": ("return x @ x.mT", ""),
}


class NoSources:
    """A host that has no other module."""

    def source(self, module: str) -> Source | None:
        """There is none."""
        return None


def errors(form: str, parameter: str, result: str, body: tuple[str, str]) -> list[str]:
    program = FORMS[form].replace("PARAMETER", parameter).replace("RESULT", result)
    program = PRELUDE + program.replace("BODY", body[0]).replace("REST", body[1])
    found = analyze_module(Source("case", "case.py", program), NoSources(), Options())
    return [one.message for one in found if one.severity == "error"]


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("form", FORMS)
def test_annotations_hide_nothing(form: str, what: str) -> None:
    every = list(itertools.product(PARAMETERS, RESULTS))
    assert [one for one in every if not errors(form, *one, WRONG[what])] == []


@pytest.mark.parametrize("what", RIGHT)
@pytest.mark.parametrize("form", FORMS)
def test_right_ones_are_quiet(form: str, what: str) -> None:
    found = {one: errors(form, *one, RIGHT[what]) for one in itertools.product(PARAMETERS, RESULTS)}
    assert {one: said for one, said in found.items() if said} == {}
