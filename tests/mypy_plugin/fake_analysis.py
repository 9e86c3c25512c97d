"""A stand-in for the analysis that does what comments in the checked module say.

# @ error 7:4-7:9 shape-broadcast: text     an error; the code is optional
# @ note 7:4-7:9: text                      a note
# @ look other.module                       an error that quotes a comment of that module
# @ crash                                   an exception
# @ die ahead                               the end of the second process, if this is it
# @ process                                 a note that says which process this is
# @ meet                                    wait until both processes have come to such a line
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import sys
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from shapecheck.analysis.findings import NO_TENSORS, Findings, Led, covered, merged
from shapecheck.analysis.host import (
    CAUSES,
    Asked,
    Cause,
    Coverage,
    Diagnostic,
    Host,
    Key,
    Look,
    Recall,
    RestsOn,
    Source,
    Span,
)
from shapecheck.analysis.options import Options
from shapecheck.analysis.pace import UNBOUND, Pace
from shapecheck.analysis.relevance import TENSORS, TEXT, is_installed, mentions_tensors

__all__ = [
    "CAUSES",
    "NO_TENSORS",
    "TENSORS",
    "TEXT",
    "UNBOUND",
    "Asked",
    "Cause",
    "Key",
    "Led",
    "Look",
    "Pace",
    "Recall",
    "covered",
    "is_installed",
    "mentions_tensors",
    "merged",
]

_REPORT = re.compile(
    r"# @ (?P<kind>error|note) (?P<line>\d+):(?P<column>\d+)-(?P<end>\d+):(?P<end_column>\d+)"
    r"(?: (?P<code>[\w-]+))?: (?P<text>.*)"
)
_LOOK = re.compile(r"# @ look (\S+)")
_SAYS = re.compile(r"# says (.*)")


@dataclass(frozen=True)
class Part:
    """The one part of a module."""

    key: str = "<module>"
    lines: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Checked:
    """What is said of it."""

    findings: Findings
    rests_on: RestsOn
    covered: Coverage = NO_TENSORS
    steps: int = 0
    is_brief: bool = False


@dataclass
class Effort:
    """How much there was to it."""

    taken: int = 0
    is_spent: bool = False


class begin:
    """A module that is checked."""

    parts = (Part(),)

    def __init__(
        self,
        source: Source,
        host: Host,
        options: Options,
        *,
        stays: bool = False,
        counts: bool = False,
        keeps: bool = False,
        recalls: Recall | None = None,
    ) -> None:
        ast.parse(source.text)
        self.source, self.host, self.options = source, host, options
        self.effort = Effort()

    def check(self, part: Part) -> Checked:
        asked = {self.source.name: self.source, **dict(_looked(self.source, self.host))}
        rests_on = {(name, ""): digest_of(one, "") for name, one in asked.items()}
        said = analyze_module(self.source, self.host, self.options)
        found = Findings(tuple((one,) for one in said))
        return Checked(found, RestsOn(rests_on, frozenset(rests_on), (), UNBOUND))

    def spelled(self, lines: tuple[int, int]) -> str:
        return "as ever"

    def end(self) -> None:
        pass


def get_ready() -> None:
    """There is nothing to import."""


def digest_of(source: Source | None, key: str) -> str:
    text = "absent" if source is None else source.text
    if key == TENSORS:
        return str(mentions_tensors(text))
    return hashlib.blake2b(text.encode()).hexdigest()


def still_said(host: Host, options: Options, module: str, parts: object) -> None:
    """Nothing is known from before."""


def renew(host: Host, modules: Collection[str]) -> None:
    pass


def _looked(source: Source, host: Host) -> list[tuple[str, Source | None]]:
    return [(name, host.source(name)) for name in _LOOK.findall(source.text)]


def analyze_module(source: Source, host: Host, options: Options) -> list[Diagnostic]:
    found = []
    for number, line in enumerate(source.text.splitlines(), start=1):
        if match := _REPORT.search(line):
            span = Span(*(int(match[name]) for name in ("line", "column", "end", "end_column")))
            found.append(Diagnostic(span, match["text"], match["kind"], match["code"] or "shape"))
        if match := _LOOK.search(line):
            other = host.source(match[1])
            said = _SAYS.search(other.text) if other else None
            text = f"{match[1]} says {said[1] if said else 'nothing'} (strict: {options.strict})"
            found.append(Diagnostic(Span(number, 0, number, 1), text, "error"))
        is_ahead = bool(sys.flags.isolated)
        if "# @ die ahead" in line and is_ahead:
            os._exit(1)
        process = "second" if is_ahead else "first"
        if "# @ meet" in line:
            Path(f"{process} is here").touch()
            while not (Path("first is here").exists() and Path("second is here").exists()):
                time.sleep(0.001)
        if "# @ process" in line:
            text = f"found in the {process} process"
            found.append(Diagnostic(Span(number, 0, number, 1), text, "note"))
        if "# @ crash" in line:
            raise KeyError("no such thing")
    return found
