"""Reads the programs of `*.diff`, runs them and analyses them; README.md describes the format."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lone_program import said_of
from paired_programs import paired_programs

from shapecheck.analysis import Diagnostic

HERE = Path(__file__).parent
DRIVER = "[driver]\n"


@dataclass(frozen=True)
class Case:
    """A program, right and wrong; `source` is the thread in which somebody met the bug."""

    file: str
    name: str
    source: str
    right: str
    wrong: str

    @property
    def id(self) -> str:
        """The case's name among those of all files."""
        return f"{self.file}/{self.name}"

    @property
    def crashes(self) -> bool:
        """Whether the wrong program ends in an error of torch."""
        return self.file.startswith("crashing")

    @property
    def aside(self) -> bool:
        """Whether the case is kept for the end."""
        return self.file.endswith("_aside")


@cache
def cases() -> tuple[Case, ...]:
    """Return all programs, in the order of their files."""
    return tuple(
        Case(path.stem, *(one.name, one.head, one.right, one.wrong))
        for path in sorted(HERE.glob("*.diff"))
        for one in paired_programs(path)
    )


def run(program: str) -> str:
    """Run a program and its driver as a script, and return what they print."""
    printed = io.StringIO()
    code = compile(program.replace(DRIVER, "\n"), "<posted>", "exec", dont_inherit=True)
    with contextlib.redirect_stdout(printed):
        exec(code, {"__name__": "__main__"})
    return printed.getvalue()


def analysed(program: str, *, driven: bool = False) -> list[Diagnostic]:
    """Return the errors and suspicions about a program, `driven` with its driver, or without."""
    text, _, driver = program.partition(DRIVER)
    given = text + (driver if driven else "")
    return [one for one in said_of(given) if one.severity != "note"]


def verdict(program: str, *, driven: bool = False) -> str | None:
    """Return the severity of the worst that the analysis says of a program."""
    return min((one.severity for one in analysed(program, driven=driven)), default=None)
