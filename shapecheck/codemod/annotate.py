"""Annotates modules: proposals from all sources, written, and verified before anything is kept."""

from __future__ import annotations

import ast
import itertools
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import libcst as cst

from shapecheck import parallel, spec
from shapecheck.analysis import Options
from shapecheck.analysis.check.module import without_collecting
from shapecheck.analysis.program.syntax import nodes_of, tree_of
from shapecheck.codemod.project.files import FileProblem, PythonFile, read
from shapecheck.codemod.project.project import Name, Project
from shapecheck.codemod.propose import fields
from shapecheck.codemod.propose.proposals import (
    RANK,
    SOURCES,
    Proposal,
    Proposed,
    Refusal,
    Said,
    Settings,
    is_vague,
)
from shapecheck.codemod.propose.studies import Studies
from shapecheck.codemod.sources.torchtyping import convert
from shapecheck.codemod.verify import complaints as verify
from shapecheck.codemod.verify.blame import Blame, Place
from shapecheck.codemod.verify.complaints import Draft
from shapecheck.codemod.verify.doubts import Doubt, Doubts
from shapecheck.codemod.write.annotation_types import Type, renamed
from shapecheck.codemod.write.edit import FIELD, Slot, annotate

__all__ = ["SOURCES", "Changed", "Outcome", "Proposal", "Refusal", "Settings", "annotate_files"]

_PATIENT: Final = 6
"""After so many rounds all that may take part in a complaint is taken back; later whole files."""


@dataclass(slots=True)
class Changed:
    """A file, its text as it is to become, and the proposals that are in it."""

    file: PythonFile
    text: str
    proposals: list[Proposal]


@dataclass(slots=True)
class Outcome:
    """What annotating has come to: the files that change, what was refused, what can't be read.

    `doubts`: the complaints for which something isn't annotated.
    """

    changed: list[Changed] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)
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
    for whole, path in sorted((_absolute(path), path) for path in paths):
        file = _parsable(path, outcome)
        if file is not None and ("torch" in file.text or "einops" in file.text):
            files[whole] = file
    _Tree(files, settings, outcome, advance).annotate()
    return outcome


def _absolute(path: Path) -> Path:
    """Return a path that is the same wherever the program runs."""
    return Path(os.path.abspath(path))  # noqa: PTH100  # links stay as they are


def _parsable(path: Path, outcome: Outcome) -> PythonFile | None:
    """Read a file; what is wrong with it is added to the outcome."""
    try:
        file = read(path)
        tree_of(file.text)
    except FileProblem as error:
        outcome.problems.append(str(error))
    except (SyntaxError, ValueError, RecursionError) as error:
        line = error.lineno or 1 if isinstance(error, SyntaxError) else 1
        text = error.msg if isinstance(error, SyntaxError) else error
        outcome.problems.append(f"{path}:{line}: can't be parsed: {text}")
    else:
        return file
    return None


class _Judge:
    """Analyses a tree as it was before, and as it is to become, in one way."""

    def __init__(
        self,
        files: Mapping[Path, PythonFile],
        options: Options,
        advance: Advance,
        brief: AbstractSet[Path],
    ) -> None:
        self.options = options
        self.before = verify.Verifier(files, options, advance, brief)
        self.after = verify.Verifier(files, options, advance, brief)


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
        self.vague: dict[Place, Proposal] = {}
        self.dropped: set[tuple[Path, Slot, Type]] = set()
        self.unfit: set[tuple[Path, Slot, Type]] = set()
        self.taken_back: set[Said] = set()
        self.unified: set[tuple[Path, str, frozenset[str]]] = set()
        self.accepted: list[verify.Complaint] = []
        self.doubts = Doubts(files)
        # What no annotation promises counts at first; behind that there may be what `check` tells.
        self.strict = _Judge(files, verify.checking(settings.options), advance, self.studies.spent)
        self.plain = _Judge(files, settings.options, advance, self.studies.spent)

    def annotate(self) -> None:
        """Propose, write and verify, until there is no more; add what comes of it to the outcome.

        What is annotated says more of what isn't, and what was refused may be right without what
        was refused beside it: annotating again would find that.
        """
        drafts: dict[Path, Draft] = {}
        self._add_fields(drafts)  # first: any function may rest on them
        proposed = self._proposed(drafts, None)
        added = self._add(drafts, self._put(self._firm(proposed)) | self._converted())
        added = added or self._add(drafts, self._put(self._vague()))
        self._add_more(drafts, added)
        while lost := self._hold(drafts) or self._reveal(drafts):
            self._add_more(drafts, lost)
        for path, file in self.files.items():
            if path in drafts and drafts[path].text != file.text:
                kept = list(self.found.get(path, {}).values())
                self.outcome.changed.append(Changed(file, drafts[path].text, kept))
        refused: dict[tuple[Path, str], Refusal] = {}
        for one in self.outcome.refused:
            refused.setdefault((_absolute(one.path), one.function), one)
        left = ((*place, one) for place, one in refused.items() if not self._is_annotated(*place))
        is_verified = not self.settings.despite_complaints
        hidden = [one for one, _ in self._hidden(drafts)] if is_verified else []
        self.outcome.doubts = self.doubts.left(self.found, hidden)
        self.outcome.refused = [one for *_, one in sorted(left, key=lambda r: (r[0], r[2].line))]

    def _add_more(self, drafts: dict[Path, Draft], added: set[Name]) -> None:
        """Propose more where some functions have other annotations now, until there is no more."""
        since: set[Name] | None = None  # what was refused was tried again
        while added:
            while added:
                since = None if since is None else since | added
                proposed = self._proposed(drafts, added)
                fresh = [one for one in proposed if self._key(*one) not in self.dropped]
                added = self._add(drafts, self._put(self._firm(fresh)))
                added = added or self._add(drafts, self._put(self._vague()))
            lacking = {(str(path), slot.function) for path, slot, _ in self.dropped}
            if since is not None:
                lacking &= self.studies.near(since)
            since = set()
            for alone in (False, True):
                if added or not lacking:
                    break
                tried = self._proposed(drafts, set(), lacking, alone)
                if alone:  # callers that disagree may have fixed too much
                    tried = [one for one in tried if self._key(*one) not in self.dropped]
                added = self._add(drafts, self._put(tried), tried)
            added = added or self._without_what_was_said(drafts)
            added = added or self._with_names_apart(drafts)

    def _without_what_was_said(self, drafts: dict[Path, Draft]) -> set[Name]:
        """Propose what the code shows where what a text or a record says was taken back."""
        wrong = {one for one in self.taken_back if one[1] not in self.found.get(one[0], {})}
        wrong -= self.studies.disbelieved
        if not wrong:
            return set()
        self.studies.disbelieved |= wrong
        tried = self._proposed(
            drafts, set(), {(str(path), slot.function) for path, slot, _ in wrong}
        )
        tried = [one for one in tried if self._key(*one) not in self.dropped]
        return self._add(drafts, self._put(tried), tried)

    def _with_names_apart(self, drafts: dict[Path, Draft]) -> set[Name]:
        """Propose other names where axes that functions call the same may be two."""
        every = ((path, slot) for path, slot, _ in self.dropped)
        lacking = {(str(p), s.function) for p, s in every if s not in self.found.get(p, {})}
        lacking -= self.studies.apart
        if not lacking:
            return set()
        self.studies.apart |= lacking
        tried = self._proposed(drafts, set(), lacking)
        tried = [one for one in tried if self._key(*one) not in self.dropped]
        return self._add(drafts, self._put(tried), tried)

    def _is_annotated(self, path: Path, function: str) -> bool:
        is_new = any(slot.function == function for slot in self.found.get(path, ()))
        return is_new or (str(path), function) in self.studies.shaped

    def _add_fields(self, drafts: dict[Path, Draft]) -> None:
        """Add annotations of fields, as far as the files that name their classes can tell."""
        proposed = [*self._fields()]
        names = {proposal.slot.function.rpartition(".")[2] for _, proposal in proposed}
        naming = re.compile(rf"\b(?:{'|'.join(sorted(names))})\b")
        near = {path for path, file in self.files.items() if naming.search(file.text)}
        self._add(drafts, self._put(proposed), within=near)

    def _fields(self) -> Iterator[tuple[Path, Proposal]]:
        """Yield what is proposed for the fields of classes."""
        for path, file in self.files.items():
            for proposal in fields.proposals(file.text, self.settings.origins):
                yield path, proposal

    def _converted(self) -> set[Path]:
        """Return the files of which torchtyping's annotations are converted."""
        files = self.files.items() if self.converts else ()
        return {path for path, file in files if "torchtyping" in file.text}

    def _proposed(
        self,
        drafts: Mapping[Path, Draft],
        news: AbstractSet[Name] | None,
        lacking: AbstractSet[Name] = frozenset(),
        alone: bool = False,
    ) -> list[tuple[Path, Proposal]]:
        """Return what is proposed for the files as they are now; see `Studies.propose`."""
        files = {
            path: replace(file, text=drafts[path].text) if path in drafts else file
            for path, file in self.files.items()
        }
        stages = {path: iter(("reading", "proposing")) for path in files}

        def done(path: Path) -> None:
            self.advance(next(stages[path]), self.lines[path])

        found = self.studies.propose(files, news, done, lacking, alone)
        if news is None:
            self.outcome.refused += [refusal for one in found.values() for refusal in one.refused]
        added = {path: files[path].text.count("\n") - self.lines[path] for path in files}
        proposals = [
            (path, replace(one, line=one.line - added[path]))
            for path in found
            for one in found[path].proposed.values()
        ]
        if "static" in self.settings.origins:
            every = {p: {**found[p].proposed, **self.found.get(p, {})} for p in found}
            proposals += self.studies.inherited(every)
        return proposals

    def _put(self, proposals: Iterable[tuple[Path, Proposal]]) -> set[Path]:
        """Add proposals where there are none yet; return the files that have any new."""
        changed = set()
        for path, proposal in proposals:
            if self._key(path, proposal) in self.unfit:
                continue
            if self.found.setdefault(path, {}).setdefault(proposal.slot, proposal) is proposal:
                changed.add(path)
        return changed

    def _firm(self, proposals: Iterable[tuple[Path, Proposal]]) -> list[tuple[Path, Proposal]]:
        """Return those proposals that say all; others wait, as more may come to be known."""
        firm = []
        for path, one in proposals:
            if is_vague(one):
                self.vague[path, one.slot] = one
            else:
                firm.append((path, one))
        return firm

    def _vague(self) -> list[tuple[Path, Proposal]]:
        """Return the proposals that were waiting, as they are now."""
        waiting = [(path, one) for (path, _), one in self.vague.items()]
        self.vague.clear()
        return [one for one in waiting if self._key(*one) not in self.dropped]

    @staticmethod
    def _key(path: Path, proposal: Proposal) -> tuple[Path, Slot, Type]:
        return path, proposal.slot, proposal.kind

    # Verification

    def _add(
        self,
        drafts: dict[Path, Draft],
        changed: Collection[Path],
        tried: Sequence[tuple[Path, Proposal]] | None = None,
        within: Collection[Path] | None = None,
    ) -> set[Name]:
        """Write what was added to some files, as far as it draws no complaint.

        Return the functions that have more annotations then. With `tried`, only what is among it
        is taken back, by default anything; with `within`, only these files are looked at.
        """
        if not changed:
            return set()
        before = {path: drafts[path].kinds.keys() if path in drafts else set() for path in changed}
        drafts |= self._drafts(changed)
        if not self.settings.despite_complaints:
            self._verify(self.strict, drafts, tried, within)
        return {
            (str(path), slot.function)
            for path, old in before.items()
            for slot in self.found.get(path, {}).keys() - old
        }

    def _hold(self, drafts: dict[Path, Draft]) -> set[Name]:
        """Take back, for good, what `check` wouldn't let pass; return whose annotations it was."""
        if self.settings.despite_complaints or not drafts:
            return set()
        kept = {path: dict(mine) for path, mine in self.found.items()}
        self._verify(self.plain, drafts)
        gone = {
            (path, one)
            for path, mine in kept.items()
            for slot, one in mine.items()
            if slot not in self.found[path]
        }
        self.unfit |= {self._key(*one) for one in gone}
        return {(str(path), one.slot.function) for path, one in gone}

    def _reveal(self, drafts: dict[Path, Draft]) -> set[Name]:
        """Take back, for good, what is inferred of functions that goes wrong and then wouldn't.

        Return whose annotations it was. A bug in a function shows in what is inferred of it: a key
        that isn't transposed has the axes that the product needs. Where it isn't that, what is
        inferred of those that the function calls hides it.
        """
        if self.settings.despite_complaints:
            return set()
        lost: set[Name] = set()
        texts = {path: draft.text for path, draft in drafts.items()}
        for complaint, functions in self._hidden(drafts):
            places = [
                (path, slot)
                for path, mine in self.found.items()
                for slot in mine
                if (str(path), slot.function) in functions
            ]
            if not self._inferred(places):
                places = Blame(self.files, texts, self.found, (), self.plain.options).hiding(
                    complaint
                )
            taken = self._inferred(places)
            self.doubts.add(complaint, taken, None)
            for path, one in taken:
                self.found[path].pop(one.slot)
                self.unfit.add(self._key(path, one))
                lost.add((str(path), one.slot.function))
        drafts |= self._drafts({Path(file) for file, _ in lost})
        return lost

    def _inferred(self, places: Iterable[Place]) -> list[tuple[Path, Proposal]]:
        """Return what is proposed at some places, as far as it is inferred."""
        proposed = ((path, self.found[path][slot]) for path, slot in places)
        return [(path, one) for path, one in proposed if one.origin == "static"]

    def _hidden(
        self, drafts: dict[Path, Draft]
    ) -> Iterator[tuple[verify.Complaint, AbstractSet[Name]]]:
        """Yield what goes wrong in the files as they are and not as they are to become.

        With each come the functions that take part in it. What is told at another of them isn't
        hidden.
        """
        if not drafts:
            return
        after = self.plain.after.complaints(drafts)
        told = {(str(one.path), one.function) for one in after}
        project = Project({path: file.text for path, file in self.files.items()})
        for one in verify.new(after, self.plain.before.complaints({})):
            functions = project.names(one.blame.inside) | {(str(one.path), one.function)}
            if told.isdisjoint(functions):
                yield one, functions

    def _verify(
        self,
        judge: _Judge,
        drafts: dict[Path, Draft],
        tried: Sequence[tuple[Path, Proposal]] | None = None,
        within: Collection[Path] | None = None,
    ) -> None:
        """Have drafts keep those annotations that draw no complaint."""
        for number in itertools.count():
            found = judge.after.complaints(drafts, within)
            old = judge.before.complaints({}, {one.path for one in found})
            old += self.accepted
            complaints = verify.new(old, found)
            if not complaints:
                return
            suspects = self.found if tried is None else self._left_of(tried)
            if not any(suspects.values()):
                return
            dropped = self._refuse(judge, complaints, old, drafts, suspects, number)
            drafts |= self._drafts(dropped)

    def _left_of(self, tried: Sequence[tuple[Path, Proposal]]) -> dict[Path, Proposed]:
        """Return those of some proposals that haven't been taken back."""
        left: dict[Path, Proposed] = {}
        for path, one in tried:
            if self.found[path].get(one.slot) is one:
                left.setdefault(path, {})[one.slot] = one
        return left

    def _refuse(
        self,
        judge: _Judge,
        complaints: Sequence[verify.Complaint],
        old: Sequence[verify.Complaint],
        drafts: Mapping[Path, Draft],
        suspects: Mapping[Path, Proposed],
        number: int,
    ) -> set[Path]:
        """Take back those of the suspects that complaints are about; return in which files.

        Where that hasn't helped for some rounds (`number`), more is taken back, in the end all.
        """
        unified = {one.path for one in complaints if self._unify(one, suspects, drafts)}
        if unified:
            return unified
        by_file: defaultdict[Path, list[verify.Complaint]] = defaultdict(list)
        for one in complaints:
            by_file[one.path].append(one)
        texts = {path: draft.text for path, draft in drafts.items()}
        blame = Blame(self.files, texts, suspects, old, judge.options)

        def blamed(path: Path) -> dict[Place, verify.Complaint]:
            found = blame.of(path, by_file[path]) if number < _PATIENT else {}
            wrong = [one for one in by_file[path] if not one.narrows]
            if not found and number < 2 * _PATIENT:
                for one in wrong:
                    found |= dict.fromkeys(blame.about(one), one)
            if not found and wrong:
                around = {path, *judge.after.looked_at(path)}
                places = _places(suspects, filter(around.__contains__, suspects))
                found = dict.fromkeys(_fields(places, wrong[0]) or places, wrong[0])
            return found

        dropped: dict[Place, verify.Complaint] = {}
        cost = {path: len(some) * self.lines[path] for path, some in by_file.items()}
        for found in parallel.each(blamed, [*by_file], cost.__getitem__):
            dropped |= found
        wrong = [one for one in complaints if not one.narrows]
        if not dropped and wrong:
            dropped = dict.fromkeys(_places(suspects, suspects), wrong[0])
        elif not dropped:
            self.accepted += complaints
        by_function: defaultdict[tuple[Path, str], list[Place]] = defaultdict(list)
        for path, slot in dropped:
            by_function[path, slot.function].append((path, slot))
        for complaint in dict.fromkeys(dropped.values()):
            taken = [place for place, drew in dropped.items() if drew == complaint]
            proposals = [(path, self.found[path][slot]) for path, slot in taken]
            self.doubts.add(complaint, proposals, texts.get(complaint.path))
        for places in by_function.values():
            self._drop(places, dropped[places[0]].message)
        for (path, slot), complaint in dropped.items():
            if complaint.blame.of_rank and complaint.unfit[1] == slot.name:
                self.studies.disbelieved.add((path, slot, RANK))
        return {path for path, _ in dropped}

    def _unify(
        self,
        complaint: verify.Complaint,
        suspects: Mapping[Path, Proposed],
        drafts: Mapping[Path, Draft],
    ) -> bool:
        """Give a function one name in the place of two that an op in it takes for one.

        Or none in the place of one of them, where the op is on one of two paths. Only what the
        analysis called so is called otherwise, and what may be taken back at all.
        """
        path, function, names = complaint.path, complaint.function, complaint.blame.names
        key = path, function, frozenset(names)
        if len(set(names)) != 2 or key in self.unified:
            return False
        self.unified.add(key)
        mine = {s: one for s, one in self.found.get(path, {}).items() if s.function == function}
        texts = {s: {n for text in _texts(one) for n in text.names()} for s, one in mine.items()}
        gone, kept = sorted(names, key=lambda name: _strength(name, texts.values()))
        changed = {slot: mine[slot] for slot, used in texts.items() if gone in used}
        allowed = suspects.get(path, {})
        if not changed or any(
            one.origin != "static" or allowed.get(slot) is not one or kept in texts[slot]
            for slot, one in changed.items()
        ):
            return False
        if path in drafts and _is_on_one_path(drafts[path].text, complaint.line):
            texts_changed = (text for one in changed.values() for text in _texts(one))
            if not all(_is_bare(gone, text) for text in texts_changed):
                return False
            kept = "_"
        for slot, one in changed.items():
            self.found[path][slot] = replace(one, kind=renamed(one.kind, gone, kept))
        return True

    def _drop(self, places: Sequence[Place], reason: str) -> None:
        """Take back what is proposed for a function; one that has nothing left is refused."""
        path, slot = places[0]
        mine = self.found[path]
        gone = [(path, mine.pop(slot)) for _, slot in places]
        left = {one: mine[one] for one in mine if one.function == slot.function}
        gone += [(path, mine.pop(one)) for one in _unbound(left, [one for _, one in gone])]
        self.dropped |= {self._key(path, one) for path, one in gone}
        said = (one for _, one in gone if one.origin != "static")
        self.taken_back |= {(path, one.slot, one.origin) for one in said}
        line = min(one.line for _, one in gone)
        if not self._is_annotated(path, slot.function):
            shown = self.files[path].path
            self.outcome.refused.append(Refusal(shown, line, slot.function, reason))

    def _drafts(self, paths: Collection[Path]) -> dict[Path, Draft]:
        """Return files with all that is proposed at the moment."""
        drafts = {}
        asked = sorted(paths)
        written = parallel.each(self._text, asked, self.lines.__getitem__)
        for path, (text, unfit, problem) in zip(asked, written, strict=True):
            for slot in unfit:  # as a result of several tensors of which one shape is said
                self.unfit.add(self._key(path, self.found[path].pop(slot)))
            if problem:
                self.outcome.problems.append(problem)
            else:
                drafts[path] = Draft(text, self._kinds(path))
        return drafts

    def _kinds(self, path: Path) -> dict[Slot, Type]:
        return {slot: proposal.kind for slot, proposal in self.found.get(path, {}).items()}

    def _text(self, path: Path) -> tuple[str, frozenset[Slot], str]:
        """Return a file's text with its annotations, those that don't fit, and what is wrong."""
        file = self.files[path]
        try:
            text, unfit = annotate(file.text, self._kinds(path), self.settings.style)
            return convert(text, self.settings.style) if self.converts else text, unfit, ""
        except cst.ParserSyntaxError as error:
            return "", frozenset(), f"{file.path}:{error.raw_line}: can't be parsed"


def _strength(name: str, texts: Iterable[Collection[str]]) -> tuple[bool, int, int]:
    """Return how good a name is for what has two: without a number, often used, telling."""
    return not name[-1].isdigit(), sum(name in used for used in texts), len(name)


def _places(proposed: Mapping[Path, Proposed], paths: Iterable[Path]) -> list[Place]:
    return [(path, slot) for path in paths for slot in proposed[path]]


def _fields(places: Sequence[Place], complaint: verify.Complaint) -> list[Place]:
    """Return the field that a complaint names, else those of its file, else all, among places."""
    every = [place for place in places if place[1].local == FIELD]
    blame = complaint.blame
    named = [
        (path, slot)
        for path, slot in every
        if blame.part in ("field", "parameter")
        and (slot.function.rpartition(".")[2], slot.name) == (blame.function, blame.name)
    ]
    return named or [place for place in every if place[0] == complaint.path] or every


def _unbound(left: Proposed, gone: Sequence[Proposal]) -> list[Slot]:
    """Return which of a function's annotations use names that only those said what are.

    A result that all parameters broadcast to isn't what is left of them broadcasts to.
    """

    def bound(proposals: Iterable[Proposal]) -> set[str]:
        every = [one for one in proposals if not one.slot.local and one.slot.name != "return"]
        return {name for one in every for text in _texts(one) for name in spec.bare_names(text)}

    lost = bound(gone) - bound(left.values())
    parts = {group.name for one in gone for group in _groups(one) if group.broadcast}
    counts = Counter(name for one in left.values() for text in _texts(one) for name in text.names())

    def is_unbound(one: Proposal) -> bool:
        texts = _texts(one)
        return any(lost & {*text.names()} or _is_alone(text, counts) for text in texts)

    return [
        slot
        for slot, one in left.items()
        if (one.origin == "static" and is_unbound(one))
        or (slot.name == "return" and any(group.name in parts for group in _groups(one)))
    ]


def _is_alone(text: spec.Spec, counts: Mapping[str, int]) -> bool:
    """Whether a shape is a group that broadcasts, and there is nothing that it broadcasts to."""
    return bool(text.entries) and all(
        isinstance(entry, spec.Group) and entry.broadcast and counts[entry.name or ""] < 2
        for entry in text.entries
    )


def _groups(proposal: Proposal) -> list[spec.Group]:
    every = (entry for text in _texts(proposal) for entry in text.entries)
    return [entry for entry in every if isinstance(entry, spec.Group)]


def _is_on_one_path(text: str, line: int) -> bool:
    """Whether what stands on a line of a text is in a branch of an `if`."""
    for node in nodes_of(ast.If, tree_of(text)):
        branches = [branch for branch in (node.body, node.orelse) if branch]
        if any(branch[0].lineno <= line <= (branch[-1].end_lineno or 0) for branch in branches):
            return True
    return False


def _is_bare(name: str, text: spec.Spec) -> bool:
    """Whether a name is a dimension by itself wherever it stands in a text."""
    bare = [str(one) for one in text.entries].count(name)
    return bare == [*text.names()].count(name)


def _texts(proposal: Proposal) -> list[spec.Spec]:
    return [spec.parse(one.text) for one in proposal.kind.tensors()]
