"""The file in which records of modules are kept, for all processes that check the same program.

A row is what was said of one text of one module. Several processes write at once; one that is
killed leaves what it had written. A file that can't be used is put aside, which is told once, and
what was in it is found out again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from shapecheck.analysis import Options
from shapecheck.engine.records import (
    ModuleRecord,
    parts_to_text,
    record_from_text,
    said_from_text,
    said_to_text,
)

_FILE: Final = "shapecheck.sqlite"
_SECONDS: Final = 30.0
"""As long as another process may hold the file."""

_DAY: Final = 86_400
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS said (
    maker TEXT, module TEXT, version TEXT, versions TEXT, said TEXT, parts TEXT, day INTEGER,
    PRIMARY KEY (maker, module, version)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reported (module TEXT PRIMARY KEY, digest TEXT) WITHOUT ROWID;
"""
_VERSION: Final = 1
MOST_BYTES: Final = 512 << 20
"""Above this size, what hasn't been asked for the longest leaves."""


def fingerprint(options: Options) -> str:
    """Return what tells analyses apart that may say different things of one text.

    These are shapecheck's own source, the settings, the signature files and the Python that parses.
    """
    digest = hashlib.blake2b(repr((options, sys.version_info[:2])).encode(), digest_size=16)
    for path in _files_of_verdicts(options):
        try:
            content = path.read_bytes()
        except OSError as error:
            content = repr(error).encode()
        digest.update(f"\0{path.name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


# What can't change a verdict; everything else in the package can.
_NOT_STATIC: Final = frozenset({"runtime", "named", "codemod", "cli", "__main__.py"})


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


class Store:
    """Records in a folder, made by one kind of analysis (`fingerprint`).

    Where the folder can't be written, nothing is kept and nothing fails. `note` is what is said
    where a file had to be put aside.
    """

    def __init__(self, folder: Path, maker: str) -> None:
        self._folder, self._maker = folder, maker
        self._connection: sqlite3.Connection | None = None
        self._is_closed = False
        self._pid = os.getpid()
        self.note: str | None = None

    def find(self, module: str, version: str | None) -> ModuleRecord | None:
        """Return what was said of a version of a module, else of one that was there last."""
        rows = self._rows(
            "SELECT versions, said, parts, day FROM said WHERE maker = ? AND module = ? "
            "ORDER BY version = ? DESC, day DESC LIMIT 1",
            (self._maker, module, version),
        )
        for versions, said, parts, _ in rows:
            with contextlib.suppress(ValueError):
                known = _versions(versions)
                return record_from_text(module, known, said_from_text(said), parts)
        return None

    def keep(self, record: ModuleRecord) -> None:
        """Keep what is said of a module."""
        row = (
            self._maker,
            record.module,
            record.versions[record.module],
            json.dumps(record.versions),
            said_to_text(record.said),
            parts_to_text(record),
            _now(),
        )
        self._write("INSERT OR REPLACE INTO said VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def note_versions(self, record: ModuleRecord) -> None:
        """Take note that what is kept of a module holds for other versions of what was read."""
        self._write(
            "UPDATE said SET versions = ?, day = ? WHERE maker = ? AND module = ? AND version = ?",
            (
                json.dumps(record.versions),
                _now(),
                self._maker,
                record.module,
                record.versions[record.module],
            ),
        )

    def reported(self) -> dict[str, str]:
        """Return the digests of what was reported of each module by the one who reports here."""
        return {row[0]: row[1] for row in self._rows("SELECT module, digest FROM reported", ())}

    def note_reported(self, module: str, digest: str | None) -> None:
        """Take note of what is reported of a module; None where that is left to others."""
        if digest is None:
            self._write("DELETE FROM reported WHERE module = ?", (module,))
        else:
            self._write("INSERT OR REPLACE INTO reported VALUES (?, ?)", (module, digest))

    def close(self) -> None:
        """End with the file, and have what is too old leave it where it has grown too large."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        with contextlib.suppress(sqlite3.Error, OSError):
            if (self._folder / _FILE).stat().st_size > MOST_BYTES:
                _shrink(connection)
            connection.close()

    def _rows(self, query: str, values: tuple[object, ...]) -> list[tuple[str, ...]]:
        connection = self._open()
        if connection is None:
            return []
        try:
            return connection.execute(query, values).fetchall()
        except sqlite3.OperationalError:
            return []
        except sqlite3.DatabaseError:
            self._put_aside()
            return []

    def _write(self, query: str, values: tuple[object, ...]) -> None:
        connection = self._open()
        if connection is None:
            return
        try:
            connection.execute(query, values)
        except sqlite3.OperationalError:  # locked for too long, no space, read-only
            return
        except sqlite3.DatabaseError:
            self._put_aside()

    def _open(self) -> sqlite3.Connection | None:
        if self._pid != os.getpid():  # a copy of the process must not share the connection
            self._connection, self._pid = None, os.getpid()
        if self._connection is None and not self._is_closed:
            try:
                self._connection = _connected(self._folder / _FILE)
            except (OSError, sqlite3.OperationalError):
                self._is_closed = True
            except sqlite3.DatabaseError:
                self._put_aside()
        return self._connection

    def _put_aside(self) -> None:
        """Begin a new file in the place of one that is damaged, or another program's."""
        self._connection = None
        path = self._folder / _FILE
        self.note = f"{path}: can't be read, and is made anew"
        try:
            for ending in ("", "-wal", "-shm"):
                Path(f"{path}{ending}").unlink(missing_ok=True)
            self._connection = _connected(path)
        except (OSError, sqlite3.Error):
            self._is_closed = True


def _connected(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=_SECONDS, isolation_level=None)
    # What is lost with the machine's power is found out again; a killed process loses nothing.
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = OFF")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version not in (0, _VERSION):
        connection.close()
        raise sqlite3.DatabaseError("made by another version")
    connection.executescript(_SCHEMA)
    if version == 0:
        connection.execute(f"PRAGMA user_version = {_VERSION}")
    return connection


def _shrink(connection: sqlite3.Connection) -> None:
    """Have the older half leave."""
    connection.execute(
        "DELETE FROM said WHERE day <= (SELECT day FROM said ORDER BY day "
        "LIMIT 1 OFFSET (SELECT count(*) / 2 FROM said))"
    )
    connection.execute("VACUUM")


def _versions(text: str) -> dict[str, str | None]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("not versions")
    return {str(name): None if seen is None else str(seen) for name, seen in found.items()}


def _now() -> int:
    return int(time.time()) // _DAY
