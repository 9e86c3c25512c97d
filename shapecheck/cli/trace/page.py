"""A trace as a page that stands alone: the drawing, and the tree with all numbers."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from pathlib import Path

from shapecheck.cli._pages import page
from shapecheck.cli.trace.circuit import draw
from shapecheck.cli.trace.rows import Row, rows_of
from shapecheck.runtime.tracing.model import Trace, memory_text


def trace_page(trace: Trace, depth: int | None = None) -> str:
    """Return the page; `depth` is that of the drawing."""
    ops = sum(1 for _ in trace.ops())
    tree = "".join(_rows(rows_of(trace)))
    return page(
        f"{trace.kind}: shapes",
        f"<header><h1>{html.escape(trace.kind)}</h1>"
        f'<p class="figures"><span><b>{trace.parameters:,}</b> parameters, '
        f"{memory_text(trace.parameter_bytes)}</span> <span><b>{ops:,}</b> ops, whose results take "
        f"{memory_text(trace.allocated)}</span></p></header>\n"
        "<main><h2>How the dimensions flow</h2>\n"
        f'<div class="drawing" tabindex="0" role="region" aria-label="drawing">{draw(trace, depth)}'
        f'</div>\n<h2>All calls</h2>\n<div class="tree">{tree}</div></main>',
    )


def _rows(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        if row.children:
            is_open = "" if row.alike or not row.kind else " open"
            yield f"<details{is_open}><summary>{_cells(row)}</summary>"
            yield from _rows(row.children)
            yield "</details>"
        else:
            yield f'<div class="leaf">{_cells(row)}</div>'
        if row.alike:
            yield f'<div class="alike">⋮ {html.escape(row.alike)}</div>'


def _cells(row: Row) -> str:
    kind = f' <span class="kind">{html.escape(row.kind)}</span>' if row.kind else ""
    numbers = []
    parameters = getattr(row.record, "parameters", 0)
    if parameters:
        numbers.append(f"{parameters:,} parameters")
    if row.allocated:
        numbers.append(memory_text(row.allocated))
    op = row.op
    if op is not None and op.file:
        numbers.append(f"{Path(op.file).name}:{op.line}")
    return (
        f'<span class="call">{html.escape(row.name)}{kind}</span>'
        f"<code>{html.escape(row.shapes)}</code><small>{html.escape(' · '.join(numbers))}</small>"
    )
