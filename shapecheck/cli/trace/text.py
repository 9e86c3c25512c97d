"""A trace as text: a tree with a line for each call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TextIO

from rich.table import Table
from rich.text import Text

from shapecheck.cli._console import console_on
from shapecheck.runtime.tracing.markup import line_text
from shapecheck.runtime.tracing.model import Trace
from shapecheck.runtime.tracing.records import OpRecord, memory_text
from shapecheck.runtime.tracing.rows import Row, rows_of

_WIDE: Final = 1000


def print_tree(trace: Trace, stream: TextIO, *, depth: int | None, color: bool) -> None:
    """Print the calls, what each gives, how many parameters are in it and what its results take."""
    console = console_on(stream, color=color, width=_WIDE)
    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for header in ("call", "result"):
        grid.add_column(header, no_wrap=True)
    grid.add_column("parameters", justify="right", no_wrap=True)
    grid.add_column("memory", justify="right", no_wrap=True)
    grid.add_column("line", no_wrap=True, style="dim")
    grid.add_row(
        Text(trace.kind, "bold"), "", f"{trace.parameters:,}", memory_text(trace.allocated)
    )
    for cells in _lines(rows_of(trace, depth), ""):
        grid.add_row(*cells)
    with console.capture() as capture:
        console.print(grid)
    stream.writelines(f"{line.rstrip()}\n" for line in capture.get().splitlines())
    ops = sum(1 for _ in trace.ops())
    stream.write(
        f"\n{ops:,} ops; {trace.parameters:,} parameters take "
        f"{memory_text(trace.parameter_bytes)}, the results of all ops "
        f"{memory_text(trace.allocated)}\n"
    )


def _lines(rows: Sequence[Row], prefix: str) -> Iterator[tuple[Text, str, str, str, str]]:
    for at, row in enumerate(rows):
        is_last = at == len(rows) - 1
        label = Text(f"{prefix}{'└─ ' if is_last else '├─ '}", style="dim")
        name, kind = row.title
        color = "bold red" if row.error else "" if isinstance(row.record, OpRecord) else "bold"
        label.append(f"{name} fails" if row.error else name, style=color)
        if kind:
            label.append(f" {kind}", style="cyan")
        yield label, row.shapes, _parameters(row), _memory(row), _line(row)
        below = prefix + ("   " if is_last else "│  ")
        yield from _lines(row.children, below)
        if row.alike:
            rest = Text(f"{prefix}{'   ' if is_last else '│  '}⋮", style="dim")
            yield rest, row.alike, "", "", ""


def _parameters(row: Row) -> str:
    if isinstance(row.record, OpRecord) or not row.record.parameters:
        return ""
    return f"{row.record.parameters:,}"


def _memory(row: Row) -> str:
    return memory_text(row.allocated) if row.allocated else ""


def _line(row: Row) -> str:
    op = row.op
    return line_text(op.file, op.line) if op is not None and op.file else ""
