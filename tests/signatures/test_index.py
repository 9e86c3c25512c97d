"""The index of the shipped signature files is kept from one start to the next."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shapecheck import made_from_files
from shapecheck.signatures import StubError, Table, index

STUB = """\
class Scale(Module):
    weight: Float[Tensor, "{self.width}"]
    def __init__(self, width: int) -> None: ...
    def forward(self, input: Float[Tensor, "*n {self.width}"]) -> Float[Tensor, "*n"]: ...

@also("grow")
@inplace
@example("x: b t | x", "grow")
def scale(input: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]: ...
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    kept = str(tmp_path / "kept.pyc")
    monkeypatch.setattr(made_from_files, "cache_from_source", lambda source: kept)
    monkeypatch.setattr(made_from_files, "_SETTLED", 0)
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    folder = tmp_path / "stubs"
    folder.mkdir()
    (folder / "lib.pyi").write_text(STUB)
    return folder


def test_the_same_from_the_files_and_from_what_was_kept(folder: Path) -> None:
    read = index.files(folder, keep=True)
    kept = folder.parent / "kept.json"
    assert json.loads(kept.read_text())["made"]
    again = index.files(folder, keep=True)
    assert again == read
    assert [name for f in again for entry in f.functions for name in entry.names] == [
        "lib.Scale.__init__",
        "lib.Scale.forward",
        "lib.scale",
        "lib.grow",
        "lib.scale_",
        "lib.grow_",
    ]
    assert again[0].examples == {"lib.grow": "x: b t | x"}


def test_an_edit_counts(folder: Path) -> None:
    index.files(folder, keep=True)
    (folder / "lib.pyi").write_text(STUB.replace("grow", "shrink"))
    assert Table([folder]).signature("lib.shrink") is not None
    (folder / "more.pyi").write_text("def f(input: Float[Tensor, 's']) -> Float[Tensor, 's']: ...")
    assert Table([folder]).signature("more.f") is not None


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\xff", b'{"key": "", "made": []}'])
def test_a_damaged_index_is_read_anew(folder: Path, content: bytes) -> None:
    read = index.files(folder, keep=True)
    (folder.parent / "kept.json").write_bytes(content)
    assert index.files(folder, keep=True) == read


def test_a_place_that_cannot_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made_from_files, "cache_from_source", lambda source: "/dev/null/kept.pyc")
    assert index.files(folder, keep=True)


def test_lines_of_errors_are_those_of_the_file(folder: Path) -> None:
    (folder / "lib.pyi").write_text(STUB + "\n\ndef bad(input: Nonsense[3]) -> None: ...\n")
    for _ in range(2):
        with pytest.raises(StubError) as error:
            Table([folder]).signature("lib.bad")
        assert error.value.line == 12
