"""The planted mistakes: each is one line that becomes another, and is counted once."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter

import pytest
from repository import ROOT

spec = importlib.util.spec_from_file_location("planted", ROOT / "benchmarks" / "planted" / "run.py")
assert spec is not None
assert spec.loader is not None
planted = importlib.util.module_from_spec(spec)
sys.modules["planted"] = planted
spec.loader.exec_module(planted)


def edit(line: str, becomes: str, which: int | None = None) -> planted.Edit:  # type: ignore[name-defined]
    """Return an edit of some file."""
    return planted.Edit("net", "net.py", "view", line, becomes, which)


def test_the_table_is_well_formed() -> None:
    """A line is one line as it is found, its replacement another one; kinds are explained."""
    for one in planted.edits():
        assert one.kind in planted.KINDS
        assert one.path.endswith(".py")
        for text in (one.line, one.becomes):
            assert text == text.strip()
            assert len(text.splitlines()) == 1
        assert one.line != one.becomes
        assert one.which is None or one.which > 0


def test_no_edit_is_there_twice() -> None:
    assert not [one for one, times in Counter(planted.edits()).items() if times > 1]


def test_the_edits_are_spread() -> None:
    """So many as the share is said of, over many repositories, and no kind is most of them."""
    kinds = Counter(one.kind for one in planted.edits())
    assert kinds.total() >= 200
    assert len({one.repo for one in planted.edits()}) >= 10
    assert kinds.keys() == planted.KINDS.keys()
    assert max(kinds.values()) < kinds.total() / 4


def test_a_line_is_edited_where_it_stands() -> None:
    text = "def f(x):\n    x = x.T\n    return x\n"
    assert edit("x = x.T", "x = x.mT").apply(text) == text.replace("x.T", "x.mT")


def test_of_several_lines_one_is_edited() -> None:
    text = "y = x.T\ny = x.T\n"
    assert edit("y = x.T", "y = x", 2).apply(text) == "y = x.T\ny = x\n"


@pytest.mark.parametrize(("line", "which"), [("y = x", None), ("y = x.T", None), ("y = x.T", 3)])
def test_which_line_is_edited_is_known(line: str, which: int | None) -> None:
    with pytest.raises(ValueError, match="lines"):
        edit(line, "y = 1", which).apply("y = x.T\ny = x.T\n")
