"""From runs of a program to a record, and from a record to names."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from patience import SECONDS
from repository import ROOT

from shapecheck.cli import main
from shapecheck.codemod.annotate import Settings, annotate_files
from shapecheck.record import store
from shapecheck.record.store import (
    Call,
    Key,
    Recorded,
    RecordProblem,
    amount,
    append,
    create,
    load,
)


def t(*sizes: int, dtype: str = "float32") -> list[Any]:
    """Return what a record has of a tensor."""
    return ["t", dtype, "cpu", list(sizes)]


def named(tmp_path: Path, text: str, *calls: tuple[Mapping[str, Any], Any], **ints: int) -> str:
    """Return the signature of the function `f` of a module, annotated from these calls."""
    path = tmp_path / "model.py"
    path.write_text(f"import torch\n{text}")
    line = next(n for n, row in enumerate(text.split("\n"), 2) if "def f(" in row)
    name = "A.f" if "class A" in text else "f"
    kinds = [Call(args, result, ints, 1) for args, result in calls]
    record = {Key("model.py", name, line): Recorded(len(calls), kinds)}
    outcome = annotate_files([path], Settings(("record",), record=record))
    assert not outcome.problems
    assert not outcome.refused
    changed = outcome.changed[0].text if outcome.changed else path.read_text()
    signature = next(row for row in changed.split("\n") if "def f(" in row)
    return signature.strip().replace("torch.Tensor", "Tensor")


def test_dimensions_that_always_agree_share_a_name(tmp_path: Path) -> None:
    found = named(
        tmp_path,
        "def f(q, k): return q @ k.mT\n",
        ({"q": t(2, 3, 5), "k": t(2, 4, 5)}, t(2, 3, 4)),
        ({"q": t(3, 3, 6), "k": t(3, 8, 6)}, t(3, 3, 8)),
        ({"q": t(1, 7, 6), "k": t(1, 9, 6)}, t(1, 7, 9)),
    )
    assert found == (
        'def f(q: Float[Tensor, "b t d"], k: Float[Tensor, "b t2 d"])'
        ' -> Float[Tensor, "b t t2"]: return q @ k.mT'
    )


def test_names_of_the_code_ints_and_arithmetic(tmp_path: Path) -> None:
    found = named(
        tmp_path,
        "def f(x, n):\n    rows, cols = x.shape\n    return g(x, n)\n",
        ({"x": t(4, 3), "n": 2}, ["u", 3, [t(6, 3), t(2), t(12)]]),
        ({"x": t(5, 8), "n": 1}, ["u", 3, [t(6, 8), t(7), t(40)]]),
        ({"x": t(7, 2), "n": 9}, ["u", 3, [t(16, 2), t(1), t(14)]]),
    )
    assert found == (
        'def f(x: Float[Tensor, "rows cols"], n) -> tuple[Float[Tensor, "rows+{n} cols"],'
        ' Float[Tensor, "cols-1"], Float[Tensor, "rows*cols"]]:'
    )


def test_what_never_varies_is_a_number(tmp_path: Path) -> None:
    calls = [({"x": t(n, 3, 2)}, t(n)) for n in (5, 6, 7)]
    assert 'x: Float[Tensor, "b 3 2"]) -> Float[Tensor, "b"]' in (
        named(tmp_path, "def f(x): return x.sum((1, 2))\n", *calls)
    )
    assert 'x: Float[Tensor, "b t d"])' in (
        named(tmp_path, "def f(x): return x.sum((1, 2))\n", *calls[:2])
    )


def test_a_subscript_is_no_name_for_what_never_varies(tmp_path: Path) -> None:
    sizes = [2, 5, 2, 5]
    found = named(
        tmp_path,
        'def f(a, x): return torch.einsum("b i j, b j -> b i", a, x)\n',
        *(({"a": t(n, 3, 3), "x": t(n, 3)}, t(n, 3)) for n in sizes),
    )
    assert '(a: Float[Tensor, "b 3 3"], x: Float[Tensor, "b 3"]) -> Float[Tensor, "b 3"]' in found


def test_a_large_size_is_a_number_only_where_all_else_varies(tmp_path: Path) -> None:
    lengths = [({"x": t(n, 50)}, None) for n in range(2, 10)]
    assert 'x: Float[Tensor, "b d"]' in named(tmp_path, "def f(x): return g(x)\n", *lengths)
    both = [({"x": t(n, 2 * n, 50)}, None) for n in range(2, 10)]
    assert 'x: Float[Tensor, "b 2*b 50"]' in named(tmp_path, "def f(x): return g(x)\n", *both)


def test_batches_of_one_size_are_not_a_number(tmp_path: Path) -> None:
    calls = [({"x": t(4, n)}, None) for n in range(5, 20)]
    assert 'x: Float[Tensor, "b d"]' in named(tmp_path, "def f(x): return g(x)\n", *calls)


def test_items_of_a_list_that_differ_in_rank_have_no_group(tmp_path: Path) -> None:
    some = ["l", 2, [t(2, 3), t(5)]], ["l", 2, [t(7), t(4, 4, 2)]]
    calls = [({"x": t(n, 9), "some": one}, None) for n, one in enumerate(some, 2)]
    found = named(tmp_path, "def f(x, some): return g(x, some)\n", *calls)
    assert 'some: list[Float[Tensor, "..."]]' in found


def test_what_is_joined_names_no_axis(tmp_path: Path) -> None:
    text = (
        "import torch\ndef f(p):\n    h, w = p.shape[-2:]\n"
        "    y = (p.sum(dim=3) * torch.arange(h)).sum(dim=-1)\n"
        "    x = (p.sum(dim=2) * torch.arange(w)).sum(dim=-1)\n"
        "    return torch.stack([y, x], dim=-1)\n"
    )
    calls = [({"p": t(n, n + 4, n * n, 3)}, t(n, n + 4, 2)) for n in range(5, 12)]
    found = 'def f(p: Float[Tensor, "b c h 3"]) -> Float[Tensor, "b c 2"]:'
    assert found in named(tmp_path, text, *calls)


def test_square_images_are_not_square_by_name(tmp_path: Path) -> None:
    calls = [({"x": t(2, 3, n, n)}, t(2, 3, n, n)) for n in (8, 16, 32)]
    found = named(tmp_path, "def f(x): return g(x)\n", *calls)
    assert found == ('def f(x: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b 3 h w"]: return g(x)')


def test_leading_axes_that_vary_in_number_are_a_group(tmp_path: Path) -> None:
    found = named(
        tmp_path,
        "def f(x, y): return g(x, y)\n",
        ({"x": t(2, 3), "y": t(2, 4)}, t(2)),
        ({"x": t(3, 2, 3), "y": t(3, 2, 4)}, t(3, 2)),
        ({"x": t(3), "y": t(4)}, t()),
    )
    assert found == (
        'def f(x: Float[Tensor, "*batch 3"], y: Float[Tensor, "*batch 4"])'
        ' -> Float[Tensor, "*batch"]: return g(x, y)'
    )


def test_what_is_behind_a_group_is_what_isnt_the_same_everywhere(tmp_path: Path) -> None:
    found = named(
        tmp_path,
        "def f(x): return g(x)\n",
        ({"x": t(2, 5)}, t(2, 6)),
        ({"x": t(3, 2, 4)}, t(3, 2, 5)),
        ({"x": t(7)}, t(8)),
    )
    assert found == (
        'def f(x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d+1"]: return g(x)'
    )


def test_groups_that_broadcast(tmp_path: Path) -> None:
    found = named(
        tmp_path,
        "def f(m, v): return g(m, v)\n",
        ({"m": t(2, 4, 4), "v": t(1, 4)}, t(2, 4)),
        ({"m": t(3, 3), "v": t(5, 2, 3)}, t(5, 2, 3)),
        ({"m": t(3, 1, 5, 5), "v": t(3, 2, 5)}, t(3, 2, 5)),
        ({"m": t(2, 2), "v": t(4, 2)}, t(4, 2)),
    )
    assert found == (
        'def f(m: Float[Tensor, "*#batch d d"], v: Float[Tensor, "*#batch d"])'
        ' -> Float[Tensor, "*batch d"]: return g(m, v)'
    )


def test_groups_of_arguments_that_broadcast_to_no_ones_axes(tmp_path: Path) -> None:
    found = named(
        tmp_path,
        "def f(x, y): return g(x, y)\n",
        ({"x": t(2, 1, 3), "y": t(5, 3)}, None),
        ({"x": t(4, 3), "y": t(2, 1, 3)}, None),
        ({"x": t(3), "y": t(7, 2, 3)}, None),
    )
    assert found == (
        'def f(x: Float[Tensor, "*#batch 3"], y: Float[Tensor, "*#batch 3"]): return g(x, y)'
    )


def test_a_group_that_is_always_1_is_told_to_broadcast_by_the_code(tmp_path: Path) -> None:
    calls = (
        ({"x": t(2, 6), "near": t(), "far": t()}, t(2, 6)),
        ({"x": t(5), "near": t(1), "far": t(1)}, t(5)),
        ({"x": t(4, 3, 2), "near": t(4, 1, 1), "far": t()}, t(4, 3, 2)),
        ({"x": t(7), "near": t(7), "far": t(1)}, t(7)),
    )
    head = "def f(x: torch.Tensor, near: torch.Tensor, far: torch.Tensor): return "
    assert 'far: Float[Tensor, "*#batch"]) -> Float[Tensor, "*batch"]:' in (
        named(tmp_path, f"{head}x * (near - far)\n", *calls)
    )
    assert 'far: Float[Tensor, "*batch2"]) -> Float[Tensor, "*batch"]:' in (
        named(tmp_path, f"{head}g(x, near, far)\n", *calls)
    )


def test_axes_in_front_of_a_group_that_the_code_has_names_for(tmp_path: Path) -> None:
    found = named(
        tmp_path,
        "def f(x: torch.Tensor):\n    b, v, *_ = x.shape\n    return g(x)\n",
        ({"x": t(2, 5, 7)}, t(2, 4, 7)),
        ({"x": t(3, 6)}, t(3, 5)),
        ({"x": t(4, 2, 5, 8)}, t(4, 1, 5, 8)),
    )
    assert found == ('def f(x: Float[Tensor, "b v *rest"]) -> Float[Tensor, "b v-1 *rest"]:')


def test_a_small_square_that_never_varies_is_a_matrix_of_numbers(tmp_path: Path) -> None:
    calls = [({"x": t(n, 5, 7), "k": t(3, 3)}, t(n, 5)) for n in (2, 4, 5, 6, 8, 9)]
    text = "def f(x, k): return g(x, k)\n"
    assert 'k: Float[Tensor, "3 3"])' in named(tmp_path, text, *calls)
    assert 'k: Float[Tensor, "b2 3"])' in named(tmp_path, text, *calls[:5])
    longer = [({**args, "k": t(3, 2)}, result) for args, result in calls]
    assert 'k: Float[Tensor, "b2 2"])' in named(tmp_path, text, *longer)
    larger = [({**args, "k": t(9, 9)}, result) for args, result in calls]
    assert 'k: Float[Tensor, "b2 d2"])' in named(tmp_path, text, *larger)


def test_axes_in_front_of_a_group(tmp_path: Path) -> None:
    found = named(
        tmp_path,
        "def f(p, m): return g(p, m)\n",
        ({"p": t(2, 5, 7, 3), "m": t(2, 5, 4)}, t(2, 4, 7, 2)),
        ({"p": t(3, 6, 3), "m": t(3, 6, 4)}, t(3, 5, 2)),
        ({"p": t(4, 2, 5, 8, 3), "m": t(4, 2, 4)}, t(4, 1, 5, 8, 2)),
    )
    assert found == (
        'def f(p: Float[Tensor, "b t *rest 3"], m: Float[Tensor, "b t 4"])'
        ' -> Float[Tensor, "b t-1 *rest 2"]: return g(p, m)'
    )


def test_a_name_of_the_code_or_a_number(tmp_path: Path) -> None:
    """Two or three coordinates are a number; 32 features are what the tests happened to have."""
    text = "def f(x):\n    b, h, w, c = x.shape\n    return g(x)\n"
    sizes = ((2, 5, 6), (4, 8, 3), (5, 6, 9))
    few = [({"x": t(b, h, w, 3)}, None) for b, h, w in sizes]
    assert 'x: Float[Tensor, "b h w 3"]' in named(tmp_path, text, *few)
    many = [({"x": t(b, h, w, 32)}, None) for b, h, w in sizes]
    assert 'x: Float[Tensor, "b h w c"]' in named(tmp_path, text, *many)


@pytest.mark.parametrize(("calls", "first"), [(7, "3"), (3, "c")])
def test_a_first_axis_is_a_number_only_after_many_calls(
    tmp_path: Path, calls: int, first: str
) -> None:
    text = "def f(x):\n    c, h, w = x.shape\n    return g(x)\n"
    some = [({"x": t(3, n + 5, 2 * n + 4)}, None) for n in range(calls)]
    assert f'x: Float[Tensor, "{first} h w"]' in named(tmp_path, text, *some)


def test_a_second_dimension_of_a_name_is_computed_from_the_first(tmp_path: Path) -> None:
    found = named(
        tmp_path,
        "def f(x, y):\n    b, t = x.shape\n    _, t, c = y.shape\n    return g(x)\n",
        ({"x": t(2, 5), "y": t(2, 4, 7)}, t(8, 7)),
        ({"x": t(3, 6), "y": t(3, 5, 8)}, t(15, 8)),
        ({"x": t(3, 9), "y": t(3, 8, 6)}, t(24, 6)),
    )
    assert found == (
        'def f(x: Float[Tensor, "b t"], y: Float[Tensor, "b t-1 c"]) -> Float[Tensor, "b*(t-1) c"]:'
    )


def test_attributes_none_lists_and_dicts(tmp_path: Path) -> None:
    found = named(
        tmp_path,
        "class A:\n    def f(self, xs, mask=None): return g(xs)\n",
        (
            {"self": "A", "xs": ["l", 2, [t(2, 16), t(2, 16)]], "mask": t(2, dtype="bool")},
            ["d", 1, [["out", t(2, 16)]]],
        ),
        ({"self": "A", "xs": ["l", 1, [t(5, 16)]], "mask": None}, ["d", 1, [["out", t(5, 16)]]]),
        **{"self.width": 16},
    )
    assert found == (
        'def f(self, xs: list[Float[Tensor, "b d"]], mask: Bool[Tensor, "b"] | None = None)'
        ' -> dict[str, Float[Tensor, "b d"]]: return g(xs)'
    )


def test_several_types_for_one_place_are_left(tmp_path: Path) -> None:
    text = "def f(x): return x\n"
    assert named(tmp_path, text, ({"x": t(2)}, 1), ({"x": 3}, 1)) == text.strip()


def test_what_a_recorded_call_contradicts_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("import torch\ndef f(\n    x,  # (n, n)\n):\n    return x.relu()\n")
    calls = [Call({"x": t(2, 3)}, t(2, 3), {}, 1)]
    record = {Key("model.py", "f", 2): Recorded(1, calls)}
    outcome = annotate_files([path], Settings(("comments", "record"), record=record))
    assert [one.reason for one in outcome.refused] == [
        'a recorded call has "x" of shape (2 3), which "n n" doesn\'t fit'
    ]


# Running ------------------------------------------------------------------------------------------

PACKAGE = """\
import torch
def double(x, scale=2):
    return x * scale
async def wait(x):
    return x
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.width = 4
    @torch.no_grad()
    def forward(self, x):
        return double(x)
"""


def record(folder: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `shapecheck record` in a folder."""
    root = str(ROOT)
    return subprocess.run(
        [sys.executable, "-m", "shapecheck", "record", "--", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": root, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


def test_a_script_and_what_it_imports_are_recorded(tmp_path: Path) -> None:
    (tmp_path / "pkg.py").write_text(PACKAGE)
    (tmp_path / "run.py").write_text(
        "import asyncio, sys, torch\nfrom pkg import Model, double, wait\n"
        "def main(x): return Model()(x)\n"
        "for n in (2, 3): main(torch.zeros(n, 4))\n"
        "asyncio.run(wait(torch.zeros(5)))\n"
        "try: double('a', 'b')\nexcept TypeError: pass\n"
        "assert __name__ == '__main__' and sys.argv == ['run.py', '--x']\nsys.exit(3)\n"
    )
    done = record(tmp_path, sys.executable, "run.py", "--x")
    assert done.returncode == 3, done.stderr
    assert done.stderr.splitlines()[-1].startswith(
        "shapecheck record: 10 calls of 5 functions in .shapecheck-record.sqlite ("
    )
    found = {key.name: seen for key, seen in load(tmp_path / ".shapecheck-record.sqlite").items()}
    assert found["double"].kinds == [
        Call({"x": t(2, 4)}, t(2, 4), {}, 1),
        Call({"x": t(3, 4)}, t(3, 4), {}, 1),
    ]
    assert found["Model.forward"].kinds[0].ints == {"self.width": 4}
    assert found["wait"].kinds == [Call({"x": t(5)}, t(5), {}, 1)]


@pytest.mark.parametrize(
    ("how", "end"), [("fork", "        pool.close(); pool.join()\n"), ("fork", ""), ("spawn", "")]
)
def test_processes_of_a_program_write_to_one_record(tmp_path: Path, how: str, end: str) -> None:
    """Those too that their pool ends by a signal."""
    (tmp_path / "pkg.py").write_text(PACKAGE)
    (tmp_path / "run.py").write_text(
        "import multiprocessing, torch\nfrom pkg import double\n"
        "def work(n):\n    double(torch.zeros(n)); return n\n"
        "if __name__ == '__main__':\n"
        f"    with multiprocessing.get_context({how!r}).Pool(3) as pool:\n"
        f"        pool.map(work, range(1, 9))\n{end}"
    )
    assert record(tmp_path, sys.executable, "run.py").returncode == 0
    found = {key.name: seen for key, seen in load(tmp_path / ".shapecheck-record.sqlite").items()}
    assert found["double"].calls == 8
    assert {call.args["x"][3][0] for call in found["double"].kinds} == set(range(1, 9))


@pytest.mark.usefixtures("interruptible")
def test_what_was_recorded_until_ctrl_c_is_kept(tmp_path: Path) -> None:
    (tmp_path / "pkg.py").write_text(PACKAGE)
    (tmp_path / "run.py").write_text(
        "import time, torch\nfrom pkg import double\ndouble(torch.zeros(7))\n"
        "open('ready', 'w').close()\ntime.sleep(100_000)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "shapecheck", "record", "--", sys.executable, "run.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    while not (tmp_path / "ready").exists():
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=SECONDS)
    assert b"1 call of 1 function" in said
    assert len(load(tmp_path / ".shapecheck-record.sqlite")) == 1


def test_torch_script_sees_what_is_recorded(tmp_path: Path) -> None:
    """Names in its source are those of its own module."""
    (tmp_path / "net.py").write_text(
        "import torch\n"
        "import torch.nn.functional as F\n\n\n"
        "def soft(x: torch.Tensor) -> torch.Tensor:\n    return F.softmax(x, dim=-1)\n\n\n"
        "class Net(torch.nn.Module):\n"
        "    def forward(self, x: torch.Tensor) -> torch.Tensor:\n"
        "        return torch.relu(soft(x))\n"
    )
    (tmp_path / "run.py").write_text(
        "import torch\nfrom net import Net\n"
        "net, x = Net(), torch.zeros(2, 3)\n"
        "print(torch.equal(torch.jit.script(net)(x), net(x)))\n"
        "print(torch.equal(torch.compile(net, fullgraph=True, backend='eager')(x), net(x)))\n"
    )
    done = record(tmp_path, sys.executable, "run.py")
    assert done.stdout == "True\nTrue\n", done.stderr


def test_pytest_records(tmp_path: Path) -> None:
    (tmp_path / "pkg.py").write_text(PACKAGE)
    (tmp_path / "test_it.py").write_text(
        "import torch\nfrom pkg import double\n"
        "def test_it():\n    assert double(torch.ones(3)).sum() == 6\n"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--shapecheck-record=r.sqlite",
            "-p",
            "no:cacheprovider",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout
    assert "shapecheck: 1 call of 1 function in r.sqlite" in done.stdout
    assert [key.name for key in load(tmp_path / "r.sqlite")] == ["double"]


def test_a_program_without_a_dash(tmp_path: Path) -> None:
    """What follows the program is the program's, and pytest doesn't warn of an early import."""
    (tmp_path / "pkg.py").write_text(PACKAGE)
    (tmp_path / "test_it.py").write_text(
        "import torch\nfrom pkg import double\n"
        "def test_it():\n    assert double(torch.ones(3)).sum() == 6\n"
    )
    command = ["record", "-o", "r.sqlite", sys.executable, "-m", "pytest", "-q", "-W", "error"]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "shapecheck",
            *command,
            "-p",
            "no:cacheprovider",
            "-p",
            "no:asyncio",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout
    assert "warning" not in done.stdout
    assert done.stderr.startswith("shapecheck record: 1 call of 1 function in r.sqlite (")


def test_a_package_that_there_is_not(tmp_path: Path) -> None:
    (tmp_path / "pkg.py").write_text(PACKAGE)
    (tmp_path / "test_it.py").write_text("import pkg\ndef test_it(): pass\n")
    options = ["--shapecheck-record=r.sqlite", "--shapecheck=pgk", "-p", "no:cacheprovider", "-q"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert (
        "shapecheck: r.sqlite holds no calls: no function that is to be recorded was called\n"
        'shapecheck: pgk isn\'t recorded: there is no such package; did you mean "pkg"?\n'
    ) in done.stdout


def test_a_full_record_counts_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_LARGEST", 40_000)
    path = tmp_path / "r.sqlite"
    create(path)
    for start in (0, 100, 200):
        texts = {
            f'[{{"x":["t","float32","cpu",[{n}]]}},null,{{}}]': 1 for n in range(start, start + 100)
        }
        append(path, [(Key("a.py", "f", 1), 100, texts), (Key("b.py", "f", 1), 100, texts)])
    first, second = load(path).values()
    assert (first.calls, second.calls) == (300, 300)
    assert len(first.kinds) + len(second.kinds) < 600
    assert amount(path) == (600, 2)
    assert path.stat().st_size < 60_000


def test_many_calls_take_little_room(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    create(path)
    for _ in range(3):
        texts = {f'[{{"x":["t","float32","cpu",[{n}]]}},null,{{}}]': 1 for n in range(200)}
        append(path, [(Key("a.py", "f", 1), 1000, texts)])
    (seen,) = load(path).values()
    assert (seen.calls, len(seen.kinds), seen.kinds[0].count) == (3000, 200, 3)


@pytest.mark.parametrize(
    "content", [b"not a database at all, but long enough" * 9, b"SQLite format 3\0zz"]
)
def test_a_corrupted_record(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    content: bytes,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.sqlite").write_bytes(content)
    Path("model.py").write_text("import torch\n")
    with pytest.raises(RecordProblem, match="can't be read as a record"):
        load(Path("r.sqlite"))
    assert main(["annotate", "--record", "r.sqlite", "--write"]) == 2
    assert main(["record", "-o", "r.sqlite", "--", "true"]) == 2
    said = capsys.readouterr().err
    assert "annotate: error: r.sqlite: can't be read as a record: " in said
    assert Path("r.sqlite").read_bytes() == content


def test_a_record_that_cant_be_a_file(tmp_path: Path) -> None:
    with pytest.raises(RecordProblem, match=r"is a folder; a record is a file$"):
        create(tmp_path)
    with pytest.raises(RecordProblem, match=r"there is no folder .*nowhere$"):
        create(tmp_path / "nowhere" / "r.sqlite")


def test_another_programs_database(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE mine (x)")
    with pytest.raises(RecordProblem, match="is another program's database"):
        create(path)


def test_no_record_and_nothing_to_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["annotate", "--record", "nowhere.sqlite"]) == 2
    assert main(["record"]) == 2
    assert capsys.readouterr().err == (
        "shapecheck annotate: error: nowhere.sqlite: there is no such record;"
        " `shapecheck record` makes one\n"
        "shapecheck record: error: what to run is missing: shapecheck record -- pytest\n"
    )
