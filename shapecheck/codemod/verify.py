"""What the analysis says of a tree before and after it was annotated."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shapecheck.analysis import Diagnostic, Options, Source, analyze_module
from shapecheck.analysis.inference import qualnames
from shapecheck.codemod import parallel
from shapecheck.codemod.files import PythonFile
from shapecheck.codemod.project import ProjectHost, module_of


@dataclass(frozen=True, slots=True)
class Complaint:
    """An error of the analysis: in which file and function, on which line of it, and the text."""

    path: Path
    function: str
    offset: int
    line: int
    message: str

    @property
    def place(self) -> tuple[Path, str, int]:
        """Where it is, whatever was added above the function."""
        return self.path, self.function, self.offset

    def callee(self) -> str | None:
        """Return the function whose parameter doesn't take what it is given, if that is it."""
        found = re.match(r'argument "[^"]*" of "([^"]*)"', self.message)
        return found[1].rpartition(".")[2] if found else None

    def slot(self) -> str | None:
        """Return the parameter, or `return`, that doesn't fit, if it is about one."""
        found = re.match(r'argument "([^"]*)" of "', self.message)
        is_result = self.message.startswith("returned value")
        return "return" if is_result else found[1] if found else None


@dataclass(frozen=True, slots=True)
class _Checked:
    """What the analysis said of a module in some round, and the files that it looked at."""

    round: int
    complaints: tuple[Complaint, ...]
    looked_at: frozenset[Path]


class Verifier:
    """Analyses the files of a tree, as they are to become; each again only if it may matter."""

    def __init__(
        self,
        root: Path,
        files: Mapping[Path, PythonFile],
        options: Options,
        advance: Callable[[str, int], None],
    ) -> None:
        self._root, self._files, self._options, self._advance = root, files, options, advance
        self._texts = {path: file.text for path, file in files.items()}
        self._changed = dict.fromkeys(files, 0)
        self._round = 0
        self._checked: dict[Path, _Checked] = {}

    def complaints(
        self, texts: Mapping[Path, str], paths: Iterable[Path] | None = None
    ) -> list[Complaint]:
        """Return the errors in files (in all by default) of which some have other texts now."""
        self._round += 1
        for path, text in texts.items():
            if self._texts[path] != text:
                self._texts[path] = text
                self._changed[path] = self._round
        asked = [*(self._files if paths is None else filter(self._files.__contains__, paths))]
        old = [path for path in asked if not self._holds(path)]
        host = ProjectHost(self._root, self._texts)
        lines = {path: self._texts[path].count("\n") for path in old}
        found = parallel.each(
            lambda path: self._check(path, host),
            old,
            lines.__getitem__,
            lambda path: self._advance("verifying", lines[path]),
        )
        self._checked.update(zip(old, found, strict=True))
        return [one for path in asked for one in self._checked[path].complaints]

    def _holds(self, path: Path) -> bool:
        """Whether what was found out of a file is what would be found out now."""
        known = self._checked.get(path)
        return known is not None and all(
            self._changed.get(one, 0) <= known.round for one in (path, *known.looked_at)
        )

    def _check(self, path: Path, host: ProjectHost) -> _Checked:
        """Analyse one file; one that can't be parsed has no errors."""
        source = Source(module_of(path)[0], str(path), self._texts[path])
        host.asked.clear()
        try:
            said = analyze_module(source, host, self._options)
            places = _functions(ast.parse(source.text)) if said else []
        except (SyntaxError, ValueError, RecursionError):
            said, places = [], []
        errors = tuple(_complaint(path, one, places) for one in said if one.severity == "error")
        return _Checked(self._round, errors, frozenset(host.asked))


def _functions(tree: ast.AST) -> list[tuple[int, int, str]]:
    return [
        (node.lineno, node.end_lineno or node.lineno, name)  # type: ignore[attr-defined]
        for node, name in qualnames(tree)
        if not isinstance(node, ast.ClassDef)
    ]


def _complaint(path: Path, said: Diagnostic, places: list[tuple[int, int, str]]) -> Complaint:
    line = said.span.line
    inside = [place for place in places if place[0] <= line <= place[1]]
    first, _, name = max(inside) if inside else (line, line, "")
    return Complaint(path, name, line - first, line, said.message)


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


def blamed(
    complaint: Complaint, annotated: Mapping[Path, set[str]], texts: Sequence[str]
) -> set[tuple[Path, str]]:
    """Return the annotated functions that a complaint is about.

    `texts` are the source of its line, and of its function up to there: what is called in them may
    be to blame where the function itself isn't annotated.
    """
    callee = complaint.callee()
    named = _called({callee}, annotated) if callee is not None else set()
    if named:
        return named
    if complaint.function in annotated.get(complaint.path, ()):
        return {(complaint.path, complaint.function)}
    for text in texts:
        called = _called(set(re.findall(r"(\w+)\(", text)), annotated)
        if called:
            return called
    inside = {(complaint.path, name) for name in annotated.get(complaint.path, ())}
    return inside or {(path, name) for path, names in annotated.items() for name in names}


def _called(names: set[str], annotated: Mapping[Path, set[str]]) -> set[tuple[Path, str]]:
    """Return the functions of these names, or the constructors and calls of such a class."""
    return {
        (path, name)
        for path, some in annotated.items()
        for name in some
        if names & {name.rpartition(".")[2], name.split(".")[-2] if "." in name else ""}
    }
