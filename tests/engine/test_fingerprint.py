"""What tells the records of one analysis from those of another."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from shapecheck.analysis import Options
from shapecheck.engine import fingerprint, maker


def test_what_is_compiled_of_a_source_has_no_say(tmp_path: Path) -> None:
    """The sources alone have: compiled, they say the same."""
    source = tmp_path / "library.pyi"
    source.write_text("def f(x: 'a') -> 'a': ...\n")
    options = Options(stubs=(str(tmp_path),))
    before = fingerprint(options)
    (tmp_path / "library.cpython-311-x86_64-linux-gnu.so").write_bytes(b"machine code")
    assert fingerprint(options) == before
    source.write_text("def f(x: 'a b') -> 'a': ...\n")
    assert fingerprint(options) != before


FILES = {
    "package/dims/algebra.py": True,
    "package/dims/_lookup.pyi": True,
    "package/dims/_lookup.so": False,
    "package/dims/deeper/below.py": True,
    "package/alone.py": True,
    "package/runtime/call.py": False,
    "package/named/ops.py": False,
    "package/codemod/edit.py": False,
    "package/cli/main.py": False,
    "package/parallel.py": False,
    "package/__main__.py": False,
    "stubs/torch.pyi": True,
    "stubs/readme.md": False,
    "pyproject.toml": False,
    "mine/a.pyi": True,
    "mine/b/c.pyi": True,
    "mine/d/c.pyi": True,
}
"""Which files of a package, beside which others lie, have a say in what is said of a program."""


def laid_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Options:
    """Put a package into a folder, as if it were this one."""
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("text\n")
    monkeypatch.setattr(maker, "__file__", str(folder / "package" / "engine" / "maker.py"))
    return Options(stubs=(str(folder / "mine"),))


@pytest.mark.parametrize("name", FILES)
def test_which_files_have_a_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """By their names and by what is in them."""
    options = laid_out(tmp_path, monkeypatch)
    before = fingerprint(options)
    assert len(before) == 32
    assert fingerprint(options) == before
    (tmp_path / name).write_text("test\n")
    assert (fingerprint(options) != before) is FILES[name]
    (tmp_path / name).write_text("text\n")
    assert fingerprint(options) == before
    other = (tmp_path / name).with_stem("other")
    (tmp_path / name).rename(other)
    if name not in ("pyproject.toml", "package/__main__.py", "package/parallel.py"):
        assert (fingerprint(options) != before) is FILES[name]


def test_where_signatures_lie_has_no_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But which other settings there are has, and whether there are any signatures."""
    one = laid_out(tmp_path / "one", monkeypatch)
    before = fingerprint(one)
    other = laid_out(tmp_path / "other" / "below", monkeypatch)
    assert fingerprint(other) == before
    for options in (
        Options(),
        Options(stubs=(*one.stubs, *one.stubs)),
        Options(strict=True, stubs=one.stubs),
        Options(stubs=one.stubs, wrappers=("my.Float",)),
    ):
        assert fingerprint(options) != before


def test_a_package_that_is_installed_has_its_signatures_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies beside it belongs to others."""
    options = laid_out(tmp_path, monkeypatch)
    (tmp_path / "pyproject.toml").unlink()
    before = fingerprint(options)
    (tmp_path / "stubs" / "torch.pyi").write_text("test\n")
    assert fingerprint(options) == before


def test_a_file_that_can_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is another one where it can be."""
    options = laid_out(tmp_path, monkeypatch)
    before = fingerprint(options)
    (tmp_path / "mine" / "a.pyi").unlink()
    (tmp_path / "mine" / "a.pyi").symlink_to(tmp_path / "nowhere")
    assert fingerprint(options) != before


def test_of_more_signatures_than_may_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of more is refused elsewhere: here the first have a say."""
    options = laid_out(tmp_path, monkeypatch)
    for most, names in ((1, ["a.pyi"]), (2, ["a.pyi", "b/c.pyi"])):
        monkeypatch.setattr(maker, "_MOST_SIGNATURES", most)
        before = fingerprint(options)
        said = []
        for name in ("a.pyi", "b/c.pyi"):
            (tmp_path / "mine" / name).write_text("test\n")
            said += [name] if fingerprint(options) != before else []
            (tmp_path / "mine" / name).write_text("text\n")
        assert said == names


class Backwards:
    """What is in a folder, in the other order."""

    def __init__(self, entries: Iterator[os.DirEntry[str]]) -> None:
        self.entries = iter([*entries][::-1])

    def __iter__(self) -> Iterator[os.DirEntry[str]]:
        return self.entries

    def __next__(self) -> os.DirEntry[str]:
        return next(self.entries)

    def __enter__(self) -> Backwards:
        return self

    def __exit__(self, *given: object) -> None: ...

    def close(self) -> None: ...


def test_the_order_of_a_file_system_has_no_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = laid_out(tmp_path, monkeypatch)
    (tmp_path / "mine" / "d" / "c.pyi").write_text("another text\n")
    before = fingerprint(options)
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: Backwards(scandir(path)))
    assert fingerprint(options) == before
