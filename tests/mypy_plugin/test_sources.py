"""Which versions of files the plugin sees."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from shapecheck import made_from_files
from shapecheck.engine import File
from shapecheck.mypy_plugin._sources import ModuleFinder, MypyFiles, SourceReader

NOW = time.time_ns


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module that was written long ago."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(made_from_files.time, "time_ns", lambda: NOW() + 10**11)
    (tmp_path / "net.py").write_text("x = 1\n")
    return tmp_path


def files(folder: Path, *remembered: File, shadows: dict[str, str] | None = None) -> MypyFiles:
    """The files of a run, to which some are known from before."""
    reader = SourceReader(shadows or {}, remembered, show_absolute_path=False)
    return MypyFiles(reader, ModuleFinder(()), ("main", str(folder / "main.py")))


def noted(seen: MypyFiles) -> dict[str, File]:
    """What other runs may know of the files that were seen."""
    return dict(seen.new())


def test_the_version_of_a_file_that_is_as_it_was_is_known(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It isn't read for that."""
    first = files(folder)
    version = first.version("net")
    (file,) = noted(first).values()
    assert noted(first) == {}
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail(f"{path} is read"))
    assert files(folder, file).version("net") == version == f"{file.digest} net.py"


def test_it_is_read_for_its_text(folder: Path) -> None:
    first = files(folder)
    source = first.source("net")
    assert source is not None
    assert source.text == "x = 1\n"
    (file,) = noted(first).values()
    again = files(folder, file)
    assert again.version("net") == first.version("net")
    assert again.source("net") == source
    assert again.renew() == set()


@pytest.mark.parametrize("text", ["x = 2\n", "x = 10\n"])
def test_a_file_that_was_edited_is_read(folder: Path, text: str) -> None:
    first = files(folder)
    version = first.version("net")
    (file,) = noted(first).values()
    (folder / "net.py").write_text(text)
    assert files(folder, file).version("net") != version


def test_a_file_that_has_just_been_written_is_read_the_next_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be written again without being given another time."""
    monkeypatch.setattr(made_from_files.time, "time_ns", NOW)
    first = files(folder)
    first.version("net")
    monkeypatch.setattr(made_from_files.time, "time_ns", lambda: NOW() + 10**11)
    (file,) = noted(first).values()
    assert file.stamp == (0, 0, 0)
    second = files(folder, file)
    second.version("net")
    (file,) = noted(second).values()
    assert file.stamp[2] == 6


def test_a_file_that_another_one_stands_for(folder: Path) -> None:
    """What is known of its text is known of no other run's, which may read another one."""
    (folder / "shadow.py").write_text("y = 1\n")
    shadowed = files(folder, shadows={str(folder / "net.py"): "shadow.py"})
    source = shadowed.source("net")
    assert source is not None
    assert source.text == "y = 1\n"
    (file,) = noted(shadowed).values()
    assert file.stamp[2] == 0
    assert files(folder, file).version("net") == files(folder).version("net")


def test_a_file_that_is_written_while_it_is_looked_at(folder: Path) -> None:
    """The text decides, and all that was made of the module before is looked at again."""
    seen = files(folder)
    before = seen.version("net")
    (folder / "net.py").write_text("x = 10\n")
    assert seen.version("net") == before
    source = seen.source("net")
    assert source is not None
    assert source.text == "x = 10\n"
    assert seen.version("net") == files(folder).version("net") != before
    assert seen.renew() == {"net"}
    assert seen.renew() == set()


def test_files_that_change_come_and_go(folder: Path) -> None:
    seen = files(folder)
    (folder / "gone.py").write_text("")
    first = {name: seen.source(name) for name in ("net", "gone", "new")}
    assert first["new"] is None
    (folder / "net.py").write_text("x = 3\n")
    (folder / "gone.py").unlink()
    (folder / "new.py").write_text("")
    seen._finder.forget()
    assert seen.renew() == {"net", "gone", "new"}
    now = {name: seen.source(name) for name in ("net", "gone", "new")}
    assert [one and one.text for one in now.values()] == ["x = 3\n", None, ""]
