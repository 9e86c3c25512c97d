"""A trace as a page that stands alone: the drawing, and the tree with all numbers."""

from __future__ import annotations

from shapecheck.cli._pages import page
from shapecheck.cli.trace.circuit import STYLE, draw
from shapecheck.markup import escaped
from shapecheck.runtime.tracing.markup import loose_error, tree
from shapecheck.runtime.tracing.model import Trace
from shapecheck.runtime.tracing.records import memory_text
from shapecheck.runtime.tracing.rows import rows_of


def trace_page(trace: Trace, depth: int | None = None) -> str:
    """Return the page; `depth` is that of the drawing."""
    ops = sum(1 for _ in trace.ops())
    return page(
        f"{trace.kind}: shapes",
        f"<header><h1>{escaped(trace.kind)}</h1>"
        f'<p class="figures"><span><b>{trace.parameters:,}</b> parameters, '
        f"{memory_text(trace.parameter_bytes)}</span> <span><b>{ops:,}</b> ops, whose results take "
        f"{memory_text(trace.allocated)}</span></p></header>\n"
        "<main><h2>How the dimensions flow</h2>\n"
        f'<div class="drawing" tabindex="0" role="region" aria-label="drawing">{draw(trace, depth)}'
        f'</div>\n<h2>All calls</h2>\n<div class="tree">{tree(rows_of(trace))}'
        f"{loose_error(trace, trace.error)}</div></main>",
        style=STYLE,
    )
