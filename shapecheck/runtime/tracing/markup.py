"""The tree of a trace as HTML: what opens and closes needs no script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from shapecheck.ipython import cell_of
from shapecheck.markup import escaped
from shapecheck.runtime.tracing.records import ModuleRecord, memory_text
from shapecheck.runtime.tracing.rows import Row, rows_of

_STYLE: Final = (
    ".shapecheck-trace{font-size:.92em}"
    ".shapecheck-trace summary,.shapecheck-trace .leaf{display:flex;flex-wrap:wrap;gap:0 1.2em;"
    "align-items:baseline;padding:.1em 0;border-bottom:1px solid rgba(128,128,128,.25)}"
    ".shapecheck-trace summary{cursor:pointer}"
    '.shapecheck-trace summary::before{content:"▸";width:.8em;margin-right:-.9em;opacity:.6}'
    '.shapecheck-trace details[open]>summary::before{content:"▾"}'
    ".shapecheck-trace details>:not(summary){margin-left:1.1em}"
    ".shapecheck-trace .leaf{padding-left:1.1em}"
    ".shapecheck-trace .call{min-width:11em;font-weight:600}"
    ".shapecheck-trace .leaf .call{font-weight:400}"
    ".shapecheck-trace code{flex:1 1 16em;background:none!important;color:inherit!important;"
    "padding:0!important;overflow-wrap:anywhere}"
    ".shapecheck-trace .failed,.shapecheck-trace .said{color:#e5484d}"
    ".shapecheck-trace .said{white-space:pre-wrap;margin-left:1.1em;"
    "font-family:ui-monospace,Menlo,Consolas,monospace}"
    ".shapecheck-trace small,.shapecheck-trace .alike,.shapecheck-trace .kind{opacity:.75}"
)


def figures(trace: ModuleRecord) -> str:
    """Return in words how much there is in a trace."""
    ops = sum(1 for _ in trace.ops())
    return (
        f"{ops:,} ops, {trace.parameters:,} parameters ({memory_text(trace.parameter_bytes)}), "
        f"results {memory_text(trace.allocated)}"
    )


def notebook_output(trace: ModuleRecord, error: str) -> str:
    """Return what a notebook shows of a trace, and of the error that ended it."""
    return (
        f'<div class="shapecheck-trace"><style>{_STYLE}</style>'
        f"<p><b>{escaped(trace.kind)}</b> {figures(trace)}</p>{tree(rows_of(trace))}"
        f"{loose_error(trace, error)}</div>"
    )


def loose_error(trace: ModuleRecord, error: str) -> str:
    """Return the error that ended a trace where no op did, as an element below the tree."""
    if not error or any(op.error for op in trace.ops()):
        return ""
    return f'<pre class="said">{escaped(error)}</pre>'


def tree(rows: Sequence[Row]) -> str:
    """Return rows as elements, those with something in them as `details`."""
    return "".join(_rows(rows))


def _rows(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        if row.children:
            is_open = "" if row.rest or not row.kind else " open"
            yield f"<details{is_open}><summary>{_cells(row)}</summary>"
            yield from _rows(row.children)
            yield "</details>"
        else:
            failed = " failed" if row.error else ""
            yield f'<div class="leaf{failed}">{_cells(row)}</div>'
            if row.error:
                yield f'<pre class="said">{escaped(row.error)}</pre>'
        if row.alike:
            yield f'<div class="alike">⋮ {escaped(row.alike)}</div>'


def _cells(row: Row) -> str:
    name, of = row.title
    kind = f' <span class="kind">{escaped(of)}</span>' if of else ""
    numbers = []
    parameters = getattr(row.record, "parameters", 0)
    if parameters:
        numbers.append(f"{parameters:,} parameters")
    if row.allocated:
        numbers.append(memory_text(row.allocated))
    if row.rest and row.period == 1 and numbers:
        numbers.append("each")
    op = row.op
    if op is not None and op.file:
        numbers.append(line_text(op.file, op.line))
    return (
        f'<span class="call">{escaped(name)}{kind}</span>'
        f"<code>{escaped(row.shapes)}</code><small>{escaped(' · '.join(numbers))}</small>"
    )


def line_text(file: str, line: int) -> str:
    """Return in short where a line is: `model.py:12`, or `cell 3, line 2`."""
    cell = cell_of(file)
    return f"{Path(file).name}:{line}" if cell is None else f"cell {cell}, line {line}"
