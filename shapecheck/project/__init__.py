"""A project checked by itself, without mypy: which modules, where they lie, what is ignored.

It reads mypy's configuration and finds modules as mypy does, so that `shapecheck check
--only-shapes` and mypy with the plugin say the same; how, is a file for each job:

`configuration` reads the files in which `settings` stand, `targets` finds the files to check and
names their modules, `search` where those lie that are imported, `modules` what a run sees,
`analysing` has one of them analysed, `comments` has what comments ignore, `reporting` what is shown
in the end, and `checking` does all this in all processes. `relevance`, `failures`, `codes` and
`findings` are mypy's plugin's, too.

Stands on the analysis, and imports neither mypy nor torch.
"""

from __future__ import annotations

from shapecheck.project.checking import check
from shapecheck.project.configuration import Configured, read, with_values
from shapecheck.project.findings import Finding, Outcome
from shapecheck.project.targets import TargetError

__all__ = ["Configured", "Finding", "Outcome", "TargetError", "check", "read", "with_values"]
