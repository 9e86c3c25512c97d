"""Says how much is known of the tensors of a run, what hides most of the others, and what helps."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from shapecheck.cli._causes import in_words, is_missing, is_standard, root_of
from shapecheck.cli._commands import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shapecheck.analysis import Cause, Coverage

_MOST_CAUSES: Final = 3
_MOST_NAMES: Final = 2

_MANY: Final = {
    "parameter": "parameters without an annotation",
    "declared": "parameters and attributes annotated with a type, which tells no shape",
    "open": "annotations that leave dimensions open",
    "data": "sizes that depend on data, or on numbers that aren't known",
    "function": "functions that don't tell what they give",
    "attribute": "attributes of which nothing tells the shape",
    "name": "names that aren't known where they are defined",
    "loop": "variables that a loop gives another size each time",
    "budget": "functions that take too long to be looked into to their ends",
    "error": "what follows from errors",
    "other": "expressions of which nothing is known",
}
"""Causes that are told together, with the names of the most frequent."""

_STEPS: Final = {
    "parameter": "`shapecheck annotate` writes the shapes that their uses show",
    "declared": "`shapecheck annotate` writes the shapes that their uses show",
    "open": "give these dimensions names",
    "library": "a signature file can say what it gives",
    "rule": "a signature file can say what it gives",
    "data": "annotate what they are assigned to",
    "function": "annotate their results",
    "attribute": "annotate them in their classes",
    "name": "annotate them",
    "loop": "annotate them",
    "budget": "annotate their results",
    "error": "mend these",
    "other": "`shapecheck coverage` shows them",
}
_INSTALL: Final = "install it where shapecheck runs"


def known(covered: Coverage | None, uncounted: int) -> Iterator[str]:
    """Yield what is known, line by line; nothing where there are no tensors, or none was counted.

    What nothing helps against isn't told as a cause. `uncounted`: how many files aren't counted.
    """
    if covered is None or not covered.tensors:
        return
    but = f", without {plural(uncounted, 'file')} that mypy's plugin checked" if uncounted else ""
    if covered.known == covered.tensors:
        one = "The shape of the one tensor expression is known"
        every = f"The shapes of all {covered.tensors:,} tensor expressions are known"
        yield f"{every if covered.tensors > 1 else one}{but}"
        return
    share = 100 * covered.known // covered.tensors
    found = (
        f"{covered.known:,} of {covered.tensors:,} tensor expressions are known ({share} %){but}"
    )
    causes = _causes(covered)
    yield f"The shapes of {found}{'; what hides most of the others:' if causes else ''}"
    width = max((len(f"{count:,}") for _, count in causes), default=0)
    for words, count in causes:
        yield f"  {count:>{width},}  {words}"


def _causes(covered: Coverage) -> list[tuple[str, int]]:
    """Return the causes that hide most, in words with what helps, and how much each hides."""
    groups: dict[tuple[str, str], Counter[Cause]] = {}
    for cause, count in covered.reasons.items():
        if cause.kind == "each" or is_standard(cause):
            continue
        subject = "" if cause.kind in _MANY else cause.subject
        if cause.kind == "library":
            subject = root_of(cause)
        groups.setdefault((cause.kind, subject), Counter())[cause] += count
    ranked = sorted(groups.items(), key=lambda one: (-one[1].total(), one[0]))
    return [
        (_told(kind, subject, causes), causes.total())
        for (kind, subject), causes in ranked[:_MOST_CAUSES]
    ]


def _told(kind: str, subject: str, causes: Counter[Cause]) -> str:
    if kind in _MANY:
        return f"{_MANY[kind]}{_examples(causes)}: {_STEPS[kind]}"
    cause, _ = max(causes.items(), key=lambda one: (one[1], one[0].subject))
    words = in_words(replace(cause, subject=subject))
    return f"{words}; {_INSTALL if is_missing(cause) else _STEPS[kind]}"


def _examples(causes: Counter[Cause]) -> str:
    """Return the names that are most frequent among some causes, in brackets."""
    ranked = sorted(causes.items(), key=lambda one: (-one[1], one[0].subject))
    subjects = (cause.subject for cause, _ in ranked if cause.subject)
    names = list(dict.fromkeys(one[1:-1] if one[0] == "(" else one for one in subjects))
    if not names:
        return ""
    shown = ", ".join(names[:_MOST_NAMES])
    rest = len(names) - _MOST_NAMES
    return f" ({shown} and {rest:,} more)" if rest > 0 else f" ({shown})"
