"""Collects what the analysis finds, one diagnostic a place."""

from __future__ import annotations

import ast
from typing import Literal

from shapecheck.analysis.findings import Group, in_order
from shapecheck.analysis.host import SUSPECT, Diagnostic, Span
from shapecheck.analysis.program.faults import Fault
from shapecheck.analysis.program.syntax import Lines
from shapecheck.explain import Message


def group_of(span: Span, message: Message) -> Group:
    """Return an error, or a suspicion, with its notes."""
    severity: Literal["error", "warning"] = "warning" if message.code == SUSPECT else "error"
    error = Diagnostic(span, message.text, severity, message.code, message.blame)
    return error, *(Diagnostic(span, note, "note", message.code) for note in message.notes)


class Reporter:
    """Gathers diagnostics of one module; the same text at the same place is said once.

    `numbers` are those among the sizes that errors are about, `faults` what goes wrong inside of
    calls.
    """

    def __init__(self, lines: Lines) -> None:
        self.span = lines.span
        self._found: dict[tuple[Span, str], Group] = {}
        self.numbers: set[int] = set()
        self.faults: list[Fault] = []

    def error(self, node: ast.AST, message: Message) -> None:
        """Record an error at a node, with its notes."""
        self.error_at(self.span(node), message)

    def error_at(self, span: Span, message: Message) -> None:
        """Record an error at a span, with its notes."""
        if message.code != SUSPECT:
            self.numbers |= message.numbers
        self._found.setdefault((span, message.text), group_of(span, message))

    def note(self, node: ast.AST, text: str, code: str = "shape") -> None:
        """Record a note on its own."""
        self.note_at(self.span(node), text, code)

    def note_at(self, span: Span, text: str, code: str = "shape") -> None:
        """Record a note on its own, at a span."""
        self._found.setdefault((span, text), (Diagnostic(span, text, "note", code),))

    def add(self, group: Group, *notes: str) -> None:
        """Record an error that another reporter has, with more notes."""
        error = group[0]
        more = (Diagnostic(error.span, note, "note", error.code) for note in notes)
        self._found.setdefault((error.span, error.message), (*group, *more))

    def include(self, other: Reporter, note: str) -> None:
        """Record what goes wrong by another reporter, each with one more note."""
        for group in other.failing():
            self.add(group, note)
        self.faults += [fault.noting(note) for fault in other.faults]

    def take(self, other: Reporter) -> None:
        """Record all that another reporter has."""
        for place, group in other._found.items():
            self._found.setdefault(place, group)
        self.numbers |= other.numbers
        self.faults += other.faults

    @property
    def count(self) -> int:
        """How many errors and notes of their own there are, and calls that fail inside.

        Suspicions are left out.
        """
        wrong = sum(group[0].severity != "warning" for group in self._found.values())
        return wrong + len(self.faults)

    def groups(self) -> tuple[Group, ...]:
        """Return what was found in the order in which it was.

        Nothing is suspected where there is an error.
        """
        wrong = {group[0].span for group in self._found.values() if group[0].severity == "error"}
        return tuple(
            group
            for group in self._found.values()
            if group[0].severity != "warning" or group[0].span not in wrong
        )

    def diagnostics(self) -> list[Diagnostic]:
        """Return all diagnostics by position, each error followed by its notes."""
        return in_order(self.groups())

    def failing(self) -> list[Group]:
        """Return the errors in the order in which they were found, each with its notes."""
        return [group for group in self.groups() if group[0].severity == "error"]
