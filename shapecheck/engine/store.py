"""Keeps records of modules in a database, for all who check the same program.

A row is what was said of one text of one module, in the versions that others then had.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from operator import add, sub
from typing import Final, TypeAlias

from shapecheck.engine.database import Database
from shapecheck.engine.packing import packed, unpacked
from shapecheck.engine.records import (
    ModuleRecord,
    covered_from_text,
    said_from_text,
    versions_from_text,
    versions_to_text,
)
from shapecheck.engine.seals import opened, opened_bytes, sealed, sealed_bytes
from shapecheck.engine.shared import Shared
from shapecheck.engine.versions import content_of, digest

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
                    versions_from_text(opened(versions)),
                    said_from_text(opened(said)),
                    covered=covered_from_text(opened(covered)),
                    zipped=opened_bytes(parts),
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
            sealed(versions_to_text(record.versions)),
            sealed(record.said_text),
            sealed(record.covered_text),
            sealed_bytes(record.zipped),
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
        new = sealed(versions_to_text(record.versions))
        which = self._maker, record.module, record.versions[record.module]
        self._database.write(
            "UPDATE said SET versions = ? WHERE maker = ? AND module = ? AND version = ?",
            (new, *which),
        )


def _is_of(record: ModuleRecord, version: str | None) -> bool:
    """Whether a record is of the content that a version has, wherever that lay."""
    return content_of(record.versions.get(record.module)) == content_of(version)
