"""The command that compares two commits tells each program of which they don't say the same."""

from __future__ import annotations

import sys

from repository import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
from same import differences  # type: ignore[import-not-found]


def test_programs_that_draw_the_same_are_not_told() -> None:
    assert list(differences({"a": "1: wrong", "b": ""}, {"a": "1: wrong", "b": ""}, False)) == []


def test_each_line_that_differs_is_told_below_its_program() -> None:
    before = {"a": "1: wrong\n2: odd", "b": "", "gone": ""}
    now = {"a": "1: wrong\n2: even", "b": "", "new": ""}
    assert list(differences(before, now, False)) == [
        "~ a",
        "    -2: odd",
        "    +2: even",
        "- gone: only before",
        "+ new: only now",
    ]


def test_long_differences_are_cut_unless_all_is_asked_for() -> None:
    now = "\n".join(str(line) for line in range(12))
    cut = list(differences({"a": ""}, {"a": now}, False))
    assert cut[-1] == "    ... and 4 more lines"
    assert len(list(differences({"a": ""}, {"a": now}, True))) == 13
