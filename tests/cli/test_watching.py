"""`check --only-shapes --watch` stays, and says what a change of a file changes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import SECONDS
from repository import ROOT

from shapecheck.cli.check.watching import looked_at
from tests.cli.conftest import Command

WRONG = """\
import torch

torch.zeros(3, 4) @ torch.zeros(5, 6)
"""


@pytest.fixture
def watching(tmp_path: Path, interruptible: None) -> Iterator[subprocess.Popen[str]]:
    """A process that watches a folder with one file, in which nothing is wrong."""
    (tmp_path / "one.py").write_text("import torch\n")
    with subprocess.Popen(
        [sys.executable, "-m", "shapecheck", "check", "--only-shapes", "--watch", "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        hangs = threading.Timer(SECONDS, process.kill)
        hangs.start()
        yield process
        hangs.cancel()
        process.kill()


def heard(process: subprocess.Popen[str], end: str) -> list[str]:
    """Return what is printed until a line with some words."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line.rstrip("\n"))
        if end in line:
            return lines
    pytest.fail(f"ended by itself, after {lines}")


def test_what_a_change_changes(watching: subprocess.Popen[str], tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    assert "no issues found" in "\n".join(heard(watching, "watching for changes"))
    file.write_text(WRONG)
    said = heard(watching, "1 new, 0 gone; 1 error now")
    assert said[0].startswith("one.py:3:1: error:")
    assert "[shape]" in said[0]
    file.write_text(f"# moved\n{WRONG}")
    assert len(heard(watching, "0 new, 0 gone; 1 error now")) == 1
    file.write_text("def broken(:\n")
    assert "[syntax]" in heard(watching, " new, 0 gone; ")[0]
    file.write_text("import torch\n")
    gone = heard(watching, "; 0 errors now")
    assert all(line.startswith("gone: one.py:") for line in gone[:-1])
    assert any("[shape]" in line for line in gone)
    (tmp_path / "mypy.ini").write_text("[mypy]\ncache_dir = elsewhere\n")
    heard(watching, "0 new, 0 gone; 0 errors now")
    watching.send_signal(signal.SIGINT)
    assert watching.wait() == 130


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--watch",), "--watch goes with --only-shapes; mypy has a daemon for that, dmypy"),
        (("--watch", "--only-shapes", "--shard", "1/2"), "it goes with no other output"),
        (("--watch", "--only-shapes", "--output", "json"), "it goes with no other output"),
    ],
)
def test_what_watching_does_not_go_with(
    command: Command, arguments: tuple[str, ...], reason: str
) -> None:
    done = command("check", *arguments)
    assert done.returncode == 2
    assert reason in done.stderr


def test_which_files_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sources and configuration; nothing that is hidden, or installed into an environment."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.py", "b/c.pyi", "pyproject.toml", "notes.txt", ".x/d.py", "venv/e.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    (tmp_path / "venv" / "pyvenv.cfg").write_text("")
    assert set(looked_at(["b"])) == {"./a.py", "./b/c.pyi", "./pyproject.toml", "b/c.pyi"}
