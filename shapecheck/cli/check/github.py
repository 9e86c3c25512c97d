"""`--output github`: workflow commands, which GitHub Actions shows beside the changed lines."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from shapecheck.cli import _sources

if TYPE_CHECKING:
    from shapecheck.project.findings import Finding, Outcome

_CHECKOUT: Final = "GITHUB_WORKSPACE"
_LEVELS: Final = frozenset(("error", "warning"))
_ANY_OTHER: Final = "notice"


class GithubReport:
    """Prints each finding as an annotation of its file."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def add(self, finding: Finding) -> None:
        """Print the finding."""
        properties = {"file": _in_checkout(finding.file)}
        if finding.line > 0:
            properties["line"] = str(finding.line)
            if finding.end_line >= finding.line:
                properties["endLine"] = str(finding.end_line)
            # GitHub shows columns for annotations of one line only.
            if finding.column >= 0 and finding.end_line == finding.line:
                properties["col"] = str(finding.column + 1)
                properties["endColumn"] = str(max(finding.end_column, finding.column + 1))
        if finding.code is not None:
            properties["title"] = finding.code
        said = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
        level = finding.severity if finding.severity in _LEVELS else _ANY_OTHER
        message = "\n".join((finding.message, *finding.notes))
        self._stream.write(f"::{level} {said}::{_data(message)}\n")

    def finish(self, run: Outcome, *, only_shapes: bool) -> None:
        """There is no more to say."""


def _in_checkout(file: str) -> str:
    """Return a path from the root of the checkout, from where GitHub reads it."""
    root = os.environ.get(_CHECKOUT)
    path = Path(file)
    if root and path.absolute().is_relative_to(root):
        path = path.absolute().relative_to(root)
    return path.as_posix()


def _data(text: str) -> str:
    """Escape what would end a command, and show what a log obeys or can't write."""
    lines = text.replace("%", "%25").replace("\r", "%0D").split("\n")
    return "%0A".join(map(_sources.shown, lines))


def _property(text: str) -> str:
    """Escape what would end a property, too."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
