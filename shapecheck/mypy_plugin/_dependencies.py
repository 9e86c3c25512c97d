"""Remembers, between runs, what the analysis of each module looked at in other modules.

mypy re-checks a module when what it imports has changed *as mypy sees it*: types, not annotation
texts and not bodies. The analysis reads both. So each analysed module has a record beside mypy's
cache, and mypy is told that the module is stale when a file in its record has changed.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shapecheck import analysis
from shapecheck.analysis import Source
from shapecheck.mypy_plugin._sources import (
    Findings,
    ModuleFinder,
    Parts,
    SourceReader,
    Version,
)

if TYPE_CHECKING:
    from mypy.options import Options

_FOLDER: Final = "shapecheck"


class DependencyRecords:
    """The records of all modules, one small file each; safe for parallel mypy workers.

    They live in a folder beside mypy's cache. A mypy without a cache keeps none, and the daemon,
    which reads a cache but never writes one, changes none.
    """

    def __init__(self, options: Options, reader: SourceReader, finder: ModuleFinder) -> None:
        self._folder = folder = _records_folder(options)
        self._read_only = options.fine_grained_incremental
        self._reader = reader
        self._finder = finder
        self._names = _names_in(folder)

    def save(self, module: str, looked: Mapping[str, Version | None], parts: Parts) -> None:
        """Record what the analysis of `module` looked at; None stands for no such module.

        mypy calls for the analysis before it marks the module's cache as complete, so that an
        interrupted run can't leave a good cache beside a missing record.
        """
        if self._folder is None or self._read_only:
            return
        path = self._folder / _file_name(module)
        if not looked:
            self.discard(module)
            return
        record = {
            "module": module,
            "looked": {
                name: version and [version.path, version.mtime_ns, version.size, version.digest]
                for name, version in looked.items()
            },
            "parts": parts,
        }
        temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        # Like mypy's own cache: a folder that can't be written costs time, not the run.
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(record), encoding="utf-8")
            temporary.replace(path)

    def discard(self, module: str) -> None:
        """Forget what the analysis of `module` looked at, if anything, in an earlier run."""
        name = _file_name(module)
        if self._folder is None or self._read_only or name not in self._names:
            return
        with contextlib.suppress(OSError):
            (self._folder / name).unlink(missing_ok=True)

    def is_current(self, module: str, path: str) -> bool:
        """Has nothing changed in what the analysis of `module` looked at?"""
        if self._folder is None or (name := _file_name(module)) not in self._names:
            return True
        try:
            record = json.loads((self._folder / name).read_text(encoding="utf-8"))
            # Two modules share a record where the file system ignores case.
            if record["module"] != module:
                return False
            versions = {
                other: version and Version(*version) for other, version in record["looked"].items()
            }
            parts = {str(name): dict(some) for name, some in record["parts"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return False
        return self._are_current(versions, parts, (module, path))

    def _are_current(
        self, looked: Mapping[str, Version | None], parts: Parts, looker: tuple[str, str]
    ) -> bool:
        """Are these still the versions that there are, and is what wasn't there still not there?

        Of a module of which parts were read, another version will do in which they are the same.
        """
        for module, version in looked.items():
            if version is None:
                if self._finder.find_on_disk(module, looker) is not None:
                    return False
            elif not self._reader.is_current(version):
                found = self._reader.read(module, version.path)
                if found is None or not _are_the_same(found[0], parts.get(module)):
                    return False
        return True

    def are_found(self, findings: Findings, looker: tuple[str, str]) -> bool:
        """Would one find these versions, or the same parts, where mypy's modules are?"""
        for module, version in findings.looked.items():
            path = self._finder.find(module, looker)
            found = None if path is None else self._reader.read(module, path)
            if found is None or version is None:
                if found is not None or version is not None:
                    return False
            elif _which(found[1]) != _which(version):
                parts = findings.parts.get(module)
                if found[1].path != version.path or not _are_the_same(found[0], parts):
                    return False
        return True


def _are_the_same(source: Source, parts: Mapping[str, str] | None) -> bool:
    """Are the parts of a module that were read, if not all of it, the same in this text?"""
    return parts is not None and analysis.parts_now(source, parts) == parts


def _records_folder(options: Options) -> Path | None:
    """Return the folder of the records beside mypy's cache; None where mypy writes no cache."""
    if options.cache_dir == os.devnull or not options.incremental:
        return None
    version = ".".join(map(str, options.python_version))
    return Path(options.cache_dir, version, _FOLDER)


def _which(version: Version) -> tuple[str, str]:
    return version.path, version.digest


def _file_name(module: str) -> str:
    return f"{module}.json"


def _names_in(folder: Path | None) -> frozenset[str]:
    if folder is None:
        return frozenset()
    try:
        return frozenset(os.listdir(folder))  # noqa: PTH208 - Path.iterdir takes six times as long
    except OSError:
        return frozenset()
