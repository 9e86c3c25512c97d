"""What is kept beside bytecode of what was made from files."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from shapecheck import made_from_files
from shapecheck.made_from_files import MadeFromFiles, is_settled, stamp_of

NOW = time.time_ns


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file that was written long ago."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(made_from_files.time, "time_ns", lambda: NOW() + 10**11)
    (tmp_path / "a.txt").write_text("one")
    return tmp_path


def made(folder: Path, form: int = 1, which: str = "") -> MadeFromFiles:
    return MadeFromFiles(str(folder / "module.py"), form, [str(folder / "a.txt")], which)


def test_it_is_known_to_the_next_start(folder: Path) -> None:
    assert made(folder).load() is None
    made(folder).keep({"words": ["é", 1, None]})
    assert made(folder).load() == {"words": ["é", 1, None]}
    (kept,) = (folder / "__pycache__").iterdir()
    assert kept.name == f"module.{sys.implementation.cache_tag}.json"


@pytest.mark.parametrize("text", ["two", "three"])
def test_a_file_has_changed(folder: Path, text: str) -> None:
    made(folder).keep("one")
    status = (folder / "a.txt").stat()
    (folder / "a.txt").write_text(text)
    os.utime(folder / "a.txt", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert made(folder).load() is None


def test_a_file_has_gone(folder: Path) -> None:
    """What was made without it isn't kept."""
    made(folder).keep("one")
    (folder / "a.txt").unlink()
    assert made(folder).load() is None
    made(folder).keep("none")
    assert made(folder).load() is None


def test_it_is_made_in_another_way(folder: Path) -> None:
    made(folder).keep("one")
    assert made(folder, form=2).load() is None


def test_several_things_that_one_module_makes(folder: Path) -> None:
    for which in ("", "x", "/y/z"):
        made(folder, which=which).keep(which)
    assert [made(folder, which=which).load() for which in ("", "x", "/y/z")] == ["", "x", "/y/z"]
    assert made(folder, which="other").load() is None


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\xff", b'{"key": "", "made": 1}'])
def test_a_file_of_others_in_its_place(folder: Path, content: bytes) -> None:
    made(folder).keep("one")
    (kept,) = (folder / "__pycache__").iterdir()
    kept.write_bytes(content)
    assert made(folder).load() is None


def test_what_has_just_been_written_may_be_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without being given another time: so nothing is kept of it yet."""
    monkeypatch.setattr(made_from_files.time, "time_ns", NOW)
    now = made(folder)
    monkeypatch.setattr(made_from_files.time, "time_ns", lambda: NOW() + 10**11)
    now.keep("one")
    assert made(folder).load() is None


def test_times_that_are_still_to_come(folder: Path) -> None:
    """Those of a file from a machine whose clock is ahead tell nothing."""
    later = NOW() + 10**15
    os.utime(folder / "a.txt", ns=(later, later))
    assert not is_settled(stamp_of((folder / "a.txt").stat()))


def test_python_is_told_to_write_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    made(folder).keep("one")
    assert not (folder / "__pycache__").exists()


def test_a_folder_that_can_not_be_written(folder: Path) -> None:
    (folder / "__pycache__").write_text("in the way")
    made(folder).keep("one")
    assert made(folder).load() is None
