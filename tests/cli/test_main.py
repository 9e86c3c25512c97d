"""The command line as a whole: help, version, start-up, completion, and how it ends."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from repository import ROOT

from shapecheck import __version__, cli
from shapecheck.cli import main

COMMANDS: Final = ("annotate", "check", "coverage", "explain", "init", "record", "strip", "trace")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` says which."""
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"shapecheck {__version__}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says what a command does, its examples are commands that can be given, and it fits."""
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    assert f"\n    {command} " in said
    assert max(map(len, said.splitlines())) <= 80
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    examples = re.findall(rf"^  (shapecheck {command}.*?)(?:   .*)?$", said, re.MULTILINE)
    assert len(examples) >= 3
    assert "exit code" in said
    assert max(map(len, said.splitlines())) <= 80
    monkeypatch.setenv("COLUMNS", "50")
    with pytest.raises(SystemExit):
        main([command, "--help"])
    _, *rest = capsys.readouterr().out.split("\n\n")
    prose = [line for line in "\n".join(rest).splitlines() if line[:1].strip()]
    assert max(map(len, prose)) <= 50


def test_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Which there are, on the error stream; exit code 2."""
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    assert main([]) == 2
    assert tuple(capsys.readouterr()) == ("", said)


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["explain", "softmax"], ["coverage", "shapecheck/cli/check/__init__.py"]],
)
def test_torch_is_not_imported(arguments: list[str]) -> None:
    """Only what runs the user's model needs torch: the rest works where there is none."""
    program = (
        "import sys; sys.modules['torch'] = None\n"
        f"from shapecheck.cli import main\nmain({arguments!r})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_help_imports_little() -> None:
    """No rich, no mypy, no analysis for `--help` and completion."""
    program = (
        "import sys\nfrom shapecheck.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([m for m in ('rich', 'mypy', 'torch', 'shapecheck.analysis') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("\n[]\n")


def completed(line: str, folder: Path) -> list[str]:
    """Return what a shell would offer at the end of a line."""
    said = folder / "said"
    subprocess.run(
        [sys.executable, "-m", "shapecheck"],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "_ARGCOMPLETE": "1",
            "_ARGCOMPLETE_IFS": "\n",
            "_ARGCOMPLETE_STDOUT_FILENAME": str(said),
            "COMP_LINE": line,
            "COMP_POINT": str(len(line)),
            "COMP_TYPE": "",
        },
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return sorted(word.strip() for word in said.read_text().split("\n") if word.strip())


def test_completion(tmp_path: Path) -> None:
    """Commands, options, choices, and names of ops."""
    assert completed("shapecheck c", tmp_path) == ["check", "coverage"]
    assert completed("shapecheck check --on", tmp_path) == ["--only-shapes"]
    assert completed("shapecheck check --output s", tmp_path) == ["sarif"]
    assert "softmax" in completed("shapecheck explain softm", tmp_path)
    assert "torch.nn.Linear" in completed("shapecheck explain torch.nn.Lin", tmp_path)
    assert "nn.Linear" in completed("shapecheck explain nn.Lin", tmp_path)
    assert completed("shapecheck explain F.bilin", tmp_path) == ["F.bilinear"]
    assert completed("shapecheck annotate --from doc", tmp_path) == ["docstrings"]
    assert completed("shapecheck annotate --from comments,st", tmp_path) == ["comments,static"]
    assert completed("shapecheck r", tmp_path) == ["record", "reveal"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh", "powershell"])
def test_completion_scripts(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """There is a script for each shell."""
    with pytest.raises(SystemExit) as ended:
        main(["--completion", shell])
    assert ended.value.code == 0
    assert "shapecheck" in capsys.readouterr().out


def test_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends without a traceback, with the code that shells give it."""

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("shapecheck.cli.explain.run", interrupted)
    assert cli.main(["explain", "cat"]) == 130


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["chekc"], "argument COMMAND: invalid choice: 'chekc' ("),
        (["trace", "m:N", "--devcie", "cpu"], "unrecognized arguments: --devcie cpu; did you "),
        (
            ["check", "--ouput=json"],
            'unrecognized arguments: --ouput=json; did you mean "--output"',
        ),
        (["check", "--strict"], 'arguments: --strict; options of mypy stand after "--"\n'),
        (["coverage", "--output", "jsn"], "'jsn' (choose from "),
        (
            ["explain", "softmax", "relu"],
            "shapecheck explain: error: unrecognized arguments: relu\n",
        ),
    ],
)
def test_wrong_arguments(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is wrong, and what is likely to be right."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    printed = capsys.readouterr().err
    assert said in printed
    assert ("did you mean" in printed) is not ({"relu", "--strict"} & {*arguments} != set())
