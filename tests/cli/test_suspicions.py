"""Suspicions are warnings wherever they are shown, and never fail a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Command = Callable[..., CompletedProcess[str]]
PROGRAM = """\
import torch
from torch import nn

error = (nn.Linear(4, 1)(torch.randn(5, 4)) - torch.randn(5)).abs()
"""
TEXT = '"-" makes (5 5) of (5 1) and (5): every element of one meets every element of the other'


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, "utf-8")
    return path


def test_text_twice(command: Command, program: Path) -> None:
    """The second time it is of the store."""
    for _ in range(2):
        done = command("check", "--only-shapes", program.name)
        assert done.returncode == 0
        assert f"program.py:4:10: warning: {TEXT}  [shape-suspect]" in done.stdout
        assert "1 suspicion, which is no error" in done.stdout


def test_other_outputs(command: Command, program: Path) -> None:
    said = json.loads(
        command("check", "--only-shapes", "--output", "json", program.name).stdout.splitlines()[0]
    )
    assert (said["severity"], said["code"], said["message"]) == ("warning", "shape-suspect", TEXT)
    sarif = json.loads(command("check", "--only-shapes", "--output", "sarif", program.name).stdout)
    assert [one["level"] for one in sarif["runs"][0]["results"]] == ["warning"]
    github = command("check", "--only-shapes", "--output", "github", program.name).stdout
    assert github.startswith("::warning file=program.py,line=4")


@pytest.mark.parametrize("code", ["shape", "shape-suspect"])
def test_ignored(command: Command, program: Path, code: str) -> None:
    program.write_text(PROGRAM.replace(".abs()", f".abs()  # type: ignore[{code}]"), "utf-8")
    assert "warning" not in command("check", "--only-shapes", program.name).stdout


@pytest.mark.parametrize("asked", [False, True])
def test_mypy_says_them_where_it_is_asked_to(command: Command, program: Path, asked: bool) -> None:
    text = f"[tool.shapecheck]\nsuspicions = {str(asked).lower()}\n"
    (program.parent / "pyproject.toml").write_text(text, "utf-8")
    done = command("check", program.name)
    assert done.returncode == 0
    assert (f"warning: {TEXT}  [shape-suspect]" in done.stdout) is asked
