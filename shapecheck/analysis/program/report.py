"""Collects what the analysis finds, one diagnostic a place."""

from __future__ import annotations

import ast

from shapecheck.analysis.host import Diagnostic, Span
from shapecheck.analysis.program.faults import Fault
from shapecheck.analysis.program.syntax import Lines
from shapecheck.explain import Message


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
