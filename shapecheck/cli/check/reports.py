"""The formats in which `shapecheck check` says what was found, one a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from shapecheck.project.findings import Finding, Outcome


class Report(Protocol):
    """Prints findings as they come, and at the end what is known by then."""

    def add(self, finding: Finding) -> None:
        """Take a finding."""
        ...

    def finish(self, run: Outcome, *, only_shapes: bool) -> None:
        """Say how the run ended; `only_shapes`: errors of other kinds weren't looked for."""
        ...


def new_report(output: str, stream: TextIO, *, color: bool) -> Report:
    """Return the report of a format: `text`, `json`, `github`, `gitlab` or `sarif`."""
    if output == "json":
        from shapecheck.cli.check.json_lines import JsonReport

        return JsonReport(stream)
    if output == "github":
        from shapecheck.cli.check.github import GithubReport

        return GithubReport(stream)
    if output == "gitlab":
        from shapecheck.cli.check.gitlab import GitlabReport

        return GitlabReport(stream)
    if output == "sarif":
        from shapecheck.cli.check.sarif import SarifReport

        return SarifReport(stream)
    from shapecheck.cli.check.text import TextReport

    return TextReport(stream, color=color)
