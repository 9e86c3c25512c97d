"""Which annotations a complaint is about: found by trying what is left of it without them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shapecheck.analysis import Options, Source
from shapecheck.analysis.annotations.declarations import arguments_of
from shapecheck.analysis.check.module import check_module, forget
from shapecheck.analysis.program.syntax import syntax
from shapecheck.analysis.study.study import defs
from shapecheck.codemod.project.files import PythonFile
from shapecheck.codemod.project.project import Project, ProjectHost, module_of
from shapecheck.codemod.propose.proposals import Proposed, is_loose
from shapecheck.codemod.verify.complaints import Complaint, complaints_of, moving, new
from shapecheck.codemod.write.edit import Slot

Place = tuple[Path, Slot]

_TRUST: Final = {"static": 0, "docstrings": 1, "comments": 1, "record": 2, "torchtyping": 3}
"""How far what an annotation comes from is to be believed."""


@dataclass(frozen=True, slots=True)
class _Trial:
    """What some functions of a file draw, and the functions that this rests on, by their lines."""

    complaints: list[Complaint]
    consulted: set[tuple[Path, int]]


@dataclass(frozen=True, slots=True)
class _Suspect:
    """An annotation that may be wrong; `is_named`: the complaint says that this isn't fitted.

    `rank` says how likely it is to be wrong, the least first.
    """

    place: Place
    trust: int
    is_named: bool
    rank: tuple[int, bool, bool, bool]


class Blame:
    """Tries annotated texts without some of the annotations, a function at a time.

    `files` are the texts without any annotation, `found` the annotations in `texts`, `old` the
    complaints about the files as they were, `options` those with which they were drawn.
    """

    def __init__(
        self,
        files: Mapping[Path, PythonFile],
        texts: Mapping[Path, str],
        found: Mapping[Path, Proposed],
        old: Sequence[Complaint],
        options: Options,
    ) -> None:
        self._files, self._texts, self._found = files, texts, found
        self._old, self._options = old, options
        self._project = Project({path: file.text for path, file in files.items()} | {**texts})
        self._gone: list[Place] = []
        self._slots: dict[Source, dict[Slot, _Written]] = {}
        self._before: dict[Path, dict[Slot, _Written]] = {}
        self._masked_for: dict[ProjectHost, set[Place]] = {}

    def of(self, path: Path, complaints: Sequence[Complaint]) -> dict[Place, Complaint]:
        """Return annotations without which a file's complaints are gone, each with its complaint.

        Where either of two would do, it is the one that is less to be believed.
        """
        self._gone = []  # a file is judged by itself: who does others, and when, doesn't matter
        dropped: dict[Place, Complaint] = {}
        for scope in dict.fromkeys(self._scope(one) for one in complaints):
            while (trial := self._tried(path, scope)).complaints:
                complaint = trial.complaints[0]
                chosen = self._wrong(scope, trial, complaint)
                if not chosen:
                    break
                self._gone += chosen
                dropped |= dict.fromkeys(chosen, complaint)
        return dropped

    def about(self, complaint: Complaint) -> list[Place]:
        """Return all annotations that may take part in a complaint."""
        trial = self._tried(complaint.path, self._scope(complaint))
        return [suspect.place for suspect in self._suspects(complaint, trial)]

    def hiding(self, complaint: Complaint) -> list[Place]:
        """Return annotations without which a complaint about the files as they were is back.

        As few as can be, and none where that doesn't help. It counts only where `old` is empty.
        """
        self._gone = []
        path = complaint.path
        text = self._files[path].text
        moved = moving(text, self._texts.get(path, text))
        complaint = complaint.moved(moved(complaint.line), map(moved, complaint.through))
        scope = self._scope(complaint)

        def is_back(places: Sequence[Place]) -> bool:
            tried = self._tried(path, scope, places)
            return any(one.place == complaint.place for one in tried.complaints)

        return self._needed(self._suspects(complaint, self._tried(path, scope)), is_back)

    def _wrong(self, scope: frozenset[int], trial: _Trial, complaint: Complaint) -> list[Place]:
        """Return those without which a complaint is gone, as few as can be; none if none help."""
        suspects = self._suspects(complaint, trial)
        count = Counter(one.place for one in trial.complaints)[complaint.place]

        def helps(places: Sequence[Place]) -> bool:
            tried = self._tried(complaint.path, scope, places)
            return Counter(one.place for one in tried.complaints)[complaint.place] < count

        return self._needed(suspects, helps)

    def _needed(
        self, suspects: Sequence[_Suspect], helps: Callable[[Sequence[Place]], bool]
    ) -> list[Place]:
        """Return as few suspects as can be without which it is better; none if none help."""
        chosen: list[Place] = []
        left = [suspect.place for suspect in suspects]
        while not chosen or not helps(chosen):
            number = _fewest(left, lambda some: helps([*chosen, *some]))
            if not number:
                return []
            chosen.append(left[number - 1])
            left = left[: number - 1]
            if len(chosen) > 1:  # one of them alone isn't it
                named = [one.place for one in suspects if one.is_named and helps([one.place])]
                if named:
                    return named[:1]
        return chosen + self._peers(suspects, chosen, helps)

    @staticmethod
    def _peers(
        suspects: Sequence[_Suspect],
        chosen: Sequence[Place],
        helps: Callable[[Sequence[Place]], bool],
    ) -> list[Place]:
        """Return what a person has said that is as likely to be wrong as what is chosen."""
        (first, *_) = (one for one in suspects if one.place == chosen[0])
        if first.is_named or not first.trust or len(chosen) > 1:
            return []
        return [
            other.place
            for other in suspects
            if other is not first
            and other.trust == first.trust
            and other.place[1].function == first.place[1].function
            and helps([other.place])
        ]

    def _suspects(self, complaint: Complaint, trial: _Trial) -> list[_Suspect]:
        """Return the annotations that a complaint may be about, the least to be believed first."""
        found: list[_Suspect] = []
        for path, lines in _by_file(trial.consulted).items():
            for slot, written in self._written(path).items():
                proposal = self._found.get(path, {}).get(slot)
                if proposal is None or written.function.lineno not in lines:
                    continue
                is_own = path == complaint.path and slot.function == complaint.function
                is_here = is_own and written.spans(complaint.line)
                is_named = _is_unfit(complaint, slot, is_here)
                trust = _TRUST[proposal.origin]
                # What a body needs it needs in each call; a guess of its result is another matter.
                is_about = is_named if complaint.unfit[1] == "return" else not is_own
                if complaint.narrows and (trust or not is_about):
                    continue
                if (path, slot) not in self._gone:
                    rank = trust, not is_named, not is_loose(proposal), not is_own
                    found.append(_Suspect((path, slot), trust, is_named, rank))
        return sorted(found, key=lambda one: one.rank)

    def _scope(self, complaint: Complaint) -> frozenset[int]:
        """Return the lines of the functions whose checks may draw a complaint; 0 is for none."""
        text = self._texts.get(complaint.path, self._files[complaint.path].text)
        tree = syntax(self._source(complaint.path, text)).tree
        outer = [node for node, name, _ in defs(tree) if "<locals>" not in name]
        found = set()
        for line in (complaint.line, *complaint.through):
            inside = [n.lineno for n in outer if n.lineno <= line <= (n.end_lineno or 0)]
            found.add(max(inside, default=0))
        return frozenset(found)

    def _tried(self, path: Path, scope: frozenset[int], without: Sequence[Place] = ()) -> _Trial:
        """Check some functions of a file without some of the annotations."""
        host = self._project.host(path)
        host.consulted.clear()
        text = self._texts.get(path, self._files[path].text)
        source = self._source(path, text)
        places = {*self._gone, *without}
        changed = self._masked_for.get(host, set()) ^ places
        self._masked_for[host] = places
        forget(host, {place for one in changed for place in self._functions(*one)})
        with self._masked(places):
            said = check_module(source, host, self._options, scope)
        lines = {(Path(path), line) for path, line in host.consulted}
        return _Trial(new(self._old, complaints_of(path, source, said)), lines)

    # Annotations in syntax trees

    @contextmanager
    def _masked(self, places: Iterable[Place]) -> Iterator[None]:
        """Have trees be for a while as if some annotations hadn't been written into them."""
        changed: list[tuple[_Written, ast.expr | None]] = []
        try:
            for path, slot in places:
                before = self._unwritten(path).get(slot)
                for source in self._sources(path):
                    written = self._in(source)[slot]
                    changed.append((written, written.annotation))
                    written.put(None if before is None else before.annotation)
            yield
        finally:
            for written, annotation in reversed(changed):
                written.put(annotation)

    def _functions(self, path: Path, slot: Slot) -> Iterator[tuple[str, int]]:
        """Yield the function of an annotation, and those around it, each a path and a line."""
        for other, written in self._written(path).items():
            if slot.function == other.function or slot.function.startswith(f"{other.function}."):
                yield str(path), written.function.lineno

    def _source(self, path: Path, text: str) -> Source:
        return Source(module_of(path)[0], str(path), text)

    def _sources(self, path: Path) -> set[Source]:
        """Return the annotated file under each name by which it is known."""
        own = self._source(path, self._texts[path])
        return {own, *(one for one in self._project.known() if one.path == own.path)}

    def _written(self, path: Path) -> dict[Slot, _Written]:
        return self._in(self._source(path, self._texts[path])) if path in self._texts else {}

    def _in(self, source: Source) -> dict[Slot, _Written]:
        if source not in self._slots:
            self._slots[source] = _slots(syntax(source).tree)
        return self._slots[source]

    def _unwritten(self, path: Path) -> dict[Slot, _Written]:
        """Return the annotations that were there before."""
        if path not in self._before:
            self._before[path] = _slots(ast.parse(self._files[path].text))
        return self._before[path]


@dataclass(frozen=True, slots=True)
class _Written:
    """Where in a tree an annotation is: a `def`, a parameter or an assignment has it."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.arg | ast.AnnAssign
    function: ast.FunctionDef | ast.AsyncFunctionDef

    @property
    def annotation(self) -> ast.expr | None:
        """The annotation."""
        return self.node.annotation if isinstance(self.node, _HOLDERS) else self.node.returns

    def put(self, annotation: ast.expr | None) -> None:
        """Replace the annotation; None takes it away."""
        if isinstance(self.node, ast.AnnAssign):
            self.node.annotation = annotation or ast.Name("object", ast.Load())
        elif isinstance(self.node, ast.arg):
            self.node.annotation = annotation
        else:
            self.node.returns = annotation

    def spans(self, line: int) -> bool:
        """Whether what has the annotation stands on a line."""
        return self.node.lineno <= line <= (self.node.end_lineno or 0)


_HOLDERS: Final = (ast.arg, ast.AnnAssign)


def _slots(tree: ast.AST) -> dict[Slot, _Written]:
    """Return all places of a tree that have or may have an annotation."""
    found: dict[Slot, _Written] = {}
    for node, name, nth in defs(tree):
        key = name, nth
        for one in arguments_of(node, stars=True):
            found[Slot(*key, one.arg)] = _Written(one, node)
        found[Slot(*key, "return")] = _Written(node, node)
        counts: Counter[str] = Counter()
        for statement in _assignments(node.body):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    counts[target.id] += 1
                    if isinstance(statement, ast.AnnAssign):
                        slot = Slot(*key, target.id, counts[target.id])
                        found[slot] = _Written(statement, node)
    return found


def _assignments(body: Sequence[ast.AST]) -> Iterator[ast.Assign | ast.AnnAssign]:
    """Yield the assignments of a function's body in order, without those of functions in it."""
    for node in body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            yield node
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.expr)):
            yield from _assignments([*ast.iter_child_nodes(node)])


def _fewest(places: Sequence[Place], helps: Callable[[Sequence[Place]], bool]) -> int:
    """Return how many of the first places help, where more of them do too; 0 if all don't."""
    low, high = 0, min(1, len(places))
    while not helps(places[:high]):
        if high == len(places):
            return 0
        low, high = high, min(2 * high, len(places))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if helps(places[:middle]) else (middle, high)
    return high


def _is_unfit(complaint: Complaint, slot: Slot, is_here: bool) -> bool:
    """Whether a place is the one that a complaint says is not what is declared."""
    if slot.local:
        return is_here
    function, name = complaint.unfit
    return name in ("", slot.name) and function in slot.function.split(".")[-2:]


def _by_file(places: set[tuple[Path, int]]) -> dict[Path, set[int]]:
    found: dict[Path, set[int]] = {}
    for path, line in sorted(places):
        found.setdefault(path, set()).add(line)
    return found
