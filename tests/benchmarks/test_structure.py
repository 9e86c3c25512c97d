"""What `benchmarks/structure.py` counts, on small trees: its numbers are told in reviews."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from repository import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
from counting.imports import circles, folder_graph, import_graph  # type: ignore[import-not-found]
from structure import ROOT, Tree, figures  # type: ignore[import-not-found]

WITH_CIRCLES = ("shapecheck/analysis/program/", "shapecheck/analysis/interpreter/")
"""Rooms whose files know each other, for reasons that their `__init__` gives."""

STUB = """
@method
@inplace
def softmax(input: Tensor): ...

@also("torch.concat")
def cat(tensors: Tensors): ...

def stack(tensors: Tensors): ...

def int(input: Tensor): ...
"""


def count(folder: Path, name: str, files: dict[str, str]) -> tuple[int, list[str]]:
    """Return a figure of a tree of these files, and the places that it counts."""
    for path, text in {"stubs/torch/ops.pyi": STUB, "shapecheck/__init__.py": "", **files}.items():
        file = folder / (
            path if path.startswith(("stubs/", "shapecheck/")) else f"shapecheck/{path}"
        )
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    figure = figures(Tree(folder))[name]
    return figure.number, [str(place).replace("shapecheck/", "") for place in figure.places]


def lines(*text: str) -> str:
    return "".join(f"{line}\n" for line in text)


def test_the_largest_folder_is_that_of_most_files(tmp_path: Path) -> None:
    files = {"a/one.py": "", "a/two.py": "", "a/in/three.py": "", "b/four.py": "", "a/x.txt": ""}
    assert count(tmp_path, "folder", files) == (
        2,
        ["a: 2 files", "shapecheck: 1 files", "a/in: 1 files", "b: 1 files"],
    )


@pytest.mark.parametrize(
    "back",
    [
        "from shapecheck.a.one import f",
        "from .one import f",
        "from . import one",
        "import shapecheck.a.one",
        "def f():\n    from shapecheck.a import one",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .one import f",
        "import importlib\nimportlib.import_module('shapecheck.a.one')",
    ],
)
def test_an_import_counts_wherever_it_stands(tmp_path: Path, back: str) -> None:
    files = {"a/one.py": "import shapecheck.a.two", "a/two.py": back, "a/apart.py": back}
    assert count(tmp_path, "circles-inside", files) == (1, ["a/one.py: a/two.py"])
    assert count(tmp_path, "circles-across", {}) == (0, [])


def test_a_circle_may_go_across_folders(tmp_path: Path) -> None:
    files = {
        "a/one.py": "from shapecheck.b import two",
        "b/two.py": "from ..c.inside.three import x",
        "c/inside/three.py": "from shapecheck.a.one import two",
    }
    assert count(tmp_path, "circles-across", files) == (
        1,
        ["a/one.py: b/two.py c/inside/three.py"],
    )
    assert count(tmp_path, "circles-inside", {}) == (0, [])
    assert count(tmp_path, "circles-folders", {}) == (1, ["a: b c/inside"])


def test_folders_may_make_a_circle_that_their_files_do_not(tmp_path: Path) -> None:
    files = {
        "a/one.py": "import shapecheck.b.two",
        "a/base.py": "",
        "b/two.py": "from ..a import base",
    }
    assert count(tmp_path, "circles-across", files) == (0, [])
    assert count(tmp_path, "circles-folders", {}) == (1, ["a: b"])


def test_the_front_of_a_folder_and_the_version_make_no_circle(tmp_path: Path) -> None:
    files = {
        "__init__.py": "from shapecheck.a import one\n__version__ = '1'",
        "a/__init__.py": "from shapecheck.a.inside import two",
        "a/one.py": "from shapecheck import __version__",
        "a/inside/two.py": "from shapecheck.a.one import f",
    }
    assert count(tmp_path, "circles-folders", files) == (0, [])
    assert count(tmp_path, "circles-inside", {}) == (0, [])
    assert (
        count(tmp_path, "circles-across", {"a/inside/two.py": "from shapecheck import a"})[0] == 1
    )


def test_any_counts_under_each_of_its_names(tmp_path: Path) -> None:
    files = {
        "ops/call.py": lines(
            "from typing import Any, TypeAlias",
            "Value: TypeAlias = Any",
            "Item = Value",
            "Name = str",
        ),
        "ops/__init__.py": "from .call import Value, Item",
        "analysis/use.py": lines(
            "import typing",
            "from shapecheck.ops import Item, Value as V, call",
            "def f(a: V, *b: call.Item) -> dict[str, typing.Any]: ...",
            "def g(a: object, b: Value) -> Name: ...",
        ),
        "runtime/far.py": "from typing import Any\nx: Any = 1",
    }
    assert count(tmp_path, "any", files) == (
        5,
        [
            "analysis/use.py:3: def f(a: V, *b: call.Item) -> dict[str, typing.Any]: ...",
            "analysis/use.py:3: def f(a: V, *b: call.Item) -> dict[str, typing.Any]: ...",
            "analysis/use.py:3: def f(a: V, *b: call.Item) -> dict[str, typing.Any]: ...",
            "ops/call.py:2: Value: TypeAlias = Any",
            "ops/call.py:3: Item = Value",
        ],
    )


def test_isinstance_counts_in_the_analysis_alone(tmp_path: Path) -> None:
    text = "def f(x): return isinstance(x, int) or isinstance(x, (str, bool)) or issubclass(x, int)"
    files = {"analysis/inside/a.py": text, "runtime/b.py": text}
    assert count(tmp_path, "isinstance", files) == (
        2,
        [
            "analysis/inside/a.py:1: isinstance(x, int)",
            "analysis/inside/a.py:1: isinstance(x, (str, bool))",
        ],
    )


LADDER = """
def ladder(x):
    if isinstance(x, A) or isinstance(x, (A, B)):
        return 1
    match x:
        case C(y=1) | D() as found:
            return found
        case None:
            return 2
"""


def test_a_ladder_asks_of_one_thing_for_five_kinds(tmp_path: Path) -> None:
    files = {"analysis/a.py": LADDER, "runtime/b.py": LADDER}
    expected = [":2: ladder(x): 5 kinds: A, B, C, D, None"]
    assert count(tmp_path, "ladders-analysis", files) == (1, [f"analysis/a.py{expected[0]}"])
    assert count(tmp_path, "ladders-runtime", {}) == (1, [f"runtime/b.py{expected[0]}"])
    assert count(tmp_path, "ladders-codemod", {}) == (0, [])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("case None", "case _"),
        ("(A, B)", "(A, ast.Name)"),
        ("isinstance(x, A)", "isinstance(y, B)"),
        ("(A, B)", "A"),
        ("    match x:", "    def inner():\n     match x:"),
    ],
)
def test_what_is_no_ladder(tmp_path: Path, old: str, new: str) -> None:
    text = LADDER.replace(old, new)
    if old == "isinstance(x, A)":
        text = text.replace("(A, B)", "A")
    assert count(tmp_path, "ladders-analysis", {"analysis/a.py": text}) == (0, [])


def test_imports_inside_functions_are_told_with_their_reasons(tmp_path: Path) -> None:
    text = lines(
        "import os",
        "class A:",
        "    def f(self):",
        "        import re  # start-up time",
        "        def g():",
        "            from x import y",
    )
    assert count(tmp_path, "imports-analysis", {"analysis/a.py": text, "ops/b.py": text}) == (
        2,
        ["analysis/a.py:4: import re # start-up time", "analysis/a.py:6: from x import y"],
    )
    assert count(tmp_path, "imports-others", {})[0] == 2


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('x = ("cat", "stack", "softmax")', 1),
        ('x = frozenset({"cat", "stack", "softmax_", "a", "b"})', 1),
        ('x = set("concat stack softmax".split())', 1),
        ('x = ["torch.cat", "nn.stack", "torch.Tensor.softmax"]', 1),
        ('match x:\n    case "cat" | "stack" | "concat": ...', 1),
        ('x = ("cat", "stack", "other")', 0),
        ('x = ("cat", "stack", "concat", "a", "b", "c", "d")', 0),
        ('x = ("cat", "stack", "int")', 0),
        ('x = ("os.cat", "os.stack", "os.concat")', 0),
        ('__all__ = ["cat", "stack", "softmax"]', 0),
        ('x = {"cat": 1, "stack": 2, "softmax": 3}', 0),
    ],
)
def test_lists_of_op_names(tmp_path: Path, text: str, found: int) -> None:
    assert count(tmp_path, "op-lists", {"cli/a.py": text})[0] == found


def test_tables_with_op_names_stand_apart(tmp_path: Path) -> None:
    files = {"cli/a.py": 'x = {"cat": 1, "stack": 2, "softmax": 3}'}
    assert count(tmp_path, "op-tables", files) == (1, ["cli/a.py:1: 3 names: cat stack softmax"])
    files["cli/a.py"] = 'x = {"cat": "int64", "stack": "float16", "softmax": "complex64"}'
    assert count(tmp_path, "op-tables", files) == (0, [])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('re.search("needs", one.message)', 1),
        ("_NEEDS.fullmatch(message)", 1),
        ('problem.message.text.startswith("the")', 1),
        ('"needs" in one.message', 1),
        ('re.sub("a", "b", reason)', 1),
        ("try: f()\nexcept ShapeError as e: print(str(e).partition(':'))", 1),
        ("def f(error: ShapeError | None): return '[shape]' in str(error)", 1),
        ("try: f()\nexcept KeyError as e: print(str(e).partition(':'))", 0),
        ('re.search("message", text)', 0),
        ("print(one.message, str(error))", 0),
        (
            "class P(ArgumentParser):\n    def error(self, message): message.partition(':')",
            0,
        ),
        ("class Line:\n    def f(self): return self.message.startswith('a')", 1),
        ("import subprocess\nclass Line:\n    def f(self): return 'a' in self.message", 0),
        ("import subprocess\ndef f(error): return 'a' in error.message", 1),
    ],
)
def test_reads_of_our_own_messages(tmp_path: Path, text: str, found: int) -> None:
    files = {"errors.py": "class ShapeError(Exception): ...", "cli/a.py": text}
    assert count(tmp_path, "messages", files)[0] == found


def test_ruff_says_what_is_complex(tmp_path: Path) -> None:
    text = "def f(x):\n" + "    if x: ...\n" * 12
    files = {"cli/a.py": text, "cli/b.py": text.replace("...\n", "...\n", 11)[:-14]}
    assert count(tmp_path, "complex", files) == (1, ["cli/a.py:1: `f` is too complex (13 > 12)"])


def test_elsewhere_no_files_import_each_other_in_a_circle() -> None:
    found = circles(import_graph(Tree(ROOT)))
    assert [group for group in found if not all(p.startswith(WITH_CIRCLES) for p in group)] == []


def test_no_folders_import_each_other_in_a_circle() -> None:
    assert circles(folder_graph(import_graph(Tree(ROOT)))) == []
