"""A trace as a page that stands alone: the drawing, and the tree with all numbers."""

from __future__ import annotations

from typing import Final

from shapecheck.cli._pages import page
from shapecheck.cli.trace.against import Comparison, comparison_markup
from shapecheck.cli.trace.circuit import STYLE, draw_levels
from shapecheck.cli.trace.wiring import levels_of
from shapecheck.markup import escaped
from shapecheck.runtime.tracing.markup import loose_error, tree
from shapecheck.runtime.tracing.model import Trace
from shapecheck.runtime.tracing.records import memory_text
from shapecheck.runtime.tracing.rows import rows_of

_BUTTONS: Final = (
    '<p class="legend"><button id="open" type="button">Open all</button> '
    '<button id="close" type="button">Close all</button> '
    "<span>A module with ▸ opens by a click or <kbd>Enter</kbd></span></p>\n"
)


def trace_page(trace: Trace, depth: int | None = None, comparison: Comparison | None = None) -> str:
    """Return the page.

    `depth` is to which modules of the drawing are open at first; `comparison`: with another run.
    """
    differences = "" if comparison is None else comparison_markup(comparison)
    levels = levels_of(trace, depth)
    ops = sum(1 for _ in trace.ops())
    return page(
        f"{trace.kind}: shapes",
        f"<header><h1>{escaped(trace.kind)}</h1>"
        f'<p class="figures"><span><b>{trace.parameters:,}</b> parameters, '
        f"{memory_text(trace.parameter_bytes)}</span> <span><b>{ops:,}</b> ops, whose results take "
        f"{memory_text(trace.allocated)}</span></p></header>\n"
        f"<main>{differences}<h2>How the dimensions flow</h2>\n{_BUTTONS if levels.inner else ''}"
        '<div class="drawing" tabindex="0" role="region" aria-label="drawing">'
        f"{draw_levels(trace, levels)}</div>\n"
        f'<h2>All calls</h2>\n<div class="tree">{tree(rows_of(trace))}'
        f"{loose_error(trace, trace.error)}</div></main>",
        script="trace.js",
        style=STYLE,
    )
