"""A place that fails, is slow or not there is given up, with a note; and what leaves a folder."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from shapecheck.analysis import Options
from shapecheck.engine import Engine, Shared
from shapecheck.engine.places import Folder, Remote, UnusableError, place
from tests.engine.conftest import Clone, Team
from tests.engine.test_engine import TEXTS


def test_a_place_that_is_a_file(team: Team) -> None:
    """It is given up, with one note, and nothing else comes of it."""
    Path(team.place).write_text("")
    assert team.analysed("one") == 13
    assert len(team.notes) <= 2
    assert all("isn't" in note and "in this run" in note for note in team.notes)


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("nothing://bucket/folder", "Protocol not known: nothing"),
    ],
)
def test_a_place_that_there_is_not(tmp_path: Path, place: str, why: str) -> None:
    """It is told once."""
    pytest.importorskip("fsspec")
    team = Team(tmp_path, place)
    assert team.analysed("one") == 13
    (note,) = team.notes
    assert note.endswith(f"isn't used in this run: {why}")


def test_without_fsspec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What to do about it."""
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(UnusableError, match="pip install fsspec"):
        place("s3://bucket")
    team = Team(tmp_path, "s3://me:secret@bucket/folder")
    assert team.analysed("one") == 13
    assert team.notes == [
        "what is shared in s3://bucket/folder isn't used in this run: it needs fsspec: "
        "pip install fsspec"
    ]


class Failing:
    """A place of which some answers fail."""

    def __init__(self, reads: Callable[[], None], writes: Callable[[], None]) -> None:
        self.reads, self.writes = reads, writes

    def read(self, names: Sequence[str]) -> Mapping[str, bytes | Exception]:
        """Have nothing."""
        self.reads()
        return {}

    def write(self, objects: Mapping[str, bytes]) -> None:
        """Take all."""
        self.writes()


def _shared(there: Failing, monkeypatch: pytest.MonkeyPatch) -> tuple[Shared, list[str]]:
    notes: list[str] = []
    monkeypatch.setattr("shapecheck.engine.shared.place", lambda name: there)
    return Shared("there", notes.append), notes


def _fails() -> None:
    raise OSError("the wire is cut")


def test_three_failures_in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the third nobody asks any more; with a good answer in between all begins anew."""
    asked: list[int] = []

    def often() -> None:
        asked.append(1)
        if len(asked) not in (3, 6):
            _fails()

    shared, notes = _shared(Failing(often, _fails), monkeypatch)
    for number in range(20):
        assert list(shared.read([str(number)])) == []
    assert len(asked) == 9
    assert notes == ["what is shared in there isn't used in this run: the wire is cut"]
    assert shared.is_given_up


def test_many_objects_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are asked for in a few questions; one that fails is none of the others' business."""
    asked: list[int] = []

    class Half(Failing):
        """Has each second object, and fails over one."""

        def read(self, names: Sequence[str]) -> Mapping[str, bytes | Exception]:
            """Look them up."""
            asked.append(len(names))
            numbers = {name: int(name.partition("/")[2].partition(".")[0]) for name in names}
            found = {name: b"%d" % n for name, n in numbers.items() if n % 2 == 0}
            return {name: OSError("lost") if one == b"4" else one for name, one in found.items()}

    shared, notes = _shared(Half(lambda: None, lambda: None), monkeypatch)
    keys = [f"{number:04}" for number in range(150)]
    found = dict(shared.read(keys))
    assert found == {key: b"%d" % int(key) for key in keys[::2] if key != "0004"}
    assert (asked, shared.requests, notes) == ([64, 64, 22], 150, [])


def test_a_place_that_is_gone_in_the_middle(team: Team) -> None:
    """What was found before it counts, what comes after it is found."""
    team.analysed("one")
    engine = Engine(Clone(TEXTS, "one"), Options(), team.store("one"))
    assert engine.check("layers") is not None
    assert engine.analysed == 0
    shutil.rmtree(team.place)
    Path(team.place).write_text("")
    assert engine.check("model") == Engine(Clone(TEXTS, "one"), Options()).check("model")
    assert engine.analysed > 0
    assert len(team.notes) == 1


def test_what_can_not_be_written_is_still_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading in between makes no difference."""
    asked: list[str] = []

    def writes() -> None:
        asked.append("write")
        _fails()

    shared, notes = _shared(Failing(lambda: asked.append("read"), writes), monkeypatch)
    for number in range(10):
        list(shared.read([str(number)]))
        shared.write({str(number): b"x"})
    assert (asked.count("read"), asked.count("write")) == (10, 3)
    assert notes == ["what is shared in there isn't written in this run: the wire is cut"]


def test_a_place_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is waited for once."""
    monkeypatch.setattr("shapecheck.engine.shared._PATIENCE", 0.05)
    asked: list[int] = []
    is_over = threading.Event()

    def hangs() -> None:
        asked.append(1)
        is_over.wait()

    shared, notes = _shared(Failing(hangs, hangs), monkeypatch)
    for number in range(5):
        assert list(shared.read([str(number)])) == []
        shared.write({str(number): b"x"})
    is_over.set()
    assert len(asked) == 1
    assert notes == ["what is shared in there isn't used in this run: it doesn't answer in time"]


def test_a_copy_of_the_process_opens_the_place_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection is no two processes'."""
    opened: list[str] = []

    def opening(name: str) -> Failing:
        opened.append(name)
        return Failing(lambda: None, lambda: None)

    monkeypatch.setattr("shapecheck.engine.shared.place", opening)
    shared = Shared("there", print)
    for process in (1, 1, 2, 2):
        monkeypatch.setattr(os, "getpid", lambda process=process: process)
        list(shared.read(["a"]))
    assert opened == ["there", "there"]


def test_what_nobody_reads_leaves_a_folder(tmp_path: Path) -> None:
    """A reading makes young; each day somebody tidies up."""
    folder = Folder(tmp_path)
    folder.write({"aa/old.record": b"1", "aa/read.record": b"2", "bb/new.record": b"3"})
    (tmp_path / "aa" / "half.tmp").write_bytes(b"4")
    long_ago = time.time() - 40 * 86_400
    for name in ("aa/old.record", "aa/read.record", "aa/half.tmp", "tidied"):
        os.utime(tmp_path / name, (long_ago, long_ago))
    assert folder.read(["aa/read.record", "aa/none.record"]) == {"aa/read.record": b"2"}
    Folder(tmp_path).write({"cc/more.record": b"5"})
    left = sorted(path.name for path in tmp_path.glob("??/*"))
    assert left == ["more.record", "new.record", "read.record"]


def test_a_remote_place_that_wants_folders(tmp_path: Path) -> None:
    """They are made when they are missing."""
    core = pytest.importorskip("fsspec.core")
    files, root = core.url_to_fs(f"local://{tmp_path}/there")
    remote = Remote(files, root)
    remote.write({"aa/one.record": b"1", "bb/two.record": b""})
    names = ["aa/one.record", "bb/two.record", "cc/three.record"]
    assert remote.read(names) == {"aa/one.record": b"1", "bb/two.record": b""}
