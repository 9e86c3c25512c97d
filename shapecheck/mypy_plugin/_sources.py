"""Where the source text of modules comes from: what `Host.source` answers under mypy."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from mypy.util import DecodeError, decode_python_encoding

from shapecheck.analysis import Source
from shapecheck.project.relevance import hands_out_shapes, is_library

if TYPE_CHECKING:
    from mypy.nodes import MypyFile

    from shapecheck.analysis import Diagnostic


@dataclass(frozen=True, slots=True)
class Version:
    """Which version of a file was read: a stamp that is quick to compare, a digest that decides.

    A file whose stamp has changed is still the same version if its digest is: a fresh checkout in
    CI has new times and old contents.
    """

    path: str
    mtime_ns: int
    size: int
    digest: str


Parts: TypeAlias = dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class Findings:
    """What the analysis of a module says, and which versions of other modules it has looked at.

    `parts`: of those of which it has read parts only, the digest of each; see `analysis.parts_now`.
    """

    diagnostics: list[Diagnostic]
    looked: dict[str, Version | None]
    parts: Parts


class SourceReader:
    """Reads files, each version once, and hands out the same `Source` object for it again.

    `shadows` maps a path to the file that mypy reads in its place (`--shadow-file`).
    """

    def __init__(self, shadows: Mapping[str, str], *, show_absolute_path: bool) -> None:
        self._shadows = {str(Path(path).absolute()): shadow for path, shadow in shadows.items()}
        self._show_absolute_path = show_absolute_path
        self._current_folder = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118
        self._sources: dict[tuple[str, str], tuple[Source, Version]] = {}
        self._digests: dict[tuple[str, int, int], str] = {}

    def display(self, path: str) -> str:
        """Return a path as mypy's messages show it."""
        if self._show_absolute_path:
            return os.path.abspath(path)  # noqa: PTH100
        return os.path.normpath(path).removeprefix(self._current_folder)

    def read(self, module: str, path: str) -> tuple[Source, Version] | None:
        """Return the text of a module; None where there is none (a namespace package, say)."""
        stamp = self._stamp(path)
        if stamp is None:
            return None
        known = self._sources.get((module, path))
        if known is not None and (known[1].mtime_ns, known[1].size) == stamp:
            return known
        try:
            content = self._content(path)
            text = decode_python_encoding(content)
        except (OSError, UnicodeDecodeError, DecodeError):
            return None
        version = Version(path, *stamp, self._digest(path, stamp, content))
        found = Source(module, self.display(path), text), version
        self._sources[module, path] = found
        return found

    def is_current(self, version: Version) -> bool:
        """Is this still what the file holds?"""
        stamp = self._stamp(version.path)
        if stamp is None:
            return False
        if stamp == (version.mtime_ns, version.size):
            return True
        if stamp[1] != version.size:
            return False
        try:
            return self._digest(version.path, stamp) == version.digest
        except OSError:
            return False

    def _stamp(self, path: str) -> tuple[int, int] | None:
        try:
            status = os.stat(self._actual(path))  # noqa: PTH116 - three times as fast
        except (OSError, ValueError):
            return None
        return status.st_mtime_ns, status.st_size

    def _content(self, path: str) -> bytes:
        return Path(self._actual(path)).read_bytes()

    def _actual(self, path: str) -> str:
        return self._shadows.get(str(Path(path).absolute()), path) if self._shadows else path

    def _digest(self, path: str, stamp: tuple[int, int], content: bytes | None = None) -> str:
        key = (path, *stamp)
        digest = self._digests.get(key)
        if digest is None:
            content = self._content(path) if content is None else content
            digest = hashlib.blake2b(content, digest_size=16).hexdigest()
            self._digests[key] = digest
        return digest


class ModuleFinder:
    """Finds the file of a module: as mypy resolved it, else in the looker's own source tree.

    `modules` are those that mypy has loaded; a module from its cache is among them before any
    module that imports it is checked. `roots` are more folders to look in (mypy's `mypy_path`).
    """

    def __init__(self, roots: tuple[str, ...]) -> None:
        self.modules: Mapping[str, MypyFile] = {}
        self._roots = roots

    def find(self, module: str, looker: tuple[str, str]) -> str | None:
        """Return the path of `module` for the module `looker` (its name and path)."""
        known = self.modules.get(module)
        return known.path if known is not None else self.find_on_disk(module, looker)

    def find_on_disk(self, module: str, looker: tuple[str, str]) -> str | None:
        """Return the path of `module` without mypy, whose modules aren't there for cache checks."""
        parts = module.split(".")
        for root in (_source_root(*looker), *self._roots):
            for path in _candidates(root, parts):
                if os.path.isfile(path):  # noqa: PTH113 - asked for every name that isn't a module
                    return path
        return None


@dataclass(frozen=True, slots=True)
class Answer:
    """What `Host.source` has answered: which file, as messages call it, with which contents."""

    path: str
    digest: str


class MypyHost:
    """What the analysis of one module after the other sees of all modules.

    It sees each as it was the first time, so that what has been made of it can be kept. `looked`
    remembers what a later run has to compare, `answers` all that was asked, for the module that the
    host was last told to be `analysing`.
    """

    def __init__(self, reader: SourceReader, finder: ModuleFinder) -> None:
        self._reader = reader
        self._finder = finder
        self._looker = ("", "")
        self._found: dict[str, tuple[Source, Version] | None] = {}
        self._unread: set[str] = set()
        self.looked: dict[str, Version | None] = {}
        self.answers: dict[str, Answer | None] = {}
        self.parts: Parts = {}

    def analysing(self, module: str, path: str) -> MypyHost:
        """Begin with another module, and return the host."""
        self._looker = module, path
        self.looked, self.answers, self.parts = {}, {}, {}
        return self

    def found(self, diagnostics: list[Diagnostic]) -> Findings:
        """Return what the analysis says, with what it rests on."""
        names = self.parts.keys() & self.looked.keys() - {self._looker[0]}
        parts = {name: self.parts[name] for name in names if not self._is_library(name)}
        return Findings(diagnostics, self.looked, parts)

    def _is_library(self, module: str) -> bool:
        version = self.looked[module]
        return version is None or is_library(version.path)

    def source(self, module: str) -> Source | None:
        """Return the source of a module by its dotted name, or None where there is none to read."""
        if module not in self._found:
            self._found[module] = self._find(module)
        found = self._found[module]
        if module != self._looker[0] and module not in self._unread:
            self.looked[module] = found and found[1]
        self.answers[module] = found and Answer(found[0].path, found[1].digest)
        return found and found[0]

    def _find(self, module: str) -> tuple[Source, Version] | None:
        path = self._finder.find(module, self._looker)
        found = None if path is None else self._reader.read(module, path)
        if path is not None and is_library(path) and not _has_annotations(found):
            self._unread.add(module)
            return None
        return found


class MypyHosts:
    """The hosts of a run: one for all modules that other modules are looked for in the same place.

    With `is_daemon` files change between two modules, and each gets a host of its own.
    """

    def __init__(self, reader: SourceReader, finder: ModuleFinder, *, is_daemon: bool) -> None:
        self._reader = reader
        self._finder = finder
        self._is_daemon = is_daemon
        self._hosts: dict[str, MypyHost] = {}

    def analysing(self, module: str, path: str) -> MypyHost:
        """Return the host for the analysis of a module."""
        if self._is_daemon:
            return MypyHost(self._reader, self._finder).analysing(module, path)
        root = _source_root(module, path)
        if root not in self._hosts:
            self._hosts[root] = MypyHost(self._reader, self._finder)
        return self._hosts[root].analysing(module, path)


def _has_annotations(found: tuple[Source, Version] | None) -> bool:
    """Is a module of a library worth reading?"""
    return found is not None and hands_out_shapes(found[1].path, found[0].text, found[1].size)


def _source_root(module: str, path: str) -> str:
    """Return the folder that the dotted name of a module starts from."""
    depth = module.count(".") + 1
    folder = Path(path)
    if folder.stem == "__init__":
        depth += 1
    for _ in range(depth):
        folder = folder.parent
    return str(folder)


def _candidates(root: str, parts: list[str]) -> Iterator[str]:
    base = os.path.join(root, *parts)  # noqa: PTH118 - as in `find_on_disk`
    for ending in (".pyi", ".py"):
        yield os.path.join(base, f"__init__{ending}")  # noqa: PTH118
        yield base + ending
