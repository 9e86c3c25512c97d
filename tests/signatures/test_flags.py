"""Flags: what a signature file says of an op besides its shapes."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapecheck.signatures import StubError, Table, index, table

STUB = """\
@reduces
@also("gain")
@inplace
def total(input: Float[Tensor, "*s n"]) -> Float[Tensor, "*s"]: ...

@also("blend", "lib.extra.blend")
@normalizes("blend")
def mix(input: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]: ...
"""


def written(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "lib.pyi").write_text(text)
    return folder


def test_of_all_names(tmp_path: Path) -> None:
    stubs = Table([written(tmp_path / "own", STUB)])
    assert stubs.flagged("reduces") == {"lib.total", "lib.gain", "lib.total_", "lib.gain_"}
    signature = stubs.signature("lib.gain")
    assert signature is not None
    assert signature.flags == {"reduces"}


def test_of_some_names(tmp_path: Path) -> None:
    stubs = Table([written(tmp_path / "own", STUB)])
    assert stubs.flagged("normalizes") == {"lib.blend", "lib.extra.blend"}
    signature = stubs.signature("lib.mix")
    assert signature is not None
    assert not signature.flags


def test_an_earlier_file_says_it_anew(tmp_path: Path) -> None:
    own = written(tmp_path / "own", STUB.replace("@reduces\n", ""))
    stubs = Table([own, written(tmp_path / "shipped", STUB)])
    assert not stubs.flagged("reduces")
    assert stubs.flagged("normalizes") == {"lib.blend", "lib.extra.blend"}


def test_of_a_name_that_is_not_there(tmp_path: Path) -> None:
    own = written(tmp_path / "own", STUB.replace('@normalizes("blend")', '@normalizes("bland")'))
    with pytest.raises(StubError, match="'bland' is none of the names of this signature"):
        Table([own]).flagged("reduces")


def test_an_example_of_an_earlier_file_goes_before(tmp_path: Path) -> None:
    shipped = '@example("x: b n | x", "gain")\n' + STUB
    own = written(tmp_path / "own", shipped.replace("b n", "n"))
    folders = [own, written(tmp_path / "shipped", shipped)]
    assert Table(folders).examples() == {"lib.gain": "x: n | x"}
    (own / "lib.pyi").write_text(STUB)
    assert Table(folders).examples() == {}


@pytest.mark.parametrize("flag", index.FLAGS)
def test_each_is_said_of_something(flag: str) -> None:
    assert table().flagged(flag)


MODULES = """\
class _Wide(Module):
    expansion: int = 4
    def __init__(self, width: int) -> None: ...

class Block(_Wide):
    def forward(
        self, input: Float[Tensor, "*n"]
    ) -> Float[Tensor, "*n {self.expansion}*{self.width}"]: ...

class Narrow(Block):
    expansion: int = 1
"""


def test_a_constant_is_an_attribute_of_all_instances(tmp_path: Path) -> None:
    stubs = Table([written(tmp_path / "own", MODULES)])
    block, narrow = stubs.lookup_class("lib.Block"), stubs.lookup_class("lib.Narrow")
    assert block is not None
    assert narrow is not None
    assert block.construct((8,), {}) == {"width": 8, "expansion": 4, "__class__": "lib.Block"}
    assert narrow.unknown()["expansion"] == 1
