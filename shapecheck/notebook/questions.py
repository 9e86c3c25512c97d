"""What a notebook and the process that checks its cells say to each other.

The notebook imports this, and nothing of the analysis: that is for the other process to load.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from shapecheck.project.findings import Finding

MODULE: Final = "__notebook__"
"""The name of the module that the cells are, in the folder where the notebook runs."""

PROGRAM: Final = """
import sys
sys.path[:] = {path!r}
from shapecheck.notebook.checker import serve
serve()
"""


@dataclass(frozen=True, slots=True)
class Question:
    """The text of a module to check, as it would lie in a folder."""

    text: str
    folder: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What is found in a text. `problem`: why it can't be checked."""

    findings: tuple[Finding, ...] = ()
    problem: str | None = None
