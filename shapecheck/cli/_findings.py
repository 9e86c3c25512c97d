"""What mypy finds: runs it in a process of its own, and reads what it says."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from shapecheck.project import codes
from shapecheck.project.findings import Finding, Outcome, stop

# Nothing is imported from the folder it starts in, where a `types.py` of the user's might lie.
_PROGRAM: Final = """
import sys
sys.path[:] = {path!r}
from runpy import run_module
run_module("shapecheck.mypy_plugin._command", run_name="__main__")
"""
_CRASH: Final = "INTERNAL ERROR"
_DEBUG_VARIABLE: Final = "SHAPECHECK_DEBUG"
_PLAIN_ERROR: Final = re.compile(r"(?P<file>.+?):(?:(?P<line>\d+):)? error: (?P<message>.+)")


class Run(Outcome):
    """One run of mypy. Iterate over `findings()`; how it ended is known after that."""

    def findings(self, arguments: Sequence[str]) -> Iterator[Finding]:
        """Run mypy with these arguments; yield what it finds while it goes on."""
        debug = ["--show-traceback"] if os.environ.get(_DEBUG_VARIABLE) == "1" else []
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as aside:
            process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM.format(path=_path()), *debug, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=aside,
                encoding="utf-8",
                errors="replace",
                env={**os.environ, "PYTHONIOENCODING": "utf-8:backslashreplace"},
            )
            yield from self._read(process)
            aside.seek(0)
            self.remarks += aside.read().splitlines()
        if self.checked is not None:
            self.exit_code = process.returncode
        elif (problem := self._problem(process.returncode)) is not None:
            self.remarks.append(problem)

    def _read(self, process: subprocess.Popen[str]) -> Iterator[Finding]:
        with process:
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    found = self._line(line.rstrip("\n"))
                    if found is not None:
                        yield found
            except BaseException:  # Ctrl-C, or the reader has had enough: a closed pipe
                process.kill()
                raise

    def _line(self, line: str) -> Finding | None:
        """Return the finding that a line of mypy's output is; keep what is none."""
        try:
            said = json.loads(line)
        except ValueError:
            said = None
        if isinstance(said, dict) and "checked" in said:
            self.checked, self.unread = said["checked"], said["unread"]
            self.is_complete = not said["blocked"]
            self.silent, self.descriptions = said["silent"], said["codes"]
            return None
        if isinstance(said, dict):
            return finding_of(said)
        if (plain := _PLAIN_ERROR.fullmatch(line)) is not None and _CRASH not in line:
            place = int(plain["line"] or 0)
            return stop(plain["file"], plain["message"], place)
        self.remarks.append(line)
        return None

    def _problem(self, status: int) -> str | None:
        """Say why mypy came to no end, unless it has said so itself."""
        if any(_CRASH in remark for remark in self.remarks):
            told = os.environ.get(_DEBUG_VARIABLE) == "1"
            hint = "" if told else f"; {_DEBUG_VARIABLE}=1 shows the traceback"
            return f"mypy crashed, and not everything was checked{hint}"
        if status < 0:
            name = signal.Signals(-status).name
            return f"mypy was ended by the signal {name}, and not everything was checked"
        if status == 2 and self.remarks:
            return None
        return f"mypy ended with code {status}, and not everything was checked"


def _path() -> list[str]:
    """Return where modules are imported from, without the current folder."""
    here, ours = Path.cwd(), Path(__file__).resolve().parents[2]
    return [part for part in sys.path if Path(part).absolute() != here or here == ours]


def finding_of(said: Mapping[str, Any]) -> Finding:
    """Return the finding that an object of mypy's JSON is, and of `--output json`."""
    hint = said["hint"]
    return Finding(
        said["file"],
        said["line"],
        said["column"],
        said["end_line"],
        said["end_column"],
        said["message"],
        tuple(hint.split("\n")) if hint else (),
        said["code"],
        "warning" if said["code"] == codes.SUSPECT else said["severity"],
    )
