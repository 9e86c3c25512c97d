"""Annotates modules: proposals from all sources, written, and verified before anything is kept."""

from __future__ import annotations

import ast
import itertools
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import libcst as cst

from shapecheck.analysis.inference import without_collecting
from shapecheck.codemod import parallel, verify
from shapecheck.codemod.blame import Blame, Place
from shapecheck.codemod.edit import Slot, annotate
from shapecheck.codemod.files import FileProblem, PythonFile, read
from shapecheck.codemod.kinds import Type
from shapecheck.codemod.project import Name
from shapecheck.codemod.proposing import SOURCES, Proposal, Proposed, Refusal, Settings
from shapecheck.codemod.studies import Studies
from shapecheck.codemod.torchtyping import convert
from shapecheck.codemod.verify import Draft

__all__ = ["SOURCES", "Changed", "Outcome", "Proposal", "Refusal", "Settings", "annotate_files"]

_PATIENT: Final = 6
"""After so many rounds all that may take part in a complaint is taken back; later whole files."""

_MOST_PASSES: Final = 4
"""So often what is annotated is used to annotate more."""


@dataclass(slots=True)
class Changed:
    """A file, its text as it is to become, and the proposals that are in it."""

    file: PythonFile
    text: str
    proposals: list[Proposal]


@dataclass(slots=True)
class Outcome:
    """What annotating has come to: the files that change, what was refused, what can't be read."""

    changed: list[Changed] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


Advance = Callable[[str, int], None]
"""Is told what is done now, and of how many lines it is done."""


@without_collecting
def annotate_files(
    paths: Iterable[Path], settings: Settings, advance: Advance = lambda text, lines: None
) -> Outcome:
    """Return what annotating these files comes to; nothing is written."""
    outcome = Outcome()
    files: dict[Path, PythonFile] = {}
    for path in paths:
        file = _parsable(path, outcome)
        if file is not None and ("torch" in file.text or "einops" in file.text):
            files[path.absolute()] = file
    _Tree(files, settings, outcome, advance).annotate()
    return outcome


def _parsable(path: Path, outcome: Outcome) -> PythonFile | None:
    """Read a file; what is wrong with it is added to the outcome."""
    try:
        file = read(path)
        ast.parse(file.text)
    except FileProblem as error:
        outcome.problems.append(str(error))
    except (SyntaxError, ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, SyntaxError) else 1
        text = error.msg if isinstance(error, SyntaxError) else error
        outcome.problems.append(f"{path}:{line}: can't be parsed: {text}")
    else:
        return file
    return None


class _Tree:
    """The files that are annotated together."""

    def __init__(
        self,
        files: dict[Path, PythonFile],
        settings: Settings,
        outcome: Outcome,
        advance: Advance,
    ) -> None:
        self.files, self.settings, self.outcome = files, settings, outcome
        self.advance = advance
        self.lines = {path: file.text.count("\n") for path, file in files.items()}
        self.converts = "torchtyping" in settings.origins
        self.studies = Studies(settings, self.lines)
        self.found: dict[Path, Proposed] = {}
        self.dropped: set[tuple[Path, Slot, Type]] = set()
        self.before = verify.Verifier(files, settings.options, advance)
        self.after = verify.Verifier(files, settings.options, advance)

    def annotate(self) -> None:
        """Propose, write and verify, until there is no more; add what comes of it to the outcome.

        What is annotated says more of what isn't: annotating again would find that.
        """
        drafts: dict[Path, Draft] = {}
        news: set[Name] | None = None
        for _ in range(_MOST_PASSES):
            written = {path: {*found} for path, found in self.found.items()}
            asked = self._propose(drafts, news) | (self._converted() if news is None else set())
            if not asked:
                break
            drafts |= self._drafts(asked)
            if not self.settings.despite_complaints and not self._verified(drafts):
                drafts.clear()
                break
            news = {
                (str(path), slot.function)
                for path, found in self.found.items()
                for slot in found.keys() - written.get(path, set())
            }
        for path, draft in drafts.items():
            file = self.files[path]
            if draft.text != file.text:
                kept = list(self.found.get(path, {}).values())
                self.outcome.changed.append(Changed(file, draft.text, kept))
        self.outcome.refused = [
            one
            for one in self.outcome.refused
            if not self._is_annotated(one.path.absolute(), one.function)
        ]

    def _is_annotated(self, path: Path, function: str) -> bool:
        return any(slot.function == function for slot in self.found.get(path, ()))

    def _converted(self) -> set[Path]:
        """Return the files of which torchtyping's annotations are converted."""
        files = self.files.items() if self.converts else ()
        return {path for path, file in files if "torchtyping" in file.text}

    def _propose(self, drafts: Mapping[Path, Draft], news: AbstractSet[Name] | None) -> set[Path]:
        """Add proposals to the files as they are now; return those that have any new."""
        files = {
            path: replace(file, text=drafts[path].text) if path in drafts else file
            for path, file in self.files.items()
        }
        stages = {path: iter(("reading", "proposing")) for path in files}

        def done(path: Path) -> None:
            self.advance(next(stages[path]), self.lines[path])

        found = self.studies.propose(files, news, done)
        proposals = [(p, one) for p in found for one in found[p].proposed.values()]
        if "static" in self.settings.origins:
            every = {p: {**found[p].proposed, **self.found.get(p, {})} for p in found}
            proposals += self.studies.inherited(every)
        changed = set()
        for path, proposal in proposals:
            mine, slot = self.found.setdefault(path, {}), proposal.slot
            if slot not in mine and (path, slot, proposal.kind) not in self.dropped:
                mine[slot] = proposal
                changed.add(path)
        if news is None:
            self.outcome.refused += [refusal for one in found.values() for refusal in one.refused]
        return changed

    # Verification

    def _verified(self, drafts: dict[Path, Draft]) -> bool:
        """Have drafts keep those annotations that draw no complaint; false if that can't be."""
        for number in itertools.count():
            found = self.after.complaints(drafts)
            old = self.before.complaints({}, {one.path for one in found})
            complaints = verify.new(old, found)
            if not complaints:
                return True
            dropped = self._refuse(complaints, old, drafts, number)
            if not dropped:
                break
            drafts |= self._drafts(dropped)
        self.found.clear()
        return False

    def _refuse(
        self,
        complaints: Sequence[verify.Complaint],
        old: Sequence[verify.Complaint],
        drafts: Mapping[Path, Draft],
        number: int,
    ) -> set[Path]:
        """Take back the annotations that complaints are about; return in which files.

        Where that hasn't helped for some rounds (`number`), more is taken back.
        """
        by_file: defaultdict[Path, list[verify.Complaint]] = defaultdict(list)
        for one in complaints:
            by_file[one.path].append(one)
        options = self.settings.options
        texts = {path: draft.text for path, draft in drafts.items()}
        blame = Blame(self.files, texts, self.found, old, options)

        def blamed(path: Path) -> dict[Place, str]:
            found = blame.of(path, by_file[path]) if number < _PATIENT else {}
            if not found and number < 2 * _PATIENT:
                for one in by_file[path]:
                    found |= dict.fromkeys(blame.about(one), one.message)
            if not found:
                around = {path, *self.after.looked_at(path)} & self.found.keys()
                every = [(file, slot) for file in around for slot in self.found[file]]
                found = dict.fromkeys(every, by_file[path][0].message)
            return found

        dropped: dict[Place, str] = {}
        cost = {path: len(some) * self.lines[path] for path, some in by_file.items()}
        for found in parallel.each(blamed, [*by_file], cost.__getitem__):
            dropped |= found
        by_function: defaultdict[tuple[Path, str], list[Place]] = defaultdict(list)
        for path, slot in dropped:
            by_function[path, slot.function].append((path, slot))
        for places in by_function.values():
            self._drop(places, dropped[places[0]])
        return {path for path, _ in dropped}

    def _drop(self, places: Sequence[Place], reason: str) -> None:
        """Take back what is proposed for a function; one that has nothing left is refused."""
        gone = [(path, slot, self.found[path].pop(slot)) for path, slot in places]
        self.dropped |= {(path, slot, proposal.kind) for path, slot, proposal in gone}
        line = min(proposal.line for _, _, proposal in gone)
        path, slot = places[0]
        if not any(other.function == slot.function for other in self.found[path]):
            shown = self.files[path].path
            self.outcome.refused.append(Refusal(shown, line, slot.function, reason))

    def _drafts(self, paths: Collection[Path]) -> dict[Path, Draft]:
        """Return files with all that is proposed at the moment."""
        drafts = {}
        asked = sorted(paths)
        written = parallel.each(self._text, asked, self.lines.__getitem__)
        for path, (text, problem) in zip(asked, written, strict=True):
            if problem:
                self.outcome.problems.append(problem)
            else:
                drafts[path] = Draft(text, self._kinds(path))
        return drafts

    def _kinds(self, path: Path) -> dict[Slot, Type]:
        return {slot: proposal.kind for slot, proposal in self.found.get(path, {}).items()}

    def _text(self, path: Path) -> tuple[str, str]:
        """Return a file's text with its annotations, and what is wrong with it, if anything."""
        file = self.files[path]
        try:
            text = annotate(file.text, self._kinds(path), self.settings.style)
            return convert(text, self.settings.style) if self.converts else text, ""
        except cst.ParserSyntaxError as error:
            return "", f"{file.path}:{error.raw_line}: can't be parsed"
