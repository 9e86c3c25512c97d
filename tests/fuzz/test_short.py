"""A few programs of `make fuzz`, the same each time, and what its parts do."""

from __future__ import annotations

import ast
import os
import random

import pytest
from fuzz import __main__ as runs
from fuzz import judging
from fuzz.__main__ import FOLDERS, drawn, judged
from fuzz.judging import Failure, is_program, judge
from fuzz.mutants import sources
from fuzz.programs import Program
from fuzz.reducing import reduced
from patience import SECONDS

PROGRAMS, MUTANTS = 60, 20
SEED = "make test"


@pytest.mark.parametrize("part", range(4))
def test_random_programs(part: int) -> None:
    """Nothing is wrong with what the tool makes of them."""
    for number in range(part, PROGRAMS, 4):
        text = drawn("program", SEED, number, [])
        if is_program(text):
            assert judge(text, annotate=number % 8 == 0) is None, text


def test_mutants() -> None:
    """Nor with what it makes of programs of ours that are broken."""
    originals = sources(FOLDERS[:2])
    for number in range(MUTANTS):
        text = drawn("mutant", SEED, number, originals)
        assert judge(text, annotate=number % 4 == 0) is None, text


def test_most_programs_are_programs() -> None:
    """And they are many: no two alike, the same for the same seed."""
    texts = [Program(random.Random(number)).text() for number in range(50)]
    assert sum(map(is_program, texts)) > 40
    assert len({*texts}) == 50
    assert texts[7] == Program(random.Random(7)).text()


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ("x is <shapecheck.Thing object at 0x7f0012345678>", "a message shows"),
        ("x is Known(shape=None)", "a message shows"),
        ('"f(Tensor(shape=None))" is 3', None),
        ("x is (2 3)", None),
        ("x" * 5000, "a message has no end"),
    ],
)
def test_messages_are_for_people(
    told: str, kind: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the program itself says may be told."""
    one = judging.Diagnostic(judging.analysis.Span(1, 0, 1, 1), told, "error")
    monkeypatch.setattr(judging, "said", lambda text, strict=False: [one])
    wrong = judge("f(Tensor(shape = None))")
    assert (wrong is None) if kind is None else (wrong is not None and kind in wrong.kind)


def _kind(text: str) -> str | None:
    wrong = judge(text)
    return None if wrong is None else wrong.kind


def test_a_crash_names_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made as small as it can be."""

    def crash(text: str, strict: bool = False) -> list[judging.Diagnostic]:
        if any(isinstance(node, ast.MatMult) for node in ast.walk(ast.parse(text))):
            raise KeyError("x")
        return []

    monkeypatch.setattr(judging, "said", crash)
    text = "def f(x, y):\n    if x:\n        z = [x @ y + 1]\n    return x\n"
    wrong = judge(text)
    assert wrong is not None
    assert wrong.kind == "KeyError in the tests"
    assert reduced(text, lambda less: is_program(less) and _kind(less) == wrong.kind) == "x @ y"


def test_what_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it did is told."""

    def hang(text: str, strict: bool = False) -> list[judging.Diagnostic]:
        while True:
            pass

    monkeypatch.setattr(judging, "said", hang)
    monkeypatch.setattr(runs, "PATIENCE", SECONDS)
    wrong = judged("x = 1", annotate=False, seconds=0.1)
    assert wrong is not None
    assert wrong.kind == "it takes more than 0.1 seconds"
    assert "in hang" in wrong.detail


def test_a_process_that_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others go on."""
    monkeypatch.setattr(judging, "said", lambda text, strict=False: os._exit(3))
    assert judged("x = 1", annotate=False) == Failure("the process ends with 3")
