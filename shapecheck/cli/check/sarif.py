"""`--output sarif`: SARIF 2.1.0, which code hosts and editors read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO
from urllib.parse import quote

from shapecheck import __version__

if TYPE_CHECKING:
    from shapecheck.project.findings import Finding, Outcome

_SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_MYPY_CODES: Final = "https://mypy.readthedocs.io/en/stable/_refs.html#code-"
_ROOT: Final = "SRCROOT"
_NO_CODE: Final = "mypy"


class SarifReport:
    """Collects the findings and prints one document."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._findings: list[Finding] = []

    def add(self, finding: Finding) -> None:
        """Keep the finding."""
        self._findings.append(finding)

    def finish(self, run: Outcome, *, only_shapes: bool) -> None:
        """Print the document."""
        rules = sorted({finding.code or _NO_CODE for finding in self._findings})
        document = {
            "$schema": _SCHEMA,
            "version": "2.1.0",
            "runs": [
                {
                    "tool": {
                        "driver": {
                            "name": "shapecheck",
                            "version": __version__,
                            "rules": [_rule(code, run) for code in rules],
                        }
                    },
                    "invocations": [_invocation(run)],
                    "originalUriBaseIds": {_ROOT: {"uri": f"{Path.cwd().as_uri()}/"}},
                    "columnKind": "unicodeCodePoints",
                    "results": [
                        _result(finding, rules.index(finding.code or _NO_CODE))
                        for finding in self._findings
                    ],
                }
            ],
        }
        json.dump(document, self._stream, indent=2)
        self._stream.write("\n")


def _rule(code: str, run: Outcome) -> dict[str, Any]:
    described = run.descriptions.get(code, "An error that stops mypy")
    rule: dict[str, Any] = {"id": code, "shortDescription": {"text": described}}
    if code.partition("-")[0] != "shape" and code in run.descriptions:
        rule["helpUri"] = _MYPY_CODES + code
    return rule


def _invocation(run: Outcome) -> dict[str, Any]:
    invocation: dict[str, Any] = {
        "executionSuccessful": run.is_complete,
        "exitCode": run.exit_code,
    }
    if run.remarks:
        level = "warning" if run.is_complete else "error"
        invocation["toolExecutionNotifications"] = [
            {"level": level, "message": {"text": "\n".join(run.remarks)}}
        ]
    return invocation


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(finding.file)}
    if finding.line > 0:
        place["region"] = _region(finding)
    return {
        "ruleId": finding.code or _NO_CODE,
        "ruleIndex": rule,
        "level": finding.severity,
        "message": {"text": "\n".join((finding.message, *finding.notes))},
        "locations": [{"physicalLocation": place}],
    }


def _artifact(file: str) -> dict[str, str]:
    path = Path(file)
    if path.is_absolute():
        return {"uri": path.as_uri()}
    return {"uri": quote(os.fsencode(path.as_posix())), "uriBaseId": _ROOT}


def _region(finding: Finding) -> dict[str, int]:
    """Return the span; columns count from 1 there, and the end is exclusive too."""
    region = {"startLine": finding.line}
    if finding.column >= 0:
        region["startColumn"] = finding.column + 1
    if finding.end_line >= finding.line:
        region["endLine"] = finding.end_line
        if finding.column >= 0 and finding.end_column >= 0:
            least = finding.column + 1 if finding.end_line == finding.line else 0
            region["endColumn"] = max(finding.end_column, least) + 1
    return region
