"""What the analysis says of a tree before and after it was annotated."""

from __future__ import annotations

import ast
import bisect
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from shapecheck import parallel
from shapecheck.analysis import Diagnostic, Options, Source
from shapecheck.analysis.check.module import check_parts
from shapecheck.analysis.program.syntax import syntax
from shapecheck.analysis.study.study import defs
from shapecheck.blame import OPERATION, Blame
from shapecheck.codemod.project.files import PythonFile
from shapecheck.codemod.project.project import Name, Project, module_of
from shapecheck.codemod.write.annotation_types import Type
from shapecheck.codemod.write.edit import FIELD, Slot


@dataclass(frozen=True, slots=True)
class Complaint:
    """An error of the analysis: in which file and function, on which line of it, and about what."""

    path: Path
    function: str
    offset: int
    line: int
    message: str
    blame: Blame

    @property
    def place(self) -> tuple[Path, str, int]:
        """Where it is, whatever was added above the function."""
        return self.path, self.function, self.offset

    @property
    def through(self) -> tuple[int, ...]:
        """The lines of the calls that lead there."""
        return self.blame.through

    @property
    def narrows(self) -> bool:
        """Whether it says that a name is a number.

        That is wrong where a guess at what is called says so: other calls have another.
        """
        return self.blame.kind == "number"

    @property
    def unfit(self) -> tuple[str, str]:
        """The function and the parameter, or `return`, that doesn't fit, if it is about one.

        The name of a parameter is "" where it may be any of the function's.
        """
        match self.blame:
            case Blame(part="parameter", function=function, name=name):
                return function.rpartition(".")[2], name
            case Blame(part="result", function=function):
                return function, "return"
        return "", ""

    def moved(self, line: int, through: Iterable[int] = ()) -> Complaint:
        """Return it as it is where it and the calls that lead there are on other lines."""
        return replace(self, line=line, blame=replace(self.blame, through=tuple(through)))


_Key = tuple[str, int]
"""A part of a module: a function's qualified name and how many have it above; none: its own."""


@dataclass(frozen=True, slots=True)
class _Part:
    """What the analysis said of a part, which files it looked at, and which annotations.

    `consulted`: for each function of which it read them, its file and its qualified name. `steps`
    is what it took.
    """

    complaints: tuple[Complaint, ...]
    looked_at: frozenset[Path]
    consulted: frozenset[Name]
    steps: int = 0

    def moved(self, moved: Callable[[int], int]) -> _Part:
        """Return it as it is where lines have moved."""
        every = (one.moved(moved(one.line), map(moved, one.through)) for one in self.complaints)
        return replace(self, complaints=tuple(every))


_Checked = dict[_Key, _Part | None]
"""The parts of a module; None for one that is to be checked again."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A file as it is to become: its text, and the annotations that were written into it."""

    text: str
    kinds: Mapping[Slot, Type] = field(default_factory=dict)

    def differing(self, other: Draft) -> set[str]:
        """Return the names of the functions of which the annotations differ.

        None, as if it weren't known, where those of a field do: any function may rest on them.
        """
        slots = [slot for slot, _ in self.kinds.items() ^ other.kinds.items()]
        is_field = any(slot.local == FIELD for slot in slots)
        return set() if is_field else {slot.function for slot in slots}


@dataclass(frozen=True, slots=True)
class _State:
    """A tree as it was to become at some time, and what the analysis said of files of it."""

    drafts: Mapping[Path, Draft]
    checked: dict[Path, _Checked]

    def still(self, drafts: Mapping[Path, Draft]) -> dict[Path, _Checked]:
        """Return what would be found out of the tree with these drafts, too."""
        changed: dict[Path, set[str]] = {}
        for path, draft in drafts.items():
            if draft.text != self.drafts[path].text:
                changed[path] = draft.differing(self.drafts[path])
        # Where it isn't known what has changed, all counts that looks at the file.
        whole = {path for path, names in changed.items() if not names}
        consulted = {(str(path), name) for path, names in changed.items() for name in names}
        found: dict[Path, _Checked] = {}
        for path, parts in self.checked.items():
            if path in whole:
                continue
            own = changed.get(path, set())
            kept = {
                key: part
                for key, part in parts.items()
                if part is not None
                and not (part.looked_at & whole or part.consulted & consulted or _has(key, own))
            }
            if own and any(part.complaints for part in kept.values()):
                moved = moving(self.drafts[path].text, drafts[path].text)
                kept = {key: part.moved(moved) for key, part in kept.items()}
            found[path] = {**dict.fromkeys(parts), **kept}
        return found


def _has(part: _Key, functions: Iterable[str]) -> bool:
    """Whether some of the functions are a part, or in it."""
    return any(name == part[0] or name.startswith(f"{part[0]}.<locals>.") for name in functions)


def moving(before: str, after: str) -> Callable[[int], int]:
    """Return where the lines of a text are in another, which has other annotations and imports."""
    old, new = ([node.lineno for node, _, _ in defs(ast.parse(text))] for text in (before, after))
    by_line = dict(zip(old, new, strict=True))
    starts = sorted(by_line)

    def moved(line: int) -> int:
        above = max(bisect.bisect_right(starts, line) - 1, 0)
        return by_line[starts[above]] + line - starts[above] if starts else line

    return moved


class Verifier:
    """Analyses the files of a tree, as they are to become; each again only if it may matter.

    What was found before the last change is kept: that may be taken back. Of the files in `brief`
    each body gets few steps.
    """

    def __init__(
        self,
        files: Mapping[Path, PythonFile],
        options: Options,
        advance: Callable[[str, int], None],
        brief: AbstractSet[Path] = frozenset(),
    ) -> None:
        self._files, self._options, self._advance = files, options, advance
        self._brief = brief
        self._now = _State({path: Draft(file.text) for path, file in files.items()}, {})
        self._before = self._now

    def complaints(
        self, drafts: Mapping[Path, Draft], paths: Collection[Path] | None = None
    ) -> list[Complaint]:
        """Return the errors in files (in all by default) of which some are to become others now."""
        if any(draft.text != self._now.drafts[path].text for path, draft in drafts.items()):
            every = {**self._now.drafts, **drafts}
            known = self._before.still(every)
            for path, now in self._now.still(every).items():
                before = known.get(path, {})
                known[path] = {key: part or before.get(key) for key, part in now.items()}
            self._before, self._now = self._now, _State(every, known)
        checked = self._now.checked
        asked = [path for path in self._files if paths is None or path in paths]
        old = [path for path in asked if path not in checked or None in checked[path].values()]
        texts = {path: draft.text for path, draft in self._now.drafts.items()}
        project = Project(texts)
        lines = {path: self._lines(path) for path in old}
        found = parallel.each(
            lambda path: self._check(path, project),
            old,
            lines.__getitem__,
            lambda path: self._advance("verifying", lines[path]),
        )
        for path, new in zip(old, found, strict=True):
            checked.setdefault(path, {}).update(new)
        # What goes wrong in a function is said of each part that calls it, and told once.
        told: dict[object, Complaint] = {}
        for path in asked:
            for part in checked[path].values():
                for one in part.complaints if part is not None else ():
                    told.setdefault((one.place, one.message), one)
        return [*told.values()]

    def looked_at(self, path: Path) -> frozenset[Path]:
        """Return the files that the analysis of a file has asked for."""
        parts = self._now.checked[path].values()
        return frozenset[Path]().union(*(part.looked_at for part in parts if part))

    def _lines(self, path: Path) -> int:
        """Return about how many lines of a file are to be checked."""
        parts = self._now.checked.get(path, {"": None})
        lines = self._now.drafts[path].text.count("\n")
        return lines * [*parts.values()].count(None) // len(parts)

    def _check(self, path: Path, project: Project) -> dict[_Key, _Part]:
        """Analyse what isn't known of a file; one that can't be parsed has no errors."""
        source = Source(module_of(path)[0], str(path), self._now.drafts[path].text)
        host = project.host(path)
        known = self._now.checked.get(path)
        found = {} if known else {("", 0): _Part((), frozenset(), frozenset())}
        try:
            by_line = {node.lineno: (name, nth) for node, name, nth in defs(syntax(source).tree)}
            by_line[0] = "", 0
            only = [n for n, key in by_line.items() if known is None or known.get(key, 0) is None]
            kept = {line: known.get(key) for line, key in by_line.items()} if known else {}
            steps = {line: part.steps for line, part in kept.items() if part is not None}
            is_brief = path in self._brief
            for part in check_parts(source, host, self._options, only, steps, is_brief):
                places = {one for one in part.rests_on if not isinstance(one, str)}
                modules = (host.source(one) for one in part.rests_on if isinstance(one, str))
                found[by_line[part.line]] = _Part(
                    tuple(complaints_of(path, source, part.said)),
                    frozenset(Path(one.path) for one in modules if one is not None),
                    project.names(places),
                    part.steps,
                )
        except (SyntaxError, ValueError, RecursionError):
            pass
        return found


@lru_cache(maxsize=8)
def _places(source: Source) -> tuple[tuple[int, int, str], ...]:
    """Return the functions in a file: the first line of each, its last one, and its name."""
    every = defs(syntax(source).tree)
    return tuple((node.lineno, node.end_lineno or node.lineno, name) for node, name, _ in every)


def complaints_of(path: Path, source: Source, said: Sequence[Diagnostic]) -> list[Complaint]:
    """Return the errors in what the analysis says of a file that is to become this."""
    if not said:
        return []
    found: list[Complaint] = []
    for one in said:
        blame = one.blame or OPERATION
        if one.severity == "error" and blame.kind != "equal":
            line = one.span.line
            inside = [place for place in _places(source) if place[0] <= line <= place[1]]
            first, _, name = max(inside) if inside else (line, line, "")
            place = path, name, line - first, line
            found.append(Complaint(*place, one.message, blame))
    return found


def checking(options: Options) -> Options:
    """Return the options with which annotations are verified."""
    return replace(options, strict=True)


def new(before: Iterable[Complaint], after: Iterable[Complaint]) -> list[Complaint]:
    """Return the complaints that weren't there before."""
    known = Counter(one.place for one in before)
    found = []
    for one in after:
        if known[one.place] > 0:
            known[one.place] -= 1
        else:
            found.append(one)
    return found
