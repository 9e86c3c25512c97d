"""A part of torch's test database: a few samples of every op and module, and all that they refuse.

`make conformance` runs all of it.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from conformance.judge import Verdict, judge_module, judge_op
from conformance.modules import modules
from conformance.reasons import NOT_JUDGED, NOT_REFUSED, WITHOUT_RULE
from conformance.report import PAGE
from conformance.samples import ops, title

SAMPLES = 3


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def check(verdict: Verdict) -> None:
    assert not verdict.wrong, "\n".join(verdict.complaints)
    known = WITHOUT_RULE.get(verdict.title.partition(" ")[0], WITHOUT_RULE.get(verdict.title))
    if known is None:
        assert not verdict.missing, f"no rule for the forms {dict(verdict.missing)}"
        assert verdict.rule is not None
    else:
        assert verdict.rule is None, "there is a rule now: take it off the list"
    if verdict.name.removeprefix("torch.") not in NOT_REFUSED:
        assert not verdict.accepted, "\n".join(verdict.complaints)


@pytest.mark.parametrize("op", ops(), ids=title)
def test_op(op: Any) -> None:
    check(judge_op(op, SAMPLES))


@pytest.mark.parametrize("info", modules(), ids=lambda info: info.name)
def test_module(info: Any) -> None:
    check(judge_module(info, SAMPLES))


def test_every_module_is_judged_or_says_why_not() -> None:
    classes = (one for one in vars(torch.nn).values() if isinstance(one, type))
    public = {one.__name__ for one in classes if issubclass(one, torch.nn.Module)}
    judged = {info.name.removeprefix("nn.") for info in modules()}
    assert judged.isdisjoint(NOT_JUDGED)
    assert judged | NOT_JUDGED.keys() == public


def test_the_page_lists_everything() -> None:
    listed = [line.split(" | ")[0][2:] for line in PAGE.read_text("utf-8").splitlines()]
    expected = [*map(title, ops()), *(info.name for info in modules())]
    assert [name for name in listed if name in set(expected)] == expected, "run make conformance"
