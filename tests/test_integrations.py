"""What other tools take from the root of the repository: the hook of pre-commit, and the action.

The steps of the action are run as GitHub runs them, in a clone with a base branch.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from repository import ROOT

from shapecheck.cli import parser

spec = importlib.util.spec_from_file_location("summary", ROOT / "ci" / "coverage_summary.py")
assert spec is not None
assert spec.loader is not None
coverage_summary = importlib.util.module_from_spec(spec)
spec.loader.exec_module(coverage_summary)

needs_posix = pytest.mark.skipif(os.name == "nt", reason="the commands are scripts for sh")
ACTION: Final = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
BASE: Final = "from torch import Tensor\n\n\ndef f(x: Tensor) -> Tensor:\n    return x.relu()\n"
HEAD: Final = """\
from torch import Tensor

from shapecheck import Float


def f(x: Float[Tensor, "b c"]) -> Float[Tensor, "b c"]:
    return x.relu()


def g(x: Float[Tensor, "b c"]) -> Float[Tensor, "c b"]:
    return x
"""


def git(folder: Path, *arguments: str) -> str:
    """Run git; return what it prints."""
    named = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *named, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with a change, whose remote has the base branch."""
    remote, folder = tmp_path / "remote", tmp_path / "clone"
    remote.mkdir()
    git(remote, "init", "--quiet")
    git(remote, "config", "uploadpack.allowAnySHA1InWant", "true")
    (remote / "net.py").write_text(BASE)
    git(remote, "add", "net.py")
    git(remote, "commit", "--quiet", "--message", "base")
    git(tmp_path, "clone", "--quiet", str(remote), str(folder))
    (folder / "net.py").write_text(HEAD)
    return folder


def step(name: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a step of the action in a folder, with what GitHub sets for it."""
    (found,) = (one for one in ACTION["runs"]["steps"] if one["name"] == name)
    commands = folder.parent / "commands"
    commands.mkdir(exist_ok=True)
    (commands / "shapecheck").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shapecheck "$@"\n')
    (commands / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    for command in commands.iterdir():
        command.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "RUNNER_TEMP": str(folder.parent),
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_WORKSPACE": str(folder),
        "GITHUB_OUTPUT": str(folder.parent / "output"),
        "GITHUB_STEP_SUMMARY": str(folder.parent / "summary"),
        **variables,
    }
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", found["run"]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@needs_posix
def test_the_action_annotates_and_keeps_what_was_found(clone: Path) -> None:
    """Its step goes on whatever is found, and hands the exit code on."""
    shared = clone.parent / "shared"
    done = step(
        "Check shapes", clone, ARGUMENTS="--only-shapes", PATHS="", SHAPECHECK_SHARED=str(shared)
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("::error file=net.py,line=11,endLine=11,col=12,endColumn=12,")
    assert done.stdout.count("\n") == 1
    assert (clone.parent / "output").read_text() == "exit-code=1\n"
    assert [*shared.rglob("*")]


@needs_posix
@pytest.mark.parametrize("is_pull_request", [True, False])
def test_the_action_compares_coverage_with_the_base_branch(
    clone: Path, is_pull_request: bool
) -> None:
    """Where there is one; it leaves the clone as it was."""
    base = git(clone, "rev-parse", "HEAD") if is_pull_request else ""
    done = step("Compare coverage", clone, BASE=base, PATHS="")
    assert done.returncode == 0, done.stderr
    written = (clone.parent / "summary").read_text()
    assert "The shapes of 100 % (3 of 3) tensor expressions are known; 2 of 2 functions" in written
    row = "| `net.py` | 100 % (2 of 2) | 100 % (3 of 3) | +0.0 |\n"
    assert (row in written) is is_pull_request
    assert git(clone, "status", "--short") == "M net.py"
    assert len(git(clone, "worktree", "list").splitlines()) == 1


def test_the_arguments_of_the_action_are_those_of_the_command() -> None:
    """The default is one that the command takes, and each input is used."""
    inputs = ACTION["inputs"]
    given = ["check", *inputs["arguments"]["default"].split(), "--output", "github"]
    assert parser().parse_args(given).only_shapes
    text = (ROOT / "action.yml").read_text("utf-8")
    assert not [name for name in inputs if f"inputs.{name}" not in text]
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    assert not [name for name in inputs if f"| `{name}` |" not in page]


def counts(known: int, tensors: int) -> dict[str, int]:
    """Return what is measured of a file."""
    return {"known": known, "tensors": tensors, "functions": 1, "annotated": 1}


def measured(**files: dict[str, int]) -> dict[str, Any]:
    """Return what is measured of all."""
    total = {key: sum(one[key] for one in files.values()) for key in counts(0, 0)}
    return {"total": total, "files": files}


def test_the_summary_has_the_files_that_changed() -> None:
    """Those that lost most first, files that are gone and added too."""
    base = measured(a=counts(1, 2), b=counts(5, 5), c=counts(1, 1), gone=counts(1, 1))
    head = measured(a=counts(2, 2), b=counts(1, 4), c=counts(1, 1), more=counts(1, 3))
    assert coverage_summary.summary(head, base) == (
        "### Shapes\n"
        "\n"
        "The shapes of 50 % (5 of 10) tensor expressions are known; "
        "4 of 4 functions with tensors say theirs.\n"
        "\n"
        "On the base branch: 88 % (8 of 9). The change is -38.9 points.\n"
        "\n"
        "| file | base | here | |\n"
        "|---|---|---|---|\n"
        "| `gone` | 100 % (1 of 1) | no tensors | -100.0 |\n"
        "| `b` | 100 % (5 of 5) | 25 % (1 of 4) | -75.0 |\n"
        "| `more` | no tensors | 33 % (1 of 3) | +33.3 |\n"
        "| `a` | 50 % (1 of 2) | 100 % (2 of 2) | +50.0 |"
    )


@pytest.mark.parametrize("text", ["", "{", None])
def test_the_summary_says_that_nothing_could_be_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None
) -> None:
    """A step that only tells is no reason for a run to fail."""
    if text is not None:
        (tmp_path / "head.json").write_text(text)
    assert coverage_summary.main(str(tmp_path / "head.json"), str(tmp_path / "base.json")) == 0
    assert capsys.readouterr().out == (
        "### Shapes\n\n`shapecheck coverage` couldn't read the code.\n"
    )
    (tmp_path / "head.json").write_text(json.dumps(measured(a=counts(1, 2))))
    assert coverage_summary.main(str(tmp_path / "head.json"), str(tmp_path / "base.json")) == 0
    assert "On the base branch" not in capsys.readouterr().out


def test_the_hook_of_pre_commit_runs_the_command() -> None:
    """With the files behind its arguments."""
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    program, *arguments = hook["entry"].split()
    assert program == "shapecheck"
    options = parser().parse_args([*arguments, "net.py", "src/a.py"])
    assert (options.only_shapes, options.paths) == (True, ["net.py", "src/a.py"])
    assert (hook["id"], hook["language"], hook["types"]) == ("shapecheck", "python", ["python"])
