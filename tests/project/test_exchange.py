"""What a team shares, before and after a run: by another process, whatever becomes of that."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from shapecheck.config import Sharing
from shapecheck.engine import Database, ModuleRecord, Store
from shapecheck.engine.records import Grounds
from shapecheck.project.exchange import Exchange

VERSIONS = [(f"m{number}", f"content{number} m{number}.py") for number in range(3)]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return one that has a record of each."""
    store = Store(Database(tmp_path / "one"), "maker")
    for module, version in VERSIONS:
        store.keep(ModuleRecord(module, {module: version}, (), Grounds()))
    return store


def _other(tmp_path: Path, place: object, *, read_only: bool = False) -> tuple[Store, Exchange]:
    store = Store(Database(tmp_path / "two"), "maker")
    return store, Exchange(store, Sharing(str(place), read_only))


def test_given_and_taken(store: Store, tmp_path: Path) -> None:
    """And counted, though another process did it."""
    mine = Exchange(store, Sharing(str(tmp_path / "team"), read_only=False))
    mine.give(VERSIONS)
    assert (mine.tally.requests, mine.notes) == (3, [])
    other, yours = _other(tmp_path, tmp_path / "team")
    yours.take([*VERSIONS, ("m3", "content3 m3.py")])
    assert (yours.tally.shared, yours.tally.requests, yours.notes) == (3, 4, [])
    assert other.lacking(VERSIONS) == []
    yours.take(VERSIONS)
    assert yours.tally.requests == 4


def test_read_only(store: Store, tmp_path: Path) -> None:
    """Nothing is given."""
    mine = Exchange(store, Sharing(str(tmp_path / "team"), read_only=True))
    mine.give(VERSIONS)
    assert (mine.tally.requests, (tmp_path / "team").exists()) == (0, False)


def test_a_place_that_fails(tmp_path: Path) -> None:
    """It isn't asked a second time."""
    (tmp_path / "file").write_text("")
    _, exchange = _other(tmp_path, tmp_path / "file")
    exchange.take(VERSIONS)
    exchange.give(VERSIONS)
    assert (exchange.tally.requests, len(exchange.notes)) == (3, 1)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no other process")
def test_the_other_process_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That is a note, and there is no other."""
    here = os.getpid()

    def dies(*_: object) -> None:
        assert os.getpid() != here
        os._exit(3)

    _, exchange = _other(tmp_path, tmp_path / "team")
    monkeypatch.setattr(Store, "fetch", dies)
    exchange.take(VERSIONS)
    exchange.take(VERSIONS)
    assert exchange.notes == [
        "what is shared isn't used in this run: the process that asks for it has ended early"
    ]
