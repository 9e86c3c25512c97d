"""Projects to run commands in, and what a command printed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from mypy_plugin import conftest as mypy_projects
from repository import ROOT

# `new_project`, a fixture of the tests of the plugin, and all that it needs.
_FIXTURE: Final = type(mypy_projects.new_project)
globals().update({k: v for k, v in vars(mypy_projects).items() if isinstance(v, _FIXTURE)})

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Run `shapecheck` with some arguments in `tmp_path`, as a shell would."""

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
        environment |= {"PYTHONPATH": str(ROOT), "COLUMNS": "100", **variables}
        return subprocess.run(
            [sys.executable, "-m", "shapecheck", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )

    return run
