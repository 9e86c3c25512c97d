"""Keeps records of modules in a database, for all who check the same program.

A row is what was said of one text of one module, in the versions that others then had.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from operator import add, sub
from pathlib import Path
from typing import Final, TypeAlias

from shapecheck.analysis import Options
from shapecheck.engine.database import Database
from shapecheck.engine.packing import packed, unpacked
from shapecheck.engine.records import (
    ModuleRecord,
    content_of,
    covered_from_text,
    digest,
    said_from_text,
    versions_from_text,
    versions_to_text,
)
from shapecheck.engine.shared import Shared

Version: TypeAlias = tuple[str, str]
"""A module, and one of its versions."""

_VERSIONS: Final = 8
"""As many versions of a module are kept: of a few branches, and of what was edited last."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What a run had to do: how many parts of modules were analysed, and how many records it took.

    `known` are those of the database, `shared` those of the place that a team shares, which was
    asked for so many objects, `requests`, or told of them. `kept`: how many were new.
    """

    analysed: int = 0
    known: int = 0
    shared: int = 0
    requests: int = 0
    kept: int = 0

    def __add__(self, other: Tally) -> Tally:
        """Return what both had to do."""
        return Tally(*map(add, self._counts, other._counts))

    def __sub__(self, other: Tally) -> Tally:
        """Return what was done since the other."""
        return Tally(*map(sub, self._counts, other._counts))

    @property
    def _counts(self) -> tuple[int, ...]:
        return self.analysed, self.known, self.shared, self.requests, self.kept


class Store:
    """The records of one kind of analysis, which `maker` tells from others; see `fingerprint`.

    `shared` is asked for what the database hasn't, and told of what is new.
    """

    def __init__(self, database: Database, maker: str, shared: Shared | None = None) -> None:
        self._database, self._maker, self._shared = database, maker, shared
        self._known = self._taken = self._kept = 0

    @property
    def tally(self) -> Tally:
        """What was found so far, and where."""
        requests = self._shared.requests if self._shared is not None else 0
        return Tally(0, self._known, self._taken, requests, self._kept)

    def find(self, module: str, version: str | None) -> ModuleRecord | None:
        """Return what was said of a version of a module, else of the one that was there last."""
        found = self._find(module, version)
        if self._shared is not None and version is not None:
            if found is None or not _is_of(found, version):
                others = self._fetched([(module, version)], self._shared)
                found = next(others, found)
        self._known += found is not None
        return found

    def lacking(self, versions: Iterable[Version]) -> list[Version]:
        """Return those of some versions of modules that the database hasn't."""
        rows = self._database.rows(
            "SELECT module, version FROM said WHERE maker = ?", (self._maker,)
        )
        known = {(module, content_of(version)) for module, version in rows}
        return [(name, seen) for name, seen in versions if (name, content_of(seen)) not in known]

    def fetch(self, versions: Iterable[Version], shared: Shared) -> None:
        """Take from a place what it has of some versions."""
        for _ in self._fetched(versions, shared):
            pass

    def publish(self, versions: Iterable[Version], shared: Shared) -> None:
        """Put into a place what the database has of some versions."""
        objects: dict[str, bytes] = {}
        for module, version in versions:
            record = self._find(module, version)
            if record is not None and record.versions.get(module) == version:
                objects[self._key(module, version)] = packed(record)
        shared.write(objects)

    def _fetched(self, versions: Iterable[Version], shared: Shared) -> Iterator[ModuleRecord]:
        """Yield the records that a place has, which are in the database then."""
        wanted = {self._key(*one): one for one in versions}
        for key, content in shared.read([*wanted]):
            module, version = wanted[key]
            try:
                record = unpacked(module, content)
                if not _is_of(record, version):
                    raise ValueError("of another text")
            except ValueError:
                shared.note_damage()
                continue
            self._keep(record)
            self._taken += 1
            yield record

    def _find(self, module: str, version: str | None) -> ModuleRecord | None:
        rows = self._database.rows(
            "SELECT versions, said, covered, parts FROM said WHERE maker = ? AND module = ? "
            "ORDER BY version = ? DESC, rowid DESC LIMIT 1",
            (self._maker, module, version),
        )
        for versions, said, covered, parts in rows:
            with suppress(ValueError):
                return ModuleRecord(
                    module,
                    versions_from_text(_opened(versions)),
                    said_from_text(_opened(said)),
                    covered=covered_from_text(_opened(covered)),
                    zipped=_opened_bytes(parts),
                )
        return None

    def keep(self, record: ModuleRecord) -> None:
        """Keep what is said of a module."""
        self._keep(record)
        self._kept += 1
        version = record.versions[record.module]
        if self._shared is not None and version is not None:
            self._shared.write({self._key(record.module, version): packed(record)})

    def _keep(self, record: ModuleRecord) -> None:
        row = (
            self._maker,
            record.module,
            record.versions[record.module],
            _sealed(versions_to_text(record.versions)),
            _sealed(record.said_text),
            _sealed(record.covered_text),
            _sealed_bytes(record.zipped),
        )
        self._database.write("INSERT OR REPLACE INTO said VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        which = self._maker, record.module
        self._database.write(
            "DELETE FROM said WHERE maker = ? AND module = ? AND rowid NOT IN "
            "(SELECT rowid FROM said WHERE maker = ? AND module = ? ORDER BY rowid DESC LIMIT ?)",
            (*which, *which, _VERSIONS),
        )

    def _key(self, module: str, version: str) -> str:
        """Return the name of a record among those of all projects and settings.

        It doesn't have the path in it, where one clone has another than the next.
        """
        text = "\0".join((self._maker, module, str(content_of(version))))
        return digest(text.encode(errors="surrogatepass"))

    def note_versions(self, record: ModuleRecord) -> None:
        """Take note that what is kept of a module holds for other versions of what was read."""
        new = _sealed(versions_to_text(record.versions))
        which = self._maker, record.module, record.versions[record.module]
        self._database.write(
            "UPDATE said SET versions = ? WHERE maker = ? AND module = ? AND version = ?",
            (new, *which),
        )


def _is_of(record: ModuleRecord, version: str | None) -> bool:
    """Whether a record is of the content that a version has, wherever that lay."""
    return content_of(record.versions.get(record.module)) == content_of(version)


def _sealed(text: str) -> str:
    """Put before a text what tells whether it is still the same."""
    return _sealed_bytes(text.encode()).decode()


def _opened(text: object) -> str:
    """Return a text that was sealed; raises ValueError where it isn't the same any more."""
    found = _opened_bytes(str(text).encode(errors="surrogatepass"))
    return found.decode(errors="surrogatepass")


def _sealed_bytes(content: bytes) -> bytes:
    return digest(content).encode() + b" " + content


def _opened_bytes(found: object) -> bytes:
    """Return bytes that were sealed; raises ValueError where they aren't the same any more."""
    seal, _, content = found.partition(b" ") if isinstance(found, bytes) else (b"", b"", b"")
    if seal != digest(content).encode():
        raise ValueError("damaged")
    return content


# What can't change a verdict; everything else in the package can.
_NOT_STATIC: Final = frozenset({"runtime", "named", "codemod", "cli", "parallel.py", "__main__.py"})


def fingerprint(options: Options) -> str:
    """Return what tells analyses apart that may say different things of one text.

    These are shapecheck's own source, the settings, the signature files and the Python that parses.
    """
    # Where the folders of signature files lie is of no matter, only what is in them.
    settings = replace(options, stubs=("",) * len(options.stubs))
    found = hashlib.blake2b(repr((settings, sys.version_info[:2])).encode(), digest_size=16)
    for path in _files_of_verdicts(options):
        try:
            with open(path, "rb") as file:  # noqa: PTH123 - there are hundreds, in each run
                content = file.read()
        except OSError as error:
            content = repr(error).encode()
        found.update(f"\0{os.path.basename(path)}\0{len(content)}\0".encode())  # noqa: PTH119
        found.update(content)
    return found.hexdigest()


_MOST_SIGNATURES: Final = 10_000
"""A folder of more files is refused where signatures are read."""


def _files_of_verdicts(options: Options) -> Iterator[str]:
    package = Path(__file__).parents[1]
    for child in sorted(one.name for one in package.iterdir()):
        if child not in _NOT_STATIC:
            yield from _sources(f"{package}/{child}")
    # Signature files: inside an installed package, beside a checked-out one.
    if (package.parent / "pyproject.toml").is_file():
        yield from _sources(f"{package.parent}/stubs")
    for folder in options.stubs:  # in which there may be anything
        yield from islice(filter(os.path.isfile, _sources(folder)), _MOST_SIGNATURES)


def _sources(path: str) -> Iterator[str]:
    if os.path.isfile(path):  # noqa: PTH113 - as above
        yield path
        return
    for parent, folders, names in os.walk(path):
        folders.sort()
        yield from (f"{parent}/{name}" for name in sorted(names) if name.endswith((".py", ".pyi")))
