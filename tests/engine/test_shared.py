"""What one clone has found, another that shares a place with it doesn't look for again."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapecheck.analysis import Options
from shapecheck.engine import Database, Engine, Shared, Store
from tests.engine.test_engine import TEXTS, Program, Shelf


def _store(folder: Path, place: str, *, read_only: bool = False) -> Store:
    return Store(Database(folder), "maker", Shared(place, read_only=read_only))


@pytest.mark.parametrize("kind", ["{}", "file://{}", "memory://{}"])
def test_a_second_clone_looks_for_nothing_again(tmp_path: Path, kind: str) -> None:
    place = kind.format(tmp_path / "shared")
    assert len(Program(TEXTS, _store(tmp_path / "one", place)).check()) == 13
    assert Program(TEXTS, _store(tmp_path / "two", place)).check() == []
    # And it has kept that where the place isn't asked.
    assert Program(TEXTS, Store(Database(tmp_path / "two"), "maker")).check() == []


def test_read_only_writes_nothing(tmp_path: Path) -> None:
    place = tmp_path / "shared"
    Program(TEXTS, _store(tmp_path / "one", str(place), read_only=True)).check()
    assert not place.exists()


@pytest.mark.parametrize("content", [b"", b"[" * 100_000, b"[]", b"{}", b'{"said": 1}', b"\xff"])
def test_damage_is_found_out_again(tmp_path: Path, content: bytes) -> None:
    place = tmp_path / "shared"
    Program(TEXTS, _store(tmp_path / "one", str(place))).check()
    for path in place.rglob("*.json"):
        path.write_bytes(content)
    assert len(Program(TEXTS, _store(tmp_path / "two", str(place))).check()) == 13


def test_a_place_that_fails_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    shared = Shared(str(tmp_path / "file"))
    engine = Engine(Shelf(TEXTS), Options(), Store(Database(tmp_path / "one"), "maker", shared))
    assert engine.check("model")
    assert shared.note is not None
