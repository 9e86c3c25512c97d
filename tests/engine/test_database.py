"""The file that many processes write: what is in it, who may write it, what if it is damaged."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from shapecheck.engine import Database, ModuleRecord, Store, Tally
from shapecheck.engine.database import FILE
from shapecheck.engine.records import Grounds
from shapecheck.engine.reported import File, Reported, Told

INSERT = "INSERT INTO reported VALUES (?, ?)"
ALL = "SELECT * FROM reported ORDER BY module"


def test_what_a_file_has(tmp_path: Path) -> None:
    """It is made with what is kept first, and is the same for whoever opens it."""
    database = Database(tmp_path / "below" / "folder")
    assert database.path == tmp_path / "below" / "folder" / FILE
    assert FILE == "shapecheck.sqlite"
    assert not database.path.parent.exists()
    database.write(INSERT, ("a", "1"))
    assert database.rows(ALL, ()) == [("a", "1")]
    again = Database(database.path.parent)
    assert again.rows(ALL, ()) == [("a", "1")]
    assert len(database.token) == 32
    assert again.token == database.token != Database(tmp_path).token
    assert (database.note, again.note) == (None, None)
    for pragma, value in (("journal_mode", "wal"), ("synchronous", 0), ("user_version", 7)):
        assert again.rows(f"PRAGMA {pragma}", ()) == [(value,)]
    names = again.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name", ())
    assert names == [("born",), ("files",), ("reported",), ("said",)]


def test_who_may_only_read(tmp_path: Path) -> None:
    """Nothing that is written arrives."""
    Database(tmp_path).write(INSERT, ("a", "1"))
    reader = Database(tmp_path, read_only=True)
    reader.write(INSERT, ("b", "2"))
    assert reader.rows(ALL, ()) == [("a", "1")]


def test_a_folder_that_can_not_be_made(tmp_path: Path) -> None:
    """It is tried once: nothing is kept, nothing is said."""
    (tmp_path / "file").write_text("")
    database = Database(tmp_path / "file" / "below")
    database.write(INSERT, ("a", "1"))
    assert (database.rows(ALL, ()), database.token, database.note) == ([], "", None)
    (tmp_path / "file").unlink()
    assert database.rows(ALL, ()) == []
    assert not (tmp_path / "file").exists()
    database.close()


@pytest.mark.parametrize(
    "damage", [lambda path: path.write_bytes(b"\xff" * 4096), lambda path: _of_version(path, 2)]
)
def test_a_file_that_is_none_is_made_anew(tmp_path: Path, damage: object) -> None:
    """With a note; it has another token then."""
    before = Database(tmp_path)
    before.write(INSERT, ("a", "1"))
    token = before.token
    before.close()
    damage(tmp_path / FILE)  # type: ignore[operator]
    database = Database(tmp_path)
    assert database.rows(ALL, ()) == []
    assert database.note == f"{tmp_path / FILE} can't be read; what was in it is found out again"
    assert database.token not in ("", token)
    database.write(INSERT, ("b", "2"))
    assert Database(tmp_path).rows(ALL, ()) == [("b", "2")]


@pytest.mark.parametrize(
    "find_out",
    [
        lambda database: database.write(INSERT, ("b", "2")),
        lambda database: database.rows(ALL, ()),
    ],
)
def test_a_file_that_is_damaged_while_it_is_open(
    tmp_path: Path, find_out: Callable[[Database], object]
) -> None:
    """What is written when that is found out is lost, and nothing that is written after it."""
    database = Database(tmp_path)
    database.write(INSERT, ("a", "1"))
    for path in tmp_path.iterdir():
        size = path.stat().st_size  # which stays, as the file may be mapped into memory
        with path.open("r+b") as file:
            file.write(b"\xff" * size)
    find_out(database)
    database.write(INSERT, ("c", "3"))
    assert Database(tmp_path).rows(ALL, ()) == [("c", "3")]


def test_a_file_that_can_not_be_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried once more, and then no more; nothing is kept."""
    tried: list[Path] = []

    def connected(path: Path) -> sqlite3.Connection:
        tried.append(path)
        raise sqlite3.DatabaseError("damaged")

    monkeypatch.setattr("shapecheck.engine.database._connected", connected)
    database = Database(tmp_path)
    for _ in range(3):
        database.write(INSERT, ("a", "1"))
        assert database.rows(ALL, ()) == []
    assert tried == [tmp_path / FILE] * 2
    assert database.note == f"{tmp_path / FILE} can't be read; what was in it is found out again"


def _of_version(path: Path, version: int) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()


def test_what_can_not_be_asked(tmp_path: Path) -> None:
    """Nothing comes of it, and the file stays."""
    database = Database(tmp_path)
    database.write(INSERT, ("a", "1"))
    assert database.rows("SELECT * FROM nowhere", ()) == []
    database.write("DELETE FROM nowhere", ())
    assert (database.rows(ALL, ()), database.note) == ([("a", "1")], None)


def test_a_file_that_is_closed_is_opened_again(tmp_path: Path) -> None:
    """And a copy of the process opens it for itself."""
    database = Database(tmp_path)
    database.close()
    database.write(INSERT, ("a", "1"))
    first = database._connection
    assert first is not None
    database.close()
    with pytest.raises(sqlite3.ProgrammingError):
        first.execute(ALL)
    assert database.rows(ALL, ()) == [("a", "1")]
    second = database._connection
    assert database.rows(ALL, ()) == [("a", "1")]
    assert second is database._connection is not first


def test_a_copy_of_the_process_opens_the_file_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(tmp_path)
    database.write(INSERT, ("a", "1"))
    first = database._connection
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert database.rows(ALL, ()) == [("a", "1")]
    assert database._connection is not first
    second = database._connection
    assert database.rows(ALL, ()) == [("a", "1")]
    assert second is database._connection


def test_the_half_that_was_found_last_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the file is larger than it may be, and only then."""
    store = Store(Database(tmp_path), "maker")
    for name in "abcde":
        store.keep(record(name, "1"))
    size = (tmp_path / FILE).stat().st_size
    for most, left in ((size, "abcde"), (size - 1, "cde")):
        monkeypatch.setattr("shapecheck.engine.database.MOST_BYTES", most)
        rows = Database(tmp_path).rows("SELECT module FROM said ORDER BY module", ())
        assert "".join(module for (module,) in rows) == left
    assert (tmp_path / FILE).stat().st_size <= size


# What is kept in it -------------------------------------------------------------------------------


def record(module: str, version: str, other: str | None = None) -> ModuleRecord:
    """Return a record of a version of a module, which rests on another one perhaps."""
    versions: dict[str, str | None] = {module: version}
    if other is not None:
        versions["other"] = other
    return ModuleRecord(module, versions, (), Grounds())


def versions_of(store: Store, module: str, version: str | None) -> dict[str, str | None] | None:
    found = store.find(module, version)
    return None if found is None else found.versions


def test_which_record_is_found(tmp_path: Path) -> None:
    """Of the version that is asked for, else what was kept last; of one maker."""
    store = Store(Database(tmp_path), "maker")
    assert store.find("a", "1") is None
    for version in ("1 path", "2 path", "3 path"):
        store.keep(record("a", version))
    assert versions_of(store, "a", "1 path") == {"a": "1 path"}
    assert versions_of(store, "a", "4 path") == {"a": "3 path"}
    assert versions_of(store, "a", None) == {"a": "3 path"}
    assert Store(Database(tmp_path), "another").find("a", "1 path") is None
    assert store.tally == Tally(analysed=0, known=3, shared=0, requests=0, kept=3)
    lacking = [("a", "1 elsewhere"), ("a", "4 path"), ("b", "1 path")]
    assert store.lacking(lacking) == lacking[1:]
    assert Store(Database(tmp_path), "another").lacking(lacking) == lacking


def test_versions_that_are_noted(tmp_path: Path) -> None:
    """Of this version of this module alone."""
    store = Store(Database(tmp_path), "maker")
    for one in (record("a", "1", "1"), record("a", "2", "1"), record("b", "1", "1")):
        store.keep(one)
    store.note_versions(record("a", "1", "2"))
    assert versions_of(store, "a", "1") == {"a": "1", "other": "2"}
    assert versions_of(store, "a", "2") == {"a": "2", "other": "1"}
    assert versions_of(store, "b", "1") == {"b": "1", "other": "1"}


@pytest.mark.parametrize("column", ["versions", "said", "covered", "parts"])
def test_a_damaged_column(tmp_path: Path, column: str) -> None:
    """With a letter more in any of them there is no record."""
    database = Database(tmp_path)
    store = Store(database, "maker")
    store.keep(record("a", "1"))
    assert store.find("a", "1") is not None
    database.write(f"UPDATE said SET {column} = {column} || ' '", ())
    assert store.find("a", "1") is None
    assert store.tally.known == 1


def test_what_runs_had_to_do() -> None:
    one, two = Tally(1, 2, 3, 4, 5), Tally(10, 20, 30, 40, 50)
    assert one + two == Tally(11, 22, 33, 44, 55)
    assert two - one == Tally(9, 18, 27, 36, 45)
    assert one + Tally() == one - Tally() == one


def told(said: str, **versions: str | None) -> Told:
    """What was reported of a module that rests on modules in these versions."""
    return Told.of(said, [], versions)


def file(path: str, size: int = 1) -> File:
    """Where a module lies that has never been edited."""
    return File(path, (10, 20, size), "12ab", hands_out=False)


def test_what_was_reported(tmp_path: Path) -> None:
    """Who asks again knows what was noted last, and of what nothing is said any more nothing."""
    reported = Reported(Database(tmp_path), "maker")
    assert (reported.of("a"), reported.files) == (None, {})
    reported.note("a", told("1", a="v"))
    reported.note("a", Told.of("2", ["b", "c"], {"a": "v", "b": "w", "c": None}))
    reported.note("b", told("1"))
    reported.note("c", None)
    reported.note_file("a", file("a.py"))
    reported.note_file("b", file("b.py"))
    reported.note_file("a", file("x/a b.py", 2))
    for one in (reported, Reported(Database(tmp_path), "maker")):
        found = one.of("a")
        assert found is not None
        assert (found.digest, found.asked, found.rests_on) == ("2", ("b", "c"), ("a", "b", "c"))
        assert one.of("b") == told("1")
        assert one.of("c") is None
        assert one.files == {"a": file("x/a b.py", 2), "b": file("b.py")}
        assert one.token == Database(tmp_path).token != ""
    other = Reported(Database(tmp_path), "other")
    assert (other.of("a"), other.files) == (reported.of("a"), {})
    reported.note("a", None)
    for one in (reported, Reported(Database(tmp_path), "maker")):
        assert [one.of(name) for name in "ab"] == [None, told("1")]


@pytest.mark.parametrize(
    ("versions", "holds"),
    [
        ({"a": "v", "b": None}, True),
        ({"a": "v", "b": None, "c": "other"}, True),
        ({"a": "w", "b": None}, False),
        ({"a": "v", "b": "None"}, False),
        ({"a": None, "b": None}, False),
        ({"a": "v b None", "b": None}, False),
    ],
)
def test_whether_what_was_reported_holds(versions: dict[str, str | None], holds: bool) -> None:
    """It does where each module that it rests on has the version that it had."""
    assert told("1", b=None, a="v").holds(versions.__getitem__) is holds


def test_what_is_noted_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is what was noted before, nothing is written."""
    reported = Reported(Database(tmp_path), "maker")
    reported.note("a", told("1"))
    reported.note_file("a", file("a.py"))
    monkeypatch.setattr(Database, "write", lambda *given: pytest.fail("it is written again"))
    for one in (reported, Reported(Database(tmp_path), "maker")):
        one.note("a", told("1"))
        one.note_file("a", file("a.py"))


def test_damaged_rows(tmp_path: Path) -> None:
    """A file is left out, and what was reported of a module holds no more."""
    database = Database(tmp_path)
    reported = Reported(database, "maker")
    for name in "ab":
        reported.note_file(name, file(f"{name}.py"))
        reported.note(name, told("1", c="v"))
    for table, column in (("files", "file"), ("reported", "told")):
        database.write(f"UPDATE {table} SET {column} = {column} || ' ' WHERE module = 'a'", ())
    again = Reported(database, "maker")
    assert again.files == {"b": file("b.py")}
    held = [one is not None and one.holds(lambda name: "v") for one in map(again.of, "ab")]
    assert held == [False, True]


def test_nobody_who_keeps_what_was_reported() -> None:
    reported = Reported(None, "maker")
    reported.note("a", told("1"))
    reported.note_file("a", file("a.py"))
    assert (reported.of("a"), reported.files, reported.token) == (None, {}, "")
