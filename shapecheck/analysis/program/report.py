"""Collects what the analysis finds, one diagnostic a place."""

from __future__ import annotations

import ast
import re
from typing import Final

from shapecheck.analysis.host import Diagnostic, Span
from shapecheck.analysis.program.faults import Fault
from shapecheck.explain import Message

_LINE_END: Final = re.compile(r"\r\n?|\n")


def lines_of(text: str) -> list[str]:
    """Return the lines of a source as Python counts them, without their ends."""
    return _LINE_END.split(text) if "\r" in text else text.split("\n")


class Lines:
    """The lines of a source, and where the nodes of its syntax stand in them."""

    def __init__(self, text: str) -> None:
        self._lines = lines_of(text)

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, line: int) -> str:
        """Return a line, counted from 1."""
        return self._lines[line - 1]

    def span(self, node: ast.AST) -> Span:
        """Return where a node stands, columns in characters."""
        line = getattr(node, "lineno", 1)
        end_line = getattr(node, "end_lineno", None) or line
        column = self._column(line, getattr(node, "col_offset", 0))
        end = self._column(end_line, getattr(node, "end_col_offset", None) or 0)
        return Span(line, column, end_line, end)

    def _column(self, line: int, offset: int) -> int:
        text = self._lines[line - 1] if 0 < line <= len(self._lines) else ""
        if text.isascii():
            return offset
        return len(text.encode()[:offset].decode(errors="replace"))

    def segment(self, node: ast.AST) -> str:
        """Return the source text of a node, on one line."""
        span = self.span(node)
        if span.line == span.end_line:
            return self._lines[span.line - 1][span.column : span.end_column]
        first = self._lines[span.line - 1][span.column :]
        rest = [*self._lines[span.line : span.end_line - 1]]
        last = self._lines[span.end_line - 1][: span.end_column]
        text = first.strip()
        for part in filter(None, map(str.strip, (*rest, last))):
            text += part if text[-1:] in "([{" or part[0] in ")]}" else f" {part}"
        return text


class Reporter:
    """Gathers diagnostics of one module; the same text at the same place is said once."""

    def __init__(self, lines: Lines) -> None:
        self.span = lines.span
        self._found: dict[tuple[Span, str], list[Diagnostic]] = {}
        self.faults: list[Fault] = []

    def error(self, node: ast.AST, message: Message) -> None:
        """Record an error at a node, with its notes."""
        self.error_at(self.span(node), message)

    def error_at(self, span: Span, message: Message) -> None:
        """Record an error at a span, with its notes."""
        found = [Diagnostic(span, message.text, "error", message.code, message.blame)]
        found += [Diagnostic(span, note, "note", message.code) for note in message.notes]
        self._found.setdefault((span, message.text), found)

    def blames(self, node: ast.AST, around: ast.AST | None = None) -> bool:
        """Whether there is an error at a node, or anywhere in what is around it."""
        span = self.span(node)
        whole = span if around is None else self.span(around)
        return any(
            group[0].severity == "error"
            and (
                group[0].span == span
                or (around and whole.line <= group[0].span.line <= whole.end_line)
            )
            for group in self._found.values()
        )

    def note(self, node: ast.AST, text: str) -> None:
        """Record a note on its own."""
        span = self.span(node)
        self._found.setdefault((span, text), [Diagnostic(span, text, "note")])

    def add(self, error: Diagnostic, *notes: str) -> None:
        """Record an error that another reporter has, with notes of its own."""
        found = [error, *(Diagnostic(error.span, note, "note", error.code) for note in notes)]
        self._found.setdefault((error.span, error.message), found)

    @property
    def count(self) -> int:
        """How many errors and notes of their own there are."""
        return len(self._found)

    def diagnostics(self) -> list[Diagnostic]:
        """Return all diagnostics by position, each error followed by its notes."""
        groups = sorted(self._found.values(), key=lambda g: (g[0].span.line, g[0].span.column))
        return [diagnostic for group in groups for diagnostic in group]
