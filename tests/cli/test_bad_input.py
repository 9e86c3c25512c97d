"""What a command can't use: a clear message, the exit code, and every file as it was."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from mypy_plugin.conftest import Project

from shapecheck.cli import _pages, main

NewProject = Callable[..., Project]

WRONG: Final = "import torch\nx = torch.zeros(2) @ torch.zeros(3)\n"
MODEL: Final = """\
print("loading")

import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        print("running")
        return x + 1


class Leaves(nn.Module):
    def forward(self, x):
        raise SystemExit(3)


def leaves():
    raise SystemExit(4)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder; what is imported from it is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "pyproject.toml").write_text("")
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


# All commands that look at files -----------------------------------------------------------------


@pytest.mark.parametrize("command", ["check", "coverage"])
def test_a_notebook(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It isn't Python, although its JSON can be parsed as Python, without an error."""
    (folder / "n.ipynb").write_text(json.dumps({"cells": [{"source": [WRONG]}]}))
    assert main([command, "n.ipynb"]) == 2
    assert capsys.readouterr().err == (
        f"shapecheck {command}: error: n.ipynb is a notebook; `jupyter nbconvert --to script` "
        "makes a .py file of it\n"
    )


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"def f(:\n", "line 1: invalid syntax"),
        (b"x = '\xff'\n", "not text in the encoding that it declares"),
        (b"# coding: nonsense\n", "not text in the encoding that it declares"),
        (b"x = 1\x00\n", "source code string cannot contain null bytes"),
    ],
)
def test_coverage_of_what_is_no_python(
    content: bytes, problem: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file is named with the reason, on the page too; it stays as it was."""
    path = folder / "bad.py"
    path.write_bytes(content)
    path.chmod(0o400)
    assert main(["coverage", "--html", "out"]) == 2
    assert f"\nbad.py: {problem}\n" in capsys.readouterr().out
    assert problem in (folder / "out" / "index.html").read_text("utf-8")
    assert path.read_bytes() == content


NAMES: Final = [
    *(b"a b.py", b"-x.py", b"x.y.py", b"a;b.py", b"[1].py", b"%s.py", b"{x}.py", b"<script>.py"),
    *(b'q"uote.py', b"a'b.py", b"~.py", b"$HOME.py", b"class.py", b"1.py", b"n" * 240 + b".py"),
    *(b"a\nb.py", b"tab\there.py", b"a\\b.py", b"\x1b[31mred.py"),
    *("é.py".encode(), "\u202eyp.py".encode(), b"\xff\xfe.py", b"dir.py/z.py"),
]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse some of these names")
@pytest.mark.parametrize("output", ["text", "json", "sarif", "gitlab", "github"])
def test_files_may_be_called_anything(
    output: str, folder: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Each is checked, and told in whichever form without what a terminal would obey."""
    for name in NAMES:
        path = folder / os.fsdecode(name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(WRONG)
    for _ in range(2):  # from the store, too
        assert main(["check", "--only-shapes", "--output", output, "."]) == 1
        printed = capfdbinary.readouterr()
        assert printed.err == b""
        assert printed.out.count(b"can't multiply") == len(NAMES)
        assert not any(one in printed.out for one in (b"\x1b", b"\xff", "\u202e".encode()))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse some of these names")
def test_files_that_may_be_called_anything_are_annotated(folder: Path) -> None:
    """And come back as they were."""
    text = "import torch\n\n\ndef f(x: torch.Tensor):\n    b, d = x.shape\n    return x.mT\n"
    paths = [folder / os.fsdecode(name) for name in NAMES]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert main(["annotate", "--write", "."]) == 0
    assert all(path.read_text().count('"d b"') == 1 for path in paths)
    assert main(["coverage", "--html", "pages", "."]) == 0
    assert main(["strip", "--write", "."]) == 0
    assert all(path.read_text() == text for path in paths)


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + WRONG.encode(),
        WRONG.replace("\n", "\r\n").encode(),
        b"# coding: latin-1\nimport torch\ny = '\xe9'; x = torch.zeros(2) @ torch.zeros(3)\n",
    ],
    ids=["BOM", "CRLF", "Latin-1"],
)
def test_other_encodings_and_line_ends(content: bytes, new_project: NewProject) -> None:
    """They are read, the mark stands under the expression, and the file isn't touched."""
    project = new_project({}, fake=False)
    path = project.folder / "m.py"
    path.write_bytes(content)
    path.chmod(0o400)
    done = project.run("check", "m.py", module="shapecheck")
    place, source, mark = done.stdout.splitlines()[:3]
    assert place.endswith(
        '"@" can\'t multiply (2) by (3): the inner dimensions are 2 (axis -1) and 3 (axis -1)  '
        "[shape]"
    )
    assert source[mark.index("^") : mark.rindex("^") + 1] == "torch.zeros(2) @ torch.zeros(3)"
    assert (done.returncode, path.read_bytes()) == (1, content)


def test_links_in_circles_and_to_nowhere(new_project: NewProject) -> None:
    """Each file is checked once; a link that leads nowhere is an error where it was asked for."""
    project = new_project({"a/m.py": "x = 1\n"}, fake=False)
    (project.folder / "a" / "again").symlink_to(project.folder / "a")
    (project.folder / "a" / "gone.py").symlink_to("nowhere.py")
    done = project.run("check", "a", module="shapecheck")
    assert done.stdout == "Success: no issues found in 1 source file\n"
    assert project.run("coverage", "a", module="shapecheck").returncode == 0
    done = project.run("check", "a/gone.py", module="shapecheck")
    assert done.stdout.startswith("a/gone.py: error: Cannot read file: No such file")
    assert done.returncode == 2


def test_check_runs_nothing(new_project: NewProject) -> None:
    """Not even a file that has the name of a module that mypy itself imports."""
    ran = "from pathlib import Path\n\nPath('ran').touch()\n"
    project = new_project({"m.py": ran, "queue.py": ran, "heapq.py": ran})
    # As the script `shapecheck` does it: the current folder isn't where modules come from.
    program = "import sys; sys.path.pop(0); from shapecheck.cli import main; sys.exit(main())"
    done = project.python("-c", program, "check", "m.py")
    assert done.stdout == "Success: no issues found in 1 source file\n"
    assert not (project.folder / "ran").exists()


def test_files_without_anything(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty file is nothing to complain of; a folder without Python is."""
    (folder / "m.py").write_text("")
    (folder / "empty").mkdir()
    assert main(["coverage", "m.py"]) == 0
    assert (
        re_last(capsys.readouterr().out) == "all         0/0      0       0        0             -"
    )
    for command in ("coverage", "annotate", "strip"):
        assert main([command, "empty"]) == 2
        said = f"shapecheck {command}: error: there are no .py files in empty\n"
        assert capsys.readouterr().err == said


def re_last(text: str) -> str:
    """Return the last line."""
    return text.splitlines()[-1]


# Reports ------------------------------------------------------------------------------------------


def test_a_report_that_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that was there before stays, and nothing lies beside it."""
    report = tmp_path / "net.svg"
    _pages.save(report, "the first")

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fdopen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _pages.save(report, "the second")
    monkeypatch.undo()
    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _pages.save(report, "the second")
    assert [path.name for path in tmp_path.iterdir()] == ["net.svg"]
    assert report.read_text() == "the first"


def test_a_report_is_a_file_like_others(tmp_path: Path) -> None:
    """Its permissions are the usual ones, or those that it had; a link stays a link."""
    report, link = tmp_path / "net.svg", tmp_path / "link.svg"
    report.write_text("")
    usual = report.stat().st_mode
    report.unlink()
    link.symlink_to(report)
    _pages.save(link, "one")
    assert (report.read_text(), report.stat().st_mode) == ("one", usual)
    report.chmod(0o600)
    _pages.save(link, "two")
    assert link.is_symlink()
    assert (report.read_text(), report.stat().st_mode & 0o777) == ("two", 0o600)


def test_where_no_report_can_be(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file in the place of a folder."""
    (folder / "m.py").write_text(WRONG)
    (folder / "out").write_text("mine")
    assert main(["coverage", "--html", "out"]) == 2
    assert capsys.readouterr().err == (
        "shapecheck coverage: error: can't write into out: File exists\n"
    )
    assert (folder / "out").read_text() == "mine"


# trace --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (
            ["net:Leaves", "--input", "3"],
            1,
            "the forward pass failed: SystemExit: 3 (net.py:15)\n",
        ),
        (["net:leaves"], 2, "leaves failed: SystemExit: 4 (net.py:19)\n"),
        (["bad:Net"], 2, "importing bad failed: SyntaxError: invalid syntax (bad.py, line 1)\n"),
        (["out:Net"], 2, "importing out failed: SystemExit: 5 (out.py:1)\n"),
        (
            ["net:Net", "--input", "b=2 b=3"],
            2,
            'in --input "b=2 b=3": axis 1 is 3, declared b (here 2)\n',
        ),
        (
            ["net:Net", "--input", f"{10**11} {10**11}"],
            2,
            f'in --input "{10**11} {10**11}": torch makes no tensor so large\n',
        ),
        (
            ["net:Net", "--input", f"{10**20}"],
            2,
            f'in --input "{10**20}": torch makes no tensor so large\n',
        ),
        (
            ["net:Net", "--device", "abacus"],
            2,
            'torch has no device "abacus" here: RuntimeError: Expected one of cpu, ',
        ),
        (
            ["net:Net", "--input", "z: 3"],
            1,
            "the forward pass failed: TypeError: Net.forward() got an unexpected keyword argument "
            "'z'\nEach argument of the forward pass is an --input of its own; one by name is "
            '--input "mask: Bool 2 64"\n',
        ),
    ],
)
def test_what_cannot_be_traced(
    arguments: list[str], code: int, said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line or two on the error stream, after what the program prints."""
    (folder / "net.py").write_text(MODEL)
    (folder / "bad.py").write_text("def f(:\n")
    (folder / "out.py").write_text("raise SystemExit(5)\n")
    assert main(["trace", *arguments]) == code
    printed = capsys.readouterr()
    start = "" if code == 1 else "shapecheck trace: error: "
    assert printed.err.removeprefix("loading\n").startswith(start + said)
    assert printed.out == ""
    assert "Traceback" not in printed.err


def test_what_a_model_prints(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It goes to the error stream: the result on the other can be read by programs."""
    (folder / "net.py").write_text(MODEL)
    assert main(["trace", "net:Net", "--input", "3", "--output", "json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == "loading\nrunning\n"
    assert json.loads(printed.out)["kind"] == "Net"


@pytest.mark.parametrize("path", ["queue.py", "net/types.py", "package/model.py"])
def test_files_by_their_path(path: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file may be called as a module of Python's own, and may import what lies beside it."""
    for name in ("net", "package"):
        (folder / name).mkdir()
    (folder / "package" / "__init__.py").write_text("")
    (folder / "package" / "parts.py").write_text(MODEL)
    (folder / path).write_text("from .parts import Net\n" if "package" in path else MODEL)
    assert main(["trace", f"{path}:Net", "--input", "3"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("Net ")


# annotate ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"garbage", "file is not a database"), (b"SQLite format 3\x00", "file is not a database")],
)
def test_a_record_that_is_none(
    content: bytes, reason: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is annotated without it, as it was asked for; it stays as it was."""
    (folder / "net.py").write_text(MODEL)
    (folder / "r.sqlite").write_bytes(content)
    assert main(["annotate", "--record", "r.sqlite", "--write"]) == 2
    assert capsys.readouterr().err == (
        f"shapecheck annotate: error: r.sqlite: can't be read as a record: {reason}\n"
    )
    assert (folder / "net.py").read_text() == MODEL
    assert (folder / "r.sqlite").read_bytes() == content


def test_a_process_that_is_killed_while_it_writes(new_project: NewProject) -> None:
    """The file is what it was before, and the next run annotates it."""
    text = "import torch\n\n\ndef f(x):\n    return torch.relu(x)\n"
    project = new_project({"net.py": text}, fake=False)
    program = (
        "import os, signal, sys\n"
        "os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from shapecheck.cli import main\n"
        "main(['annotate', '--write', 'net.py'])\n"
    )
    assert project.python("-c", program).returncode == -9
    assert (project.folder / "net.py").read_text() == text
    assert project.run("annotate", "--write", "net.py", module="shapecheck").returncode == 0
    assert 'def f(x: Shaped[torch.Tensor, "*batch"])' in ((project.folder / "net.py").read_text())


PLAIN: Final = "import torch\n\n\ndef f(x, mask=None):\n    y = torch.relu(x)\n    return y\n"
CHANGED: Final = {
    "backslash": PLAIN.replace("y = ", "y = \\\n        ").encode(),
    "bom": b"\xef\xbb\xbf" + PLAIN.encode(),
    "crlf": PLAIN.replace("\n", "\r\n").encode(),
    "form_feed": PLAIN.replace("\n\n", "\n\x0c\n").encode(),
    "latin": f"# coding: latin-1\n# caf\xe9\n{PLAIN}".encode("latin-1"),
    "mixed": PLAIN.replace("\n", "\r\n", 3).encode(),
    "no_end": PLAIN.rstrip("\n").encode(),
    "separators": f"s = '\u2028\x1c\x85'\n{PLAIN}".encode(),
    "tabs": PLAIN.replace("    ", "\t").encode(),
}
LEFT: Final = {
    "coding": (b"# coding: nonsense\nx = 1\n", "can't be read as text: unknown encoding: nonsense"),
    "latin": (b"# caf\xe9\n", "can't be read as text: invalid or missing encoding declaration"),
    "null": (b"x = 1\x00\n", "can't be read as text: it has null bytes in it"),
    "old_mac": (
        PLAIN.replace("\n", "\r").encode(),
        "has lines that end in a carriage return alone; left as it is",
    ),
    "utf16": (
        PLAIN.encode("utf-16"),
        "can't be read as text: invalid or missing encoding declaration",
    ),
}


def test_files_of_all_kinds_go_there_and_back(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What can be annotated is, and stripped again to the byte; what can't is named and left.

    A link to a file is that file; one that leads nowhere, and folders without Python, are no files.
    """
    for name, content in CHANGED.items():
        (folder / f"{name}.py").write_bytes(content)
    for name, (content, _) in LEFT.items():
        (folder / f"left_{name}.py").write_bytes(content)
    (folder / "empty.py").touch()
    (folder / "syntax.py").write_text("def f(:\n")
    (folder / "a_link.py").symlink_to("bom.py")
    (folder / "nowhere.py").symlink_to("gone.py")
    (folder / "circle.py").symlink_to("circle.py")
    (folder / "folder.py").mkdir()
    before = {path: path.read_bytes() for path in folder.glob("*.py") if path.is_file()}
    assert before[folder / "a_link.py"] == before[folder / "bom.py"]
    said = [f"left_{name}.py: {reason}" for name, (_, reason) in LEFT.items()]

    assert main(["annotate", "--write"]) == 1
    printed = capsys.readouterr().err.splitlines()
    assert printed[-1] == f"{2 * len(CHANGED)} annotations written into {len(CHANGED)} files"
    assert sorted(printed[:-1]) == [*said, "syntax.py:1: can't be parsed: invalid syntax"]
    changed = {path.stem for path, content in before.items() if path.read_bytes() != content}
    assert changed == {*CHANGED, "a_link"}
    assert (folder / "a_link.py").is_symlink()
    assert main(["annotate"]) == 1
    assert capsys.readouterr().out == ""

    assert main(["strip", "--write"]) == 1
    assert capsys.readouterr().err.splitlines() == [*said, f"{len(CHANGED)} files changed"]
    assert before == {path: path.read_bytes() for path in before}


def test_links_out_of_what_is_named_are_left_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is told. One that leads to a file beside it is that file; one that is named, too."""
    (folder / "elsewhere" / "package").mkdir(parents=True)
    (folder / "project" / "net").mkdir(parents=True)
    (folder / "project" / ".hidden").mkdir()
    outside, inside = folder / "elsewhere" / "m.py", folder / "project" / "net" / "z.py"
    hidden = folder / "project" / ".hidden" / "h.py"
    for path in (outside, inside, hidden, folder / "elsewhere" / "package" / "p.py"):
        path.write_text(PLAIN)
    (folder / "elsewhere" / "data").mkdir()
    links = {
        "a.py": inside,
        "b.py": folder / "project" / "a.py",
        "out.py": outside,
        "out_again.py": folder / "project" / "out.py",
        "hidden.py": hidden,
        "package": folder / "elsewhere" / "package",
        "data": folder / "elsewhere" / "data",
        "net/around": folder / "project",
        "circle": folder / "project" / "circle",
    }
    for name, target in links.items():
        (folder / "project" / name).symlink_to(target)
    left = [
        f"project/{name}: is a link to {target}, which isn't named; left alone"
        for name, target in {
            "package": folder / "elsewhere" / "package",
            "hidden.py": hidden,
            "out.py": outside,
            "out_again.py": outside,
        }.items()
    ]
    for command, done in (
        ("annotate", "2 annotations written into 1 file"),
        ("strip", "1 file changed"),
    ):
        assert main([command, "--write", "project"]) == 0
        assert capsys.readouterr().err.splitlines() == [*left, done]
        assert ("Shaped" in inside.read_text()) == (command == "annotate")
        assert outside.read_text() == hidden.read_text() == PLAIN
    assert main(["coverage", "project"]) == 0
    printed = capsys.readouterr()
    assert printed.err.splitlines() == left
    assert [line.split()[0] for line in printed.out.splitlines()[1:3]] == [
        "project/net/z.py",
        "all",
    ]
    assert all((folder / "project" / name).is_symlink() for name in links)
    assert main(["annotate", "--write", "project/out.py"]) == 0
    assert "Shaped" in outside.read_text()


STUB: Final = "from torch import Tensor\ndef h(x: {}) -> {}: ...\n"
REFUSED: Final = {
    STUB.format("Foo", "?"): "2: not Python: ",
    STUB.format('T[Tensor, "b, c"]', "Tensor"): '2: in "b, c": dimensions are separated by spaces',
    STUB.format('T[Tensor, "b"]', 'Rule["nope"]'): "2: there is no rule 'nope'",
    STUB.format('T[Tensor, "b"]', 'Rule["linear"]'): (
        "2: the rule 'linear' needs 'input': 'h' must have its parameters"
    ),
    f"x: {'-' * 30_000}1\n": "1: nested too deeply",
}


@pytest.mark.parametrize("stub", REFUSED)
def test_a_signature_file_that_is_refused(
    stub: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command says so, each time, and changes nothing."""
    (folder / "stubs").mkdir()
    (folder / "stubs" / "mylib.pyi").write_text(stub)
    (folder / "pyproject.toml").write_text('[tool.shapecheck]\nstubs = ["stubs"]\n')
    text = "import torch\nimport mylib\ndef f(x: torch.Tensor):\n    return mylib.h(x.relu())\n"
    (folder / "m.py").write_text(text)
    for command in (["annotate", "--write"], ["coverage"], ["explain", "mylib.h"]):
        assert main(command) == 2
        said = capsys.readouterr().err
        file = folder / "stubs" / "mylib.pyi"
        assert said.startswith(f"shapecheck {command[0]}: error: {file}:{REFUSED[stub]}")
        assert said.count("\n") == 1
    assert (folder / "m.py").read_text() == text


def test_a_trace_without_the_signatures(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "stubs").mkdir()
    (folder / "stubs" / "mylib.pyi").write_text("def h(")
    (folder / "pyproject.toml").write_text('[tool.shapecheck]\nstubs = ["stubs"]\n')
    assert main(["trace", "torch.nn:ReLU", "--input", "2 3"]) == 2
    assert capsys.readouterr().err == (
        f"shapecheck trace: error: {folder}/stubs/mylib.pyi:1: not Python: '(' was never closed\n"
    )


_KILLED: Final = """
import os, signal, sys
from pathlib import Path
from shapecheck.codemod.project import replacing
if sys.argv[1] == "named":
    replacing._UNNAMED = None
os.{step} = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
replacing.replace(Path("m.py"), b"new", durable=True)
"""


@pytest.mark.parametrize("step", ["fsync", "utime", "link", "replace"])
@pytest.mark.parametrize("draft", ["unnamed", "named"])
def test_what_a_killed_run_leaves(step: str, draft: str, folder: Path) -> None:
    """The file as it was. What lies beside it is removed by the next run that writes there."""
    if draft == "named" and step == "link":
        pytest.skip("it has its name from the start")
    path = folder / "m.py"
    path.write_text(PLAIN)
    program = _KILLED.format(step=step)
    done = subprocess.run([sys.executable, "-c", program, draft], cwd=folder, check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_text() == PLAIN
    left = [one.name for one in folder.glob(".shapecheck-*")]
    assert len(left) == (draft == "named" or step == "replace")
    (folder / ".shapecheck-notes.tmp").touch()
    assert main(["annotate", "--write"]) == 0
    assert [one.name for one in folder.glob(".*")] == [".shapecheck-notes.tmp"]


def test_what_another_run_is_writing_stays(folder: Path) -> None:
    """It has a lock on that."""
    draft = folder / ".shapecheck-0123abcd.tmp"
    (folder / "m.py").write_text(PLAIN)
    with draft.open("wb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        assert main(["annotate", "--write"]) == 0
        assert draft.exists()
    assert main(["strip", "--write"]) == 0
    assert not draft.exists()


def test_a_diff_can_be_applied(folder: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Also to files with form feeds and other separators, or without an end of the last line."""
    text = PLAIN.replace("\n\n", "\n\x0c\n").replace("x)\n", "x)  # \x1c \u2028\n").rstrip("\n")
    (folder / "net.py").write_text(text)
    assert main(["annotate", "net.py"]) == 0
    diff = capfdbinary.readouterr().out
    subprocess.run(["git", "apply", "-"], input=diff, cwd=folder, check=True)
    applied = (folder / "net.py").read_text()
    (folder / "net.py").write_text(text)
    assert main(["annotate", "--write", "net.py"]) == 0
    assert (folder / "net.py").read_text() == applied != text


def test_carriage_returns_alone_end_lines(new_project: NewProject) -> None:
    """`check` names the line that Python sees."""
    project = new_project({}, fake=False)
    text = "import torch\ny = '\xe9'; x = torch.zeros(2) @ torch.zeros(\n    3)\n"
    (project.folder / "m.py").write_bytes(text.replace("\n", "\r").encode())
    done = project.run("check", "m.py", module="shapecheck")
    assert done.stdout.startswith('m.py:2:14: error: "@" can\'t multiply (2) by (3): ')
