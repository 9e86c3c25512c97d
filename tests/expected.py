"""Tables of what is expected, one row a line, in a file that `pytest --update` writes anew.

A difference in such a file is read as any other: each line says what it is about, and what is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest


def check(path: Path, rows: Mapping[str, str], request: pytest.FixtureRequest) -> None:
    """Compare all rows with those of a file, `what it is about -> what is said`."""
    lines = [f"{about} -> {said}".rstrip() for about, said in rows.items()]
    if request.config.getoption("--update"):
        path.write_text("\n".join(lines) + "\n", "utf-8")
    assert lines == path.read_text("utf-8").splitlines()
