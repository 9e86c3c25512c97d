"""Loads modules for the sake of their functions: definitions only, and no import has to succeed.

A module's imports, functions, classes and constants are executed, its scripts are not. What can't
be imported becomes a `Missing`, which stands for anything until something is asked of it while a
function runs.
"""

from __future__ import annotations

import ast
import importlib
import sys
import types
from collections.abc import Sequence
from contextlib import contextmanager, suppress
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any


class MissingError(Exception):
    """A function needed what can't be imported."""


class _State:
    running = False


class _MissingType(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls._met()

    def __getitem__(cls, item: object) -> Any:
        return cls._met()

    def __iter__(cls) -> Any:
        raise MissingError

    def _met(cls) -> Any:
        if _State.running:
            raise MissingError
        return cls


class Missing(metaclass=_MissingType):
    """Stands for what can't be imported: a base class, a decorator, a type, a value."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if _State.running:
            raise MissingError
        if len(args) == 1 and isinstance(args[0], (types.FunctionType, type)) and not kwargs:
            return args[0]
        if cls is Missing:
            return Missing
        return super().__new__(cls)


@contextmanager
def running() -> Any:
    """Let a `Missing` be an error."""
    _State.running = True
    try:
        yield
    finally:
        _State.running = False


class Definitions(Loader):
    """Executes the definitions of one module of a project."""

    def __init__(self, path: Path, text: str | None = None) -> None:
        self._path = path
        self._text = text

    def create_module(self, spec: ModuleSpec) -> None:
        """Have an ordinary module made."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Execute what defines something, each by itself."""
        text = self._text
        if text is None:
            text = self._path.read_text("utf-8", errors="replace")
        for statement in ast.parse(text).body:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                _import(statement, module)
            elif _defines(statement):
                try:
                    unit = ast.Module([statement], [])
                    exec(compile(unit, str(self._path), "exec"), module.__dict__)
                except Exception:  # noqa: BLE001 - it is left undefined
                    continue


def _defines(statement: ast.stmt) -> bool:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return True
    if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
        calls = [n for n in ast.walk(statement.value) if isinstance(n, ast.Call)]
        return all(ast.unparse(call.func).startswith(("torch.", "t.")) for call in calls)
    return False


def _import(statement: ast.Import | ast.ImportFrom, module: types.ModuleType) -> None:
    for alias in statement.names:
        name = (alias.asname or alias.name).split(".")[0]
        if alias.name == "*":
            continue
        one = ast.Import([alias])
        if isinstance(statement, ast.ImportFrom):
            one = ast.ImportFrom(statement.module, [alias], statement.level)
        unit = ast.fix_missing_locations(ast.Module([ast.copy_location(one, statement)], []))
        try:
            exec(compile(unit, module.__name__, "exec"), module.__dict__)
        except Exception:  # noqa: BLE001 - any import may fail in any way
            module.__dict__[name] = Missing


class Project(MetaPathFinder):
    """Finds the modules of a project below its roots, ahead of those that are installed."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = roots

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return how to load a module of the project."""
        base = name.replace(".", "/")
        for root in self._roots:
            package, file = root / base / "__init__.py", root / f"{base}.py"
            if package.is_file():
                spec = ModuleSpec(name, Definitions(package), is_package=True)
                spec.submodule_search_locations = [str(package.parent)]
                return spec
            if file.is_file():
                return ModuleSpec(name, Definitions(file))
            if (root / base).is_dir() and any((root / base).glob("*.py")):
                spec = ModuleSpec(name, None, is_package=True)
                spec.submodule_search_locations = [str(root / base)]
                return spec
        return None


def load(name: str, path: Path, text: str, roots: Sequence[Path]) -> types.ModuleType:
    """Load one module with another text; its project's modules stay loaded for the next time."""
    finder = Project(roots)
    sys.meta_path.insert(0, finder)
    try:
        package = name.rpartition(".")[0]
        if package:
            with suppress(Exception):  # what it should have given will be missing
                importlib.import_module(package)
        module = types.ModuleType(name)
        module.__package__ = package
        module.__file__ = str(path)
        sys.modules[name] = module
        Definitions(path, text).exec_module(module)
        return module
    finally:
        sys.meta_path.remove(finder)
