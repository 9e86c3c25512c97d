"""The file of a record: SQLite, to which many processes append.

It holds sizes, dtypes and devices of tensors, ints, and the names of types: no other value.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from shapecheck.record import rows

_APPLICATION: Final = 0x53686170  # "Shap"
_VERSION: Final = 1
_LARGEST: Final = 48 << 20
_WAIT: Final = 60.0  # seconds for another process to finish writing
_SCHEMA: Final = f"""
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_VERSION};
CREATE TABLE IF NOT EXISTS functions (
    id INTEGER PRIMARY KEY, file TEXT NOT NULL, name TEXT NOT NULL, line INTEGER NOT NULL,
    calls INTEGER NOT NULL DEFAULT 0, UNIQUE (file, name, line)
);
CREATE TABLE IF NOT EXISTS calls (
    function INTEGER NOT NULL REFERENCES functions, call TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (function, call)
) WITHOUT ROWID;
"""


UNUSABLE: Final = (sqlite3.Error, OSError, UnicodeDecodeError)
"""What SQLite raises where a file is none of its own: its words quote what it has read there."""


class RecordProblem(Exception):
    """A record that can't be read or written: which file, and why."""


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """A function in a record: its file, its qualified name and the line of its `def`."""

    file: str
    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Call:
    """What calls of a function had in common: `args`, `result` and `ints` as `watch` wrote them."""

    args: Mapping[str, Any]
    result: Any
    ints: Mapping[str, int]
    count: int


@dataclass(slots=True)
class Recorded:
    """All that is recorded of one function; `calls` is how often it was called."""

    calls: int
    kinds: list[Call] = field(default_factory=list)


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_WAIT, isolation_level=None)
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    if application == 0 and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(_SCHEMA)
        return connection
    return _checked(path, connection, application)


def _open_to_read(path: Path) -> sqlite3.Connection:
    """Open a record that is left as it is, and may lie where nothing can be written.

    Where files can be made, SQLite makes two beside it, and only who may write takes them away.
    """
    is_whole = not Path(f"{path}-wal").exists()  # beside it is what SQLite has yet to write into it
    may_write = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    mode = "mode=rw" if may_write else "immutable=1" if is_whole else "mode=ro"
    address = f"{path.absolute().as_uri()}?{mode}"
    connection = sqlite3.connect(address, uri=True, timeout=_WAIT, isolation_level=None)
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    return _checked(path, connection, application)


def _checked(path: Path, connection: sqlite3.Connection, application: int) -> sqlite3.Connection:
    problem = None
    if application != _APPLICATION:
        is_empty = not connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        whose = "is empty" if is_empty else "is another program's database"
        problem = f"{path}: {whose}, not a record of shapecheck"
    elif connection.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
        problem = f"{path}: was made by another version of shapecheck; record again"
    if problem is not None:
        connection.close()
        raise RecordProblem(problem)
    return connection


def create(path: Path) -> None:
    """Make sure that there is a record to write to; raises `RecordProblem`."""
    if path.is_dir():
        raise RecordProblem(f"{path}: is a folder; a record is a file")
    if not path.parent.is_dir():
        raise RecordProblem(f"{path}: there is no folder {path.parent}")
    try:
        with closing(_open(path)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            damage = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            connection.execute("ROLLBACK")
    except UNUSABLE as error:
        hint = "" if isinstance(error, sqlite3.OperationalError) else "; it is left as it is"
        raise RecordProblem(f"{path}: can't be written as a record: {error}{hint}") from None
    if damage != "ok":
        raise RecordProblem(f"{path}: is damaged, and left as it is; record into another file")


def append(path: Path, seen: Iterable[tuple[Key, int, Mapping[str, int]]]) -> None:
    """Add what a process has seen: functions, how often each was called, its calls as texts.

    What other processes wrote stays. A record that has become too large takes no new calls, and
    counts on. Raises `RecordProblem` and what is `UNUSABLE`.
    """
    with closing(_open(path)) as connection:
        connection.execute("PRAGMA synchronous = NORMAL")
        room = _LARGEST - path.stat().st_size
        connection.execute("BEGIN IMMEDIATE")
        for key, calls, texts in seen:
            place = (key.file, key.name, key.line)
            connection.execute(
                "INSERT INTO functions (file, name, line, calls) VALUES (?, ?, ?, ?)"
                " ON CONFLICT DO UPDATE SET calls = calls + excluded.calls",
                (*place, calls),
            )
            room -= sum(map(len, texts))
            if room < 0:
                continue
            (number,) = connection.execute(
                "SELECT id FROM functions WHERE file = ? AND name = ? AND line = ?", place
            ).fetchone()
            connection.executemany(
                "INSERT INTO calls VALUES (?, ?, ?)"
                " ON CONFLICT DO UPDATE SET count = count + excluded.count",
                [(number, text, count) for text, count in texts.items()],
            )
        connection.execute("COMMIT")


def amount(path: Path) -> tuple[int, int]:
    """Return how many calls of how many functions are recorded so far; 0 where it can't be read."""
    try:
        with closing(_open_to_read(path)) as connection:
            calls, functions = connection.execute(
                "SELECT total(calls), count(*) FROM functions"
            ).fetchone()
        return int(calls), int(functions)
    except (*UNUSABLE, RecordProblem, OverflowError):
        return 0, 0


def in_words(calls: int, functions: int) -> str:
    """Return an amount as people read it."""
    words = ((calls, "call"), (functions, "function"))
    return " of ".join(f"{count:,} {word}{'' if count == 1 else 's'}" for count, word in words)


def load_all(paths: Iterable[Path]) -> dict[Key, Recorded]:
    """Read records, as those of several hosts, as one; raises `RecordProblem`.

    Neither the order of the records counts nor which process has written first: functions and calls
    are sorted, what is the same call in several is one, and a record that is given twice counts
    once.
    """
    found: dict[Key, Recorded] = {}
    kinds: dict[Key, dict[str, Call]] = {}
    for path in {path.resolve(): path for path in paths}.values():
        for key, (calls, by_text) in _read(path).items():
            found.setdefault(key, Recorded(0)).calls += calls
            known = kinds.setdefault(key, {})
            for text, call in by_text.items():
                before = known[text].count if text in known else 0
                known[text] = replace(call, count=before + call.count)
    for key, one in found.items():
        one.kinds = [call for _, call in sorted(kinds[key].items(), key=itemgetter(0))]
    return dict(sorted(found.items(), key=itemgetter(0)))


def load(path: Path) -> dict[Key, Recorded]:
    """Read a record; raises `RecordProblem`."""
    return load_all([path])


def _read(path: Path) -> dict[Key, tuple[int, dict[str, Call]]]:
    """Read how often each function of a record was called, and its calls by their texts."""
    if not path.is_file():
        raise RecordProblem(f"{path}: there is no such record; `shapecheck record` makes one")
    found: dict[Key, tuple[int, dict[str, Call]]] = {}
    try:
        with closing(_open_to_read(path)) as connection:
            connection.text_factory = bytes.decode  # SQLite's own error has the text in it
            functions: dict[int, dict[str, Call]] = {}
            for number, file, name, line, calls in connection.execute("SELECT * FROM functions"):
                key = Key(rows.name(file), rows.name(name), rows.count(line))
                functions[number] = {}
                found[key] = rows.count(calls), functions[number]
            for number, text, count in connection.execute("SELECT * FROM calls"):
                functions[number][text] = Call(*rows.read(text), rows.count(count))
    except (ValueError, KeyError, TypeError, rows.Malformed):
        raise RecordProblem(f"{path}: is damaged; record into another file") from None
    except UNUSABLE as error:
        raise RecordProblem(f"{path}: can't be read as a record: {error}") from None
    return found
