"""`--output text`: for people, with the source line and what is wrong in it underlined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TextIO

from shapecheck.cli import _sources
from shapecheck.cli._commands import plural
from shapecheck.cli._console import lines_on
from shapecheck.cli.check.known import known

if TYPE_CHECKING:
    from shapecheck.project.findings import Finding, Outcome

_COLORS: Final = {"error": "red", "warning": "yellow", "note": "cyan"}


class TextReport:
    """Prints findings in the order in which they come, and a last line that counts them."""

    def __init__(self, stream: TextIO, *, color: bool) -> None:
        self._print = lines_on(stream, color=color)
        self._errors = self._warnings = 0
        self._about_shapes = 0
        self._files: set[str] = set()

    def add(self, finding: Finding) -> None:
        """Print the finding: where and what, the source, the notes."""
        color = _COLORS[finding.severity]
        if finding.is_error:
            self._errors += 1
            self._about_shapes += finding.is_about_shapes
            self._files.add(finding.file)
        self._warnings += finding.is_warning
        numbers = [str(n) for n in (finding.line, finding.column + 1) if n > 0]
        place = ":".join([_sources.shown(finding.file), *numbers])
        message = "\n".join(map(_sources.shown, finding.message.split("\n")))
        has_code = (finding.is_error or finding.is_warning) and finding.code is not None
        self._print(
            (f"{place}: ", "bold"),
            (f"{finding.severity}: ", f"bold {color}"),
            (message, "bold"),
            (f"  [{finding.code}]" if has_code else "", "bold yellow"),
        )
        self._show_source(finding, color)
        for note in finding.notes:
            self._print(("  note: ", "cyan"), (_sources.shown(note), ""))
        self._print()

    def _show_source(self, finding: Finding, color: str) -> None:
        span = (finding.line, finding.column, finding.end_line, finding.end_column)
        shown = _sources.marked(finding.file, *span)
        gutter = max((len(str(line.number)) for line in shown if line.number), default=0) + 4
        for line in shown:
            number = "..." if line.number is None else str(line.number)
            self._print(
                (f"{number:>{gutter}} | ", "blue"),
                (line.before, ""),
                (line.marked, f"bold {color}"),
                (line.after, ""),
            )
            if line.number is not None and finding.column >= 0:
                self._print(
                    (f"{'':>{gutter}} | {' ' * line.indent}", "blue"),
                    ("^" * line.width, f"bold {color}"),
                )

    def finish(self, run: Outcome, *, only_shapes: bool) -> None:
        """Print the last line."""
        files = plural(run.checked or 0, "source file")
        checked = f"checked {files}"
        if run.unread:
            checked += f"; {plural(run.unread, 'other')} can't be read"
        elif not run.is_complete:
            checked = "errors prevented further checking"
        if self._errors:
            found = f"Found {plural(self._errors, 'error')} in {plural(len(self._files), 'file')}"
            is_counted = run.checked is not None or not run.is_complete
            found = f"{found} ({checked})" if is_counted else found
            self._print((found, "bold red"))
        elif run.is_complete:
            found = "no issues found" if run.checked is None else f"no issues found in {files}"
            if run.advice is None:
                self._print((f"Success: {found}", "bold green"))
            else:
                self._print((f"{found[0].upper()}{found[1:]}", "bold"))
        if self._warnings:
            them = plural(self._warnings, "suspicion")
            self._print((f"{them}, which {'is' if self._warnings == 1 else 'are'} no error", ""))
        for line in known(run.covered, run.uncounted):
            self._print((line, ""))
        if run.advice is not None:
            self._print((run.advice, ""))
        other = self._errors - self._about_shapes
        if not only_shapes and run.is_complete and other:
            about = f"{self._about_shapes or 'none'} of them about shapes"
            self._print((f"{about}; --only-shapes leaves out the {plural(other, 'other')}", ""))
