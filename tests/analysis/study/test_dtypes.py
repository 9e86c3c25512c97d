"""A function is tried with ints and floats only if something in it minds: it is never missed."""

from __future__ import annotations

from pathlib import Path

import pytest
from repository import ROOT

from shapecheck.analysis import Options, Source
from shapecheck.analysis.program.answers import DTYPES
from shapecheck.analysis.study.dtypes import with_dtypes
from shapecheck.analysis.study.model import Study
from shapecheck.analysis.study.study import study
from shapecheck.codemod.project.project import Project
from shapecheck.codemod.strip import strip

PROGRAMS = sorted((ROOT / "examples").glob("*.py"))

CALLED = """\
import torch
from torch import Tensor, nn
import torch.nn.functional as F
from shapecheck import Float

def inner(x: Tensor):
    return x.mean(-1)

def outer(x):
    return inner(x.view(-1))

def declared(x: Float[Tensor, "n"]): ...

def hands_over(x: Tensor):
    declared(x)

def in_a_list(x: Tensor):
    return torch.stack([x.softmax(-1), x.softmax(-1)])

def written_into(x: Tensor):
    b, c, d = x.shape
    y = F.pad(x, [0, 0, 0, 1])
    y[..., -1, -1] += 1.0
    return y

def indexes(idx: Tensor, x: Tensor):
    return x[idx.view(-1)]

def minds_nothing(x: Tensor):
    return x.transpose(0, 1).reshape(-1) + 1
"""


def studied(text: str, path: Path) -> list[Study]:
    source = Source("module", str(path), text)
    return study(source, Project({path: text}).host(path), Options())


def skipped_and_found(functions: list[Study]) -> tuple[set[str], set[str]]:
    """Return which functions aren't tried, and those of which that tells something if all are."""
    skipped = {one.qualname for one in functions if DTYPES not in one.rests_on}
    for one in functions:
        one.rests_on |= {DTYPES}
    return skipped, {one.qualname for one in functions if with_dtypes(one) is not one}


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_what_is_not_tried_would_tell_nothing(path: Path) -> None:
    skipped, found = skipped_and_found(studied(strip(path.read_text()), path))
    assert not skipped & found


def test_what_matters_in_a_call_matters_to_its_caller(tmp_path: Path) -> None:
    skipped, found = skipped_and_found(studied(CALLED, tmp_path / "module.py"))
    assert skipped == {"declared", "minds_nothing"}
    assert found == {"inner", "outer", "hands_over", "in_a_list", "written_into", "indexes"}
