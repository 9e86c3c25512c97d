"""`shapecheck reveal`: the shapes on a line, and the innermost one at a column."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shapecheck.cli import main

PROGRAM = """
from torch import Tensor
from shapecheck import Float

def scores(q: Float[Tensor, "b n d"], k: Float[Tensor, "b m d"]):
    weights = q @ k.transpose(-2, -1)
    return helper(weights)

def helper(x):
    return unknown(x)
"""


@pytest.fixture(autouse=True)
def _program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scores.py").write_text(PROGRAM)
    (tmp_path / "crlf.py").write_bytes(PROGRAM.replace("\n", "\r\n").encode())
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (
            "scores.py:6",
            [
                "scores.py:6:5: weights: (b n m) Float",
                "scores.py:6:15: q @ k.transpose(-2, -1): (b n m) Float",
                "scores.py:6:15: q: (b n d) Float, since line 5",
                "scores.py:6:19: k.transpose(-2, -1): (b d m) Float",
                "scores.py:6:19: k: (b m d) Float, since line 5",
            ],
        ),
        ("scores.py:6:19", ["scores.py:6:19: k: (b m d) Float, since line 5"]),
        ("scores.py:6:21", ["scores.py:6:19: k.transpose(-2, -1): (b d m) Float"]),
        ("crlf.py:6:15", ["crlf.py:6:15: q: (b n d) Float, since line 5"]),
    ],
)
def test_what_is_known_at_a_place(
    place: str, said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reveal", place]) == 0
    assert capsys.readouterr().out.splitlines() == said


def test_places_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reveal", "scores.py:6:15", "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {
            "line": 6,
            "column": 15,
            "text": "q",
            "shape": "(b n d)",
            "dtype": "Float",
            "since": 5,
        }
    ]


@pytest.mark.parametrize(
    ("place", "status", "said"),
    [
        ("scores.py:2", 1, "no tensor is known to be there\n"),
        ("scores.py:99", 2, "scores.py has 11 lines, and no line 99"),
        ("other.py:1", 2, "can't read other.py: No such file or directory"),
        ("some.ipynb:1", 2, "some.ipynb is a notebook"),
    ],
)
def test_where_nothing_is_to_be_told(
    place: str, status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reveal", place]) == status
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("place", ["scores.py", "scores.py:0", "scores.py:x", ":3"])
def test_what_is_no_place(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["reveal", place])
    assert stopped.value.code == 2
    assert f'"{place}" is no place: model.py:12, or model.py:12:20' in capsys.readouterr().err
