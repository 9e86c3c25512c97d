"""`shapecheck coverage`: how much of the code has shapes, and where they get lost."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shapecheck.cli._changes import files_of
from shapecheck.cli._commands import (
    CommandError,
    Commands,
    add_color_option,
    refuse_notebook,
    wants_color,
)

if TYPE_CHECKING:
    from shapecheck.cli.coverage.measure import FileCoverage
    from shapecheck.config import Config

_DESCRIPTION: Final = """\
Tells which share of the functions with tensors is annotated, and of which tensors the shape
is known without running anything: by file, and why the rest isn't. Each use of a tensor
counts: a variable, a call, an operation.
"""
_EXAMPLES: Final = """\
  shapecheck coverage                  a table of the files in this folder
  shapecheck coverage src --html out   the source, with the shapes in it
  shapecheck coverage --output json    for programs
  shapecheck coverage --fail-under 80  fail if fewer than 80 % are known

the exit code is 0, or 1 below what --fail-under asks for, or 2 where a file can't be read.
"""


def register(commands: Commands) -> None:
    """Declare the command's arguments."""
    parser = commands.add(
        "coverage",
        run,
        summary="measure of how many tensors the shape is known, and show where",
        description=_DESCRIPTION,
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        type=Path,
        help="a file or folder (default: this folder)",
    )
    parser.add_argument("--output", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument(
        "--html",
        metavar="FOLDER",
        type=Path,
        help="also write pages into this folder, index.html and one for each file",
    )
    parser.add_argument(
        "--fail-under",
        metavar="PERCENT",
        type=_percentage,
        default=0.0,
        help="exit with 1 if fewer of the shapes are known",
    )
    add_color_option(parser)


def _percentage(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise ArgumentTypeError(f'"{text}" is no percentage from 0 to 100')
    return value


def run(options: Namespace) -> int:
    """Run the command; return the exit code."""
    from shapecheck.cli._settings import settings
    from shapecheck.cli.coverage import tables

    files = _measured(options.paths or [Path()], settings(), has_errors=options.html is not None)
    if options.output == "json":
        tables.print_json(files, sys.stdout)
    else:
        color = wants_color(sys.stdout, options.color)
        tables.print_table(files, sys.stdout, color=color)
    if options.html is not None:
        from shapecheck.cli.coverage.pages import write_pages

        try:
            index = write_pages(files, options.html)
        except OSError as error:
            raise CommandError(f"can't write into {options.html}: {error.strerror}") from None
        if options.output == "text":
            sys.stdout.write(f"\nwritten: {index}\n")
    if any(file.problem is not None for file in files):
        return 2
    total = tables.total_of(files)
    share = 100 * total.known / total.tensors if total.tensors else 100.0
    if share < options.fail_under:
        sys.stderr.write(
            f"the shapes of {share:.1f} % are known, and --fail-under asks for "
            f"{options.fail_under:g} %\n"
        )
        return 1
    return 0


def _measured(paths: list[Path], settings: Config, *, has_errors: bool) -> list[FileCoverage]:
    """Look at all files, with a bar on a terminal."""
    from rich.console import Console
    from rich.progress import track

    from shapecheck.cli.coverage.measure import measure
    from shapecheck.many_objects import many_objects

    for path in paths:
        refuse_notebook(path)
    files = files_of(paths)
    console = Console(file=sys.stderr)
    folders = [Path.cwd(), *(path.absolute() for path in paths if path.is_dir())]
    with many_objects():
        return list(
            track(
                measure(files, folders, settings, has_errors=has_errors),
                description="looking",
                total=len(files),
                console=console,
                transient=True,
                disable=not console.is_terminal,
            )
        )
