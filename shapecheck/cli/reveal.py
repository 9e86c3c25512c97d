"""`shapecheck reveal`: the shape of what stands at a place in a file."""

from __future__ import annotations

import io
import json
import re
import sys
from argparse import ArgumentTypeError, Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shapecheck.cli._commands import CommandError, Commands, refuse_notebook

if TYPE_CHECKING:
    from shapecheck.analysis import Shown

_DESCRIPTION: Final = """\
Tells the shape of the tensors on a line, or of the one at a column, as the analysis knows it
there. Nothing is run, and nothing is written into the file.
"""
_EXAMPLES: Final = """\
  shapecheck reveal model.py:12      each tensor on the line
  shapecheck reveal model.py:12:20   the innermost one at the column, which counts from 1
  shapecheck reveal model.py:12 --output json

the exit code is 0, or 1 where no tensor is known to be there, or 2 where there is no such line.
"""
_PLACE: Final = re.compile(r"(?P<path>.+?):(?P<line>[1-9]\d*)(?::(?P<column>[1-9]\d*))?")


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file, or a column in it; both count from 1."""

    path: str
    line: int
    column: int | None = None


def register(commands: Commands) -> None:
    """Declare the command's arguments."""
    parser = commands.add(
        "reveal",
        run,
        summary="tell the shapes on a line of a file",
        description=_DESCRIPTION,
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "place", type=_place, metavar="FILE:LINE[:COLUMN]", help="where, as messages say it"
    )
    parser.add_argument(
        "--output", choices=("text", "json"), default="text", help="text (default), or json"
    )


def _place(text: str) -> Place:
    found = _PLACE.fullmatch(text)
    if found is None:
        raise ArgumentTypeError(f'"{text}" is no place: model.py:12, or model.py:12:20')
    column = found["column"]
    return Place(found["path"], int(found["line"]), None if column is None else int(column))


def run(options: Namespace) -> int:
    """Run the command; return the exit code."""
    refuse_notebook(options.place.path)
    found = revealed(options.place)
    if options.output == "json":
        sys.stdout.write(f"{json.dumps(found, indent=2)}\n")
    for one in found if options.output == "text" else ():
        place = f"{options.place.path}:{one['line']}:{one['column']}"
        said = " ".join(filter(None, (one["shape"] or "of a shape that isn't known", one["dtype"])))
        since = f", since line {one['since']}" if one["since"] is not None else ""
        sys.stdout.write(f"{place}: {one['text']}: {said}{since}\n")
    if not found:
        sys.stderr.write("no tensor is known to be there\n")
    return int(not found)


def revealed(place: Place, text: str | None = None) -> list[dict[str, Any]]:
    """Return what is known of the tensors at a place: of a file, or of a text as if it lay there.

    Lines and columns count from 1. Raises `CommandError` where there is no such line, and
    `ConfigError` where the settings can't be read.
    """
    from shapecheck.many_objects import many_objects
    from shapecheck.project.buffers import Buffer, innermost
    from shapecheck.project.targets import TargetError

    if text is None:
        text = _read(place.path)
    lines = io.StringIO(text, newline=None).read().split("\n")
    if place.line > len(lines):
        raise CommandError(f"{place.path} has {len(lines)} lines, and no line {place.line}")
    with many_objects():
        try:
            look = Buffer(place.path, text).look(place.line)
        except TargetError as error:
            raise CommandError(str(error)) from None
    shapes = () if look is None else look.shapes
    if place.column is not None:
        one = innermost(shapes, place.line, place.column - 1)
        return [] if one is None else [_told(one, lines)]
    here = [one for one in shapes if one.span.line == place.line]
    here.sort(key=lambda one: (one.span.column, -one.span.end_column))
    return [_told(one, lines) for one in here]


def _read(path: str) -> str:
    from shapecheck.project.reading import decoded

    try:
        return decoded(Path(path).read_bytes())
    except OSError as error:
        raise CommandError(f"can't read {path}: {error.strerror}") from None
    except (UnicodeDecodeError, LookupError) as error:
        raise CommandError(f"can't read {path}: {error}") from None


def _told(shown: Shown, lines: list[str]) -> dict[str, Any]:
    span = shown.span
    text = lines[span.line - 1]
    one_line = span.end_line == span.line
    return {
        "line": span.line,
        "column": span.column + 1,
        "text": text[span.column : span.end_column] if one_line else f"{text[span.column :]} …",
        "shape": shown.shape or None,
        "dtype": shown.dtype or None,
        "since": None if shown.binds else shown.since,
    }
