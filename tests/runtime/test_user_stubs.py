"""One signature file of a project describes an untyped library to mypy and to the run time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from patience import SECONDS
from repository import ROOT

from shapecheck.analysis import Options, Source, analyze_module

LIBRARY = """\
import torch


@torch.library.custom_op("nearby::knn", mutates_args=())
def _knn(queries: torch.Tensor, points: torch.Tensor, k: int) -> torch.Tensor:
    return torch.cdist(queries, points).topk(k, largest=False).indices.clone()


def knn(queries, points, k=1):
    return _knn(queries, points, k)
"""

STUBS = """\
@also("torch.ops.nearby.knn")
def knn(
    queries: Float[Tensor, "n d"], points: Float[Tensor, "m d"], k: int = 1
) -> Int64[Tensor, "n {k}"]: ...
"""

PROGRAM = """\
import nearby
import torch
from torch import Tensor

from shapecheck import Float, Int, shapecheck


@shapecheck
def nearest(
    x: Float[Tensor, "a 3"], cloud: Float[Tensor, "b 3"], weight: Float[Tensor, "WHICH"]
) -> Int[Tensor, "a 2"]:
    found = nearby.knn(x, cloud, 2)
    return (found * weight[:, None]).long()


if __name__ == "__main__":
    print(tuple(nearest(torch.rand(4, 3), torch.rand(4, 3), torch.rand(4)).shape))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[tool.shapecheck]\nstubs = ["my_stubs"]\n')
    (tmp_path / "my_stubs").mkdir()
    (tmp_path / "my_stubs" / "nearby.pyi").write_text(STUBS)
    (tmp_path / "nearby.py").write_text(LIBRARY)
    return tmp_path


def static(project: Path, program: str) -> list[str]:
    class Sources:
        def source(self, module: str) -> Source | None:
            path = project / f"{module}.py"
            return Source(module, path.name, path.read_text()) if path.is_file() else None

    options = Options(stubs=(str(project / "my_stubs"),))
    source = Source("program", "program.py", program)
    return [one.message for one in analyze_module(source, Sources(), options)]


def run(project: Path, program: str) -> subprocess.CompletedProcess[str]:
    (project / "program.py").write_text(program)
    root = str(ROOT)
    return subprocess.run(
        [sys.executable, "program.py"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def test_correct(project: Path) -> None:
    program = PROGRAM.replace("WHICH", "a")
    assert static(project, program) == []
    assert run(project, program).stdout == "(4, 2)\n"


def test_wrong_on_both_sides(project: Path) -> None:
    """The sizes are equal; only the names, which come from the signature, tell."""
    program = PROGRAM.replace("WHICH", "b")
    said = "can't broadcast (a 2) with (b 1): axis -2 is a on the left and b on the right"
    assert said in static(project, program)[0]
    assert said in run(project, program).stderr
