"""A session of random edits and questions ends in what a cold check says, without an error."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import pytest
from repository import ROOT

pytest.importorskip("pygls")

sys.path.insert(0, str(ROOT / "benchmarks"))
import language_server

USES = """\
import torch
from attention import scores

scores(torch.zeros(2, 3, 4), torch.zeros(2, 5, 4))
scores(torch.zeros(2, 3, 4), torch.zeros(2, 5, 6))
"""
ATTENTION = """\
import torch
from shapecheck import Float
from torch import Tensor, nn


def scores(
    q: Float[Tensor, "batch query d"], k: Float[Tensor, "batch key d"]
) -> Float[Tensor, "batch query key"]:
    x = q @ k.mT
    return x / x.shape[-1]


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, 4 * width)
        self.outer = nn.Linear(4 * width, width)

    def forward(self, x: Float[Tensor, "batch time {self.width}"]) -> Tensor:
        h = self.inner(x).relu()
        outputs = self.outer(h)
        return x + outputs.mean(1)
"""


@pytest.mark.parametrize("seed", [0, 1])
def test_random_edits_end_in_a_cold_check(tmp_path: Path, seed: int) -> None:
    (tmp_path / "attention.py").write_text(ATTENTION, "utf-8")
    (tmp_path / "uses.py").write_text(USES, "utf-8")
    shutil.copy(ROOT / "examples" / "gpt.py", tmp_path)
    options = argparse.Namespace(
        seed=seed, edits=40, files=6, diagnostics="workspace", python=sys.executable
    )
    assert language_server.run(tmp_path, options) == []
