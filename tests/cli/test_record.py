"""`shapecheck record`: programs that end in other ways, and records that can't be used."""

from __future__ import annotations

import itertools
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any, Final

import pytest
from patience import SECONDS
from repository import ROOT

from shapecheck.cli import main
from shapecheck.record import watch
from shapecheck.record.store import Key, RecordProblem, amount, append, create, load, load_all

PACKAGE: Final = "import torch\n\n\ndef double(x):\n    return x + x\n"
ENDLESS: Final = """\
import time, torch
from pkg import double
double(torch.zeros(7))
open("ready", "w").close()
time.sleep(100_000)
"""


def test_a_program_that_is_to_end(tmp_path: Path) -> None:
    """SIGTERM to `shapecheck record` is the program's, which doesn't go on by itself."""
    (tmp_path / "pkg.py").write_text(PACKAGE)
    (tmp_path / "run.py").write_text(ENDLESS)
    process = subprocess.Popen(
        [sys.executable, "-m", "shapecheck", "record", "--", sys.executable, "run.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
    )
    while not (tmp_path / "ready").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=SECONDS)
    assert process.returncode == 128 + signal.SIGTERM
    assert b"1 call of 1 function in .shapecheck-record.sqlite" in said


EARLY: Final = """\
import multiprocessing, time
from pkg import double

def work():
    double(3)
    while True:
        time.sleep(0.01)

for _ in range(40):
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.terminate()
    process.join(1800)
    if process.exitcode is None:
        process.kill()
        raise SystemExit("it didn't end")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_process_that_is_ended_as_it_begins(tmp_path: Path) -> None:
    """As a pool does with workers that it never needed, and then waits for."""
    (tmp_path / "pkg.py").write_text("def double(x):\n    return x + x\n")
    (tmp_path / "run.py").write_text(EARLY)
    done = subprocess.run(
        [sys.executable, "-m", "shapecheck", "record", "--", sys.executable, "run.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        check=False,
    )
    assert (done.returncode, b"didn't end" in done.stderr) == (0, False), done.stderr


def recording(folder: Path) -> tuple[watch.Recorder, Callable[[object], object]]:
    """Return what writes `r.sqlite`, and a function that is watched by it."""
    create(folder / "r.sqlite")
    recorder = watch.Recorder(folder / "r.sqlite", folder)
    space: dict[str, FunctionType] = {}
    exec(compile("def f(x): return x", folder / "m.py", "exec"), space)
    return recorder, recorder.watch(space["f"])


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_while_the_record_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is being written is written, once; then the program is interrupted."""
    recorder, watched = recording(tmp_path)
    watched(3)

    def interrupted(*given: object) -> None:
        signal.raise_signal(signal.SIGINT)
        append(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(watch, "append", interrupted)
    with pytest.raises(KeyboardInterrupt):
        recorder.flush()
    monkeypatch.undo()
    recorder.flush()
    found = load(tmp_path / "r.sqlite")
    assert [(key.name, seen.calls) for key, seen in found.items()] == [("f", 1)]


SCRIPT: Final = """\
import torch

def f(x):
    return x

if __name__ == "__main__":
    f(torch.zeros(3))
"""


def test_the_first_call_in_a_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A tensor is one from the moment that the script has imported torch; one file is left."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "m.py").write_text(SCRIPT)
    assert main(["record", "-o", "r.sqlite", "--", sys.executable, "m.py"]) == 0
    said = capfd.readouterr().err
    assert said == "shapecheck record: 1 call of 1 function in r.sqlite (0.0 MB)\n"
    tensor = ["t", "float32", "cpu", [3]]
    ((_, seen),) = load(tmp_path / "r.sqlite").items()
    assert [(call.args, call.result) for call in seen.kinds] == [({"x": tensor}, tensor)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.py", "r.sqlite"]


FULL: Final = """\
import resource, signal, torch, m
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
m.double(torch.zeros(7))
print("it ran")
"""


LAUNCHED: Final = """\
import os, sys
import torch

def double(x):
    return x + x

double(torch.zeros(int(sys.argv[1])))
print(sys.argv, __name__, os.getpid() == int(os.environ["STARTED"]), sys.stdin.read())
"""
LAUNCHER: Final = """\
import os, subprocess, sys
for size in "35":
    run = 'STARTED=$$ exec "$@"'
    command = ["sh", "-c", run, "sh", sys.executable, "-u", "train.py", size]
    print(subprocess.run(command, input=size, text=True, capture_output=True, check=True).stdout)
"""


def test_a_script_that_another_program_starts(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is watched as the first one is, in the process that it was started in."""
    (tmp_path / "train.py").write_text(LAUNCHED)
    (tmp_path / "launch.py").write_text(LAUNCHER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    assert main(["record", "--", sys.executable, "launch.py"]) == 0
    said = capfd.readouterr()
    assert said.out.split("\n\n")[:2] == [
        "['train.py', '3'] __main__ True 3",
        "['train.py', '5'] __main__ True 5",
    ]
    assert "2 calls of 1 function in .shapecheck-record.sqlite" in said.err
    found = load(tmp_path / ".shapecheck-record.sqlite")
    assert {(key.file, key.name): one.calls for key, one in found.items()} == {
        ("train.py", "double"): 2
    }


def test_what_is_started_and_is_no_source(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An archive that Python can run is run as it is."""
    with zipfile.ZipFile(tmp_path / "app.pyz", "w") as archive:
        archive.writestr("__main__.py", "print('ran', __name__)")
    command = "import subprocess, sys\nsubprocess.run([sys.executable, 'app.pyz'], check=True)\n"
    (tmp_path / "launch.py").write_text(command)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    assert main(["record", "--", sys.executable, "launch.py"]) == 0
    assert capfd.readouterr().out == "ran __main__\n"


SEVERAL: Final = """\
import torch

def first(x):
    return x

def last(x):
    return x
"""


def test_records_of_several_hosts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one of them has seen counts as much as what another one has."""
    (tmp_path / "pkg.py").write_text(SEVERAL)
    monkeypatch.chdir(tmp_path)
    for host, key in (("one", Key("pkg.py", "first", 3)), ("other", Key("pkg.py", "last", 6))):
        calls = [f'["t","float32","cpu",[{size},8]]' for size in (3, 5)]
        create(tmp_path / host)
        append(tmp_path / host, [(key, 2, {f'[{{"x":{one}}},{one},{{}}]': 1 for one in calls})])
    assert main(["annotate", "--record", "one", "--record", "other", "pkg.py"]) == 0
    said = capsys.readouterr().out
    assert '+def first(x: Float[torch.Tensor, "b d"])' in said
    assert '+def last(x: Float[torch.Tensor, "b d"])' in said


def _call(x: Sequence[int], *y: object) -> str:
    tensor = ["t", "float32", "cpu", [*x]]
    return json.dumps([{"x": tensor, "y": [*y, 1, [tensor]]}, tensor, {}], separators=(",", ":"))


HOSTS: Final = {
    "one": {_call((7, 3), "l"): 2, _call((5, 3), "l"): 1},
    "two": {_call((2, 3), "u"): 1},
    "three": {_call((5, 3), "l"): 4, _call((7, 3), "l"): 1},
}


def test_the_order_of_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says nothing, nor does which process wrote first; the same calls of two hosts are one."""
    (tmp_path / "pkg.py").write_text("import torch\n\ndef first(x, y):\n    return x\n")
    monkeypatch.chdir(tmp_path)
    last = Key("pkg.py", "last", 9), 1, {_call((4, 4), "l"): 1}
    for host, texts in HOSTS.items():
        seen = [(Key("pkg.py", "first", 3), sum(texts.values()), texts), last]
        create(tmp_path / host)
        for one in seen if host == "one" else seen[::-1]:
            append(tmp_path / host, [one])
    found = [load_all(map(Path, order)) for order in itertools.permutations(HOSTS)]
    found.append(load_all(map(Path, [*HOSTS, "./one", "two"])))  # given twice
    merged = {
        "first": (9, [([2, 3], 1), ([5, 3], 5), ([7, 3], 3)]),
        "last": (3, [([4, 4], 3)]),
    }
    for record in found:
        told = [
            (key.name, (seen.calls, [(call.args["x"][3], call.count) for call in seen.kinds]))
            for key, seen in record.items()
        ]
        assert told == [*merged.items()]
    said = set()
    for order in itertools.permutations(HOSTS):
        given = [option for host in order for option in ("--record", host)]
        assert main(["annotate", *given, "pkg.py"]) == 0
        said.add(capsys.readouterr().out)
    assert len(said) == 1


def test_hosts_that_have_seen_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They prove no more than one of them: a size that two calls have isn't a constant."""
    (tmp_path / "pkg.py").write_text(SEVERAL)
    monkeypatch.chdir(tmp_path)
    calls = [f'["t","float32","cpu",[{size},3]]' for size in (7, 5)]
    for host in ("one", "other"):
        create(tmp_path / host)
        texts = {f'[{{"x":{one}}},{one},{{}}]': 1 for one in calls}
        append(tmp_path / host, [(Key("pkg.py", "first", 3), 2, texts)])
    for given in (["one"], ["one", "other"]):
        options = [option for host in given for option in ("--record", host)]
        assert main(["annotate", *options, "--from", "record", "pkg.py"]) == 0
        assert '+def first(x: Float[torch.Tensor, "b d"])' in capsys.readouterr().out


CHECKED: Final = """\
import asyncio, torch
from shapecheck import Float, ShapeError, shapecheck

@shapecheck
def same(x: Float[torch.Tensor, "n 3"]) -> Float[torch.Tensor, "n 3"]:
    return x

@shapecheck
async def later(x: Float[torch.Tensor, "n 3"]) -> Float[torch.Tensor, "n 3"]:
    return x

for call in (same, lambda x: asyncio.run(later(x))):
    for width in (3, 4):
        try:
            call(torch.ones(2, width))
        except ShapeError as error:
            print(error)
"""


def test_what_is_recorded_is_checked_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """From the first call on, and errors are told of the program's own lines."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    path = tmp_path / "run.py"
    path.write_text(CHECKED)
    subprocess.run([sys.executable, "run.py"], check=True)
    alone = capfd.readouterr().out
    assert alone.count('is (2 4), declared "n 3": axis 1 is 4, declared 3  [shape]') == 2
    assert main(["record", "-o", "r.sqlite", "--", sys.executable, "run.py"]) == 0
    assert capfd.readouterr().out == alone.replace("at run.py:", f"at {path}:")


@pytest.mark.skipif(sys.platform == "win32", reason="it has no limits for a process")
def test_a_record_that_nothing_more_goes_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The program isn't disturbed; what was lost is said, and what there was before is kept."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    path = tmp_path / "r.sqlite"
    create(path)
    append(path, [(Key("m.py", "f", 1), 5, {})])
    (tmp_path / "m.py").write_text(PACKAGE)
    (tmp_path / "run.py").write_text(FULL)
    assert main(["record", "-o", "r.sqlite", "--", sys.executable, "run.py"]) == 0
    said = capfd.readouterr()
    assert said.out == "it ran\n"
    assert said.err == (
        f"shapecheck record: {path}: 1 call of 1 function couldn't be written: disk I/O error\n"
        "shapecheck record: 5 calls of 1 function in r.sqlite (0.0 MB)\n"
    )


def test_a_record_that_can_be_written_again(tmp_path: Path) -> None:
    """What couldn't be written is, as soon as that is possible."""
    recorder, watched = recording(tmp_path)
    path = recorder.path
    watched(3)
    other = tmp_path / "other.sqlite"
    path.rename(other)
    path.write_text("not a database, and long enough to be looked at")
    recorder.flush()
    assert recorder.problem == (
        f"{path}: 1 call of 1 function couldn't be written: file is not a database"
    )
    watched(3)
    other.rename(path)
    recorder.flush()
    assert recorder.problem is None
    (seen,) = load(path).values()
    assert (seen.calls, [call.count for call in seen.kinds]) == (2, [2])


def test_a_script_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Python itself says so."""
    monkeypatch.chdir(tmp_path)
    assert main(["record", "--", sys.executable, "gone.py"]) == 2
    said = capfd.readouterr().err
    assert "can't open file" in said
    assert "Traceback" not in said


def test_tests_from_elsewhere(tmp_path: Path) -> None:
    """What is recorded is the project that pytest is started in."""
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    for folder in (project, elsewhere):
        folder.mkdir()
        (folder / "pytest.ini").write_text("[pytest]\n")
    (project / "pkg.py").write_text(PACKAGE)
    (elsewhere / "test_it.py").write_text(
        "import torch\nfrom pkg import double\n\n\n"
        "def test_it():\n    assert double(torch.ones(3)).sum() == 6\n"
    )
    options = ["-q", "-p", "no:cacheprovider", "--shapecheck-record=r.sqlite"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(elsewhere)],
        cwd=project,
        env={**os.environ, "PYTHONPATH": f"{project}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert "shapecheck: 1 call of 1 function in r.sqlite" in done.stdout
    assert [(key.file, key.name) for key in load(project / "r.sqlite")] == [("pkg.py", "double")]


def _garble(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 500)


def _run(*statements: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with sqlite3.connect(path) as connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()

    return change


def _written(*texts: Any) -> Callable[[Path], None]:
    """Have a record hold these calls instead."""

    def change(path: Path) -> None:
        with sqlite3.connect(path) as connection:
            connection.execute("DELETE FROM calls")
            connection.executemany(
                "INSERT INTO calls VALUES (1, ?, 1)", [(text,) for text in texts]
            )
        connection.close()

    return change


_DEEP: Final = "[" * 100_000 + "]" * 100_000
MALFORMED: Final = [
    "NaN",
    "[NaN,NaN,NaN]",
    "[[],null,{}]",
    "[{},null]",
    '[{"x":true},null,{}]',
    '[{"x":1.5},null,{}]',
    '[{"x":"t"},null,{}]',
    '[{"x":[]},null,{}]',
    '[{"x":["t"]},null,{}]',
    '[{"x":["t","float32","cpu",[2,-1]]},null,{}]',
    '[{"x":["t","float32","cpu",[NaN]]},null,{}]',
    '[{"x":["t",32,"cpu",[2]]},null,{}]',
    '[{"x":["u",3,[1]]},null,{}]',
    '[{"x":["d",1,[[1,2]]]},null,{}]',
    '[{"x":["other",1,[]]},null,{}]',
    '[{"x":[["t"],1,[]]},null,{}]',
    f'[{{"x":{10**20}}},null,{{}}]',
    '[{},null,{"self.n":"2"}]',
    _DEEP,
    f'[{{"x":{_DEEP}}},null,{{}}]',
    '[{"x":' + '["l",1,[' * 90_000,
    b"\xff\xfe",
    5,
]
DAMAGED: Final = [
    *((_written(text), "is damaged; record into another file", "") for text in MALFORMED),
    (_run("UPDATE functions SET line = 'x'"), "is damaged; record into another file", ""),
    (_run("UPDATE functions SET file = x'ff'"), "is damaged; record into another file", ""),
    (_run("UPDATE functions SET calls = 9e999"), "is damaged; record into another file", ""),
    (_run("UPDATE calls SET count = -1"), "is damaged; record into another file", ""),
    (_run("ALTER TABLE functions DROP COLUMN calls"), "is damaged; record into another file", ""),
    (_run("DROP TABLE calls"), "can't be read as a record: no such table: calls", ""),
    (_garble, "database disk image is malformed", "is damaged, and left as it is; record into "),
    (_run("DELETE FROM functions"), "is damaged; record into another file", ""),
    (_run("INSERT INTO calls VALUES (1, '[1', 1)"), "is damaged; record into another file", ""),
    (
        _run("PRAGMA user_version = 9"),
        "was made by another version of shapecheck; record again",
        "was made by another version of shapecheck; record again",
    ),
]


@pytest.mark.parametrize(("damage", "read", "written"), DAMAGED)
def test_damaged_records(
    damage: Callable[[Path], None],
    read: str,
    written: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What is wrong is said before the program runs, in words; the record stays as it is."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "r.sqlite"
    create(path)
    append(path, [(Key("m.py", "f", 1), 1, {'[{"x":["t","float32","cpu",[2]]},null,{}]': 1})])
    damage(path)
    amount(path)  # what is shown while a program runs, whatever there is
    content = path.read_bytes()
    (tmp_path / "m.py").write_text("def f(x): ...\n")
    assert main(["annotate", "--record", "r.sqlite", "m.py"]) == 2
    assert read in capsys.readouterr().err
    if written:
        assert main(["record", "-o", "r.sqlite", "--", sys.executable, "-c", "open('ran')"]) == 2
        assert written in capsys.readouterr().err
    assert path.read_bytes() == content


def test_a_record_that_may_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said before the program runs; it can be read all the same, and leaves nothing there."""
    path = tmp_path / "r.sqlite"
    create(path)
    append(path, [(Key("m.py", "f", 1), 5, {})])
    path.chmod(0o400)
    tmp_path.chmod(0o500)
    if os.access(path, os.W_OK):
        # To root, permissions mean nothing.
        monkeypatch.setattr(os, "access", lambda *_: False)
    else:
        assert main(["record", "-o", str(path), "--", "true"]) == 2
        assert "can't be written as a record: " in capsys.readouterr().err
    assert [seen.calls for seen in load(path).values()] == [5]
    assert list(tmp_path.iterdir()) == [path]
    tmp_path.chmod(0o700)


def test_an_empty_file(tmp_path: Path) -> None:
    """It is no record when it is read, and becomes one when it is written."""
    path = tmp_path / "r.sqlite"
    path.touch()
    with pytest.raises(RecordProblem, match=r"r\.sqlite: is empty, not a record of shapecheck$"):
        load(path)
    assert path.read_bytes() == b""
    create(path)
    assert load(path) == {}


def test_what_is_recorded_can_be_read(tmp_path: Path) -> None:
    """Whatever a function is given; what a value won't say of itself ends no program."""
    (tmp_path / "run.py").write_text(
        "import torch\n\n\nclass Odd(list):\n    def __len__(self):\n        raise RuntimeError\n"
        "    def __getitem__(self, at):\n        raise RuntimeError\n\n\n"
        "class Net:\n    def __init__(self):\n        self.large, self.small = 10**5000, -3\n"
        "    def f(self, x, n, o, d):\n        return [x] * 9\n\n\n"
        "x = torch.nested.nested_tensor([torch.zeros(2)] * 2)\n"
        "Net().f(x, 10**5000, Odd(), {'\\ud800': torch.zeros(2, 3), 1: 2})\nprint('done')\n"
    )
    command = ["record", "-o", "r.sqlite", "--", sys.executable, "run.py"]
    done = subprocess.run(
        [sys.executable, "-m", "shapecheck", *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("done\n", 0)
    assert "Traceback" not in done.stderr
    (call,) = (
        seen.kinds[0] for key, seen in load(tmp_path / "r.sqlite").items() if key.name == "Net.f"
    )
    tensor = ["t", "float32", "cpu", [2, 3]]
    assert call.args == {
        "self": "__main__.Net",
        "x": "torch.Tensor",
        "n": "builtins.int",
        "o": "__main__.Odd",
        "d": ["d", 2, [["\ud800", tensor]]],
    }
    assert call.result == ["l", 9, ["torch.Tensor"] * 8]
    assert call.ints == {"self.small": -3}


def test_a_python_without_shapecheck_says_so(tmp_path: Path) -> None:
    """In one line, and runs what it was started for."""
    site = ROOT / "shapecheck" / "record" / "site"
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import sitecustomize; print('ran')"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "ran\n"
    assert done.stderr == (
        f"shapecheck record: nothing is recorded of {sys.executable}, which has no shapecheck; "
        "install torch-shapecheck there\n"
    )
