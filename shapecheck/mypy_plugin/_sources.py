"""Where the source text of modules comes from: what `Host.source` answers under mypy."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING

from mypy.util import DecodeError, decode_python_encoding

from shapecheck.analysis import Source
from shapecheck.engine import digest as digest_of
from shapecheck.project.folders import Folders, join, source_root
from shapecheck.project.libraries import is_about_torch, is_followed
from shapecheck.project.relevance import hands_out_shapes, is_library

if TYPE_CHECKING:
    from mypy.nodes import MypyFile


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
        except (OSError, UnicodeError, DecodeError):
            return None
        version = Version(path, *stamp, self._digest(path, stamp, content))
        found = Source(module, self.display(path), text), version
        self._sources[module, path] = found
        return found

    def _stamp(self, path: str) -> tuple[int, int] | None:
        try:
            status = os.stat(self._actual(path))  # noqa: PTH116 - three times as fast
        except (OSError, ValueError):
            return None
        if not S_ISREG(status.st_mode):  # a pipe waits for ever, and a device never ends
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
            digest = digest_of(content)
            self._digests[key] = digest
        return digest


class ModuleFinder:
    """Finds the file of a module: as mypy resolved it, else in the looker's own source tree.

    `modules` are those that mypy has loaded; a module from its cache is among them before any
    module that imports it is checked. `roots` are more folders to look in (mypy's `mypy_path`),
    `packages` those of packages that have types, `libraries` of those that are about torch.
    `remembered` is where modules were the last time, for as long as mypy hasn't loaded any; it
    loads those of packages when it checks what imports them, if it does.
    """

    def __init__(
        self,
        roots: tuple[str, ...],
        packages: tuple[str, ...] = (),
        libraries: tuple[str, ...] = (),
    ) -> None:
        self.modules: Mapping[str, MypyFile] = {}
        self.remembered: Mapping[str, str] = {}
        self.roots = roots
        self._packages = packages
        self._libraries = libraries
        self._folders = Folders()

    def forget(self) -> None:
        """Look for files anew: some may have come or gone."""
        self._folders.forget()

    def find(self, module: str, looker: tuple[str, str]) -> str | None:
        """Return the path of `module` for the module `looker` (its name and path)."""
        known = self.modules.get(module)
        if known is not None and os.path.exists(known.path):  # noqa: PTH110 - as below
            return known.path  # the daemon may still have a stub that is gone
        path = self.remembered.get(module)
        if path is not None and (is_library(path) or not self.modules):
            if os.path.isfile(path):  # noqa: PTH113 - as below
                return path
        return self._find_on_disk(module, looker)

    def _find_on_disk(self, module: str, looker: tuple[str, str]) -> str | None:
        parts = module.split(".")
        inside = os.sep.join(parts[:-1])  # noqa: PTH118 - as below

        def may_have(root: str) -> bool:
            return parts[-1] in self._folders.stems(join(root, inside) if inside else root)

        packages = (one for one in self._packages if may_have(one) and _is_typed(one, parts))
        libraries = (
            one for one in self._libraries if may_have(one) and is_about_torch(one, parts[0])
        )
        for root in (source_root(*looker), *self.roots, *packages, *libraries):
            for path in _candidates(root, parts) if may_have(root) else ():
                if os.path.isfile(path):  # noqa: PTH113 - asked for every name that isn't a module
                    return path
        return None


class MypyFiles:
    """The modules of a program, for those that are looked for from the same place as `looker`.

    It sees each as it was the first time, so that what has been made of it can be kept, until it is
    told to `renew` them.
    """

    def __init__(self, reader: SourceReader, finder: ModuleFinder, looker: tuple[str, str]) -> None:
        self._reader = reader
        self._finder = finder
        self._looker = looker
        self._found: dict[str, tuple[Source, Version] | None] = {}

    def source(self, module: str) -> Source | None:
        """Return the source of a module by its dotted name, or None where there is none to read."""
        if module not in self._found:
            self._found[module] = self._find(module)
        found = self._found[module]
        return found and found[0]

    def version(self, module: str) -> str | None:
        """Return what is another text where the module's source or its path is."""
        self.source(module)
        found = self._found[module]
        return found and f"{found[1].digest} {found[0].path}"

    def paths(self) -> dict[str, str]:
        """Return where the modules are that have been asked for."""
        return {name: found[1].path for name, found in self._found.items() if found is not None}

    def renew(self) -> set[str]:
        """See all modules as they are now; return those that have changed, come or gone."""
        changed = set()
        for module, known in self._found.items():
            found = self._find(module)
            if found is not known and (found and found[0]) != (known and known[0]):
                changed.add(module)
            self._found[module] = found
        return changed

    def _find(self, module: str) -> tuple[Source, Version] | None:
        path = self._finder.find(module, self._looker)
        found = None if path is None else self._reader.read(module, path)
        if path is None or not is_library(path) or _has_annotations(found) or is_followed(path):
            return found
        return None


def _has_annotations(found: tuple[Source, Version] | None) -> bool:
    """Is a module of a library worth reading?"""
    return found is not None and hands_out_shapes(found[1].path, found[0].text, found[1].size)


def _is_typed(root: str, parts: list[str]) -> bool:
    """Whether an installed package has types, so that mypy loads its modules."""
    folders = (os.path.join(root, *parts[:length]) for length in range(1, len(parts) + 1))  # noqa: PTH118
    return any(os.path.isfile(os.path.join(folder, "py.typed")) for folder in folders)  # noqa: PTH113, PTH118


def _candidates(root: str, parts: list[str]) -> Iterator[str]:
    base = os.path.join(root, *parts)  # noqa: PTH118 - as in `find_on_disk`
    for ending in (".pyi", ".py"):
        yield os.path.join(base, f"__init__{ending}")  # noqa: PTH118
        yield base + ending
