"""What one clone has found, another that shares a place with it doesn't look for again."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapecheck.analysis import Options
from shapecheck.engine import Database, Engine, Shared, Store, fingerprint
from tests.engine.conftest import Clone, Team, objects
from tests.engine.test_engine import TEXTS, Program


@pytest.mark.parametrize("kind", ["{}", "file://{}", "local://{}", "memory://{}"])
def test_a_second_clone_looks_for_nothing_again(tmp_path: Path, kind: str) -> None:
    """Wherever it lies."""
    if not kind.startswith(("{", "file")):
        pytest.importorskip("fsspec")
    team = Team(tmp_path, kind.format(tmp_path / "shared"))
    assert team.analysed("one") == 13
    assert team.analysed("one") == 0
    assert team.notes == []


def test_files_that_are_called_otherwise(team: Team) -> None:
    """Of a part is found again what names the path of another file, and nothing else."""
    assert team.analysed("one") == 13
    assert team.analysed("another/path") == 1


def test_what_was_taken_is_kept(team: Team) -> None:
    """The place is asked once for each module."""
    team.analysed("one")
    database = Database(team.folder / "two")
    shared = Shared(team.place, team.notes.append)
    first = Engine(Clone(TEXTS, "one"), Options(), Store(database, "maker", shared))
    assert [len(first.check(name)) for name in TEXTS]
    assert first.analysed == 0
    assert shared.requests == len(TEXTS)
    again = Engine(Clone(TEXTS, "one"), Options(), Store(database, "maker"))
    assert [len(again.check(name)) for name in TEXTS]
    assert again.analysed == 0


def test_all_at_once(team: Team) -> None:
    """A run that knows its modules takes all before it, and gives all after it."""
    files = Clone(TEXTS, "one")
    versions = [(name, str(files.version(name))) for name in TEXTS]
    mine, yours = (Store(Database(team.folder / name), "maker") for name in ("one", "two"))
    engine = Engine(files, Options(), mine)
    for name in TEXTS:
        engine.check(name)
    shared = Shared(team.place, team.notes.append)
    mine.publish(versions, shared)
    assert yours.lacking(versions) == versions
    yours.fetch(versions, shared)
    assert yours.lacking(versions) == []
    again = Engine(files, Options(), yours)
    assert [len(again.check(name)) for name in TEXTS]
    assert again.analysed == 0


def test_an_edit_makes_another_object(team: Team) -> None:
    """And what is of other texts is of no use."""
    team.analysed("one")
    edited = {**TEXTS, "layers": TEXTS["layers"].replace("dim=1", "dim=0")}
    engine = Engine(Clone(edited, "one"), Options(), team.store("one"))
    assert [engine.check(name) for name in edited] == [
        Engine(Clone(edited, "one"), Options()).check(name) for name in edited
    ]
    assert engine.analysed > 0
    assert len(objects(team)) == 3


def test_read_only_writes_nothing(team: Team) -> None:
    """Not even the folder."""
    assert team.analysed("one", read_only=True) == 13
    assert not Path(team.place).exists()
    team.analysed("one")
    before = [(path, path.stat().st_mtime_ns) for path in objects(team)]
    assert team.analysed("one", read_only=True) == 0
    assert [(path, path.stat().st_mtime_ns) for path in objects(team)] == before


def test_a_folder_of_signatures_may_lie_anywhere(tmp_path: Path) -> None:
    """What is in it counts."""
    for name, text in (("a", "x"), ("b", "x"), ("c", "y")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "lib.pyi").write_text(text)
    a, b, c = (fingerprint(Options(stubs=(str(tmp_path / name),))) for name in "abc")
    assert a == b != c


def test_programs_agree(team: Team) -> None:
    """What is taken is what the analysis says of the files as they are."""
    Program(TEXTS, team.store("one")).check()
    assert Program(TEXTS, team.store("one")).check() == []
