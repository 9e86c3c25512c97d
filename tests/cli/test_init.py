"""`shapecheck init`: what it sees, what it writes where, and the step that it ends with."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from cli.conftest import Command

from shapecheck.cli.init import in_words
from shapecheck.cli.init.survey import survey
from shapecheck.project.mypy_setup import SECTION, TABLE, Setup, SetupError, find

MODEL: Final = """\
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.out = nn.Linear(width, 2)

    def forward(self, x):
        b, t, d = x.shape
        return self.out(x)
"""
SHAPED: Final = """\
from typing import Annotated

import torch
from jaxtyping import Float as F
from torch import Tensor
import shapecheck as sc


def f(x: F[Tensor, "b d"], y: "F[torch.Tensor, 'b d']", n: Annotated[int, "b"]) -> Tensor:
    z: sc.Float[Tensor, "b d"] = x + y
    return z
"""
WRONG: Final = """\
import torch


def product():
    return torch.zeros(2, 3) @ torch.zeros(2, 3)
"""


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository of its own, and no configuration of the user's."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))


def found() -> Setup:
    """Return what there is to write, where the plugin isn't on."""
    setup = find()
    assert setup.after is not None
    return setup


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("pyproject.toml", "", TABLE),
        ("pyproject.toml", "[project]\nname = 'a'", f"[project]\nname = 'a'\n\n{TABLE}"),
        (
            "pyproject.toml",
            "[tool.mypy] # types\nstrict = true\n\n[tool.ruff]\n",
            '[tool.mypy] # types\nplugins = ["shapecheck.mypy_plugin"]\nstrict = true\n\n'
            "[tool.ruff]\n",
        ),
        ("pyproject.toml", "[tool.mypy]", TABLE),
        (
            "pyproject.toml",
            '[tool.mypy]\nplugins = ["pydantic.mypy"]\n',
            '[tool.mypy]\nplugins = ["shapecheck.mypy_plugin", "pydantic.mypy"]\n',
        ),
        ("pyproject.toml", "[tool.mypy]\nplugins = []\n", TABLE),
        (
            "pyproject.toml",
            '[tool.mypy]\nplugins = [\n    "a", # for a\n]\n[tool.other]\nplugins = ["x"]\n',
            '[tool.mypy]\nplugins = ["shapecheck.mypy_plugin",\n    "a", # for a\n]\n'
            '[tool.other]\nplugins = ["x"]\n',
        ),
        (
            "pyproject.toml",
            "[tool.other]\r\nx = 1\r\n",
            '[tool.other]\r\nx = 1\r\n\r\n[tool.mypy]\r\nplugins = ["shapecheck.mypy_plugin"]\r\n',
        ),
        (
            "pyproject.toml",
            "[[tool.mypy.overrides]]\nmodule = 'a'\n",
            f"[[tool.mypy.overrides]]\nmodule = 'a'\n\n{TABLE}",
        ),
        ("mypy.ini", "[mypy]\nstrict = True\n", f"{SECTION}strict = True\n"),
        (
            "mypy.ini",
            "[mypy]\nplugins = a, b\n[mypy-x.*]\nignore_errors = True\n",
            "[mypy]\nplugins = shapecheck.mypy_plugin, a, b\n[mypy-x.*]\nignore_errors = True\n",
        ),
        (
            "setup.cfg",
            "[metadata]\nname = a\n[mypy]\nplugins:\n  a,\n  b\n",
            "[metadata]\nname = a\n[mypy]\nplugins: shapecheck.mypy_plugin,\n  a,\n  b\n",
        ),
    ],
)
def test_plugin_is_added(tmp_path: Path, name: str, before: str, after: str) -> None:
    """It goes before others into the file that configures mypy; nothing else changes."""
    (tmp_path / name).write_bytes(before.encode())
    setup = found()
    assert (setup.path.name, setup.before, setup.after) == (name, before, after)
    (tmp_path / name).write_bytes(after.encode())
    assert find().after is None


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ((), "pyproject.toml"),
        (("setup.py",), "mypy.ini"),
        (("setup.cfg",), "mypy.ini"),
        (("setup.py", "pyproject.toml"), "pyproject.toml"),
    ],
)
def test_where_mypy_is_not_configured(tmp_path: Path, files: tuple[str, ...], name: str) -> None:
    """A `pyproject.toml` isn't made beside a `setup.py`, where pip would build otherwise."""
    for file in files:
        (tmp_path / file).touch()
    setup = found()
    assert (setup.path.name, setup.is_configured) == (name, False)
    assert setup.after == (TABLE if name == "pyproject.toml" else SECTION)


def test_configuration_of_the_user(tmp_path: Path) -> None:
    """What mypy does in all of a user's projects isn't changed for one."""
    own = tmp_path / "home" / ".mypy.ini"
    own.parent.mkdir()
    own.write_text("[mypy]\n")
    assert (found().path.name, own.read_text()) == ("pyproject.toml", "[mypy]\n")


def test_configuration_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is found from a folder of the repository as mypy finds it."""
    (tmp_path / "setup.cfg").write_text("[mypy]\n")
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    assert found().path == Path("../setup.cfg")


@pytest.mark.parametrize(
    "text", ["tool.mypy = {strict = true}\n", "[tool]\nmypy.strict = true\n", "[tool.mypy\n"]
)
def test_forms_that_are_left(tmp_path: Path, text: str) -> None:
    """Where a file is written in another way, it is told what to write."""
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(SetupError) as refused:
        find()
    assert str(refused.value) == (
        "pyproject.toml has a form that isn't edited by program; what it needs is\n"
        '[tool.mypy]\nplugins = ["shapecheck.mypy_plugin"]'
    )


def test_survey(tmp_path: Path) -> None:
    """It counts annotations by the library that they come from."""
    (tmp_path / "shaped.py").write_text(SHAPED)
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "plain.py").write_text("print('hello')\n")
    (tmp_path / "broken.py").write_text("import torch\ndef f(:\n")
    seen = survey(sorted(tmp_path.glob("*.py")))
    assert list(in_words(seen)) == [
        "4 Python files, 3 of which use torch",
        "3 annotations with a shape (2 of jaxtyping, 1 of shapecheck); 1 says Tensor alone",
    ]


def test_first_run(tmp_path: Path, command: Command) -> None:
    """Nothing is written where nobody can be asked; then it is; the next time it is there."""
    (tmp_path / "model.py").write_text(MODEL)
    looked = command("init")
    assert (looked.returncode, looked.stderr) == (0, "")
    assert looked.stdout == (
        "1 Python file, 1 of which uses torch\n"
        "no annotation says that something is a tensor\n"
        "mypy is not configured here; so that it finds shape bugs too:\n\n"
        "--- a/pyproject.toml\n+++ b/pyproject.toml\n@@ -0,0 +1,2 @@\n"
        '+[tool.mypy]\n+plugins = ["shapecheck.mypy_plugin"]\n\n'
        "nothing written; `shapecheck init --write` does it\n\n"
        "$ shapecheck check --only-shapes\n"
        "No issues found in 1 source file\n"
        "The shapes of all 3 tensor expressions are known\n"
        "0 of 2 functions say a shape, so that only what their code shows is checked; "
        "`shapecheck annotate` can find and write them\n\n"
        "Next: `shapecheck annotate` shows the shapes that the code and its comments imply; "
        "`--write` writes them\n"
    )
    assert not (tmp_path / "pyproject.toml").exists()
    wrote = command("init", "--write")
    assert "\npyproject.toml written\n" in wrote.stdout
    assert (tmp_path / "pyproject.toml").read_text() == TABLE
    assert "\nmypy's plugin is on, in pyproject.toml\n" in command("init").stdout


def test_where_there_are_errors(tmp_path: Path, command: Command) -> None:
    """What is found comes first; the exit code says that all was done."""
    (tmp_path / "wrong.py").write_text(WRONG)
    done = command("init", "--write")
    assert done.returncode == 0
    assert '"@" can\'t multiply (2 3) by (2 3)' in done.stdout
    assert done.stdout.endswith(
        "\nNext: look at this error. Is one wrong? `# type: ignore[shape]` silences it, and we "
        "want to know of it\n"
    )


@pytest.mark.parametrize(
    ("text", "step"),
    [
        (SHAPED, "put `shapecheck check --output github` into CI, so that it stays so"),
        (
            f"{SHAPED}\n\n" + "".join(f"def f{n}(x: Tensor) -> Tensor: ...\n" for n in range(2)),
            "`shapecheck annotate` writes shapes where 5 annotations say Tensor",
        ),
        ("print('hello')\n", "run it where the models are"),
    ],
)
def test_next_step(tmp_path: Path, command: Command, text: str, step: str) -> None:
    """It follows from what there is."""
    (tmp_path / "module.py").write_text(text)
    assert command("init").stdout.endswith(f"\nNext: {step}\n")


def test_without_files(command: Command) -> None:
    """There is nothing to set up."""
    done = command("init")
    assert (done.returncode, done.stderr) == (
        2,
        "shapecheck init: error: there are no .py files in .\n",
    )
