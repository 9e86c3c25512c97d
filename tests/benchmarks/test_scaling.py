"""The analysis ends, in a number of steps that grows with the lines; no test here measures time."""

from __future__ import annotations

import sys

import pytest
from repository import ROOT

from shapecheck.analysis import Diagnostic, Options, Source, analyze_module
from shapecheck.analysis.interpreter import budget

sys.path.insert(0, str(ROOT / "benchmarks"))
from scaling import branching, chain, loops, straight  # type: ignore[import-not-found]


class NoSources:
    """A host that has no other module."""

    def source(self, module: str) -> None:
        """There is none."""


def analysed(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Diagnostic], int]:
    """Return what is said of a text, and in how many steps."""
    budgets: list[tuple[budget.Budget, int]] = []
    make = budget.Budget.of

    def counted(lines: int, *, briefly: bool = False) -> budget.Budget:
        made = make(lines, briefly=briefly)
        budgets.append((made, made.left))
        return made

    monkeypatch.setattr(budget.Budget, "of", counted)
    found = analyze_module(Source("long", "long.py", text), NoSources(), Options())
    monkeypatch.undo()
    return found, sum(first - made.left for made, first in budgets)


def test_a_function_of_5000_lines_is_analysed_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = analysed(straight(5_000), monkeypatch)
    (error,) = [one for one in found if one.severity == "error"]
    assert error.span.line == straight(5_000).count("\n")


@pytest.mark.parametrize("program", [straight, branching, loops])
def test_steps_grow_with_the_lines(program, monkeypatch: pytest.MonkeyPatch) -> None:
    short, long = (analysed(program(lines), monkeypatch)[1] for lines in (200, 400))
    assert long < 3 * short


def test_a_chain_of_200_calls_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    found, steps = analysed(chain(200), monkeypatch)
    assert not found
    assert steps < 200 * 100


def test_a_chain_that_branches_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    _, steps = analysed(chain(200, calls=2), monkeypatch)
    assert steps < 200 * 200


def test_the_end_of_the_budget_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MAX_STEPS", 100)
    monkeypatch.setattr(budget, "STEPS_A_LINE", 0)
    found = analyze_module(Source("long", "long.py", straight(100)), NoSources(), Options())
    (note,) = found
    assert note.severity == "note"
    assert 10 < note.span.line < 60
    assert note.message == (
        '"long" takes more steps to analyse than shapecheck allows for its length: it is checked '
        "up to here, and not further; shorter functions, and annotations on those that it calls, "
        "take fewer"
    )


def test_what_comes_after_too_many_steps_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions that took the most of what a module may leave the others few steps."""
    monkeypatch.setattr(budget, "MODULE_STEPS", 100)
    monkeypatch.setattr(budget, "BRIEF_STEPS", 50)
    monkeypatch.setattr(budget, "STEPS_A_LINE", 0)
    first, second = straight(40).splitlines(), straight(40).replace("long", "later").splitlines()
    text = "\n".join([*first, *second[5:]])
    found = analyze_module(Source("long", "long.py", text), NoSources(), Options())
    (note,) = (one for one in found if one.severity == "note" and one.span.line > len(first))
    assert note.message == (
        '"later" comes after functions that took the most of the module\'s steps: it is checked up '
        "to here, and not further; shorter modules, and annotations on what these call, take fewer"
    )


def test_the_end_of_a_modules_budget_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MAX_STEPS", 100)
    monkeypatch.setattr(budget, "STEPS_A_LINE", 0)
    text = 'x: Float[Tensor, "2"] = torch.zeros(2)\n' + "x = x + 1\n" * 100
    text = f"import torch\nfrom torch import Tensor\nfrom shapecheck import Float\n{text}"
    (note,) = analyze_module(Source("long", "long.py", text), NoSources(), Options())
    assert note.message.startswith("this module's own code takes more steps")
