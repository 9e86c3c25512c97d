"""One text, checked and looked at as if it lay in a file of the project: typed, pasted, or run."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from shapecheck.analysis import Look, OpCalled, Shown, Span
from shapecheck.project.checking import options_of, own_settings
from shapecheck.project.configuration import read
from shapecheck.project.findings import Finding
from shapecheck.project.reading import Reader
from shapecheck.project.tasks import Tasks, checked

Placed = TypeVar("Placed", Shown, OpCalled)


class Buffer:
    """A file with a text that needn't be on the disk, by the settings of the folder we are in."""

    def __init__(self, path: str, text: str | None = None) -> None:
        """Raise `ConfigError` where the settings can't be read, and `TargetError` for no Python.

        Without a text, it is that of the file.
        """
        self.path = os.path.abspath(path)  # noqa: PTH100 - no link is followed
        self.settings = read(None).settings
        own = options_of(own_settings(self.settings))
        only = replace(self.settings, files=(self.path,), packages=(), modules=())
        self._texts = {} if text is None else {self.path: text}
        self._reader = Reader(only, self._texts)
        self._tasks = Tasks(only, own, None, self._reader, stays=True)
        self._task = next(one for one in self._tasks.find() if one.module.path == self.path)

    def write(self, text: str) -> None:
        """Have another text, over the other files as they are on the disk."""
        self._texts[self.path] = text
        self._tasks.renew()

    def check(self) -> tuple[Finding, ...]:
        """Return what is found in the text, as `check --only-shapes` would."""
        found = checked(self._task, self._reader, self.settings).findings
        return tuple(dict.fromkeys(found))

    def look(self, line: int) -> Look | None:
        """Return what is known of the part that has a line; None where it isn't Python."""
        try:
            return self._task.analysis.look(self._task.module, line)
        except SyntaxError:
            return None


def innermost(some: Iterable[Placed], line: int, column: int) -> Placed | None:
    """Return the smallest of some that has a place in it."""
    around = [one for one in some if _has(one.span, line, column)]
    return min(around, key=lambda one: _size(one.span), default=None)


def _has(span: Span, line: int, column: int) -> bool:
    return (span.line, span.column) <= (line, column) <= (span.end_line, span.end_column)


def _size(span: Span) -> tuple[int, int]:
    return span.end_line - span.line, span.end_column - span.column
