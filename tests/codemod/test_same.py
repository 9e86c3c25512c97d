"""The same code gets the same annotations, in every run and from everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SIZES = """\
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.size = width
        self.features = width
        self.net = nn.Linear(width, width)
        self.seen = False

    def forward(self, x):
        if x.sum() > 0:
            self.seen = True
        return self.net(x)
"""


def annotated(folder: Path, *paths: str, seed: int = 0) -> str:
    """Return what a new process proposes for files, in which sets have another order."""
    return subprocess.run(
        [sys.executable, "-m", "shapecheck", "annotate", *paths],
        cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        check=True,
        text=True,
    ).stdout


def test_no_order_of_a_set_decides(tmp_path: Path) -> None:
    (tmp_path / "block.py").write_text(SIZES)
    once = annotated(tmp_path, "block.py", seed=1)
    assert 'def forward(self, x: Float[Tensor, "*batch {self.width}"])' in once
    assert {annotated(tmp_path, "block.py", seed=seed) for seed in (2, 3)} == {once}


INNER = """\
import torch


def mix(
    y,  # (b, t, k)
    x,
):
    return torch.cat([y, x], dim=-1)
"""
OUTER = """\
import torch
from pkg.inner.mixing import mix


def use():
    return mix(torch.zeros(2, 3, 4), torch.zeros(2, 3, 5))
"""


@pytest.mark.parametrize(
    ("folder", "paths"),
    [
        (".", ["pkg/inner/mixing.py", "pkg/using.py"]),
        (".", ["pkg/using.py", "pkg/inner"]),
        (".", ["{whole}/pkg/using.py", "{whole}/pkg/inner/mixing.py"]),
        ("pkg/inner", ["../using.py", "mixing.py"]),
        ("pkg/inner", [".."]),
    ],
)
def test_it_does_not_matter_how_files_are_named(
    tmp_path: Path, folder: str, paths: list[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    for name, text in (("using", OUTER), ("inner/mixing", INNER)):
        path = tmp_path / "pkg" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        (path.parent / "__init__.py").write_text("")
    once = annotated(tmp_path, ".")
    assert '+def use() -> Float[torch.Tensor, "2 3 9"]:' in once
    here = annotated(tmp_path / folder, *(path.format(whole=tmp_path) for path in paths))
    assert _changes(here) == _changes(once)


def _changes(diff: str) -> list[str]:
    """Return the lines of a diff, without the names of the files."""
    return [line for line in diff.splitlines() if not line.startswith(("---", "+++"))]
