"""Annotates modules: proposals from all sources, written, and verified before anything is kept."""

from __future__ import annotations

import ast
import itertools
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import libcst as cst

from shapecheck.analysis import Source
from shapecheck.analysis.inference import Study, study, without_collecting
from shapecheck.codemod import parallel, verify
from shapecheck.codemod.blame import Blame, Place
from shapecheck.codemod.edit import Slot, annotate
from shapecheck.codemod.files import FileProblem, PythonFile, read
from shapecheck.codemod.kinds import Type
from shapecheck.codemod.project import Project, module_of
from shapecheck.codemod.proposing import (
    SOURCES,
    Proposal,
    Proposed,
    Proposer,
    Refusal,
    Settings,
)
from shapecheck.codemod.static import studies
from shapecheck.codemod.torchtyping import convert
from shapecheck.ops import Value

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
    functions: int = 0


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
        self.found: dict[Path, Proposed] = {}
        self.dropped: set[tuple[Path, Slot, Type]] = set()
        self.before = verify.Verifier(files, settings.options, advance)
        self.after = verify.Verifier(files, settings.options, advance)

    def annotate(self) -> None:
        """Propose, write and verify, until there is no more; add what comes of it to the outcome.

        What is annotated says more of what isn't: annotating again would find that.
        """
        texts: dict[Path, str] = {}
        asked: Collection[Path] = self.files
        for _ in range(_MOST_PASSES):
            new = self._propose(asked, texts)
            asked = new if texts else {*new, *self._converted()}
            if not asked:
                break
            texts.update(self._texts(asked))
            if not self.settings.despite_complaints and not self._verified(texts):
                texts.clear()
                break
            asked = self.after.affected(path for path in new if path in texts)
        for path, text in texts.items():
            file = self.files[path]
            if text != file.text:
                kept = list(self.found.get(path, {}).values())
                self.outcome.changed.append(Changed(file, text, kept))
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

    def _propose(self, asked: Collection[Path], texts: Mapping[Path, str]) -> set[Path]:
        """Add proposals for some of the files, as they are now; return those that have any new."""
        files = {
            path: replace(file, text=texts[path]) if path in texts else file
            for path, file in self.files.items()
        }
        project = Project({path: file.text for path, file in files.items()})
        first: dict[Path, list[Study]] = {}
        proposers: dict[Path, Proposer] = {}
        said: dict[ast.AST, dict[str, Value]] = {}
        for path, file in files.items():
            if path not in asked:
                continue
            source = Source(module_of(path)[0], str(path), file.text)
            first[path] = study(source, project.host(path), self.settings.options)
            proposers[path] = Proposer(path, file, self.settings, first[path])
            said |= proposers[path].said()
            self.advance("reading", self.lines[path])
        found = studies(first, said)
        results = parallel.each(
            lambda path: proposers[path].proposals(found[path]),
            [*found],
            self.lines.__getitem__,
            lambda path: self.advance("proposing", self.lines[path]),
        )
        changed = set()
        for path, (proposed, refused) in zip(found, results, strict=True):
            if not texts:
                self.outcome.functions += len(found[path])
                self.outcome.refused += refused
            mine = self.found.get(path, {})
            for slot, proposal in proposed.items():
                if slot not in mine and (path, slot, proposal.kind) not in self.dropped:
                    self.found.setdefault(path, {})[slot] = proposal
                    changed.add(path)
        return changed

    # Verification

    def _verified(self, texts: dict[Path, str]) -> bool:
        """Have texts keep those annotations that draw no complaint; false if that can't be."""
        for number in itertools.count():
            found = self.after.complaints(texts)
            old = self.before.complaints({}, {one.path for one in found})
            complaints = verify.new(old, found)
            if not complaints:
                return True
            dropped = self._refuse(complaints, old, texts, number)
            if not dropped:
                break
            texts.update(self._texts(dropped))
        self.found.clear()
        return False

    def _refuse(
        self,
        complaints: Sequence[verify.Complaint],
        old: Sequence[verify.Complaint],
        texts: Mapping[Path, str],
        number: int,
    ) -> set[Path]:
        """Take back the annotations that complaints are about; return in which files.

        Where that hasn't helped for some rounds (`number`), more is taken back.
        """
        by_file: defaultdict[Path, list[verify.Complaint]] = defaultdict(list)
        for one in complaints:
            by_file[one.path].append(one)
        options = self.settings.options
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

    def _texts(self, paths: Collection[Path]) -> dict[Path, str]:
        """Return the texts of files with all that is proposed at the moment."""
        texts = {}
        asked = sorted(paths)
        written = parallel.each(self._text, asked, self.lines.__getitem__)
        for path, (text, problem) in zip(asked, written, strict=True):
            if problem:
                self.outcome.problems.append(problem)
            else:
                texts[path] = text
        return texts

    def _text(self, path: Path) -> tuple[str, str]:
        """Return a file's text with its annotations, and what is wrong with it, if anything."""
        file = self.files[path]
        kinds = {slot: proposal.kind for slot, proposal in self.found.get(path, {}).items()}
        try:
            text = annotate(file.text, kinds, self.settings.style)
            return convert(text, self.settings.style) if self.converts else text, ""
        except cst.ParserSyntaxError as error:
            return "", f"{file.path}:{error.raw_line}: can't be parsed"
