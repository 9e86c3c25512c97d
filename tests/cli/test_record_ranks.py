"""`shapecheck record` of a distributed program: what ends several of its ranks is said once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import torch
from patience import SECONDS
from repository import ROOT

from shapecheck import ShapeError, shapecheck
from shapecheck.record import ranks
from shapecheck.types import Float, ShapeAnnotationError

SCRIPT: Final = """\
import os, signal, time
from pathlib import Path

signal.signal(signal.SIGTERM, signal.SIG_IGN)  # torchrun ends the others when the first one failed
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
Path(f"ready{rank}").touch()

import torch
from shapecheck import Float, shapecheck

@shapecheck
def scores(q: Float[torch.Tensor, "n d"], k: Float[torch.Tensor, "m d"]) -> torch.Tensor:
    return q @ k.T

while not all(Path(f"ready{other}").exists() for other in range(size)):
    time.sleep(0.01)
scores(torch.ones(2, 3), torch.ones(2, 4))
"""
ERROR: Final = (
    'ShapeError: argument "k" of "scores" is (2 4), declared "m d": axis 1 is 4, declared d (here '
    "3)  [shape]\n"
    "  at {path}:17: scores(torch.ones(2, 3), torch.ones(2, 4))\n"
    "  {ranks}\n"
    '  note: d is 3 from argument "q"\n'
    "  here n=2, d=3, m=2\n"
)


def run(folder: Path, *command: str, **variables: str) -> str:
    """Run `shapecheck record` with a command for Python; return what is on the standard error."""
    ours = ["-m", "shapecheck", "record", "-o", "r.sqlite", "--", sys.executable]
    done = subprocess.run(
        [sys.executable, *ours, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        stderr=subprocess.PIPE,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 1
    return done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="it records no script that another one starts")
def test_an_error_of_all_ranks(tmp_path: Path) -> None:
    """The output has it once for each rank; the last lines once, with what they are."""
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    launcher = "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"
    said = run(tmp_path, *launcher, "train.py")
    for where in ("on rank 0 of 2", "on rank 1 of 2"):
        text = ERROR.format(path=script, ranks=where)
        assert said.count(text.rstrip("\n")) == 1  # the line's end may stand behind another's
    assert said.endswith(
        f"shapecheck record: {ERROR.format(path=script, ranks='on ranks 0 and 1 of 2')}"
        "shapecheck record: 2 calls of 1 function in r.sqlite (0.0 MB)\n"
    )


@pytest.mark.parametrize("variables", [{}, {"RANK": "1", "WORLD_SIZE": "2"}])
def test_nothing_to_merge(variables: dict[str, str], tmp_path: Path) -> None:
    """One process, which is told as ever; or each rank has a `shapecheck record` of its own."""
    (tmp_path / "ready0").touch()
    (tmp_path / "ready1").touch()
    script = SCRIPT.replace('os.environ["RANK"]', "0").replace('os.environ["WORLD_SIZE"]', "1")
    (tmp_path / "train.py").write_text(script)
    said = run(tmp_path, "train.py", **variables)
    assert said.count("shapecheck.ShapeError: ") == said.count("ShapeError: ") == 1
    assert ("on rank" in said) == (variables.get("WORLD_SIZE") == "2")
    assert said.endswith("\nshapecheck record: 1 call of 1 function in r.sqlite (0.0 MB)\n")


@shapecheck
def first(x: Float[torch.Tensor, "n 3"]) -> None: ...


@shapecheck
def other(y: Float[torch.Tensor, "n 3"]) -> None: ...


def refused(call: Callable[[Any], None], width: int) -> BaseException:
    """Return the error of a call; all are at the same line."""
    try:
        call(torch.ones(2, width))
    except ShapeError as error:
        return error
    raise AssertionError


def told(call: str, width: int, *lines: str) -> str:
    """Return an error of `refused` with lines that say ranks."""
    name = {"first": "x", "other": "y"}[call]
    at = refused.__code__.co_firstlineno + 3
    return "\n".join(
        [
            f'ShapeError: argument "{name}" of "call" is (2 {width}), declared "n 3": '
            f"axis 1 is {width}, declared 3  [shape]",
            f"  at {__file__}:{at}: call(torch.ones(2, width))",
            *lines,
            "  here n=2",
        ]
    )


RAISED: dict[str, tuple[list[tuple[int, Callable[[], BaseException | None]]], list[str]]] = {
    "none": ([(0, lambda: None), (1, lambda: RuntimeError("out of memory"))], []),
    "one": ([(2, lambda: refused(first, 4))], [told("first", 4, "  on rank 2 of 4")]),
    "some": (
        [(3, lambda: refused(first, 4)), (1, lambda: refused(first, 4)), (2, lambda: None)],
        [told("first", 4, "  on ranks 1 and 3 of 4")],
    ),
    "other sizes": (
        [(rank, lambda width=4 + rank % 3: refused(first, width)) for rank in range(4)],
        [
            told(
                "first",
                4,
                "  on ranks 0 and 3 of 4",
                "  on ranks 1 and 2 of 4: the same with other sizes",
            )
        ],
    ),
    "another error": (
        [(rank, lambda call=call: refused(call, 4)) for rank, call in enumerate([other, first])],
        [told("other", 4, "  on rank 0 of 4"), told("first", 4, "  on rank 1 of 4")],
    ),
    "again": (  # after torchrun has started it anew
        [(1, lambda: refused(first, 4)), (1, lambda: refused(first, 4))],
        [told("first", 4, "  on rank 1 of 4")],
    ),
    "by a data loader": (
        [(rank, lambda: ShapeError(f"Caught:\n{refused(first, 4)}\n")) for rank in (0, 1)],
        [
            "ShapeError: Caught:\n"
            + told("first", 4, "  on ranks 0 and 1 of 4").removeprefix("ShapeError: ")
            + "\n"
        ],
    ),
    "an annotation": (
        [(rank, lambda: ShapeAnnotationError("b t[b] d: no")) for rank in (0, 1, 2)],
        ["ShapeAnnotationError: b t[b] d: no\n  on ranks 0-2 of 4"],
    ),
}


@pytest.mark.parametrize("case", RAISED)
def test_what_ends_ranks(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the same in whichever order they end."""
    raised, texts = RAISED[case]
    monkeypatch.setenv("WORLD_SIZE", "4")
    for order in (raised, raised[::-1]):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        for number, (rank, make) in enumerate(order):
            monkeypatch.setenv("RANK", str(rank))
            monkeypatch.setattr(sys, "last_value", make(), raising=False)
            monkeypatch.setattr(os, "getpid", lambda number=number: number)
            ranks.note(folder)
        assert list(ranks.merged(folder)) == texts
        assert {path.suffix for path in folder.iterdir()} <= {".json"}


def test_a_host_without_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program ends as it would."""
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setattr(sys, "last_value", refused(first, 4), raising=False)
    ranks.note(tmp_path / "gone")
    assert list(ranks.merged(tmp_path / "gone")) == []
