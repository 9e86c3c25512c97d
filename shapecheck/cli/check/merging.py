"""`--merge`: the reports of several runs, the parts of one, as one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from shapecheck.cli._commands import CommandError
from shapecheck.cli._findings import finding_of
from shapecheck.project.codes import DESCRIPTIONS
from shapecheck.project.findings import Finding, Outcome


def merged(paths: Iterable[str]) -> tuple[list[Finding], Outcome]:
    """Read reports of `--output json` or `sarif`; return all that they say, by path and place.

    Raises `CommandError` for a file that is no report.
    """
    outcome = Outcome(exit_code=0, is_complete=True, descriptions=dict(DESCRIPTIONS))
    found: list[Finding] = []
    for path in paths:
        found += _read(path, outcome)
    found = list(dict.fromkeys(found))
    found.sort(key=lambda one: (one.file, one.line, one.column))
    outcome.is_complete &= not any(one.stops_all for one in found)
    least = int(any(one.is_error for one in found)) if outcome.is_complete else 2
    outcome.exit_code = max(outcome.exit_code, least)
    outcome.remarks = list(dict.fromkeys(outcome.remarks))
    return found, outcome


def _read(path: str, outcome: Outcome) -> list[Finding]:
    try:
        return list(_findings(Path(path).read_text(encoding="utf-8"), outcome))
    except OSError as error:
        raise CommandError(f"{path} can't be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CommandError(f"{path} is no report of --output json or sarif") from None


def _findings(text: str, outcome: Outcome) -> Iterator[Finding]:
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    if isinstance(document, dict) and "runs" in document:
        for run in document["runs"]:
            _take(run, outcome)
            yield from map(_of_result, run["results"])
        return
    yield from (finding_of(json.loads(line)) for line in text.splitlines() if line.strip())


def _take(run: Mapping[str, Any], outcome: Outcome) -> None:
    """Take over how a run went, and what its codes mean."""
    for invocation in run["invocations"]:
        outcome.is_complete &= invocation["executionSuccessful"]
        outcome.exit_code = max(outcome.exit_code, invocation["exitCode"])
        for told in invocation.get("toolExecutionNotifications", ()):
            outcome.remarks += told["message"]["text"].split("\n")
    rules = {
        rule["id"]: rule["shortDescription"]["text"] for rule in run["tool"]["driver"]["rules"]
    }
    outcome.descriptions = {**rules, **outcome.descriptions}


def _of_result(result: Mapping[str, Any]) -> Finding:
    """Return the finding that a result of SARIF is."""
    place = result["locations"][0]["physicalLocation"]
    region = place.get("region", {})
    line = region.get("startLine", 0)
    message, *notes = result["message"]["text"].split("\n")
    code = result["ruleId"]
    return Finding(
        _path(place["artifactLocation"]["uri"]),
        line,
        region.get("startColumn", 0) - 1,
        region.get("endLine", line),
        region.get("endColumn", 0) - 1,
        message,
        tuple(notes),
        None if code == "mypy" else code,
        "error" if result["level"] == "error" else "note",
    )


def _path(uri: str) -> str:
    parts = urlparse(uri)
    return unquote(parts.path if parts.scheme == "file" else uri)
