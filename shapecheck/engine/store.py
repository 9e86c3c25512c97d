"""Keeps records of modules in a database, for all who check the same program.

A row is what was said of one text of one module, in the versions that others then had.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from shapecheck.analysis import Options
from shapecheck.engine.database import Database
from shapecheck.engine.records import (
    ModuleRecord,
    digest,
    said_from_text,
    versions_from_text,
    versions_to_text,
)
from shapecheck.engine.shared import Shared

_VERSIONS: Final = 8
"""As many versions of a module are kept: of a few branches, and of what was edited last."""

_TEXTS: Final = ("versions", "said", "parts")


class Store:
    """The records of one kind of analysis, which `maker` tells from others; see `fingerprint`.

    `shared` is asked for what the database hasn't, and told of what is new.
    """

    def __init__(self, database: Database, maker: str, shared: Shared | None = None) -> None:
        self._database, self._maker, self._shared = database, maker, shared

    def find(self, module: str, version: str | None) -> ModuleRecord | None:
        """Return what was said of a version of a module, else of the one that was there last."""
        rows = self._database.rows(
            "SELECT versions, said, parts FROM said WHERE maker = ? AND module = ? "
            "ORDER BY version = ? DESC, rowid DESC LIMIT 1",
            (self._maker, module, version),
        )
        found = _record(module, rows[0]) if rows else None
        if self._shared is None or version is None:
            return found
        if found is not None and found.versions.get(module) == version:
            return found
        texts = self._shared.read(self._key(module, version))
        if texts is None:
            return found
        other = _record(module, tuple(texts.get(name) for name in _TEXTS))
        if other is None or other.versions.get(module) != version:
            return found
        self._keep(other)
        return other

    def keep(self, record: ModuleRecord) -> None:
        """Keep what is said of a module."""
        texts = self._keep(record)
        version = record.versions[record.module]
        if self._shared is not None and version is not None:
            key = self._key(record.module, version)
            self._shared.write(key, dict(zip(_TEXTS, texts, strict=True)))

    def _keep(self, record: ModuleRecord) -> tuple[str, str, str]:
        """Keep a record in the database; return its texts."""
        texts = (
            _sealed(versions_to_text(record.versions)),
            _sealed(record.said_text),
            _sealed(record.text),
        )
        row = (self._maker, record.module, record.versions[record.module], *texts)
        self._database.write("INSERT OR REPLACE INTO said VALUES (?, ?, ?, ?, ?, ?)", row)
        which = self._maker, record.module
        self._database.write(
            "DELETE FROM said WHERE maker = ? AND module = ? AND rowid NOT IN "
            "(SELECT rowid FROM said WHERE maker = ? AND module = ? ORDER BY rowid DESC LIMIT ?)",
            (*which, *which, _VERSIONS),
        )
        return texts

    def _key(self, module: str, version: str) -> str:
        """Return the name of a record among those of all projects and settings."""
        return digest("\0".join((self._maker, module, version)).encode())

    def note_versions(self, record: ModuleRecord) -> None:
        """Take note that what is kept of a module holds for other versions of what was read."""
        new = _sealed(versions_to_text(record.versions))
        which = self._maker, record.module, record.versions[record.module]
        self._database.write(
            "UPDATE said SET versions = ? WHERE maker = ? AND module = ? AND version = ?",
            (new, *which),
        )


def _record(module: str, texts: Sequence[object]) -> ModuleRecord | None:
    """Read a record; None where it is damaged."""
    versions, said, parts = texts
    with suppress(ValueError):
        return ModuleRecord(
            module,
            versions_from_text(_opened(versions)),
            said_from_text(_opened(said)),
            text=_opened(parts),
        )
    return None


def _sealed(text: str) -> str:
    """Put before a text what tells whether it is still the same."""
    return f"{digest(text.encode())} {text}"


def _opened(text: object) -> str:
    """Return a text that was sealed; raises ValueError where it isn't the same any more."""
    seal, _, content = str(text).partition(" ")
    if seal != digest(content.encode(errors="surrogatepass")):
        raise ValueError("damaged")
    return content


# What can't change a verdict; everything else in the package can.
_NOT_STATIC: Final = frozenset({"runtime", "named", "codemod", "cli", "parallel.py", "__main__.py"})


def fingerprint(options: Options) -> str:
    """Return what tells analyses apart that may say different things of one text.

    These are shapecheck's own source, the settings, the signature files and the Python that parses.
    """
    found = hashlib.blake2b(repr((options, sys.version_info[:2])).encode(), digest_size=16)
    for path in _files_of_verdicts(options):
        try:
            content = path.read_bytes()
        except OSError as error:
            content = repr(error).encode()
        found.update(f"\0{path.name}\0{len(content)}\0".encode())
        found.update(content)
    return found.hexdigest()


def _files_of_verdicts(options: Options) -> Iterator[Path]:
    package = Path(__file__).parents[1]
    for child in sorted(package.iterdir()):
        if child.name not in _NOT_STATIC:
            yield from _sources(child)
    # Signature files: inside an installed package, beside a checked-out one.
    if (package.parent / "pyproject.toml").is_file():
        yield from _sources(package.parent / "stubs")
    for folder in options.stubs:
        yield from _sources(Path(folder))


def _sources(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    for parent, folders, names in os.walk(path):
        folders.sort()
        yield from (Path(parent, name) for name in sorted(names) if name.endswith((".py", ".pyi")))
