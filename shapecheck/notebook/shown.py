"""What a person sees above the output of a cell: what is wrong in it, and where."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from shapecheck.markup import escaped
from shapecheck.notebook.questions import MODULE
from shapecheck.project.findings import Finding
from shapecheck.project.trees import parsed_text

_LINE: Final = re.compile(rf"\b(?:line |(?:[^\s\"']*/)?{MODULE}\.py:)(?P<line>\d+)\b")
_CALLED: Final = re.compile(r"\bcalled (?:from \"[^\"]*\" )?at line (?P<line>\d+)")
_OPEN: Final = re.compile(r"<\w+>")
_COLORS: Final = {"error": "#e5484d", "warning": "#b87400", "note": "#3b82f6"}
_MOST_LINES: Final = 6
_PANEL: Final = (
    "border-left:3px solid {color};background:rgba(128,128,128,.1);padding:.4em .8em;"
    "margin:.2em 0;overflow-x:auto"
)
_PRE: Final = (
    "margin:0;padding:0;background:none;color:inherit;white-space:pre-wrap;"
    "word-break:normal;overflow-wrap:break-word;"
    "font:.92em/1.45 ui-monospace,Menlo,Consolas,monospace"
)
_MARK: Final = "color:inherit;background:rgba(209,36,47,.22);border-bottom:2px solid {color}"


def _rests_on_calls(message: str) -> bool:
    """Whether something is wrong only where a constructor is given sizes that differ."""
    return _OPEN.search(message) is not None and "scrambles" not in message


def _definitions(text: Sequence[str]) -> list[tuple[str, range]]:
    """Return the functions and classes of a module, with their lines."""
    tree = parsed_text("\n".join(text))
    return [
        (one.name, range(one.lineno, (one.end_lineno or one.lineno) + 1))
        for one in (() if tree is None else tree.body)
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]


@dataclass(frozen=True, slots=True)
class Places:
    """Where the lines of the module stand that the cells are, from the first one on."""

    lines: Sequence[tuple[int, int]]

    def of(self, line: int) -> tuple[int, int]:
        """Return the cell and the line in it; the cell 0 is none."""
        return self.lines[line - 1] if 0 < line <= len(self.lines) else (0, line)

    def said(self, text: str, cell: int) -> str:
        """Return a text that speaks of lines, as it is said of something in a cell."""

        def place(found: re.Match[str]) -> str:
            other, line = self.of(int(found["line"]))
            if other == 0:
                return found[0]
            is_path = not found[0].startswith("line ")
            return f"cell {other}, line {line}" if is_path or other != cell else f"line {line}"

        return _LINE.sub(place, text)


@dataclass(frozen=True, slots=True)
class Shown:
    """A finding in a cell, with the lines of the cell that it is about."""

    cell: int
    finding: Finding
    source: tuple[str, ...]

    def __str__(self) -> str:
        one = self.finding
        lines = [f"{self.place}: {one.severity}: {one.message}{self._code}"]
        for number, text in enumerate(self.source, one.line):
            start, stop = self._marked(number, text)
            indent = "".join(sign if sign == "\t" else " " for sign in text[:start])
            lines.append(f"{number:>5} | {text}")
            lines.append(f"{'':>5} | {indent}{'^' * max(stop - start, 1)}")
        return "\n".join([*lines, *(f"  note: {note}" for note in one.notes)])

    @property
    def place(self) -> str:
        """Where it is, in words."""
        return f"cell {self.cell}, line {self.finding.line}"

    @property
    def _code(self) -> str:
        code = self.finding.code
        return "" if code is None or self.finding.severity == "note" else f"  [{code}]"

    def markup(self) -> str:
        """Return it as HTML."""
        one = self.finding
        color = _COLORS[one.severity]
        head = (
            f'{escaped(self.place)}: <b style="color:{color}">{one.severity}:</b> '
            f"<b>{escaped(one.message)}</b>{escaped(self._code)}"
        )
        source = "".join(self._lines(color))
        notes = "".join(f"\n  note: {escaped(note)}" for note in one.notes)
        return (
            f'<div role="note" style="{_PANEL.format(color=color)}">'
            f'<pre style="{_PRE}">{head}{source}{notes}</pre></div>'
        )

    def _lines(self, color: str) -> Iterator[str]:
        for number, text in enumerate(self.source, self.finding.line):
            start, stop = self._marked(number, text)
            mark = f'<span style="{_MARK.format(color=color)}">{escaped(text[start:stop])}</span>'
            yield f"\n{number:>5} | {escaped(text[:start])}{mark}{escaped(text[stop:])}"

    def _marked(self, number: int, text: str) -> tuple[int, int]:
        one, indent = self.finding, len(text) - len(text.lstrip())
        start = max(one.column, 0) if number == one.line else indent
        is_last = number == one.end_line and one.end_column > 0
        return max(start, indent), one.end_column if is_last else len(text.rstrip())


class Panel:
    """All that is found in a cell, as text and as HTML."""

    def __init__(self, shown: Sequence[Shown], remark: str = "") -> None:
        self.shown, self.remark = shown, remark

    def __str__(self) -> str:
        return "\n\n".join([*map(str, self.shown), *filter(None, [self.remark])])

    def markup(self) -> str:
        """Return it as HTML."""
        remark = f"<p>{escaped(self.remark)}</p>" if self.remark else ""
        return "".join(one.markup() for one in self.shown) + remark


def in_cell(
    findings: Sequence[Finding],
    places: Places,
    cell: int,
    text: Sequence[str],
    reached: Collection[str],
) -> list[Shown]:
    """Return what a cell is told of that is about to run.

    That is what is wrong in it, and in a function of an earlier one where it is this cell that
    calls it so. What is about sizes that only a call tells waits for a cell that has `reached` the
    definition. `text` are the lines of the module.
    """
    found = []
    definitions = _definitions(text)
    for one in findings:
        home, line = places.of(one.line)
        about = [int(said["line"]) for note in one.notes for said in _CALLED.finditer(note)]
        callers = [places.of(number)[0] for number in about]
        if not callers and _rests_on_calls(one.message):
            owner = next((name for name, lines in definitions if one.line in lines), None)
            callers = [cell if owner is None or owner in reached else 0]
        if cell not in (callers or [home]):
            continue
        last = max(one.end_line, one.line)
        notes = tuple(places.said(note, home) for note in one.notes)
        here = replace(
            one,
            line=line,
            end_line=line + last - one.line,
            message=places.said(one.message, home),
            notes=notes,
        )
        lines = text[one.line - 1 : min(last, one.line + _MOST_LINES - 1)]
        found.append(Shown(home, here, tuple(lines)))
    return found
