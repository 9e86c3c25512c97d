"""What looks at a project runs nothing in it: none of the files that Python, pytest or pip run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

RAN = "open({!r}, 'a').write(__file__ if '__file__' in globals() else 'evaluated')\n"
PROGRAM = """\
import torch
import other
import mylib
from torch import Tensor
from shapecheck import Float

{ran}


@other.decorate
class Net(other.Base, metaclass=other.Meta):
    width: int = other.touch()


def f(x: Float[Tensor, "b {{other.touch()}}"], y: "other.touch()") -> "Float[Tensor, 'b n']":
    z: other.touch() = x + 1
    eval("other.touch()")
    return mylib.scale(z, f"{{other.touch()}}")


f(torch.zeros(2, 3), other.touch())
"""
SETTINGS = """\
[tool.shapecheck]
stubs = ["stubs"]

[tool.mypy]
plugins = ["shapecheck.mypy_plugin"]
python_executable = "./python.sh"
"""
STUB = """\
from torch import Tensor
def scale(x: Num[Tensor, "*s"], n: int = open({!r}, 'a').write('stub')) -> Num[Tensor, "*s"]: ...
"""
SCRIPT = "import sys; sys.path.pop(0); from shapecheck.cli import main; sys.exit(main())"
"""As the script `shapecheck` does it: the current folder isn't where modules come from."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of files that leave a trace when they are run."""
    folder, trace = tmp_path / "project", str(tmp_path / "ran")
    (folder / "stubs").mkdir(parents=True)
    ran = RAN.format(trace)
    ours = "def touch():\n    " + ran + "    return 1\n\n\n"
    ours += "class Meta(type): pass\n\n\nclass Base: pass\n\n\ndef decorate(cls):\n    touch()\n"
    names = "conftest setup sitecustomize usercustomize mylib queue ast __main__ noxfile".split()
    for name in names:
        (folder / f"{name}.py").write_text(ran)
    (folder / "other.py").write_text(ran + ours)
    (folder / "net.py").write_text(PROGRAM.format(ran=ran))
    (folder / "run.pth").write_text(f"import os; {ran}")
    (folder / "python.sh").write_text(f"#!/bin/sh\ntouch {trace}\n")
    (folder / "python.sh").chmod(0o755)
    (folder / "pyproject.toml").write_text(SETTINGS)
    (folder / "stubs" / "mylib.pyi").write_text(STUB.format(trace))
    return folder


def run(project: Path, *arguments: str, said: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run a command in a project; nothing in it may have been run."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        cwd=project,
        env={**os.environ, "HOME": str(project)},
        input=said,
        capture_output=True,
        check=False,
    )
    assert b"Traceback" not in done.stdout + done.stderr
    trace = project.parent / "ran"
    assert not trace.exists(), trace.read_text()
    return done


@pytest.mark.parametrize(
    "line",
    [
        "check --only-shapes .",
        "coverage .",
        "annotate .",
        "annotate --write net.py",
        "strip .",
        "explain mylib.scale",
        "explain other.touch",
        "init",
    ],
)
def test_commands_run_nothing(line: str, project: Path) -> None:
    """They say what they see."""
    done = run(project, *line.split())
    assert done.stdout + done.stderr


def test_the_language_server_runs_nothing(project: Path) -> None:
    """Nor does it when a file is opened, edited and asked about."""
    uri = (project / "net.py").as_uri()
    text = (project / "net.py").read_text()
    document, place = {"uri": uri}, {"line": 16, "character": 10}
    asked = [
        ("initialize", {"processId": None, "rootUri": project.as_uri(), "capabilities": {}}),
        ("initialized", {}),
        (
            "textDocument/didOpen",
            {"textDocument": {**document, "languageId": "python", "version": 1, "text": text}},
        ),
        ("textDocument/hover", {"textDocument": document, "position": place}),
        ("textDocument/completion", {"textDocument": document, "position": place}),
        ("textDocument/definition", {"textDocument": document, "position": place}),
        ("shutdown", None),
        ("exit", None),
    ]
    done = run(
        project, "lsp", said=b"".join(map(_message, range(len(asked)), *zip(*asked, strict=True)))
    )
    assert b'"id":3' in done.stdout.replace(b" ", b"")


def _message(number: int, method: str, params: object) -> bytes:
    is_told = "/did" in method or method in ("initialized", "exit")
    one = {"jsonrpc": "2.0", "method": method, "params": params}
    content = json.dumps(one if is_told else {**one, "id": number}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(content), content)
