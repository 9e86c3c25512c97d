# ruff: noqa: E501 - one case a line
"""The settings in `[tool.shapecheck]`, and what mypy prints where they are bad."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from repository import ROOT

from shapecheck.config import Config, ConfigError, Sharing, find, load, sharing
from shapecheck.mypy_plugin._versions import (
    UnsupportedVersionError,
    environment_problem,
    require_mypy,
)

if TYPE_CHECKING:
    from tests.mypy_plugin.conftest import Project


def settings_file(folder: Path, text: str) -> Path:
    """Write a `pyproject.toml`."""
    path = folder / "pyproject.toml"
    path.write_text(text)
    return path


def test_all_settings(tmp_path: Path) -> None:
    """Folders become absolute; the rest is as written."""
    (tmp_path / "my_stubs").mkdir()
    text = (
        '[tool.shapecheck]\nstrict = true\nstubs = ["my_stubs"]\nwrappers = ["my.Float", "F"]\n'
        'shared = "team"\n'
    )
    assert load(settings_file(tmp_path, text)) == Config(
        strict=True,
        stubs=(str(tmp_path / "my_stubs"),),
        wrappers=("my.Float", "F"),
        shared=str(tmp_path / "team"),
    )


def test_where_a_team_shares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A URL stays as it is; the environment has its way over the setting, with nothing too."""
    monkeypatch.chdir(tmp_path)
    url = load(settings_file(tmp_path, '[tool.shapecheck]\nshared = "s3://team/records"\n'))
    assert sharing(Config()) is None
    assert sharing(url) == Sharing("s3://team/records", read_only=False)
    for told, read_only in (("1", True), ("0", False), ("", False)):
        monkeypatch.setenv("SHAPECHECK_SHARED_READONLY", told)
        assert sharing(url) == Sharing("s3://team/records", read_only)
    monkeypatch.setenv("SHAPECHECK_SHARED", "here")
    assert sharing(url) == Sharing(str(tmp_path / "here"), read_only=False)
    monkeypatch.setenv("SHAPECHECK_SHARED", "")
    assert sharing(url) is None


@pytest.mark.parametrize("text", ["", "[tool.other]\nx = 1\n", "[project]\nname = 'x'\n"])
def test_defaults(tmp_path: Path, text: str) -> None:
    """No section, no settings."""
    assert load(settings_file(tmp_path, text)) == Config() == load(None)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("[tool.shapecheck]\n\nstrct = true", 3, 'unknown key "strct" in [tool.shapecheck]; did you mean "strict"?'),
        ("\n[tool.torch-shapecheck]\nstrict = true", 2, "unknown section [tool.torch-shapecheck]; did you mean [tool.shapecheck]?"),
        ("[tool.shapecheck]\ncolour = 1", 2, 'unknown key "colour" in [tool.shapecheck]; the keys are strict, stubs, wrappers, shared'),
        ('[tool.shapecheck]\n"strict" = 1', 2, "strict in [tool.shapecheck] must be true or false, not the number 1"),
        ('[tool.shapecheck]\nstrict = "no"', 2, 'strict in [tool.shapecheck] must be true or false, not the string "no"'),
        ("[tool.shapecheck]\nstubs = 'my_stubs'", 2, 'stubs in [tool.shapecheck] must be a list of strings, not the string "my_stubs"'),
        ("[tool.shapecheck]\nstubs = [1]", 2, "stubs in [tool.shapecheck] must be a list of strings, but has the number 1 in it"),
        ("[tool.shapecheck]\nstubs = ['gone']", 2, 'stubs in [tool.shapecheck] names "gone", but there is no such folder beside this file'),
        ("[tool.shapecheck]\nstubs = ['']", 2, 'stubs in [tool.shapecheck] names "", but there is no such folder beside this file'),
        ("[tool.shapecheck]\nwrappers = ['my-float']", 2, 'wrappers in [tool.shapecheck] must be a list of dotted names, and "my-float" is none'),
        ("[tool.shapecheck]\nwrappers = true", 2, "wrappers in [tool.shapecheck] must be a list of strings, not the boolean true"),
        ("[tool.shapecheck]\nshared = ['team']", 2, "shared in [tool.shapecheck] must be a string, not a list"),
        ("[a]\n[tool.shapecheck.strict]\nx = 1", 2, "strict in [tool.shapecheck] must be true or false, not a section"),
        ("[tool]\nshapecheck = 1979-05-27", 2, "tool.shapecheck must be a section, not a date or time"),
        ("[tool.shapecheck]\nstrict = \n", 2, "not a TOML file: "),
    ],
)  # fmt: skip
def test_bad_settings(tmp_path: Path, text: str, line: int, message: str) -> None:
    """The message names the key, and the place is its line."""
    path = settings_file(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert (caught.value.path, caught.value.line) == (path, line)
    assert caught.value.message.startswith(message)
    assert str(caught.value).startswith(f"{path}:{line}: {message}")


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """Neither text nor a file."""
    path = tmp_path / "pyproject.toml"
    with pytest.raises(ConfigError, match="can't read the file: No such file"):
        load(path)
    path.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="not a TOML file: invalid start byte"):
        load(path)


def test_finding_the_file(tmp_path: Path) -> None:
    """The nearest one upwards, but not beyond the repository."""
    inner = tmp_path / "repository" / "src"
    inner.mkdir(parents=True)
    outside = settings_file(tmp_path, "")
    assert find(inner) == outside
    (tmp_path / "repository" / ".git").mkdir()
    assert find(inner) is None
    assert find(tmp_path) == outside


@pytest.mark.parametrize("how", [(), ("-n", "2")], ids=["one process", "parallel"])
def test_mypy_stops_at_bad_settings(
    new_project: Callable[..., Project], how: tuple[str, ...]
) -> None:
    """One line, like a wrong setting of mypy's own, and exit code 2."""
    project = new_project({"m.py": "", "pyproject.toml": "[tool.shapecheck]\nstrct = true\n"})
    done = project.run("m.py", *how)
    assert done.returncode == 2
    assert done.stderr == (
        'pyproject.toml:2: error: unknown key "strct" in [tool.shapecheck]; '
        'did you mean "strict"?\n'
    )


def test_signature_files_reach_the_analysis(new_project: Callable[..., Project]) -> None:
    """A signature file that can't be read is an error at its place, not a crash."""
    program = "import torch, mylib\nx = mylib.scale(torch.zeros(3))\n"
    project = new_project(
        {
            "m.py": program,
            "mylib.py": "from typing import Any\ndef scale(x: Any) -> Any: ...\n",
            "pyproject.toml": '[tool.shapecheck]\nstubs = ["my_stubs"]\n',
            "my_stubs/mylib.pyi": "def scale(x: Num[Tensor, '*s') -> Num[Tensor, '*s']: ...\n",
        },
        fake=False,
    )
    done = project.run("m.py")
    assert done.returncode == 2
    assert done.stderr.startswith("my_stubs/mylib.pyi:1: error: not Python:")


@pytest.mark.parametrize("version", ["0.991", "1.18.2", "2.3.9"])
def test_old_mypy(version: str) -> None:
    """The message says which is needed, and how to get it."""
    with pytest.raises(UnsupportedVersionError, match=rf"needs mypy 2\.4.*{version}.*pip install"):
        require_mypy(version)


@pytest.mark.parametrize("version", ["2.4.0", "2.10", "3.0+dev.abc", "unknown"])
def test_good_mypy(version: str) -> None:
    """Newer ones are welcome, and what isn't a version is none of our business."""
    require_mypy(version)


def test_environments(tmp_path: Path) -> None:
    """The first torch on the path is the one that counts; none is fine."""
    old, new = tmp_path / "old", tmp_path / "new"
    for folder, version in ((old, "2.3.1+cpu"), (new, "2.13.0a0+git1")):
        (folder / f"torch-{version}.dist-info").mkdir(parents=True)
        (folder / "torch_geometric-1.0.dist-info").mkdir()
    assert environment_problem([]) is None
    assert environment_problem([str(tmp_path / "none"), str(new), str(old)]) is None
    problem = environment_problem([str(old), str(new)])
    assert problem is not None
    assert "shapecheck needs torch 2.4 or newer, and torch 2.3.1+cpu is installed" in problem


def test_stubs_without_an_owner(tmp_path: Path) -> None:
    """A folder that no package put there is named itself."""
    (tmp_path / "torch-stubs").mkdir()
    problem = environment_problem([str(tmp_path)])
    assert problem is not None
    assert f"remove {tmp_path / 'torch-stubs'}" in problem


def test_torch_is_not_imported() -> None:
    """Neither by the plugin nor by the analysis; and the plugin alone doesn't need the analysis.

    A run in which nothing has changed needs no sizes, no op rules and no syntax either.
    """
    program = """
import sys
import shapecheck.mypy_plugin
plugin = shapecheck.mypy_plugin.plugin("2.4.1")
from mypy.options import Options
plugin(Options())
analysing = ("dims", "shapes", "spec", "ops", "signatures", "analysis.program", "analysis.check")
imported = [name for name in analysing if f"shapecheck.{name}" in sys.modules]
assert imported == [], imported
import shapecheck.analysis.check.module
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)
