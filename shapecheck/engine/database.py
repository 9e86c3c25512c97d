"""A file of SQLite that many processes write, any of which may be killed at any moment.

Where it can't be opened or written, nothing is kept and nothing fails. One that is damaged, or
another program's, is made anew; what was in it is found out again.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

FILE: Final = "shapecheck.sqlite"
_SECONDS: Final = 30.0
"""As long as another process may hold the file."""

_MOMENT: Final = 0.01
"""Seconds until another try."""

_VERSION: Final = 7
_SCHEMA: Final = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS said (
    maker TEXT, module TEXT, version TEXT, versions TEXT, said TEXT, covered TEXT, parts BLOB,
    PRIMARY KEY (maker, module, version)
);
CREATE TABLE IF NOT EXISTS reported (module TEXT PRIMARY KEY, told TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (module TEXT PRIMARY KEY, maker TEXT, file TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS born (token TEXT);
INSERT INTO born SELECT '{token}' WHERE NOT EXISTS (SELECT * FROM born);
PRAGMA user_version = {version};
COMMIT;
"""
MOST_BYTES: Final = 256 << 20
"""Above this size, the half leaves that was found the longest ago."""

_DAMAGED: Final = (sqlite3.Error, UnicodeError, TypeError)
"""What Python's module raises over a damaged file: its own words may be damaged, too."""

Row = tuple[str, ...]


class Database:
    """The file in a folder; the folder is made with the first thing that is kept.

    `note` is what there is to say of a file that had to be made anew.
    """

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self.path = folder / FILE
        self.note: str | None = None
        self._is_read_only = read_only
        self._is_given_up = False
        self._connection: sqlite3.Connection | None = None
        self._process = os.getpid()

    @property
    def token(self) -> str:
        """A text that no other file has, not even one that takes its place; "" without a file."""
        rows = self.rows("SELECT token FROM born", ())
        return rows[0][0] if rows else ""

    def rows(self, query: str, values: tuple[object, ...]) -> list[Row]:
        """Return what a query finds; nothing where the file can't be read."""
        connection = self._open()
        if connection is None:
            return []
        try:
            found: list[Row] = connection.execute(query, values).fetchall()
        except sqlite3.OperationalError:  # held by others for too long
            return []
        except _DAMAGED:
            self._make_anew()
            return []
        return found

    def write(self, statement: str, values: tuple[object, ...]) -> None:
        """Run a statement that changes the file."""
        connection = None if self._is_read_only else self._open()
        if connection is None:
            return
        try:
            connection.execute(statement, values)
        except sqlite3.OperationalError:  # held by others for too long, no space, read-only
            return
        except _DAMAGED:
            self._make_anew()

    def close(self) -> None:
        """End with the file."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def _open(self) -> sqlite3.Connection | None:
        if self._process != os.getpid():  # a copy of the process must not share the connection
            self._connection, self._process = None, os.getpid()
        if self._connection is None and not self._is_given_up:
            try:
                self._connection = _connected(self.path)
            except (OSError, sqlite3.OperationalError):
                self._is_given_up = True
            except _DAMAGED:
                self._make_anew()
        return self._connection

    def _make_anew(self) -> None:
        self.close()
        self.note = f"{self.path} can't be read; what was in it is found out again"
        try:
            for ending in ("", "-wal", "-shm"):
                Path(f"{self.path}{ending}").unlink(missing_ok=True)
            self._connection = _connected(self.path)
        except (OSError, *_DAMAGED):
            self._is_given_up = True


def _connected(path: Path) -> sqlite3.Connection:
    """Open the file, which others may be making at this moment: that isn't waited for by itself."""
    path.parent.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + _SECONDS
    while (connection := _opened_unless_locked(path, is_last=time.monotonic() > end)) is None:
        time.sleep(_MOMENT)
    return connection


def _opened_unless_locked(path: Path, *, is_last: bool) -> sqlite3.Connection | None:
    try:
        return _opened(path)
    except sqlite3.OperationalError as error:
        if is_last or "locked" not in str(error):
            raise
        return None


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_SECONDS, isolation_level=None)
    # What is lost with the machine's power is found out again; a killed process loses nothing.
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = OFF")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version not in (0, _VERSION):
        connection.close()
        raise sqlite3.DatabaseError("made by another version")
    if version == 0:
        connection.executescript(_SCHEMA.format(token=os.urandom(16).hex(), version=_VERSION))
    if path.stat().st_size > MOST_BYTES:
        _shrink(connection)
    return connection


def _shrink(connection: sqlite3.Connection) -> None:
    """Have the older half leave."""
    connection.execute(
        "DELETE FROM said WHERE rowid IN "
        "(SELECT rowid FROM said ORDER BY rowid LIMIT (SELECT count(*) / 2 FROM said))"
    )
    connection.execute("VACUUM")
