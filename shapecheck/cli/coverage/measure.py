"""Measures files: which functions are annotated, and which tensors have a known shape."""

from __future__ import annotations

import re
import site
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from shapecheck import config
from shapecheck.analysis import (
    Body,
    Cause,
    Host,
    Options,
    Seen,
    Source,
    Unread,
    analyze_module,
    inspect,
    unread,
)
from shapecheck.analysis.program.syntax import lines_of
from shapecheck.mypy_plugin._sources import ModuleFinder, MypyFiles, SourceReader
from shapecheck.project.comments import ignores
from shapecheck.project.findings import Finding
from shapecheck.project.folders import source_root
from shapecheck.project.parsing import parsed
from shapecheck.project.reading import content_of
from shapecheck.project.reporting import findings
from shapecheck.project.settings import Settings

_RELATIVE: Final = re.compile(r"^[ \t]*from[ \t]+(\.+)", re.MULTILINE)


@dataclass(slots=True)
class Counts:
    """How many functions have to do with tensors, and how many tensors have a known shape.

    A function counts if its signature says a shape, or if there is a tensor in its body.
    """

    functions: int = 0
    annotated: int = 0
    known: int = 0
    partial: int = 0
    unknown: int = 0

    @property
    def tensors(self) -> int:
        """The number of tensor-valued expressions."""
        return self.known + self.partial + self.unknown

    def add(self, other: Counts) -> None:
        """Add the counts of another file."""
        self.functions += other.functions
        self.annotated += other.annotated
        self.known += other.known
        self.partial += other.partial
        self.unknown += other.unknown


@dataclass(slots=True)
class FileCoverage:
    """One file: its text, what is seen in it, or why it can't be looked at."""

    path: str
    text: str = ""
    bodies: Sequence[Body] = ()
    problem: str | None = None
    counts: Counts = field(default_factory=Counts)
    unread: Sequence[Unread] = ()
    errors: Sequence[Finding] = ()

    def seen(self) -> Iterator[Seen]:
        """Yield the expressions of all bodies."""
        for body in self.bodies:
            yield from body.seen

    @property
    def reasons(self) -> Counter[Cause]:
        """Why shapes aren't known, by the construct at which that began."""
        return Counter(seen.reason for seen in self.seen() if seen.reason is not None)


def measure(
    files: Iterable[Path],
    folders: Iterable[Path],
    settings: config.Config,
    *,
    has_errors: bool = False,
) -> Iterator[FileCoverage]:
    """Look at each file; the analysis is the plugin's, without mypy.

    What they import is looked for in their own folders, in `folders`, and in what is installed.
    `has_errors`: what is wrong in a file is told, too.
    """
    options = Options(settings.strict, settings.stubs, settings.wrappers)
    reader = SourceReader({}, show_absolute_path=False)
    own = [str(path) for folder in folders for path in (folder, folder / "src")]
    installed = [*site.getsitepackages(), *filter(None, sys.path)]
    finder = ModuleFinder(tuple(dict.fromkeys([*own, *installed])))
    hosts: dict[str, MypyFiles] = {}
    files = list(files)
    packages = package_folders(files)
    for path in files:
        shown = reader.display(str(path))
        name = module_name(path, packages)
        found = reader.read(name, str(path.absolute()))
        if found is None:
            yield FileCoverage(shown, problem=_unreadable(path))
            continue
        text = "\n".join(lines_of(found[0].text))
        try:
            looker = name, str(path.absolute())
            root = source_root(*looker)
            host = hosts.setdefault(root, MypyFiles(reader, finder, looker))
            bodies = inspect(found[0], host, options)
            missed = unread(found[0], host, options)
            errors = _errors(found[0], host, options) if has_errors else ()
        except SyntaxError as error:
            problem = error.msg if error.lineno is None else f"line {error.lineno}: {error.msg}"
            yield FileCoverage(shown, text, problem=problem)
            continue
        except ValueError as error:  # Python 3.10 has this for a null byte
            yield FileCoverage(shown, text, problem=str(error))
            continue
        except RecursionError:
            yield FileCoverage(shown, text, problem="nested too deeply")
            continue
        yield FileCoverage(
            shown, text, bodies, counts=_counts(bodies), unread=missed, errors=errors
        )


def _errors(source: Source, host: Host, options: Options) -> list[Finding]:
    """Return what is wrong in a module, and what only may be, as `check` says it."""
    said = analyze_module(source, host, options)
    comments = ignores(source.text)
    shown = findings(said, source, parsed(source), comments, Settings().of(source.name))
    return [one for one in shown if one.is_about_shapes and one.severity != "note"]


def package_folders(files: Iterable[Path]) -> set[Path]:
    """Return the folders that must be packages, since files import relatively to them."""
    found = set()
    for path in files:
        with suppress(OSError):
            for dots in _RELATIVE.findall(content_of(path).decode("utf-8", errors="replace")):
                found.add(path.absolute().parents[len(dots) - 1])
    return found


def module_name(path: Path, packages: Collection[Path] = ()) -> str:
    """Return the dotted name of a file's module.

    Packages are folders with an `__init__.py`, those in `packages`, and what is between.
    """
    folder = path.absolute().parent
    above = [folder, *folder.parents]
    tops = [at for at, one in enumerate(above) if one in packages]
    depth = max(tops, default=-1) + 1
    while (above[depth] / "__init__.py").is_file():
        depth += 1
    names = [one.name for one in reversed(above[:depth])]
    return ".".join([*names, *([] if path.stem == "__init__" else [path.stem])]) or folder.name


def _unreadable(path: Path) -> str:
    try:
        content_of(path)
    except OSError as error:
        return error.strerror or type(error).__name__
    return "not text in the encoding that it declares"


def _counts(bodies: Iterable[Body]) -> Counts:
    counts = Counts()
    for body in bodies:
        grades = Counter(seen.grade for seen in body.seen)
        if body.name and (body.annotated or grades):
            counts.functions += 1
            counts.annotated += body.annotated
        counts.known += grades["known"]
        counts.partial += grades["partial"]
        counts.unknown += grades["unknown"]
    return counts
