"""The suite is the same in each run: hypothesis draws the same, whatever ran or is set before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

DRAWING = """\
import conftest
{above}
from hypothesis import given, strategies as st


@given(st.integers(), st.text(), st.randoms(use_true_random=False))
def draw(number, text, rng):
    print(number, ascii(text), rng.random())


draw()
"""


def drawn(folder: Path, above: str = "", **environ: str) -> str:
    """Return what hypothesis draws with the suite's settings, in a process of its own."""
    (folder / "sizes.py").write_text(f"MANY = {[i * 271_828 for i in range(1, 500)]}")
    (folder / "drawing.py").write_text(DRAWING.format(above=above))
    return subprocess.run(
        [sys.executable, "drawing.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent), **environ},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def test_hypothesis_draws_the_same_each_time(tmp_path: Path) -> None:
    """Neither the numbers in other modules that are loaded matter, nor the environment."""
    once = drawn(tmp_path, PYTHONHASHSEED="1")
    assert once
    assert drawn(tmp_path, "import sizes", PYTHONHASHSEED="2", CI="true") == once
