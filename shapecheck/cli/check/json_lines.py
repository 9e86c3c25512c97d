"""`--output json`: one object a line, with the keys of `mypy --output=json`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from shapecheck.project.findings import Finding, Outcome


class JsonReport:
    """Prints each finding as a line of JSON; columns count from 0."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def add(self, finding: Finding) -> None:
        """Print the finding."""
        self._stream.write(f"{json.dumps(as_dict(finding))}\n")

    def finish(self, run: Outcome, *, only_shapes: bool) -> None:
        """There is no more to say."""


def as_dict(finding: Finding) -> dict[str, Any]:
    """Return a finding under mypy's keys."""
    return {
        "file": finding.file,
        "line": finding.line,
        "column": finding.column,
        "end_line": finding.end_line,
        "end_column": finding.end_column,
        "message": finding.message,
        "hint": "\n".join(finding.notes) or None,
        "code": finding.code,
        "severity": finding.severity,
    }
