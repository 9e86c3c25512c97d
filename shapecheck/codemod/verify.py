"""What the analysis says of a tree before and after it was annotated."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from shapecheck.analysis import Diagnostic, Options, Source, analyze_module
from shapecheck.analysis.inference import qualnames
from shapecheck.codemod import parallel
from shapecheck.codemod.files import PythonFile
from shapecheck.codemod.project import Project, ProjectHost, module_of


@dataclass(frozen=True, slots=True)
class Complaint:
    """An error of the analysis: in which file and function, on which line of it, and the text.

    `through` are the lines of the calls that lead there.
    """

    path: Path
    function: str
    offset: int
    line: int
    message: str
    through: tuple[int, ...] = ()

    @property
    def place(self) -> tuple[Path, str, int]:
        """Where it is, whatever was added above the function."""
        return self.path, self.function, self.offset

    @property
    def unfit(self) -> tuple[str, str]:
        """The function and the parameter, or `return`, that doesn't fit, if it is about one."""
        found = re.search(r'argument "([^"]*)" of "([^"]*)"', self.message)
        if found is not None:
            return found[2].rpartition(".")[2], found[1]
        inner = re.search(r'fails in "([^"]*)": returned value', self.message)
        if inner is not None or self.message.startswith("returned value"):
            function = self.function if inner is None else inner[1]
            return function.rpartition(".")[2], "return"
        return "", ""


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
        files: Mapping[Path, PythonFile],
        options: Options,
        advance: Callable[[str, int], None],
    ) -> None:
        self._files, self._options, self._advance = files, options, advance
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
        project = Project(self._texts)
        lines = {path: self._texts[path].count("\n") for path in old}
        found = parallel.each(
            lambda path: self._check(path, project.host(path)),
            old,
            lines.__getitem__,
            lambda path: self._advance("verifying", lines[path]),
        )
        self._checked.update(zip(old, found, strict=True))
        return [one for path in asked for one in self._checked[path].complaints]

    def looked_at(self, path: Path) -> frozenset[Path]:
        """Return the files that the analysis of a file has asked for."""
        return self._checked[path].looked_at

    def affected(self, changed: Iterable[Path]) -> set[Path]:
        """Return files, those that look at them, and those that look at these, and so on."""
        found, news = set[Path](), {*changed}
        while news:
            found |= news
            news = {p for p, one in self._checked.items() if one.looked_at & news} - found
        return found

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
        except (SyntaxError, ValueError, RecursionError):
            said = []
        errors = complaints_of(path, source.text, said)
        return _Checked(self._round, tuple(errors), frozenset(host.asked))


def complaints_of(path: Path, text: str, said: Sequence[Diagnostic]) -> list[Complaint]:
    """Return the errors in what the analysis says of a file with this text."""
    if not said:
        return []
    places = _functions(ast.parse(text))
    found: list[Complaint] = []
    for one in said:
        if one.severity == "error":
            line = one.span.line
            inside = [place for place in places if place[0] <= line <= place[1]]
            first, _, name = max(inside) if inside else (line, line, "")
            found.append(Complaint(path, name, line - first, line, one.message))
        elif found and (call := re.match(r"called .*?at line (\d+)", one.message)):
            through = *found[-1].through, int(call[1])
            found[-1] = replace(found[-1], through=through)
    return found


def _functions(tree: ast.AST) -> list[tuple[int, int, str]]:
    return [
        (node.lineno, node.end_lineno or node.lineno, name)  # type: ignore[attr-defined]
        for node, name in qualnames(tree)
        if not isinstance(node, ast.ClassDef)
    ]


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
