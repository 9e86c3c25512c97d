"""What is found now and wasn't before, and what is found no longer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecheck.project.findings import Finding


@dataclass(frozen=True, slots=True)
class Changed:
    """How what a run finds differs from what the run before found, each in its run's order."""

    new: tuple[Finding, ...]
    gone: tuple[Finding, ...]


def changed(before: Sequence[Finding], after: Sequence[Finding]) -> Changed:
    """Return what is new and what is gone; what stands on other lines now is neither.

    Of findings that are alike but for their lines, as many are new or gone as there are more or
    fewer; those that stand where one stood before are taken for the same first.
    """
    return Changed(_beyond(after, before), _beyond(before, after))


def _beyond(these: Sequence[Finding], those: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return what is among these and has no counterpart among those."""
    exact, left = Counter(those), []
    for finding in these:
        if exact[finding]:
            exact[finding] -= 1
        else:
            left.append(finding)
    moved = Counter(_anywhere(finding) for finding in exact.elements())
    beyond = []
    for finding in left:
        if moved[_anywhere(finding)]:
            moved[_anywhere(finding)] -= 1
        else:
            beyond.append(finding)
    return tuple(beyond)


def _anywhere(finding: Finding) -> Finding:
    """Return the finding as if it stood at the start of its file."""
    return replace(finding, line=0, end_line=finding.end_line - finding.line)
