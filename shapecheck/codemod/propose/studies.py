"""Studies the functions of a tree, in all processes, and again as far as what they rest on changes.

A function is studied with what is said of its parameters, then with what its callers hand over.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from shapecheck import parallel
from shapecheck.analysis import Source
from shapecheck.analysis.interpreter.budget import Effort
from shapecheck.analysis.study.model import Study
from shapecheck.analysis.study.study import study, with_known
from shapecheck.codemod.project.files import PythonFile
from shapecheck.codemod.project.project import Function, Name, Project, module_of
from shapecheck.codemod.propose.callers import (
    Call,
    Given,
    agreed,
    calls,
    open_parameters,
    used_whole,
    values,
)
from shapecheck.codemod.propose.escapes import escaping
from shapecheck.codemod.propose.overrides import Method, inherited, method
from shapecheck.codemod.propose.proposals import (
    Proposal,
    Proposed,
    Proposer,
    Refusal,
    Said,
    Settings,
    is_vague,
)
from shapecheck.codemod.sources.static import is_shaped, typed, wanted
from shapecheck.codemod.write.annotation_types import Type
from shapecheck.codemod.write.edit import Slot
from shapecheck.ops import Value

STUDY_STEPS = 1_200_000
"""When the functions of a file have taken more in one round, each of the others gets few."""
MOST_STUDIED: Final = 2
"""So many times as much is taken for a file in all rounds, before each function gets few."""


@dataclass(slots=True)
class _Known:
    """What outlives the study of a function.

    What it `hands` to others, its parameters of which callers may say the axes, those that no
    annotation says to be tensors, those of which it uses no axis by itself, what callers have said
    of them, whether it `lacks` annotations, and the functions of which annotations were read.
    """

    hands: list[tuple[Function, Call]]
    open: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    given: dict[str, Given] = field(default_factory=dict)
    lacks: bool = True
    rests_on: frozenset[Name] = frozenset()


@dataclass(slots=True)
class Found:
    """What studying functions of a file has come to, and how many steps that took."""

    proposed: Proposed = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)
    known: dict[Function, _Known] = field(default_factory=dict)
    methods: list[Method] = field(default_factory=list)
    shaped: set[Name] = field(default_factory=set)
    steps: int = 0


Handed = list[tuple[Function, list[tuple[Function, Call]]]]


class Studies:
    """Proposes annotations for the functions of a tree, more each time that some are written.

    `shaped` are those that had some before, `disbelieved` is what texts and records say wrongly,
    `apart` the functions of which axes that others call the same may be two, `spent` the files that
    have taken the most of their steps: what is looked at in these gets few.
    """

    def __init__(self, settings: Settings, lines: Mapping[Path, int]) -> None:
        self._settings, self._lines = settings, lines
        self._known: dict[Path, dict[Function, _Known]] = {path: {} for path in lines}
        self._methods: dict[Function, Method] = {}
        self.shaped: set[Name] = set()
        self.disbelieved: set[Said] = set()
        self.apart: set[Name] = set()
        self.spent: set[Path] = set()
        self._taken = dict.fromkeys(lines, 0)
        self._escaping: frozenset[str] | None = None

    def propose(
        self,
        files: Mapping[Path, PythonFile],
        news: AbstractSet[Name] | None,
        done: Callable[[Path], None],
        lacking: AbstractSet[Name] = frozenset(),
        alone: bool = False,
    ) -> dict[Path, Found]:
        """Return what there is to annotate in files, as they are now.

        `news` are the functions that have got annotations since the last time; None at first.
        `lacking` are to be studied in any case; `alone`: whatever their callers hand over. `done`
        is told twice of each file.
        """
        texts = {path: file.text for path, file in files.items()}
        project = Project(texts)
        if self._escaping is None:
            self._escaping = escaping(map(ast.parse, texts.values()))

        def work(
            paths: Iterable[Path], tell: Callable[[Path], None]
        ) -> Generator[Handed | None, list[Handed | None], list[Found]]:
            free = lacking if alone else frozenset[Name]()
            share = _Share(self._settings, self._known, files, project, free)
            share.disbelieved, share.escaping = self.disbelieved, self._escaping or frozenset()
            share.apart = self.apart
            share.efforts = {path: self._effort(path) for path in files}
            return share.work(paths, news, lacking, tell)

        paths = [*files]
        results = parallel.together(work, paths, self._lines.__getitem__, done)
        found = dict(zip(paths, results, strict=True))
        for path, one in found.items():
            self._known[path] |= one.known
            self._taken[path] += one.steps
            if one.steps > STUDY_STEPS or self._taken[path] > MOST_STUDIED * STUDY_STEPS:
                self.spent.add(path)
            self.shaped |= one.shaped if news is None else set()
            for each in one.methods:  # as they are at first, when all of them are studied
                self._methods.setdefault(each.function, each)
        return found

    def _effort(self, path: Path) -> Effort:
        return Effort.spent() if path in self.spent else Effort(most=STUDY_STEPS)

    def near(self, names: AbstractSet[Name]) -> set[Name]:
        """Return some functions, those that rest on them, and those on which they rest."""
        found = {*names}
        for functions in self._known.values():
            for (file, name, _), one in functions.items():
                if (file, name) in names:
                    found |= one.rests_on
                elif one.rests_on & names:
                    found.add((file, name))
        return found

    def inherited(self, found: Mapping[Path, Proposed]) -> Iterator[tuple[Path, Proposal]]:
        """Yield proposals for abstract methods, by all that is found for what overrides them."""
        kinds: defaultdict[Function, dict[str, Type]] = defaultdict(dict)
        for path, proposed in found.items():
            for slot, one in proposed.items():
                if not slot.local:
                    kinds[str(path), slot.function, slot.nth][slot.name] = one.kind
        for each, name, kind in inherited(self._methods.values(), kinds):
            file, function, nth = each.function
            slot = Slot(function, nth, name)
            yield Path(file), Proposal(slot, kind, "static", each.line)


class _Share:
    """The files that one process studies.

    What callers hand to the `free` functions doesn't count, nor which axes they hand to methods of
    classes that are `escaping`: others may hand on more. `disbelieved` is what is said wrongly.
    """

    disbelieved: AbstractSet[Said] = frozenset()
    escaping: AbstractSet[str] = frozenset()
    apart: AbstractSet[Name] = frozenset()
    efforts: Mapping[Path, Effort] = MappingProxyType({})

    def __init__(
        self,
        settings: Settings,
        known: Mapping[Path, Mapping[Function, _Known]],
        files: Mapping[Path, PythonFile],
        project: Project,
        free: AbstractSet[Name],
    ) -> None:
        self._settings, self._known, self._files, self._project = settings, known, files, project
        # Functions for which it may matter what is handed to them.
        self._open: set[Name] = {
            (file, name)
            for functions in known.values()
            for (file, name, _), one in functions.items()
            if one.open
        }
        self._free = free
        self._proposers: dict[Path, Proposer] = {}
        self._said: dict[Function, dict[str, Value]] = {}

    def work(
        self,
        paths: Iterable[Path],
        news: AbstractSet[Name] | None,
        lacking: AbstractSet[Name],
        tell: Callable[[Path], None],
    ) -> Generator[Handed | None, list[Handed | None], list[Found]]:
        """Study files; yields what their functions hand to others, gets that of all files."""
        studied: dict[Path, dict[Function, Study]] = {}
        hands: dict[Function, list[tuple[Function, Call]]] = {}
        for path in paths:
            names = None if news is None else self._affected(path, news, lacking)
            studied[path] = self._study(path, names)
            hands |= {function: self._calls(one) for function, one in studied[path].items()}
            tell(path)
        shared = yield [*hands.items()]
        calls = self._by_callee([each for part in shared for each in part or ()])
        found = []
        for path in [*studied]:
            found.append(self._proposed(path, studied.pop(path), hands, calls))
            tell(path)
        yield None
        return found

    def _affected(
        self, path: Path, news: AbstractSet[Name], lacking: AbstractSet[Name]
    ) -> set[str]:
        """Return the functions of a file of which news may say more, or of those that they call.

        Those that are `lacking` are among them.
        """
        found = set()
        for (_, name, _), one in self._known[path].items():
            new = one.rests_on & news
            called = {(file, function) for (file, function, _), _ in one.hands} | new
            if (str(path), name) in lacking or (new and (one.lacks or called & self._open)):
                found.add(name)
        return found

    def _study(self, path: Path, names: Collection[str] | None) -> dict[Function, Study]:
        """Study functions of a file, with what is said of them; None stands for all."""
        if names is not None and not names:
            return {}
        if path not in self._proposers:
            told = self._files[path], self._settings, self.disbelieved
            self._proposers[path] = Proposer(path, *told)
            here = {function for file, function in self.apart if file == str(path)}
            self._proposers[path].apart = here
        source = Source(module_of(path)[0], str(path), self._files[path].text)
        found = {}
        host, effort = self._project.host(path), self.efforts[path]
        for one in study(source, host, self._settings.options, names, effort):
            function = str(path), one.qualname, one.nth
            said = self._proposers[path].said(one)
            known = with_known(one, said) if said else one
            if ranks := self._proposers[path].ranks(known):
                ranked = with_known(known, {**said, **ranks})
                said = said if ranked is known else {**said, **ranks}
                known = ranked
            if said:
                self._said[function] = said
            found[function] = known
        return found

    def _calls(self, one: Study) -> list[tuple[Function, Call]]:
        """Return what a function hands to those that it calls."""
        every = ((self._project.function(*place), call) for place, call in calls(one))
        return [(function, call) for function, call in every if function is not None]

    def _by_callee(self, new: Handed) -> defaultdict[Function, list[Call]]:
        """Return all calls of each function: those that are new, and those known from before."""
        fresh = {function for function, _ in new}
        old = (
            (function, one.hands)
            for known in self._known.values()
            for function, one in known.items()
            if function not in fresh
        )
        found: defaultdict[Function, list[Call]] = defaultdict(list)
        for _, hands in (*old, *new):
            for callee, call in hands:
                found[callee].append(call)
        return found

    def _proposed(
        self,
        path: Path,
        studied: dict[Function, Study],
        hands: Mapping[Function, list[tuple[Function, Call]]],
        calls: Mapping[Function, list[Call]],
    ) -> Found:
        """Return what there is to say of the functions of a file, knowing their callers."""
        before = self._known[path]
        late = {
            function[1]
            for function, one in before.items()
            if function not in studied
            and agreed(calls.get(function, ()), one.open, one.bare, one.whole) != one.given
        }
        studied = {**self._study(path, late), **studied}
        found = Found()
        for function, one in studied.items():
            said = self._said.get(function, {})
            several = self._proposers[path].of_several_shapes(one)
            open_ = tuple(n for n in open_parameters(one, said) if n not in several)
            bare = tuple(sorted(one.bare - said.keys()))
            whole = used_whole(one, open_)
            given = agreed(calls.get(function, ()), open_, bare, whole)
            owner = one.function.owner
            free = function[:2] in self._free or (owner is not None and owner.name in self.escaping)
            counts = {name: each for name, each in given.items() if not free or each.axes is None}
            best = typed(with_known(one, {**said, **values(counts, one)}) if counts else one)
            proposed, refused = self._proposers[path].proposals(best)
            found.proposed |= proposed
            found.refused += refused
            handed = hands[function] if function in hands else self._calls(one)
            places = (place for place in best.rests_on if not isinstance(place, str))
            rests_on = self._project.names(places)
            firm = (slot for slot, made in proposed.items() if not is_vague(made))
            said_now = {slot.name for slot in firm if not slot.local}
            nothing = {"return"} if best.result is None else set[str]()
            lacks = bool(wanted(best) - said_now - nothing)
            lacks = lacks or function[1:] in self._proposers[path].waiting
            found.methods += filter(None, [method(best, function)])
            found.shaped |= {function[:2]} if is_shaped(one) else set()
            found.known[function] = _Known(handed, open_, bare, whole, given, lacks, rests_on)
        found.steps = self.efforts[path].taken
        return found
