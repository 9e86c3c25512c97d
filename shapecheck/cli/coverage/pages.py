"""The pages of `shapecheck coverage --html`: an index, and the source of each file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from shapecheck.cli._causes import in_words
from shapecheck.cli._pages import page, save
from shapecheck.cli.coverage.markup import lines_of, marked_up
from shapecheck.cli.coverage.measure import Counts, FileCoverage
from shapecheck.cli.coverage.tables import percent, reasons_of, total_of
from shapecheck.markup import escaped

_MOST_REASONS: Final = 20
_RANKS: Final = ("known", "partial", "unknown")


def write_pages(files: Sequence[FileCoverage], folder: Path) -> Path:
    """Write `index.html` and a page for each file with tensors; return the path of the index.

    Raises OSError where the folder can't be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)

    shown = [f for f in files if f.problem is not None or f.counts.tensors or f.counts.functions]
    names: dict[str, str] = {}
    for file in shown:
        base = re.sub(r"[^\w.-]+", "_", file.path).lower()
        name, number = f"{base}.html", 1
        while name in names.values() or name == "index.html":
            number += 1
            name = f"{base}_{number}.html"
        names[file.path] = name
    for file in shown:
        code = marked_up(file.text, file.seen(), file.errors)
        save(folder / names[file.path], _file_page(file, code))
    index = folder / "index.html"
    save(index, _index(shown, names))
    return index


def _index(files: Sequence[FileCoverage], names: dict[str, str]) -> str:
    total = total_of(files)
    rows = "".join(_row(file, names[file.path]) for file in files)
    most = reasons_of(files)[:_MOST_REASONS]
    places = _places(files, names)
    lost = "".join(
        f'<tr><td class="n">{count}</td><td>{escaped(reason)} {places[reason]}</td></tr>'
        for reason, count in most
    )
    why = f'<h2>Where shapes get lost</h2><table class="reasons">{lost}</table>' if most else ""
    return page(
        "Shape coverage",
        f"<header><h1>Shape coverage</h1>{_summary(total)}</header>\n"
        '<main><table class="files"><thead><tr><th>file</th><th class="n">annotated</th>'
        '<th class="n">known</th><th class="n">partly</th><th class="n">unknown</th>'
        f'<th class="n">shapes known</th></tr></thead><tbody>\n{rows}</tbody></table>\n'
        f"{why}</main>",
    )


def _places(files: Sequence[FileCoverage], names: dict[str, str]) -> dict[str, str]:
    """Return a link to the first place where shapes get lost, by the reason in words."""
    places: dict[str, str] = {}
    for file in files:
        for seen in file.seen():
            if seen.reason is not None:
                target = escaped(f"{names[file.path]}#L{seen.span.line}")
                shown = escaped(f"{Path(file.path).name}:{seen.span.line}")
                places.setdefault(in_words(seen.reason), f'<a href="{target}">{shown}</a>')
    return places


def _summary(counts: Counts) -> str:
    functions = percent(counts.annotated, counts.functions)
    return (
        f'<p class="figures"><span><b>{percent(counts.known, counts.tensors)}</b> of '
        f"{counts.tensors:,} tensors have a known shape</span> <span><b>{functions}</b> of "
        f"{counts.functions:,} functions are annotated</span></p>{_bar(counts)}"
    )


def _bar(counts: Counts) -> str:
    """Return a bar whose parts are the shares."""
    at, parts = 0, ""
    for rank in _RANKS:
        count = getattr(counts, rank)
        if count:
            parts += f'<rect class="{rank}" x="{at}" width="{count}" height="1"/>'
        at += count
    label = f"{counts.known} known, {counts.partial} partly known, {counts.unknown} unknown"
    return (
        f'<svg class="bar" role="img" aria-label="{label}" viewBox="0 0 {max(at, 1)} 1" '
        f'preserveAspectRatio="none">{parts}</svg>'
    )


def _row(file: FileCoverage, name: str) -> str:
    path = escaped(file.path)
    link = f'<a href="{escaped(name)}">{path}</a>'
    if file.problem is not None:
        return f'<tr><td>{link}</td><td colspan="5">{escaped(file.problem)}</td></tr>\n'
    counts = file.counts
    cells = "".join(
        f'<td class="n">{cell}</td>'
        for cell in (
            f"{counts.annotated}/{counts.functions}",
            counts.known,
            counts.partial,
            counts.unknown,
        )
    )
    share = percent(counts.known, counts.tensors)
    return f'<tr><td>{link}</td>{cells}<td class="n">{share}{_bar(counts)}</td></tr>\n'


def _wrong(file: FileCoverage) -> str:
    """Return links to what is wrong in a file."""
    lines = dict.fromkeys(one.line for one in file.errors if one.is_error)
    if not lines:
        return ""
    links = ", ".join(f'<a href="#L{line}">line {line}</a>' for line in lines)
    return f'<span class="problem">errors: {links}</span> '


def _file_page(file: FileCoverage, code: str) -> str:
    worst: dict[int, str] = {}
    for seen in file.seen():
        line = seen.span.line
        worst[line] = max(worst.get(line, "known"), seen.grade, key=_RANKS.index)
    gaps: Counter[int] = Counter()
    for error in file.errors:
        gaps[error.line] += len(lines_of(error))
    numbers = "".join(
        f'<a id="L{line}" href="#L{line}"'
        + (f' class="{worst[line]}"' if line in worst else "")
        + f">{line}</a>"
        + "<b>\n</b>" * gaps[line]
        for line in range(1, file.text.count("\n") + 2)
    )
    path = escaped(file.path)
    problem = f'<p class="problem">{escaped(file.problem)}</p>' if file.problem else ""
    return page(
        file.path,
        f'<header><p><a href="index.html">Shape coverage</a></p><h1>{path}</h1>{problem}'
        f"{_summary(file.counts)}"
        '<p class="legend"><i class="s known">known</i> <i class="s partial">partly known</i> '
        '<i class="s unknown">unknown</i> <i class="s unknown begins">lost here</i> '
        f"{_wrong(file)}"
        '<label><input type="checkbox" id="inlays" checked> shapes in the code '
        "<kbd>s</kbd></label> "
        '<button id="next" type="button" aria-keyshortcuts="n">next lost shape '
        "<kbd>n</kbd></button></p></header>\n"
        f'<main class="code"><pre class="numbers">{numbers}</pre><pre class="source">{code}</pre>'
        '</main>\n<div id="tip" role="status" hidden></div>',
        script="coverage.js",
    )
