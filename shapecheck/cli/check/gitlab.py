"""`--output gitlab`: a Code Quality report, which GitLab shows in a merge request."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

if TYPE_CHECKING:
    from shapecheck.project.findings import Finding, Outcome

_SEVERITIES: Final = {"error": "major", "warning": "minor"}
_ANY_OTHER: Final = "info"
_NO_CODE: Final = "mypy"


class GitlabReport:
    """Collects the findings and prints one list."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._issues: list[dict[str, Any]] = []
        self._seen: Counter[tuple[str, str, str]] = Counter()

    def add(self, finding: Finding) -> None:
        """Keep the finding."""
        code, path = finding.code or _NO_CODE, Path(finding.file).as_posix()
        # Not the line, which other changes move: GitLab knows a finding again by its fingerprint.
        known = path, code, finding.message
        self._seen[known] += 1
        said = "\0".join((*known, str(self._seen[known])))
        self._issues.append(
            {
                "description": "\n".join((finding.message, *finding.notes)),
                "check_name": code,
                "fingerprint": hashlib.sha256(said.encode(errors="surrogatepass")).hexdigest(),
                "severity": _SEVERITIES.get(finding.severity, _ANY_OTHER),
                "location": {
                    "path": path,
                    "lines": {
                        "begin": max(finding.line, 1),
                        "end": max(finding.end_line, finding.line, 1),
                    },
                },
            }
        )

    def finish(self, run: Outcome, *, only_shapes: bool) -> None:
        """Print the list."""
        json.dump(self._issues, self._stream, indent=2)
        self._stream.write("\n")
