"""An installation without torch: what needs none works as it does with one, the rest says so.

The environment is a real one, with links to all that is installed here but torch.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from repository import ROOT
from seeded_bugs import EXAMPLES, bugs

pytestmark = pytest.mark.skipif(os.name == "nt", reason="who may make links there is up to Windows")

Run = Callable[..., subprocess.CompletedProcess[str]]

LEFT_OUT: Final = ("torch", "torchgen", "functorch", "shapecheck")
HEAVY: Final = ("libcst", "mypy", "rich", "torch")
GET_IT: Final = (
    'needs torch, which isn\'t installed here: pip install "torch-shapecheck[torch]" brings it\n'
)
PROGRAM: Final = """\
import torch
from torch import Tensor, nn

from shapecheck import Float


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 4)

    @torch.no_grad()
    def forward(self, x: Float[Tensor, "b k"]) -> Float[Tensor, "b 4"]:
        return self.inner(x)  # type: ignore[no-any-return]


def scores(q: Float[Tensor, "b q d"], k: Float[Tensor, "b k d"]) -> Float[Tensor, "b q k"]:
    return q @ k


def gram(x):
    b, t, d = x.shape
    return x @ x.transpose(1, 2)


width: int = "a"
"""
SHAPE_ERROR: Final = """\
net.py:18:12: error: "@" can't multiply (b q d) by (b k d): the inner dimensions are d (axis -1) \
and k (axis -2)  [shape]
    18 |     return q @ k
       |            ^^^^^
  note: left operand "q" is (b q d) since line 17
  note: right operand "k" is (b k d) since line 17
  note: "k.transpose(-2, -1)" would give (b q k)
"""
TYPE_ERROR: Final = """\
net.py:26:14: error: Incompatible types in assignment (expression has type "str", variable has \
type "int")  [assignment]
    26 | width: int = "a"
       |              ^^^
"""
NOTICE: Final = (
    "torch isn't installed here: types from it aren't checked, shapes are; "
    'pip install "torch-shapecheck[torch]" brings it\n'
)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has everything but torch."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for entry in (Path(path) for path in sys.path if path.endswith("-packages")):
        for one in entry.iterdir():
            if not (one.name.partition("-")[0] in LEFT_OUT or one.suffix == ".pth"):
                (packages / one.name).symlink_to(one)
    (packages / "shapecheck").symlink_to(ROOT / "shapecheck")
    (packages / "stubs").symlink_to(ROOT / "stubs")  # beside it, as in a working tree
    return folder / "bin" / "python"


@pytest.fixture
def run(python: Path, tmp_path: Path) -> Run:
    """Run that Python, or the one of these tests, in a folder with the program."""
    (tmp_path / "net.py").write_text(PROGRAM)

    def run(*arguments: str, has_torch: bool = False) -> subprocess.CompletedProcess[str]:
        environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
        return subprocess.run(
            [sys.executable if has_torch else python, *arguments],
            cwd=tmp_path,
            env=environment | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )

    return run


def test_nothing_imports_torch_there(run: Run) -> None:
    """The environment is what the other tests take it for."""
    assert "No module named 'torch'" in run("-c", "import torch").stderr


def test_check_is_silent_of_what_only_torch_knows(run: Run) -> None:
    """mypy's own errors about torch are left out, with one remark; all others are told."""
    done = run("-m", "shapecheck", "check", "--", "--strict", "--allow-untyped-defs")
    count = "Found 2 errors in 1 file (checked 1 source file)\n"
    rest = "1 of them about shapes; --only-shapes leaves out the 1 other\n"
    assert done.stdout == f"{SHAPE_ERROR}\n{TYPE_ERROR}\n{count}{rest}"
    assert done.stderr == NOTICE
    assert done.returncode == 1


def test_check_tells_nothing_of_torch_where_nobody_imports_it(run: Run, tmp_path: Path) -> None:
    """A program without tensors has nothing to miss."""
    (tmp_path / "net.py").write_text('width: int = ""\nimport tensors\n')
    done = run("-m", "shapecheck", "check", "--output", "json")
    assert done.stderr == ""
    codes = [json.loads(line)["code"] for line in done.stdout.splitlines()]
    assert codes == ["assignment", "import-not-found"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "--only-shapes"),
        ("check", "--only-shapes", "--output", "sarif"),
        ("annotate", "net.py"),
        ("coverage",),
        ("explain", "softmax"),
        ("explain", "nn.LSTM"),
        ("strip", "net.py"),
    ],
    ids=" ".join,
)
def test_the_same_is_printed_as_with_torch(run: Run, arguments: tuple[str, ...]) -> None:
    """To the last letter: the analysis never looks into torch."""
    there, here = (run("-m", "shapecheck", *arguments, has_torch=has) for has in (False, True))
    assert (there.stdout, there.stderr) == (here.stdout, here.stderr)
    assert there.returncode == here.returncode
    assert there.stdout


def test_the_seeded_bugs_are_found_as_with_torch(run: Run, tmp_path: Path) -> None:
    """In all examples, and in each with each of its bugs."""
    for path in EXAMPLES.glob("*.py"):
        (tmp_path / path.name).write_text(path.read_text("utf-8"), "utf-8")
    for bug in bugs():
        (tmp_path / f"{bug.module}.py").write_text(bug.source, "utf-8")
    command = ("-m", "shapecheck", "check", "--only-shapes", "--output", "json")
    there = run(*command, "--", "--no-incremental")
    here = run(*command, "--", "--no-incremental", has_torch=True)
    assert len(there.stdout.splitlines()) > 50
    assert there.stdout == here.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("trace", "net:Net", "--input", "2 3"), 2, "shapecheck trace: error: trace"),
        (
            ("record", "--", sys.executable, "-c", ""),
            0,
            "shapecheck record: .shapecheck-record.sqlite holds no calls: a program with tensors",
        ),
        (
            ("explain", "nn.Sequential"),
            1,
            'nothing is known of "nn.Sequential"\n'
            "What isn't known has an unknown shape, and is never an error; a signature file of "
            "your\nown can describe it.\nwhat is told of names without a signature",
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_command_that_needs_torch_says_how_to_get_it(
    run: Run, arguments: tuple[str, ...], code: int, said: str
) -> None:
    """In one sentence."""
    done = run("-m", "shapecheck", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"{said} {GET_IT}")


def test_pytest_says_how_to_get_it(run: Run) -> None:
    """It refuses the option, and is no obstacle without it."""
    done = run("-m", "pytest", "--shapecheck=net", "-p", "no:cacheprovider")
    assert done.stderr == f"ERROR: --shapecheck {GET_IT}\n"
    assert run("-m", "pytest", "--version").returncode == 0


@pytest.mark.parametrize("name", ["shapecheck", "named", "trace", "install_import_hook"])
def test_the_run_time_says_how_to_get_it(run: Run, name: str) -> None:
    """The last line of the traceback, as Python writes one of a missing library."""
    done = run("-c", f"from shapecheck import {name}")
    last = done.stderr.splitlines()[-1]
    assert f"{last}\n" == f"ModuleNotFoundError: shapecheck at run time {GET_IT}"
    assert "during handling" not in done.stderr.lower()


@pytest.mark.parametrize(
    ("imported", "brings", "has_torch"),
    [
        ("Float, Dim, dims", "", False),
        ("Float, Dim, dims", "", True),
        ("Float, shapecheck", "torch", True),
    ],
)
def test_the_imports_of_a_library_are_light(
    run: Run, imported: str, brings: str, has_torch: bool
) -> None:
    """The types need nothing, and the decorator torch alone."""
    lines = (
        "import sys",
        f"from shapecheck import {imported}",
        'x: Float[int, "..."] = 1',
        f"print(*sorted({set(HEAVY)} & sys.modules.keys()))",
    )
    done = run("-c", "\n".join(lines), has_torch=has_torch)
    assert (done.stdout, done.stderr) == (f"{brings}\n", "")
