"""Where the source text of modules comes from: what `Host.source` answers under mypy."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING

from mypy.util import DecodeError, decode_python_encoding

from shapecheck.engine import File
from shapecheck.engine import digest as digest_of
from shapecheck.made_from_files import UNKNOWN_STAMP, Stamp, is_settled, stamp_of
from shapecheck.project.folders import Folders, join, source_root
from shapecheck.project.libraries import is_about_torch, is_followed
from shapecheck.project.relevance import hands_out_shapes, is_library

if TYPE_CHECKING:
    from mypy.nodes import MypyFile

    from shapecheck.analysis import Source


@dataclass(frozen=True, slots=True)
class Version:
    """Which version of a file was read: a stamp that is quick to compare, a digest that decides.

    A file whose stamp has changed is still the same version if its digest is: a fresh checkout in
    CI has new times and old contents. `text` is what is another one where the content or the path
    is, `hands_out` whether a module of a library is worth reading. A stamp that wasn't settled when
    the file was read may be that of another content by now.
    """

    path: str
    stamp: Stamp
    digest: str
    text: str
    hands_out: bool
    is_settled: bool


class SourceReader:
    """Reads files, each version once, and hands out the same `Source` object for it again.

    `shadows` maps a path to the file that mypy reads in its place (`--shadow-file`). What was
    `remembered` of files isn't read again for their versions alone.
    """

    def __init__(
        self,
        shadows: Mapping[str, str],
        remembered: Iterable[File] = (),
        *,
        show_absolute_path: bool,
    ) -> None:
        self._shadows = {str(Path(path).absolute()): shadow for path, shadow in shadows.items()}
        self._show_absolute_path = show_absolute_path
        self._current_folder = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118
        self._sources: dict[tuple[str, str], tuple[Source, Version]] = {}
        self._known = {(one.path, one.stamp): (one.digest, one.hands_out) for one in remembered}

    def display(self, path: str) -> str:
        """Return a path as mypy's messages show it."""
        if self._show_absolute_path:
            return os.path.abspath(path)  # noqa: PTH100
        return os.path.normpath(path).removeprefix(self._current_folder)

    def version(self, module: str, path: str) -> Version | None:
        """Return the version of the text of a module; None where there is none to read."""
        actual = self._actual(path)
        stamp = _stamp(actual)
        known = None if stamp is None else self._known.get((actual, stamp))
        if stamp is not None and known is not None:
            digest, hands_out = known
            text = f"{digest} {self.display(path)}"
            return Version(path, stamp, digest, text, hands_out, is_settled=True)
        read = self.read(module, path)
        return read and read[1]

    def read(self, module: str, path: str) -> tuple[Source, Version] | None:
        """Return the text of a module; None where there is none (a namespace package, say)."""
        from shapecheck.analysis import Source  # late: a run with nothing new asks for no text

        actual = self._actual(path)
        stamp = _stamp(actual)
        if stamp is None:
            return None
        known = self._sources.get((module, path))
        if known is not None and known[1].stamp == stamp:
            return known
        settled = is_settled(stamp)
        try:
            content = Path(actual).read_bytes()
            text = decode_python_encoding(content)
        except (OSError, UnicodeError, DecodeError):
            return None
        shown = self.display(path)
        hands_out = is_library(path) and hands_out_shapes(path, text, stamp[2])
        digest = digest_of(content)
        version = Version(path, stamp, digest, f"{digest} {shown}", hands_out, settled)
        if settled:
            self._known[actual, stamp] = digest, hands_out
        found = self._sources[module, path] = Source(module, shown, text), version
        return found

    def file(self, version: Version) -> File:
        """Return what other runs may know of a file that was read."""
        is_known = version.is_settled and self._actual(version.path) == version.path
        stamp = version.stamp if is_known else UNKNOWN_STAMP
        return File(version.path, stamp, version.digest, version.hands_out)

    def _actual(self, path: str) -> str:
        return self._shadows.get(str(Path(path).absolute()), path) if self._shadows else path


def _stamp(path: str) -> Stamp | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - three times as fast
    except (OSError, ValueError):
        return None
    if not S_ISREG(status.st_mode):  # a pipe waits for ever, and a device never ends
        return None
    return stamp_of(status)


class ModuleFinder:
    """Finds the file of a module: as mypy resolved it, else in the looker's own source tree.

    `modules` are those that mypy has loaded; a module from its cache is among them before any
    module that imports it, as mypy follows imports, is checked. `named` is where mypy has those of
    its cache that it has named so far. `roots` are more folders to look in (mypy's `mypy_path`),
    `packages` those of packages that have types, `libraries` of those that are about torch.
    `remembered` is where mypy had modules the last time, for as long as it hasn't loaded any; it
    loads those of packages when it checks what imports them, if it does.
    """

    def __init__(
        self,
        roots: tuple[str, ...],
        packages: tuple[str, ...] = (),
        libraries: tuple[str, ...] = (),
    ) -> None:
        self.modules: Mapping[str, MypyFile] = {}
        self.named: dict[str, str] = {}
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
        path = self.named.get(module) or self._last(module)
        if path is not None and os.path.isfile(path):  # noqa: PTH113 - as below
            return path
        return self._find_on_disk(module, looker)

    def _last(self, module: str) -> str | None:
        """Return where mypy had a module the last time, if it may not have come to load it yet."""
        path = self.remembered.get(module)
        return path if path is not None and (is_library(path) or not self.modules) else None

    def has(self, module: str, path: str) -> bool:
        """Whether a module lies there to mypy, or did the last time, whoever looks for it."""
        known = self.modules.get(module)
        found = known.path if known is not None else self.named.get(module)
        return path == (self.remembered.get(module) if found is None else found)

    def _find_on_disk(self, module: str, looker: tuple[str, str]) -> str | None:
        parts = module.split(".")

        def may_have(root: str) -> bool:
            for part in parts[:-1]:
                if part not in self._folders.stems(root):
                    return False
                root = join(root, part)
            return parts[-1] in self._folders.stems(root)

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
        self._versions: dict[str, Version | None] = {}
        self._sources: dict[str, Source | None] = {}
        self._late: set[str] = set()
        self._new: set[str] = set()

    def source(self, module: str) -> Source | None:
        """Return the source of a module by its dotted name, or None where there is none to read."""
        if module not in self._sources:
            version = self._version(module)
            found = None if version is None else self._reader.read(module, version.path)
            read = found and found[1]
            if _text(read) != _text(version):  # it has just been written
                self._late.add(module)
                self._see(module, read)
            self._sources[module] = found and found[0]
        return self._sources[module]

    def version(self, module: str) -> str | None:
        """Return what is another text where the module's source or its path is."""
        return _text(self._version(module))

    def new(self) -> Iterator[tuple[str, File]]:
        """Yield where modules are that were seen for the first time since this was asked last.

        One that is there only to who looks for it from here goes by its path.
        """
        new, self._new = self._new, set()
        for module in new:
            version = self._versions[module]
            if version is not None:
                path = version.path
                is_named = is_library(path) or self._finder.has(module, path)
                yield module if is_named else path, self._reader.file(version)

    def renew(self) -> set[str]:
        """See all modules as they are now; return those that have changed, come or gone."""
        changed, self._late = self._late, set()
        for module, known in [*self._versions.items()]:
            found = self._find(module)
            if _text(found) != _text(known):
                changed.add(module)
                self._sources.pop(module, None)
            self._see(module, found)
        return changed

    def _version(self, module: str) -> Version | None:
        try:
            return self._versions[module]  # mostly: that is asked for each module of each record
        except KeyError:
            return self._see(module, self._find(module))

    def _see(self, module: str, version: Version | None) -> Version | None:
        self._versions[module] = version
        self._new.add(module)
        return version

    def _find(self, module: str) -> Version | None:
        path = self._finder.find(module, self._looker)
        found = None if path is None else self._reader.version(module, path)
        if path is None or not is_library(path) or is_followed(path):
            return found
        return found if found is not None and found.hands_out else None


def _text(version: Version | None) -> str | None:
    return None if version is None else version.text


def _is_typed(root: str, parts: list[str]) -> bool:
    """Whether an installed package has types, so that mypy loads its modules."""
    folders = (os.path.join(root, *parts[:length]) for length in range(1, len(parts) + 1))  # noqa: PTH118
    return any(os.path.isfile(os.path.join(folder, "py.typed")) for folder in folders)  # noqa: PTH113, PTH118


def _candidates(root: str, parts: list[str]) -> Iterator[str]:
    base = os.path.join(root, *parts)  # noqa: PTH118 - as in `find_on_disk`
    for ending in (".pyi", ".py"):
        yield os.path.join(base, f"__init__{ending}")  # noqa: PTH118
        yield base + ending
