"""The names of all that a program computes are the same, whatever the sizes are, or are absent."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from mixups.cases import PRELUDE, Arguments, Case, cases, entry
from seeding import seed
from torch import Tensor

from shapecheck import dims_of
from shapecheck.rewriting import rewrite
from shapecheck.runtime.naming import by_names, mode
from shapecheck.runtime.naming.call_names import state

Names = dict[str, set[tuple[str | None, ...]]]
"""From a variable, or a returned value, and its line to the names that its axes have."""

SIZES = ((3, 7, 5, 11, 4, 9, 13, 6), (4,), (8, 3, 6, 5, 10, 7, 9, 4))
"""Sizes of names, in the order in which they are asked for; all are equal in one of the runs."""


def watched(program: str, seen: Names, path: str) -> ModuleType:
    """Execute a decorated program that notes the names of all that it assigns and returns."""
    tree = ast.parse(PRELUDE + program, path)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            function.body = _noting(function.body)
    source = ast.unparse(ast.fix_missing_locations(tree))
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    tree = ast.parse(source, path)
    rewrite(tree, "shapecheck.runtime.decorate.hook")
    made = ModuleType(path.strip("<>"))
    vars(made)["_note"] = lambda where, value: _note(seen, where, value)
    exec(compile(tree, path, "exec", dont_inherit=True), vars(made))
    return made


def _noting(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return statements with a note behind each assignment, and of each returned value."""
    found: list[ast.stmt] = []
    for statement in body:
        for field in ("body", "orelse", "finalbody"):
            inner = getattr(statement, field, None)
            if inner and not isinstance(statement, ast.FunctionDef | ast.ClassDef):
                setattr(statement, field, _noting(inner))
        if isinstance(statement, ast.Return) and statement.value is not None:
            statement.value = _called("return", statement.value)
        found.append(statement)
        if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign):
            found += [
                ast.Expr(_called(node.id, ast.Name(node.id, ast.Load())))
                for target in getattr(
                    statement, "targets", [getattr(statement, "target", statement)]
                )
                for node in ast.walk(target)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            ]
    return found


def _targets(statement: ast.Assign | ast.AugAssign | ast.AnnAssign) -> list[ast.expr]:
    return statement.targets if isinstance(statement, ast.Assign) else [statement.target]


def _called(name: str, value: ast.expr) -> ast.Call:
    where = ast.Constant(f"{name}, {ast.unparse(value)}" if name == "return" else name)
    return ast.Call(ast.Name("_note", ast.Load()), [where, value], [])


def _note(seen: Names, where: str, value: Any) -> Any:
    for tensor in _tensors(value):
        names = dims_of(tensor)
        known = state.frame.of(tensor) if state.frame is not None else None
        if names is not None and known is not None:
            assert known.sizes == tuple(tensor.shape)
            values = state.frame.symbols if state.frame is not None else {}
            assert all(values.get(s, size) == size for s, size in known.values.items()), where
            seen.setdefault(where, set()).add(tuple(map(_unnumbered, names)))
    return value


def _unnumbered(name: str | None) -> str | None:
    """Return a composite without the numbers in it, which are sizes that nothing is known of."""
    return name if name is None or name[0] != "(" else re.sub(r"(?<=[( ])\d+(?=[ )])", "_", name)


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _tensors(item)


def differing(runs: list[Names]) -> list[str]:
    """Return what is named otherwise in one run than in another, but for what has no name there."""
    found = []
    for where in dict.fromkeys(where for run in runs for where in run):
        shapes = [names for run in runs for names in run.get(where, ())]
        counts = [len(run.get(where, ())) for run in runs]
        if max(counts) > 1 or len({len(names) for names in shapes}) > 1:
            continue  # a variable that is something else in each round of a loop
        axes = [set(axis) - {None} for axis in zip(*shapes, strict=True)]
        if any(len(axis) > 1 for axis in axes):
            found.append(f"{where}: {shapes}")
    return found


def sized(sizes: tuple[int, ...]) -> Arguments:
    """Return what makes arguments of the given sizes."""
    asked = iter(sizes * 20)
    return Arguments(lambda name: next(asked), lambda group: (next(asked),))


def called(made: ModuleType, sizes: tuple[int, ...]) -> None:
    """Call what a program is about with tensors of the given sizes."""
    seed(0)
    function, cls = entry(made)
    arguments = sized(sizes)
    if cls is None:
        function(**arguments.of(function))
        return
    own = arguments.of(cls.__init__) if "__init__" in vars(cls) else {}
    arguments.self = cls(**own)
    function(self=arguments.self, **arguments.of(function))


every = pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)


@every
def test_names_are_the_same_for_all_sizes(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAPECHECK_DEBUG", "1")
    runs: list[Names] = []
    for at, sizes in enumerate(SIZES):
        seen: Names = {}
        called(watched(case.right, seen, f"<names_{case.id}_{at}>"), sizes)
        runs.append(seen)
    assert differing(runs) == []


@every
def test_sizes_that_are_new_have_the_names_that_rules_give_them(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was found out with other sizes says the same as the rules do, asked anew."""
    monkeypatch.setenv("SHAPECHECK_DEBUG", "1")
    seen: Names = {}
    made = watched(case.right, seen, f"<new_sizes_{case.id}>")
    for before, sizes in [(SIZES[0], SIZES[2]), (SIZES[2], SIZES[1]), (SIZES[1], SIZES[0])]:
        called(made, before)
        seen.clear()
        called(made, sizes)
        found = dict(seen)
        mode._cache.clear()
        by_names._known.clear()
        seen.clear()
        called(made, sizes)
        assert found == seen
