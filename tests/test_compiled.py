"""What mypyc has compiled, in a wheel that was built so; `make test-compiled` runs this."""

from __future__ import annotations

import ast
import importlib.util
import os
import pickle
import sys
import traceback
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from repository import ROOT

import shapecheck
from shapecheck.analysis import Options, Source, analyze_module
from shapecheck.analysis.host import Host
from shapecheck.dims.algebra import atoms_of
from shapecheck.engine import Engine

PACKAGE = Path(shapecheck.__file__).parent
ROOMS = ("dims", "shapes", "ops", "signatures", "analysis")

RULES = "see docs/developers/compiled.md"
LOOPS = (ast.For, ast.While, ast.FunctionDef, ast.Lambda)
BUILTINS = frozenset(("list", "dict", "tuple", "str", "int", "set", "frozenset"))

only_compiled = pytest.mark.skipif(
    "SHAPECHECK_COMPILED" not in os.environ, reason="the package isn't compiled here"
)


def build_hook() -> Any:
    """Return the module that builds wheels."""
    spec = importlib.util.spec_from_file_location("build_hook", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    return hook


def trees() -> dict[str, ast.Module]:
    """Return the syntax of each module that mypyc compiles, by its path."""
    paths: list[str] = build_hook().modules_to_compile(ROOT)
    return {path: ast.parse((ROOT / path).read_text("utf-8")) for path in paths}


def jumps(node: ast.AST, inside: bool = False) -> Iterator[int]:
    """Yield the lines of what leaves a `with` or a `try` that has a `finally`, to go on a loop."""
    for child in ast.iter_child_nodes(node):
        if inside and isinstance(child, ast.Break | ast.Continue):
            yield child.lineno
        leaves = isinstance(child, ast.With) or (isinstance(child, ast.Try) and child.finalbody)
        yield from jumps(child, not isinstance(child, LOOPS) and (inside or bool(leaves)))


def test_nothing_is_written_that_mypyc_cannot_compile() -> None:
    """The constructs at which it stops, found without it."""
    found = []
    for path, tree in trees().items():
        found += [f"{path}:{line}: continue or break in a with" for line in jumps(tree)]
        for node in ast.walk(tree):
            match node:
                case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Tuple(elts=items)]):
                    if any(isinstance(item, ast.Starred) for item in items):
                        found.append(f"{path}:{node.lineno}: a star in a membership test")
                case ast.ClassDef(
                    bases=[ast.Name(id=base) | ast.Subscript(value=ast.Name(id=base))]
                ):
                    marks = map(ast.unparse, node.decorator_list)
                    if base in BUILTINS and not any("native_class=False" in one for one in marks):
                        found.append(f"{path}:{node.lineno}: derived from {base}, and not marked")
    assert not found, RULES


def test_no_field_is_called_an_object() -> None:
    """Compiled, a dataclass or a named tuple looks for that name where there are no builtins."""
    found = []
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and (node.decorator_list or node.bases):
                fields = (one for one in node.body if isinstance(one, ast.AnnAssign))
                named = (one for one in fields if ast.unparse(one.annotation) == "object")
                found += [f"{path}:{one.lineno}" for one in named]
    assert not found, RULES


def test_nothing_is_called_behind_what_waits() -> None:
    """Compiled, arguments are all there before `*map(...)` is gone through."""
    found = []
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            behind = [*node.args, *(one.value for one in node.keywords)]
            while behind:
                match behind.pop(0):
                    case ast.Starred(value=ast.Call(func=ast.Name("map" | "filter" | "zip"))):
                        inner = (one for rest in behind for one in ast.walk(rest))
                        if any(isinstance(one, ast.Call) for one in inner):
                            found.append(f"{path}:{node.lineno}")
    assert not found, RULES


def test_membership_is_not_asked_of_a_generator() -> None:
    """A compiled one can't be asked."""
    yielding = set()
    for tree in trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.returns is not None:
                if ast.unparse(node.returns).startswith("Iterator["):
                    yielding.add(node.name)
    found = []
    for path, tree in trees().items():
        for node in ast.walk(tree):
            match node:
                case ast.Compare(
                    ops=[ast.In() | ast.NotIn()],
                    comparators=[ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))],
                ) if name in yielding - {"_decorators"}:  # two are called so, and one is a set
                    found.append(f"{path}:{node.lineno}: in {name}(...)")
    assert not found, RULES


def test_no_frozen_dataclass_has_fields_from_another_one() -> None:
    """Compiled, garbage collection would count what they refer to twice, and drop what is used."""
    bases: dict[str, set[str]] = {}
    frozen: dict[str, str] = {}
    fields: set[str] = set()
    for path, tree in trees().items():
        for node in ast.walk(tree):
            marks = [ast.unparse(one) for one in getattr(node, "decorator_list", ())]
            if isinstance(node, ast.ClassDef) and any("dataclass(" in one for one in marks):
                bases[node.name] = {ast.unparse(base) for base in node.bases}
                if any("frozen=True" in one for one in marks):
                    frozen[node.name] = f"{path}:{node.lineno}"
                if any(isinstance(one, ast.AnnAssign) for one in node.body):
                    fields.add(node.name)
    assert not [place for name, place in frozen.items() if bases[name] & fields], RULES


def test_what_dataclasses_derive_from_leaves_to_them_what_is_equal() -> None:
    """Compiled, `==` of two that are declared to be of a plain class is `is`."""
    classes: dict[tuple[str, str], ast.ClassDef] = {}
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[path, node.name] = node
    plain, waiting = set[tuple[str, str]](), list[tuple[str, str]]()
    for place, node in classes.items():
        marks = "".join(map(ast.unparse, node.decorator_list))
        defined = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
        if "dataclass" in marks or "__eq__" in defined:
            waiting.append(place)
        elif "allow_interpreted_subclasses=True" not in marks:
            plain.add(place)
    above = set[tuple[str, str]]()
    while waiting:
        path, name = waiting.pop()
        for base in map(ast.unparse, classes[path, name].bases):
            here = {(path, base)} & classes.keys()
            new = (here or {place for place in classes if place[1] == base}) - above
            above |= new
            waiting += new
    assert not plain & above, RULES


FROZEN = """\
from dataclasses import dataclass, replace

@dataclass(frozen=True, slots=True)
class Plain:
    a: int
    b: str = "b"

@dataclass(frozen=True, slots=True, eq=False)
class Itself:
    a: int

@dataclass(frozen=True, slots=True, repr=False)
class Own:
    a: int
    def __hash__(self) -> int:
        return 7

@dataclass(slots=True)
class Loose:
    a: int

def said():
    for kind in (Plain, Itself, Own):
        one, other = kind(1), kind(1)
        yield one == other, hash(one) == hash(other), hash(one) == 7, replace(one, a=2).a
    yield Plain.__hash__(Plain(1)), repr(Plain(1)), Loose.__hash__, one.__dataclass_fields__.keys()
"""


def test_what_is_compiled_is_the_same_but_for_who_may_assign() -> None:
    """It has the same lines, is equal to the same and has the same hash."""
    thawed = build_hook().thawed(FROZEN)
    assert "frozen=True" not in thawed
    assert [line for line in thawed.split("\n") if "@dataclass" not in line] == [
        line for line in FROZEN.split("\n") if "@dataclass" not in line
    ]
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    exec(FROZEN, before)
    exec(thawed, after)
    assert [*before["said"]()] == [*after["said"]()]


@only_compiled
@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_compiled(room: str) -> None:
    """Each room has its modules beside their sources, and they are what is imported."""
    made = [path for path in (PACKAGE / room).rglob("*") if path.suffix in (".so", ".pyd")]
    assert made
    for path in made:
        source = path.with_name(path.name.partition(".")[0] + ".py")
        assert source.is_file()
        name = source.relative_to(PACKAGE.parent).with_suffix("").as_posix().replace("/", ".")
        assert import_module(name).__file__ == str(path)


class Alone(Host):
    """A program of one module."""

    def source(self, module: str) -> Source | None:
        return None


def test_a_defect_is_told_with_its_line() -> None:
    """A traceback goes through what is compiled as through what isn't: by file and line."""
    with pytest.raises((AttributeError, TypeError)) as caught:
        atoms_of("n")  # type: ignore[arg-type]
    inner = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert Path(inner.filename).name == "algebra.py"
    assert inner.name == "atoms_of"
    assert inner.lineno


@pytest.fixture
def _as_mypy_runs() -> Iterator[None]:
    """The depth to which mypy lets calls be nested."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1 << 14)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.usefixtures("_as_mypy_runs")
@pytest.mark.parametrize(
    "text",
    [
        "x = " + "+".join(["y"] * 4000),
        "x = y" + "[0]" * 4000,
        "x = y" + ".a()" * 4000,
        "def f(x: " + "|".join(["int"] * 9000) + "): ...",
        "def f0(x): return x.view(7)\n"
        + "".join(f"def f{i}(x): return f{i - 1}(x)\n" for i in range(1, 3000))
        + "f2999(3)",
    ],
    ids=["sum", "items", "calls", "options", "functions"],
)
def test_what_is_nested_deeply_ends_no_process(text: str) -> None:
    """Compiled calls aren't counted: what an analysis goes down is bounded otherwise."""
    assert not analyze_module(Source("m", "m.py", text + "\n"), Alone(), Options())


def test_what_is_found_goes_from_one_process_to_another() -> None:
    """The plugin's second process sends records, with all that is said of each part."""
    text = (
        "import torch\nfrom torch import Tensor\nfrom shapecheck import Float\n"
        'def g(x):\n    return x @ x\n\ndef f(x: Float[Tensor, "b d"]):\n    return g(x) @ x\n\n'
        "f(torch.zeros(2, 3))\n"
    )
    engine = Engine(OneModule(text), Options())
    record = engine.record("one")
    sent = pickle.loads(pickle.dumps(record))
    assert sent.said == record.said != ()
    assert (sent.text, sent.versions) == (record.text, record.versions)


class OneModule:
    """A program of one module."""

    def __init__(self, text: str) -> None:
        self._source = Source("one", "one.py", text)

    def source(self, module: str) -> Source | None:
        """Return the module."""
        return self._source if module == "one" else None

    def version(self, module: str) -> str | None:
        """Return which one it is."""
        return "1" if module == "one" else None
