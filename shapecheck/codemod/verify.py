"""What the analysis says of a tree before and after it was annotated."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shapecheck.analysis import Diagnostic, Options, Source, analyze_module
from shapecheck.analysis.inference import qualnames
from shapecheck.codemod.project import ProjectHost


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


def complaints(
    sources: Iterable[tuple[Path, Source]], host: ProjectHost, options: Options
) -> list[Complaint]:
    """Return the errors in modules; one that can't be parsed has none."""
    found = []
    for path, source in sources:
        try:
            said = analyze_module(source, host, options)
            tree = ast.parse(source.text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        places = _functions(tree) if said else []
        found += [_complaint(path, one, places) for one in said if one.severity == "error"]
    return found


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
