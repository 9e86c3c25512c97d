"""What the commands share that change source files: paths, `--write` or a diff, what is said."""

from __future__ import annotations

import difflib
import re
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from shapecheck.cli._commands import CommandError

_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
"""A line as programs see it that apply a diff: a form feed ends none."""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the files and folders, and whether they are changed or the change is printed."""
    parser.add_argument(
        "paths",
        nargs="*",
        default=["."],
        metavar="PATH",
        help="a file or folder (default: this folder)",
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--diff", action="store_true", help="print the change (the default)")
    mode.add_argument("--write", action="store_true", help="change the files")


def files_of(paths: Sequence[str | Path]) -> list[Path]:
    """Return the files that are asked for; tell which links are left alone.

    Raises `CommandError` where there is no file.
    """
    from shapecheck.codemod.project.files import FileProblem, find

    try:
        found = find(map(Path, paths))
    except FileProblem as error:
        raise CommandError(str(error)) from None
    for line in found.left:
        tell(line)
    if not found.files:
        raise CommandError(f"there are no .py files in {', '.join(map(str, paths))}")
    return found.files


def print_diff(path: Path, before: str, after: str) -> None:
    """Print a unified diff between two texts of a file."""
    for line in difflib.unified_diff(
        _LINE.findall(before),
        _LINE.findall(after),
        f"a/{path}",
        f"b/{path}",
    ):
        end = "" if line.endswith("\n") else "\n\\ No newline at end of file\n"
        sys.stdout.write(f"{line}{end}")


def tell(text: str) -> None:
    """Say what isn't part of the diff."""
    print(text, file=sys.stderr)  # noqa: T201
