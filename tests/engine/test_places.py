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


def test_objects_that_can_not_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are failures of the place, even if it answers."""

    class Lost(Failing):
        """Has what can't be read, and little else."""

        def read(self, names: Sequence[str]) -> Mapping[str, bytes | Exception]:
            """Lose the first of several."""
            return {name: b"1" if at else OSError("lost") for at, name in enumerate(names)}

    shared, notes = _shared(Lost(lambda: None, lambda: None), monkeypatch)
    assert [len(list(shared.read(["1", "2"]))) for _ in range(4)] == [1, 1, 1, 0]
    assert notes == ["what is shared in there isn't used in this run: lost"]


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


DAY = 86_400


@pytest.mark.parametrize(
    ("age", "is_read_young", "leaves"),
    [
        (0, False, False),
        (DAY - 1, False, False),
        (DAY + 1, True, False),
        (30 * DAY - 1, True, False),
        (30 * DAY + 1, True, True),
    ],
)
def test_how_old_an_object_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age: int, is_read_young: bool, leaves: bool
) -> None:
    """After a day a reading makes it young again, after thirty without one it leaves."""
    now = 1_700_000_000.0
    folder = Folder(tmp_path)
    folder.write({"aa/read.record": b"1", "aa/left.record": b"2", "bb/half.tmp": b"3"})
    for name in ("aa/read.record", "aa/left.record", "bb/half.tmp", "tidied"):
        os.utime(tmp_path / name, (now, now))
    monkeypatch.setattr("shapecheck.engine.places.time.time", lambda: now + age)
    assert folder.read(["aa/read.record"]) == {"aa/read.record": b"1"}
    assert ((tmp_path / "aa/read.record").stat().st_mtime != now) is is_read_young
    os.utime(tmp_path / "aa/read.record", (now + age, now + age))
    Folder(tmp_path).write({"cc/more.record": b"4"})
    os.utime(tmp_path / "cc/more.record", (now + age, now + age))
    left = {path.name for path in tmp_path.glob("??/*")}
    assert left == {"read.record", "more.record"} | (
        set() if leaves else {"left.record", "half.tmp"}
    )


@pytest.mark.parametrize(("age", "is_tidied"), [(DAY - 1, False), (DAY + 1, True)])
def test_how_often_somebody_tidies_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age: int, is_tidied: bool
) -> None:
    """Once a day, whoever comes first, and once in each run."""
    now = time.time()
    Folder(tmp_path).write({"aa/old.record": b"1"})
    os.utime(tmp_path / "aa/old.record", (1, 1))
    os.utime(tmp_path / "tidied", (now, now))
    monkeypatch.setattr("shapecheck.engine.places.time.time", lambda: now + age)
    folder = Folder(tmp_path)
    folder.write({"aa/one.record": b"1"})
    assert (tmp_path / "aa/old.record").exists() is not is_tidied
    folder.write({"aa/old.record": b"1"})
    os.utime(tmp_path / "aa/old.record", (1, 1))
    os.utime(tmp_path / "tidied", (1, 1))
    folder.write({"aa/two.record": b"1"})
    assert (tmp_path / "aa/old.record").exists()


def test_the_largest_object(tmp_path: Path) -> None:
    """Of a larger one a byte more is read than it may have, and it isn't written."""
    most = 16 << 20
    shared = Shared(str(tmp_path), pytest.fail)
    shared.write({"aaa": b"x" * most, "bbb": b"x" * (most + 1)})
    assert {path.name: path.stat().st_size for path in tmp_path.glob("??/*")} == {
        "aaa.record": most
    }
    (tmp_path / "aa" / "aaa.record").write_bytes(b"x" * (most + 9))
    ((key, content),) = shared.read(["aaa", "bbb"])
    assert (key, len(content)) == ("aaa", most + 1)
    core = pytest.importorskip("fsspec.core")
    files, root = core.url_to_fs(f"local://{tmp_path}")
    assert [len(one) for one in Remote(files, root).read(["aa/aaa.record"]).values()] == [most + 1]


def test_an_object_that_is_a_folder(tmp_path: Path) -> None:
    """What is raised over it is told; half of one that can't be written is taken away."""
    (tmp_path / "aa" / "one.record" / "below").mkdir(parents=True)
    folder = Folder(tmp_path)
    found = folder.read(["aa/one.record", "aa/two.record"])
    assert {name: type(one) for name, one in found.items()} == {"aa/one.record": IsADirectoryError}
    with pytest.raises(IsADirectoryError):
        folder.write({"aa/one.record": b"1"})
    assert [path.name for path in (tmp_path / "aa").iterdir()] == ["one.record"]


class Clock:
    """A clock that goes only where somebody waits, and threads that answer before they return."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.patience: list[float] = []
        clock = self

        class Thread:
            def __init__(self, target: Callable[[], None], daemon: bool) -> None:
                assert daemon
                self.start = target

            def join(self, seconds: float) -> None:
                clock.patience.append(seconds)

        monkeypatch.setattr("shapecheck.engine.shared.time.monotonic", lambda: self.now)
        monkeypatch.setattr("shapecheck.engine.shared.threading.Thread", Thread)


def test_how_long_a_place_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten seconds for nothing in all; each object is worth a quarter of one."""
    clock = Clock(monkeypatch)
    seconds = iter([2.0, 0.0, 0.5, 10.0])

    def takes() -> None:
        clock.now += next(seconds)

    shared, notes = _shared(Failing(takes, takes), monkeypatch)
    for keys in (["a"], ["b", "c", "d", "e"], ["f"], ["g"]):
        list(shared.read(keys))
    assert clock.patience == [10.0, 8.25, 9.25, 9.0]
    assert shared._patience == -0.75
    assert (notes, shared.is_given_up, shared.requests) == ([], False, 7)


def test_one_failure_of_a_place_that_has_taken_all_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is the end of it."""
    clock = Clock(monkeypatch)

    def fails_late() -> None:
        clock.now += 20
        _fails()

    shared, notes = _shared(Failing(fails_late, _fails), monkeypatch)
    list(shared.read(["a"]))
    assert shared.is_given_up
    assert notes == ["what is shared in there isn't used in this run: the wire is cut"]


@pytest.mark.parametrize(
    ("error", "note"),
    [
        (PermissionError("not yours"), "isn't written in this run: not yours"),
        (NotADirectoryError(), "isn't written in this run: NotADirectoryError"),
        (UnusableError("no such thing"), "isn't used in this run: no such thing"),
        (OSError("once"), None),
    ],
)
def test_what_is_no_use_to_try_again(
    monkeypatch: pytest.MonkeyPatch, error: Exception, note: str | None
) -> None:
    """Where one is refused, or there is no way to get there."""

    def fails() -> None:
        raise error

    shared, notes = _shared(Failing(lambda: None, fails), monkeypatch)
    shared.write({"a": b"x"})
    assert notes == ([] if note is None else [f"what is shared in there {note}"])
    assert shared.is_given_up is isinstance(error, UnusableError)


def test_writing_in_between_counts_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two readings that fail and one writing are no three of a kind; a good one begins anew."""
    results = iter([True, True, False, True, True, True])

    def writes() -> None:
        if next(results):
            _fails()

    shared, notes = _shared(Failing(_fails, writes), monkeypatch)
    for _ in range(2):
        list(shared.read(["a"]))
    for number in range(5):
        shared.write({"a": b"x"})
        assert (notes == []) is (number < 5)
    assert not shared.is_given_up
    shared.write({"a": b"x"})
    assert notes == ["what is shared in there isn't written in this run: the wire is cut"]
    shared.write({"a": b"x"})
    assert shared.requests == 8


def test_many_objects_are_written_in_a_few_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    goes: list[list[str]] = []

    class Taking(Failing):
        def write(self, objects: Mapping[str, bytes]) -> None:
            """Note what comes together."""
            goes.append([*objects])

    shared, _ = _shared(Taking(lambda: None, lambda: None), monkeypatch)
    shared.write({f"{number:04}": b"x" for number in range(130)})
    assert [len(one) for one in goes] == [64, 64, 2]
    assert goes[0][:2] == ["00/0000.record", "00/0001.record"]
    assert shared.requests == 130


def test_each_thing_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And without who uses the place."""
    notes: list[str] = []
    shared = Shared("s3://me:secret@bucket/x", notes.append)
    for _ in range(2):
        shared.note_damage()
    assert notes == [
        "what is shared in s3://bucket/x has something in it that can't be read, and that is "
        "found out again"
    ]
