"""What the processes of one test run make once for all of them."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

Shared = Callable[[str, Callable[[Path], None]], Path]
"""Gives a folder by its name, which the first process that asks for it makes and fills."""

# Leaves the bytecode of the package, the index of its signature files, and what pytest makes of its
# plugins (of hypothesis, too), as their first use does.
_COMPILE: Final = """\
import compileall, pytest
from shapecheck.signatures import table
compileall.compile_dir("shapecheck", quiet=2)
table()
pytest.main(["--version", "--version"])
"""


def compiled(folder: Path) -> None:
    """Compile the package in a folder, for all processes that import it from there."""
    subprocess.run(
        [sys.executable, "-c", _COMPILE],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
        capture_output=True,
        check=False,
    )


def shared(base: Path, name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder below the run's own; `make` fills it if no other process has."""
    folder, done = base / name, base / f"{name}.done"
    with alone(base / f"{name}.lock"):
        if not done.exists():
            folder.mkdir(exist_ok=True)
            make(folder)
            done.touch()
    return folder


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Let one of several parallel test processes in at a time."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
