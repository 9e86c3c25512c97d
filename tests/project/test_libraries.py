"""Which installed libraries are followed: those that say that they need torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapecheck.project.libraries import is_about_torch

NEEDS = "Name: some-nets\nRequires-Dist: torch (>=2.0)\n"
SPEAKS = "Name: some-nets\nRequires-Dist: numpy\n\nIts file says:\n\nRequires-Dist: torch\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_needs_torch_is_followed_with_all_that_came_with_it(
    tmp_path: Path, newline: str
) -> None:
    info = tmp_path / "some_nets-1.0.dist-info"
    info.mkdir()
    info.joinpath("METADATA").write_text(NEEDS, newline=newline)
    info.joinpath("RECORD").write_text("nets/__init__.py,,\nnets_tools.py,,\n", newline=newline)
    names = ("some_nets", "nets", "nets_tools", "other")
    followed = [name for name in names if is_about_torch(str(tmp_path), name)]
    assert followed == ["some_nets", "nets", "nets_tools"]


def test_what_only_speaks_of_torch_in_its_description_is_not(tmp_path: Path) -> None:
    info = tmp_path / "some_nets-1.0.dist-info"
    info.mkdir()
    info.joinpath("METADATA").write_text(SPEAKS)
    assert not is_about_torch(str(tmp_path), "some_nets")


def test_a_package_that_says_nothing_is_not(tmp_path: Path) -> None:
    tmp_path.joinpath("some_nets-1.0.dist-info").mkdir()
    assert not is_about_torch(str(tmp_path), "some_nets")
