"""Tries the shapecheck that is installed: each command, and `@shapecheck` where torch is.

    python release/try_installation.py

It is run by the Python of an environment into which a wheel was installed, and prints what it
tried. Exits with 1 where something isn't as it should be.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Final

PROGRAM: Final = """\
from torch import Tensor

from shapecheck import Float


def scores(q: Float[Tensor, "b q d"], k: Float[Tensor, "b k d"]) -> Float[Tensor, "b q k"]:
    return q @ k
"""
CALL: Final = """
import torch

import shapecheck

try:
    shapecheck.shapecheck(scores)(torch.zeros(2, 4, 4), torch.zeros(2, 4, 4))
except shapecheck.ShapeError as error:
    print(error)
"""
FOUND: Final = '"@" can\'t multiply (b q d) by (b k d): the inner dimensions are d (axis -1) and k'
BARE: Final = """\
import torch


def scores(q, k):
    b, n, d = q.shape
    c, m, d = k.shape
    return torch.bmm(q, k.mT)
"""


def commands() -> dict[str, tuple[list[str], str]]:
    """Return what to run, by what it is called, and what it has to print."""
    shapecheck = [sys.executable, "-m", "shapecheck"]
    tried = {
        "check": ([*shapecheck, "check", "program.py"], FOUND),
        "check --only-shapes": ([*shapecheck, "check", "--only-shapes", "program.py"], FOUND),
        "coverage": ([*shapecheck, "coverage", "program.py"], "the error in line 7"),
        "reveal": ([*shapecheck, "reveal", "program.py:7"], "q: (b q d) Float"),
        "explain": ([*shapecheck, "explain", "torch.Tensor.softmax"], "stated in"),
        "annotate": ([*shapecheck, "annotate", "bare.py"], 'k: Shaped[torch.Tensor, "'),
    }
    if find_spec("torch") is not None:
        tried["@shapecheck"] = ([sys.executable, "run.py"], FOUND)
    return tried


def compiled() -> str:
    """Return what of the package is compiled, in words."""
    package = find_spec("shapecheck")
    assert package is not None
    assert package.submodule_search_locations
    folder = Path(package.submodule_search_locations[0])
    rooms = {"the look-up of ops": "runtime/naming", "the analysis": "analysis"}
    made = [
        called
        for called, room in rooms.items()
        if any(path.suffix in (".so", ".pyd") for path in (folder / room).rglob("*"))
    ]
    return f"{' and '.join(made)} compiled" if made else "pure Python"


def main() -> int:
    """Try all, and return the exit code."""
    failed = 0
    print(f"{sys.executable}: {compiled()}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
        (folder / "run.py").write_text(PROGRAM + CALL, encoding="utf-8")
        (folder / "bare.py").write_text(BARE, encoding="utf-8")
        for called, (command, printed) in commands().items():
            done = subprocess.run(
                command,
                cwd=folder,
                env={**os.environ, "PYTHONIOENCODING": "utf-8"},
                capture_output=True,
                encoding="utf-8",
                check=False,
            )
            is_right = printed in done.stdout
            print(f"{called}: {'as it should be' if is_right else 'fails'}")
            if not is_right:
                failed = 1
                print(done.stdout, done.stderr, sep="\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
