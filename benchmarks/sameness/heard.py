"""A plugin of pytest that writes down each `ShapeError` of each test, and which tests fail.

It does so in the processes of pytest-xdist, one file for each, in the folder that `SAME_HEARD`
names. A line has the file of a test, its name, and a text. What a Python that a test starts raises
isn't heard, and takes long: such a test is skipped.
"""

from __future__ import annotations

import json
import linecache
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from sameness.hearing import HEARD

PASSING = re.compile(r"\b0x[0-9a-f]{6,}|/tmp/[\w./-]*|\b\d+\.\d+ (?=seconds\b|s\b)")
"""What differs between two runs of the same commit: addresses, temporary paths, times."""
PLACE = re.compile(r"^(?P<indent> *)at (?P<path>.*?):(?P<line>\d+)(?=: |$)", re.MULTILINE)
LINE = re.compile(r"\bline (\d+)\b")
PLAIN = ("TypeError", "Exception", "BaseException", "object")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to listen, in a process that runs tests."""
    folder = os.environ.get(HEARD)
    if folder is None or not hasattr(config, "workerinput"):
        return
    out = (Path(folder) / str(os.getpid())).open("a", encoding="utf-8")
    _listen(out)
    _start_no_python()
    config.pluginmanager.register(_Failures(out))


class _Failures:
    """Writes down which tests fail."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write down that a test fails, or what goes before or after it."""
        if report.failed:
            _write(self._out, report.nodeid, f"({report.when} failed)")


def _listen(out: IO[str]) -> None:
    from shapecheck import ShapeError

    made = ShapeError.__init__

    def heard(self: ShapeError, *args: object, **kwargs: object) -> None:
        made(self, *args, **kwargs)  # type: ignore[arg-type]
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rsplit(" ", 1)[0]
        names = (kind.__name__ for kind in type(self).__mro__ if kind.__module__ == "builtins")
        like = next((name for name in names if name not in PLAIN), "")
        _write(out, test, f"{like}: {lasting(str(self))}" if like else lasting(str(self)))

    ShapeError.__init__ = heard  # type: ignore[method-assign]


def _start_no_python() -> None:
    start = subprocess.Popen.__init__

    def skipping(self: object, args: object, *more: object, **options: object) -> None:
        first = args[0] if isinstance(args, list | tuple) else args
        if "PYTEST_CURRENT_TEST" in os.environ and str(first) == sys.executable:
            pytest.skip("it starts another Python")
        start(self, args, *more, **options)  # type: ignore[arg-type,call-overload]

    subprocess.Popen.__init__ = skipping  # type: ignore[assignment,method-assign]


def _write(out: IO[str], test: str, text: str) -> None:
    file, _, name = test.partition("::")
    out.write(json.dumps([file.rpartition("/")[2], PASSING.sub("", name), text]) + "\n")
    out.flush()


def lasting(text: str) -> str:
    """Return the text of an error with lines of source in place of their numbers and paths.

    A test may move to another file, or to another line.
    """
    place = PLACE.search(text)
    if place is not None:
        text = LINE.sub(lambda line: f"line <{_source(place['path'], line[1])}>", text)
    shown = PLACE.sub(
        lambda place: f"{place['indent']}at <{_source(place['path'], place['line'])}>", text
    )
    return PASSING.sub("", shown)


def _source(path: str, line: str) -> str:
    return linecache.getline(path, int(line)).strip() or Path(path).name
