"""The programs of docs/messages.md are wrong, and their corrections right, for everybody."""

from __future__ import annotations

import sys

import pytest
import torch
from repository import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
from messages.cases import Bug, bugs, measured  # type: ignore[import-not-found]
from messages.ours import analysed, ran  # type: ignore[import-not-found]

every = pytest.mark.parametrize("bug", bugs(), ids=lambda bug: bug.title)


@every
def test_the_program_is_wrong(bug: Bug) -> None:
    """It fails, or computes another thing than the right one, or isn't what it declares."""
    wrong, right = ran(bug, checked=False), ran(bug, checked=False, right=True)
    assert right.error is None
    differs = wrong.error is not None or not same(wrong.result, right.result)
    assert differs or ran(bug, checked=True).ours


@every
def test_the_corrected_program_is_right(bug: Bug) -> None:
    assert analysed(bug.ours.right) == []
    for equal in (False, True):
        plain, checked = (ran(bug, one, equal, right=True) for one in (False, True))
        assert (plain.error, checked.error) == (None, None)
        assert same(plain.result, checked.result)


@every
def test_every_tool_was_asked(bug: Bug) -> None:
    assert set(measured()["said"][bug.title]) == {"torch", "torchtyc", "pyrefly"}


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two results are equal in shape and values."""
    return one.shape == other.shape and bool(torch.equal(one, other))
