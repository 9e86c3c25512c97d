"""What one clone has found, another that shares a place with it doesn't look for again."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
import uuid
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from shapecheck.analysis import Options
from shapecheck.engine import Database, Engine, Shared, Store, digest, fingerprint
from shapecheck.engine.packing import packed, unpacked
from shapecheck.engine.places import Folder, Remote, UnusableError, place
from tests.engine.test_engine import TEXTS, Program, Shelf


class Clone(Shelf):
    """Files of which the paths, as they are shown, begin with a folder."""

    def __init__(self, texts: Mapping[str, str], folder: str) -> None:
        super().__init__({})
        files = Shelf(texts).sources.items()
        self.sources = {
            name: type(one)(name, f"{folder}/{one.path}", one.text) for name, one in files
        }

    def version(self, module: str) -> str | None:
        """Say which text it has, and where."""
        source = self.source(module)
        return None if source is None else f"{digest(source.text.encode())} {source.path}"


class Team:
    """The runs of those who share a place."""

    def __init__(self, folder: Path, place: str) -> None:
        self.folder, self.place = folder, place
        self.notes: list[str] = []

    def store(self, clone: str, *, read_only: bool = False) -> Store:
        """Return the store of a clone that has another one each time."""
        shared = Shared(self.place, self.notes.append, read_only=read_only)
        return Store(Database(self.folder / clone / uuid.uuid4().hex), "maker", shared)

    def analysed(self, clone: str, *, read_only: bool = False) -> int:
        """Check all in a clone, and return of how many parts the analysis was asked."""
        store = self.store(clone, read_only=read_only)
        engine = Engine(Clone(TEXTS, clone), Options(), store)
        alone = Engine(Clone(TEXTS, clone), Options())
        for module in TEXTS:
            assert engine.check(module) == alone.check(module)
        return engine.analysed


@pytest.fixture
def team(tmp_path: Path) -> Team:
    """Who shares a folder."""
    return Team(tmp_path, str(tmp_path / "shared"))


def _objects(team: Team) -> list[Path]:
    return sorted(Path(team.place).rglob("*.record"))


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
    assert len(_objects(team)) == 3


def test_read_only_writes_nothing(team: Team) -> None:
    """Not even the folder."""
    assert team.analysed("one", read_only=True) == 13
    assert not Path(team.place).exists()
    team.analysed("one")
    before = [(path, path.stat().st_mtime_ns) for path in _objects(team)]
    assert team.analysed("one", read_only=True) == 0
    assert [(path, path.stat().st_mtime_ns) for path in _objects(team)] == before


# Damage ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        lambda content: b"not a record",
        lambda content: b"\xff" * 100,
    ],
)
def test_a_damaged_object_is_found_out_again(team: Team, damage: Callable[[bytes], bytes]) -> None:
    """With one note; it is put right for the next."""
    team.analysed("one")
    for path in _objects(team):
        path.write_bytes(damage(path.read_bytes()))
    assert team.analysed("one") == 13
    (note,) = team.notes
    assert note.endswith("has something in it that can't be read, and that is found out again")
    assert team.analysed("one") == 0


def _forged(texts: object) -> bytes:
    content = zlib.compress(json.dumps(texts).encode())
    return digest(content).encode() + b"\n" + content


def _texts(content: bytes) -> list[str]:
    found: list[str] = json.loads(zlib.decompress(content.partition(b"\n")[2]))
    return found


WHOLE = json.dumps({"layers": "text"})
SAID = '[[1, 0, 1, 4, "wrong", "error", "shape", null]]'
PARTS = '[[["layers", "body f", "x"]], [["f", 1, "", [0], null]]]'
DEEP = "[" * 100_000 + "]" * 100_000


def test_what_a_record_looks_like() -> None:
    """So that each of those below is one step away from one."""
    found = unpacked("layers", _forged(["layers", WHOLE, SAID, PARTS]))
    assert [one.message for one in found.said] == ["wrong"]
    assert unpacked("layers", packed(found)).said == found.said


@pytest.mark.parametrize(
    "texts",
    [
        None,
        "text",
        [],
        {},
        ["model", WHOLE, SAID, PARTS],
        ["layers", WHOLE, SAID],
        ["layers", 1, SAID, PARTS],
        ["layers", WHOLE, [1], PARTS],
        *(
            ["layers", versions, SAID, PARTS]
            for versions in (
                "",
                "[]",
                "{}",
                "3",
                DEEP,
                '{"model": "text"}',
                '{"layers": "\\ud800"}',
            )
        ),
        *(
            ["layers", WHOLE, SAID.replace(old, new), PARTS]
            for old, new in [
                ("[[1,", "[[Infinity,"),
                ("[[1,", "[[NaN,"),
                ("[[1,", "[[-1,"),
                ("[[1,", "[[1e300,"),
                ("[[1,", "[[" + "9" * 30 + ","),
                ("[[1,", '[["1",'),
                ("[[1,", "[[1, 1,"),
                ('"wrong"', '"\\ud800"'),
                ('"wrong"', '"\\uDfFf"'),
                ('"wrong"', "[]"),
                ('"error"', '"fatal"'),
                ("null", '"blame"'),
                ("null", '["crime", null, "f", "x", []]'),
                ("null", '[[], null, "f", "x", []]'),
                ("null", '["unfit", {}, "f", "x", []]'),
                ("null", '["unfit", null, "f", "x", [Infinity]]'),
                ("null", DEEP),
                (SAID, DEEP),
                (SAID, "{"),
                (SAID, "1"),
            ]
        ),
        *(
            ["layers", WHOLE, SAID, PARTS.replace(old, new)]
            for old, new in [
                ("[0]", "[1]"),
                ("[0]", "[-1]"),
                ("[0]", "[Infinity]"),
                ("[0]", "0"),
                ('"f", 1,', '"f", Infinity,'),
                ('"f", 1,', '"f", null,'),
                ("null", "[1]"),
                ("null", "[[[]], []]"),
                ("null", '[[], [[null, null, "k", []]]]'),
                ("null", '[[], [[null, [1, Infinity], "k", []]]]'),
                ("null", '[[], [[[1, 2, 3], null, "k", []]]]'),
                ("null", DEEP),
                ("body f", "\\ud800"),
                (PARTS, DEEP),
                (PARTS, ""),
                (PARTS, "null"),
            ]
        ),
    ],
)
def test_what_is_no_record(team: Team, texts: object) -> None:
    """It has a right digest, and is forged: it is never taken for one."""
    with pytest.raises(ValueError):  # noqa: PT011 - in whichever words
        unpacked("layers", _forged(texts))
    team.analysed("one")
    for path in _objects(team):
        path.write_bytes(_forged(texts))
    assert team.analysed("one") == 13
    assert len(team.notes) == 1


def test_a_record_of_another_text(team: Team) -> None:
    """An object in the place of another one isn't taken."""
    team.analysed("one")
    for path in _objects(team):
        name, versions, said, parts = _texts(path.read_bytes())
        other = json.dumps({**json.loads(versions), name: "of another text"})
        path.write_bytes(_forged([name, other, said, parts]))
    assert team.analysed("one") == 13
    assert len(team.notes) == 1


def _lie(team: Team, at: int, lie: Callable[[Any], None]) -> None:
    """Change what is said, or what that rests on, in all records of a place."""
    team.analysed("one")
    for path in _objects(team):
        texts = _texts(path.read_bytes())
        value = json.loads(texts[at])
        lie(value)
        texts[at] = json.dumps(value)
        path.write_bytes(_forged(texts))


def _beyond_the_file(said: Any) -> None:
    for one in said:
        one[0] = one[2] = 10_000


def _of_a_line_that_is_none(said: Any) -> None:
    for one in said:
        one[0] = 10_000


def _nonsense(parts: Any) -> None:
    for reading in parts[0]:
        reading[1] = "nonsense f"


def _empty(parts: Any) -> None:
    for reading in parts[0]:
        reading[1] = ""


@pytest.mark.parametrize("lie", [_beyond_the_file, _of_a_line_that_is_none])
def test_lines_that_there_are_not(team: Team, lie: Callable[[Any], None]) -> None:
    """A record of another text than its own is found out again."""
    _lie(team, 2, lie)
    assert team.analysed("one") > 0


@pytest.mark.parametrize("lie", [_nonsense, _empty])
def test_readings_that_there_are_not(team: Team, lie: Callable[[Any], None]) -> None:
    """They are looked at where a module that was read has changed."""
    _lie(team, 3, lie)
    texts = {**TEXTS, "layers": TEXTS["layers"] + "\nMORE = 1\n"}
    engine = Engine(Clone(texts, "one"), Options(), team.store("one"))
    assert engine.check("model") == Engine(Clone(texts, "one"), Options()).check("model")


def test_more_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What grows without an end when it is read is no record."""
    monkeypatch.setattr("shapecheck.engine.packing._MOST_BYTES", 1000)
    with pytest.raises(ValueError):  # noqa: PT011
        unpacked("layers", _forged(["layers", WHOLE, SAID, PARTS + " " * 10_000]))


# Places that fail ---------------------------------------------------------------------------------


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


# Folders ------------------------------------------------------------------------------------------


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


# The fingerprint ----------------------------------------------------------------------------------


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
