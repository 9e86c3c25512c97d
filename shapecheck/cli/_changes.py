"""What the commands share that change source files: paths, `--write` or a diff, what is said."""

from __future__ import annotations

import difflib
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from shapecheck.cli._commands import CommandError


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the files and folders, and whether they are changed or the change is printed."""
    parser.add_argument("paths", nargs="*", default=["."], metavar="PATH", help="a file or folder")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--diff", action="store_true", help="print the change (the default)")
    mode.add_argument("--write", action="store_true", help="change the files")


def files_of(options: Namespace) -> list[Path]:
    """Return the files that are asked for. Raises `CommandError` for a path that isn't there."""
    from shapecheck.codemod.files import FileProblem, find

    try:
        return list(find(map(Path, options.paths)))
    except FileProblem as error:
        raise CommandError(str(error)) from None


def print_diff(path: Path, before: str, after: str) -> None:
    """Print a unified diff between two texts of a file."""
    for line in difflib.unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        f"a/{path}",
        f"b/{path}",
    ):
        end = "" if line.endswith("\n") else "\n\\ No newline at end of file\n"
        sys.stdout.write(f"{line}{end}")


def tell(text: str) -> None:
    """Say what isn't part of the diff."""
    print(text, file=sys.stderr)  # noqa: T201
