"""`--watch`: stays, and says after each change of a file what is found now and what no longer."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final, NoReturn

from rich.text import Text

from shapecheck.cli import _sources
from shapecheck.cli._commands import CommandError, plural, wants_color
from shapecheck.cli._console import console_on
from shapecheck.cli.check.alone import found_alone
from shapecheck.cli.check.changed import changed
from shapecheck.cli.check.text import TextReport
from shapecheck.project.findings import Finding

_PAUSE: Final = 0.5
"""Seconds between two looks at the files."""

_ENDINGS: Final = (".py", ".pyi", "pyproject.toml", "mypy.ini", "setup.cfg")
_LEFT_OUT: Final = frozenset({"__pycache__", "node_modules", "build", "dist"})


def watch(options: Namespace) -> NoReturn:
    """Check, and check again whenever a file has changed, until somebody ends it."""
    watched = Watched(options)
    seen = looked_at(options.paths)
    watched.run()
    while True:
        time.sleep(_PAUSE)
        now = looked_at(options.paths)
        if now != seen:
            # Who writes many files is waited for.
            while (later := looked_at(options.paths)) != now:
                now = later
                time.sleep(_PAUSE)
            seen = now
            watched.run()


def looked_at(paths: Iterable[str]) -> Mapping[str, tuple[int, int]]:
    """Return the files whose changes matter, with their times and sizes.

    They are those of the current folder, where the configuration is, and of the paths.
    """
    found: dict[str, tuple[int, int]] = {}
    for path in dict.fromkeys((".", *paths)):
        if os.path.isfile(path):  # noqa: PTH113
            found[path] = _stamp(os.stat(path))  # noqa: PTH116
        else:
            found.update(_below(path))
    return found


def _below(folder: str) -> Iterator[tuple[str, tuple[int, int]]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    if any(entry.name == "pyvenv.cfg" for entry in entries):
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if not entry.name.startswith(".") and entry.name not in _LEFT_OUT:
                yield from _below(entry.path)
        elif entry.name.endswith(_ENDINGS):
            with suppress(OSError):  # gone by now
                yield entry.path, _stamp(entry.stat())


def _stamp(status: os.stat_result) -> tuple[int, int]:
    return status.st_mtime_ns, status.st_size


class Watched:
    """What was found the last time, and the printing of what is another thing now."""

    def __init__(self, options: Namespace) -> None:
        self._options = options
        self._color = wants_color(sys.stdout, options.color)
        self._console = console_on(sys.stdout, color=self._color)
        self._found: list[Finding] | None = None

    def run(self) -> None:
        """Check once more and print: all that is found the first time, then what has changed."""
        _sources.lines_of.cache_clear()
        begin = time.monotonic()
        try:
            # What the team has is of use at the beginning; nobody else has what is edited here.
            found, outcome = found_alone(self._options, is_shared=self._found is None)
        except CommandError as error:
            self._console.print(Text(f"can't be checked now: {error}", "bold red"))
            sys.stdout.flush()
            return
        report = TextReport(sys.stdout, color=self._color)
        before = self._found
        # What was said of a file that isn't Python for the moment is neither gone nor right.
        stopped = {one.file for one in found if one.stops_all}
        kept = [one for one in before or () if one.file in stopped and not one.stops_all]
        difference = changed(before or [], [*found, *kept])
        for finding in difference.new:
            report.add(finding)
        if before is None:
            report.finish(outcome, only_shapes=True)
            self._console.print("watching for changes; Ctrl-C ends it")
        else:
            for finding in difference.gone:
                self._console.print(Text(_gone(finding), style="green"))
            errors = sum(one.is_error for one in found)
            counts = f"{len(difference.new)} new, {len(difference.gone)} gone"
            seconds = time.monotonic() - begin
            self._console.print(f"{counts}; {plural(errors, 'error')} now ({seconds:.1f} s)")
        for remark in outcome.remarks:
            sys.stderr.write(f"{remark}\n")
        sys.stdout.flush()
        self._found = [*found, *kept]


def _gone(finding: Finding) -> str:
    code = f"  [{finding.code}]" if finding.is_error and finding.code is not None else ""
    return f"gone: {finding.file}:{finding.line}: {finding.severity}: {finding.message}{code}"
