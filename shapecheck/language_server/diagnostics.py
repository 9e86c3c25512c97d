"""From what is found in a file to the diagnostics that an editor shows of it."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from lsprotocol import types

from shapecheck.analysis import Span
from shapecheck.language_server.documents import Text
from shapecheck.language_server.programs import span_of
from shapecheck.project.findings import Finding

SOURCE: Final = "shapecheck"
_SEVERITIES: Final = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}
SINCE: Final = re.compile(r'"(?P<name>[^"]*)" (?:is .* since line |\(line )(?P<line>\d+)')
_DISTRIBUTION: Final = "torch-shapecheck"
_PAGES: Final = {"shape-suspect": "suspicions"}


def diagnostic(finding: Finding, text: Text, uri: str, *, has_related: bool) -> types.Diagnostic:
    """Return what an editor shows of a finding.

    A note that speaks of another line is shown with a link to it, where the editor `has_related`
    information; all others are lines of the message.
    """
    span = span_of(finding)
    if span.end_column > len(text.line(span.end_line)):
        span = Span(span.line, span.column, span.end_line, len(text.line(span.end_line)))
    if finding.column < 0:
        start = len(text.line(span.line)) - len(text.line(span.line).lstrip())
        span = Span(span.line, start, span.end_line, span.end_column)
    related = [*_related(finding, text, uri)] if has_related else []
    linked = {one.message for one in related}
    lines = [finding.message, *(note for note in finding.notes if note not in linked)]
    url = docs_url(finding.code)
    return types.Diagnostic(
        range=text.range(span),
        message="\n".join(lines),
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        code_description=None if url is None else types.CodeDescription(href=url),
        source=SOURCE,
        related_information=related or None,
    )


def _related(
    finding: Finding, text: Text, uri: str
) -> Iterator[types.DiagnosticRelatedInformation]:
    for note in finding.notes:
        said = SINCE.search(note)
        if said is None:
            continue
        span = name_on(text, said["name"], int(said["line"]))
        yield types.DiagnosticRelatedInformation(types.Location(uri, text.range(span)), note)


def name_on(text: Text, name: str, line: int) -> Span:
    """Return where a name stands first on a line, or after it: of a parameter, in its `def`."""
    for number in range(line, min(line + 20, len(text.lines) + 1)):
        found = re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", text.line(number))
        if found is not None:
            return Span(number, found.start(), number, found.end())
    content = text.line(line)
    return Span(line, len(content) - len(content.lstrip()), line, len(content))


@cache
def docs_url(code: str | None) -> str | None:
    """Return the page on an error code, where the installed package says where its pages are."""
    home = _documentation()
    if home is None or code is None or code.partition("-")[0] != "shape":
        return None
    page = _PAGES.get(code, "errors")
    return f"{home.rstrip('/')}/{page}#{code}"


@cache
def _documentation() -> str | None:
    try:
        urls = importlib.metadata.metadata(_DISTRIBUTION).get_all("Project-URL") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    named = dict(one.split(", ", 1) for one in urls if ", " in one)
    return named.get("Documentation")
