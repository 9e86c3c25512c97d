"""`shapecheck check`: mypy with the plugin, without any configuration."""

from __future__ import annotations

import subprocess
import sys
from argparse import Namespace

from shapecheck.cli._commands import Commands

_DESCRIPTION = """\
Runs mypy with the shapecheck plugin. Nothing needs to be configured; where the project has
a configuration of mypy, it applies.
"""
_EXAMPLES = """\
  shapecheck check                     all files in this folder
  shapecheck check src/model.py        one file
"""


def register(commands: Commands) -> None:
    """Declare the command's arguments."""
    parser = commands.add(
        "check",
        run,
        summary="find shape bugs: mypy with the plugin",
        description=_DESCRIPTION,
        examples=_EXAMPLES,
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="a file or folder")


def run(options: Namespace) -> int:
    """Run the command; return mypy's exit code."""
    command = [sys.executable, "-m", "shapecheck.mypy_plugin._command", *options.paths]
    return subprocess.run(command, check=False).returncode
