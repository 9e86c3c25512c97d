"""The table and the JSON of `shapecheck coverage`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, TextIO

from shapecheck.cli._causes import in_words
from shapecheck.cli.coverage.measure import Counts, FileCoverage

_MOST_REASONS: Final = 10
_WIDE: Final = 1000


def total_of(files: Sequence[FileCoverage]) -> Counts:
    """Return the counts of all files together."""
    total = Counts()
    for file in files:
        total.add(file.counts)
    return total


def reasons_of(files: Sequence[FileCoverage]) -> list[tuple[str, int]]:
    """Return why shapes aren't known, in words, the most frequent first."""
    counted: Counter[str] = Counter()
    for file in files:
        for reason, count in file.reasons.items():
            counted[in_words(reason)] += count
    return counted.most_common()


def unread_of(files: Sequence[FileCoverage]) -> list[tuple[str, int, str]]:
    """Return the forms of annotations that aren't read, how many of each, and where the first is.

    The most frequent first.
    """
    places: dict[str, list[str]] = {}
    for file in files:
        for one in file.unread:
            places.setdefault(one.name, []).append(f"{file.path}:{one.span.line}")
    found = [(name, len(each), each[0]) for name, each in places.items()]
    return sorted(found, key=lambda one: -one[1])


def percent(part: int, whole: int) -> str:
    """Return a share as people read it; 100 % is only what is whole."""
    if whole == 0:
        return "-"
    share = 100 * part / whole
    return f"{min(share, 99.0) if part < whole else share:.0f} %"


def print_table(files: Sequence[FileCoverage], stream: TextIO, *, color: bool) -> None:
    """Print a line for each file with tensors in it, the total, and the most frequent reasons."""
    from rich.table import Table as Grid

    from shapecheck.cli._console import console_on

    # As wide as it takes: a name or a number that is cut off is of no use.
    console = console_on(stream, color=color, width=_WIDE)
    grid = Grid(box=None, pad_edge=False, header_style="bold", show_footer=True)
    total = total_of(files)
    headers = ("annotated", "known", "partly", "unknown", "shapes known")
    grid.add_column("file", "all", footer_style="bold", no_wrap=True)
    for header, cell in zip(headers, _cells(total), strict=True):
        grid.add_column(header, cell, justify="right", footer_style="bold", no_wrap=True)
    for file in files:
        if file.problem is None and (file.counts.tensors or file.counts.functions):
            grid.add_row(file.path, *_cells(file.counts))
    with console.capture() as capture:
        console.print(grid)
    stream.writelines(f"{line.rstrip()}\n" for line in capture.get().splitlines())
    for file in files:
        if file.problem is not None:
            console.print(f"{file.path}: {file.problem}", style="red")
    reasons = reasons_of(files)[:_MOST_REASONS]
    if reasons:
        console.print("\nwhere shapes get lost", style="bold")
    for reason, count in reasons:
        console.print(f"{count:>6}  {reason}")
    unread = unread_of(files)
    if unread:
        console.print("\nannotations that say a shape in a form that isn't read", style="bold")
    for name, count, first in unread:
        console.print(f"{count:>6}  {name}, first at {first}", markup=False)


def _cells(counts: Counts) -> tuple[str, ...]:
    return (
        f"{counts.annotated}/{counts.functions}",
        str(counts.known),
        str(counts.partial),
        str(counts.unknown),
        percent(counts.known, counts.tensors),
    )


def print_json(files: Sequence[FileCoverage], stream: TextIO) -> None:
    """Print one document with the counts of each file, and where and why shapes aren't known."""
    document = {
        "total": _counts(total_of(files)),
        "reasons": dict(reasons_of(files)),
        "unread": {
            name: {"count": count, "first": first} for name, count, first in unread_of(files)
        },
        "files": {file.path: _file(file) for file in files},
    }
    json.dump(document, stream, indent=2)
    stream.write("\n")


def _counts(counts: Counts) -> dict[str, Any]:
    return {
        "functions": counts.functions,
        "annotated": counts.annotated,
        "tensors": counts.tensors,
        "known": counts.known,
        "partial": counts.partial,
        "unknown": counts.unknown,
    }


def _file(file: FileCoverage) -> dict[str, Any]:
    if file.problem is not None:
        return {"problem": file.problem}
    return {
        **_counts(file.counts),
        "lost": [
            {
                "line": seen.span.line,
                "column": seen.span.column,
                "end_line": seen.span.end_line,
                "end_column": seen.span.end_column,
                "shape": seen.shape,
                "reason": in_words(seen.reason),
            }
            for seen in file.seen()
            if seen.begins and seen.reason is not None
        ],
    }
