"""Complaints for which annotations were taken back: what may be a bug of the program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shapecheck.codemod.project.files import PythonFile
from shapecheck.codemod.propose.proposals import Proposal, Proposed
from shapecheck.codemod.verify.blame import Place
from shapecheck.codemod.verify.complaints import Complaint, moving

_MOST: Final = 4
_SOURCES: Final = {
    "comments": "the comment in line {line}",
    "docstrings": "the docstring, line {line}",
    "record": "recorded calls",
    "static": "inferred",
    "torchtyping": "torchtyping, line {line}",
}


@dataclass(frozen=True, slots=True)
class Doubt:
    """A complaint as a person reads it, and the annotations that contradict the code there."""

    path: Path
    line: int
    message: str
    taken_back: tuple[str, ...]


class Doubts:
    """What was taken back, each with the complaint that it drew."""

    def __init__(self, files: Mapping[Path, PythonFile]) -> None:
        self._files = files
        self._taken: dict[Complaint, dict[Place, Proposal]] = {}

    def add(
        self, complaint: Complaint, taken: Sequence[tuple[Path, Proposal]], text: str | None
    ) -> None:
        """Keep a complaint about a file with this text, and what was taken back for it."""
        if complaint.narrows:
            return
        if text is not None:
            line = moving(text, self._files[complaint.path].text)(complaint.line)
            complaint = complaint.moved(line)
        places = self._taken.setdefault(complaint, {})
        places.update({(path, one.slot): one for path, one in taken})

    def left(self, found: Mapping[Path, Proposed], hidden: Iterable[Complaint] = ()) -> list[Doubt]:
        """Return those for which something is still not annotated in the end, one for a line.

        What is inferred of a function from its own body isn't a second opinion of that, and what is
        inferred at all none of what broadcasts: a size may be 1 beside another. With them come
        those that were drawn before, and are `hidden` by what was annotated elsewhere.
        """
        doubts: dict[tuple[Path, int], Doubt] = {}
        for complaint in hidden:
            shown = self._files[complaint.path].path
            doubts[complaint.path, complaint.line] = Doubt(
                shown, complaint.line, complaint.message, ()
            )
        for complaint, places in self._taken.items():
            left = [one for one in places.items() if _is_gone(*one, found)]
            if any(_is_another(complaint, *one) for one in left):
                shown = self._files[complaint.path].path
                told = tuple(self._told(complaint, path, one) for (path, _), one in left)
                doubt = Doubt(shown, complaint.line, complaint.message, told)
                doubts.setdefault((complaint.path, complaint.line), doubt)
        return [doubts[key] for key in sorted(doubts)]

    def _told(self, complaint: Complaint, path: Path, one: Proposal) -> str:
        """Say which annotation it was, and where it came from."""
        where = _SOURCES[one.origin].format(line=one.line)
        if path != complaint.path and one.origin != "static":
            where += f" of {self._files[path].path}"
        what = (
            "result" if one.slot.name == "return" and not one.slot.local else f'"{one.slot.name}"'
        )
        return f'{what} of "{one.slot.function}" as {one.kind.source("Tensor")} ({where})'


def _is_gone(place: Place, one: Proposal, found: Mapping[Path, Proposed]) -> bool:
    """Whether something isn't annotated, or not as a person or a record has it."""
    path, slot = place
    kept = found.get(path, {}).get(slot)
    return kept is None or (one.origin != "static" and kept.kind != one.kind)


def _is_another(complaint: Complaint, place: Place, one: Proposal) -> bool:
    """Whether an annotation was said by a person, seen, or inferred from another function.

    What is inferred counts for nothing where the complaint is that sizes don't broadcast.
    """
    path, slot = place
    own = path == complaint.path and slot.function == complaint.function
    return one.origin != "static" or not (own or complaint.blame.kind == "broadcast")


def in_words(doubt: Doubt) -> list[str]:
    """Return the lines in which a doubt is told."""
    shown, more = doubt.taken_back[:_MOST], len(doubt.taken_back) - _MOST
    lines = [f"possible bug: {doubt.path}:{doubt.line}: {doubt.message}"]
    lines += [f"  not annotated for that: {one}" for one in shown]
    return lines + ([f"  and {more} more"] if more > 0 else [])
