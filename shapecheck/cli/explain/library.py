"""What an installed library says of a name that has no signature: read from its source, not run."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final, TypeAlias

from shapecheck.analysis import Source
from shapecheck.analysis.program.syntax import Syntax, syntax

_MOST_STEPS: Final = 30
_MYPY: Final = PathFinder.find_spec("mypy")
_TYPESHED: Final = f"{Path(_MYPY.origin).parent}/typeshed/stdlib" if _MYPY and _MYPY.origin else ""
"""What Python's own modules hold, some of which fill themselves while they run."""
_MODULE: Final = "torch.nn.modules.module.Module"
_TENSORS: Final = frozenset(("torch._tensor.Tensor", "torch._C.TensorBase"))
_NUMBERS: Final = frozenset("bool int float str complex _bool _int _float None bytes".split())
_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_Node: TypeAlias = _Function | ast.ClassDef | ast.expr


@dataclass(frozen=True, slots=True)
class _Module:
    """A module of a library: its dotted name, its file, and what stands in it."""

    name: str
    path: Path
    syntax: Syntax

    @property
    def is_package(self) -> bool:
        """Whether other modules are below it."""
        return self.path.stem == "__init__"


@dataclass(frozen=True, slots=True)
class Thing:
    """A function, a class, a module, or another value of a library.

    `name` is dotted, as it was asked for. `text`: the first line of a definition, without its
    body. `about`: the first paragraph of its docstring. `gives`: what is known of a call's result
    by the annotations, in words.
    """

    name: str
    text: str
    about: str
    gives: str
    path: Path
    line: int

    @property
    def is_shapeless(self) -> bool:
        """Whether a call gives a number, a text or nothing."""
        return self.gives.startswith(("it returns", "a number"))


def look_up(name: str) -> Thing | None:
    """Return what a library that is installed defines by a dotted name; None if nothing is found.

    Definitions in C are found where the library has `.pyi` files for them.
    """
    found = _Search().dotted(name)
    if found is None:
        return None
    module, node = found
    match node:
        case None:
            about = _first_paragraph(ast.get_docstring(module.syntax.tree))
            return Thing(name, "", about, "a module of Python: no tensor", module.path, 1)
        case ast.ClassDef():
            gives = _made_by(module, node)
            about = _first_paragraph(ast.get_docstring(node))
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            gives = _given_by(module, node)
            about = _first_paragraph(ast.get_docstring(node))
        case _:
            about, gives = "", "a value that nothing more is known of"
    return Thing(name, _head(name, module, node), about, gives, module.path, node.lineno)


class _Search:
    """Follows imports; gives up where they go in circles."""

    def __init__(self) -> None:
        self._steps = _MOST_STEPS
        self._seen: set[tuple[str, str]] = set()

    def dotted(self, name: str) -> tuple[_Module, _Node | None] | None:
        """Return the module that defines a name, and the definition; None for a module itself."""
        root, *parts = name.split(".")
        module = _module(root)
        found = None if module is None else (module, None)
        place: tuple[_Module, _Node | None] | None = found
        for part in parts:
            if place is None:
                return None
            place = self._part(*place, part)
        return place

    def _part(
        self, module: _Module, node: _Node | None, name: str
    ) -> tuple[_Module, _Node | None] | None:
        if node is None:
            return self._global(module, name)
        if isinstance(node, ast.ClassDef):
            return next(self._members(module, node, name), None)
        return None

    def _global(self, module: _Module, name: str) -> tuple[_Module, _Node | None] | None:
        key = (module.name, name)
        if key in self._seen or self._steps <= 0:
            return None
        self._seen.add(key)
        self._steps -= 1
        for node in reversed(module.syntax.bindings.get(name, [])):
            found = self._bound(module, node, name)
            if found is not None:
                return found
        below = _module(f"{module.name}.{name}") if module.is_package else None
        if below is not None:
            return below, None
        for node in reversed(module.syntax.bindings.get("*", [])):
            if isinstance(node, ast.ImportFrom):
                source = _module(_absolute(module, node))
                found = None if source is None else self._global(source, name)
                if found is not None:
                    return found
        return None

    def _bound(
        self, module: _Module, node: ast.stmt, name: str
    ) -> tuple[_Module, _Node | None] | None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return module, node
            case ast.Import(names=names):
                for alias in names:
                    if name == (alias.asname or alias.name.partition(".")[0]):
                        return self.dotted(alias.name if alias.asname else name)
            case ast.ImportFrom(names=names):
                source = _module(_absolute(module, node))
                for alias in names:
                    if source is not None and (alias.asname or alias.name) == name:
                        return self._global(source, alias.name)
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                if isinstance(value, (ast.Name, ast.Attribute)):
                    return self.expression(module, value) or (module, value)
                return module, value
        return None

    def _members(
        self, module: _Module, node: ast.ClassDef, name: str
    ) -> Iterator[tuple[_Module, _Node | None]]:
        """Yield the methods of a name, those of the bases after the class's own."""
        for statement in node.body:
            if isinstance(statement, _Function) and statement.name == name:
                yield module, statement
        for base in node.bases:
            found = self.expression(module, base)
            if found is not None and isinstance(found[1], ast.ClassDef):
                yield from self._members(found[0], found[1], name)

    def expression(self, module: _Module, node: ast.expr) -> tuple[_Module, _Node | None] | None:
        """Return what a plain or dotted name in a module's source stands for."""
        if isinstance(node, ast.Subscript):
            node = node.value
        root, *parts = ast.unparse(node).split(".")
        place = self._global(module, root)
        for part in parts:
            if place is None:
                return None
            place = self._part(*place, part)
        return place


@lru_cache(maxsize=256)
def _module(name: str) -> _Module | None:
    """Return a module by its dotted name, its parent's folder being known; nothing is imported."""
    above, _, last = name.rpartition(".")
    folders = None
    if not above and name in sys.stdlib_module_names:
        folders = [_TYPESHED]
    if above:
        parent = _module(above)
        if parent is None or not parent.is_package:
            return None
        folders = [str(parent.path.parent)]
    try:
        spec = PathFinder.find_spec(last, folders)
    except (ImportError, ValueError):
        spec = None
    origins = [spec.origin] if spec is not None and spec.origin is not None else []
    for folder in folders or ():
        origins += [f"{folder}/{last}/__init__.pyi", f"{folder}/{last}.pyi"]
    for origin in map(Path, origins):
        if origin.suffix in (".py", ".pyi"):
            try:
                text = origin.read_text(encoding="utf-8")
                return _Module(name, origin, syntax(Source(name, str(origin), text)))
            except (OSError, UnicodeError, SyntaxError, RecursionError):
                continue
    return None


def _absolute(module: _Module, node: ast.ImportFrom) -> str:
    parts = module.name.split(".")
    drop = node.level - module.is_package if node.level else len(parts)
    return ".".join([*parts[: len(parts) - drop], *([node.module] if node.module else [])])


def _made_by(module: _Module, node: ast.ClassDef) -> str:
    """Say what the objects of a class are."""
    names = set(_bases(module, node))
    if f"{module.name}.{node.name}" == _MODULE:
        return "the base class of modules: calling one gives what its `forward` does"
    if names & _TENSORS:
        return "a kind of tensor that nothing is known of: its shape is unknown"
    if _MODULE in names:
        return "a module without a signature: what calling it gives is unknown"
    return "an object that is no tensor: it has no shape"


def _bases(module: _Module, node: ast.ClassDef, depth: int = 0) -> Iterator[str]:
    yield f"{module.name}.{node.name}"
    for base in node.bases if depth < _MOST_STEPS else ():
        found = _Search().expression(module, base)
        if found is not None and isinstance(found[1], ast.ClassDef):
            yield from _bases(found[0], found[1], depth + 1)


def _given_by(module: _Module, node: _Function) -> str:
    """Say what calling a function gives, as far as its annotation, or its body, tells."""
    text = "" if node.returns is None else ast.unparse(node.returns).strip("'\"")
    if text in ("None", "NoReturn", "Never") or (not text and not _returns(node)):
        return "it returns nothing, so nothing has a shape"
    if text.lstrip("_").startswith("Type"):
        text = "bool"
    if set(re.findall(r"[\w.]+", text)) <= _NUMBERS and text:
        return f"a number, text or truth value ({text.replace('_', '')}): it has no shape"
    if "Tensor" in text:
        return "a tensor, of a shape that nothing is known of"
    found = None if node.returns is None else _Search().expression(module, node.returns)
    if found is not None and isinstance(found[1], ast.ClassDef):
        made = _made_by(found[0], found[1])
        return made.replace("an object", f"a {found[1].name}", 1)
    return "nothing is known of what it gives: if that is a tensor, its shape is unknown"


def _returns(node: _Function) -> bool:
    """Whether a function may return something; of one without a body, nothing is known."""
    waiting: list[ast.AST] = list(node.body)
    if all(isinstance(one, ast.Expr) for one in node.body):
        return True
    while waiting:
        one = waiting.pop()
        if isinstance(one, (ast.Yield, ast.YieldFrom)):
            return True
        if isinstance(one, ast.Return) and one.value is not None:
            return True
        if not isinstance(one, (_Function, ast.ClassDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(one)
    return False


def _head(name: str, module: _Module, node: _Node) -> str:
    """Return a definition without its body; of a class, how it is made."""
    last = name.rpartition(".")[2]
    if isinstance(node, ast.ClassDef):
        found = next(_Search()._members(module, node, "__init__"), None)
        if found is None or not isinstance(found[1], _Function):
            return f"class {last}"
        arguments = found[1].args
        for listed in (arguments.posonlyargs, arguments.args):
            if listed:
                del listed[0]
                break
        return f"class {last}({ast.unparse(arguments)})"
    if isinstance(node, _Function):
        gives = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
        return f"def {last}({ast.unparse(node.args)}){gives}"
    return f"{last} = {ast.unparse(node)}"


def _first_paragraph(docstring: str | None) -> str:
    """Return the first lines that are prose; a signature may stand before them."""
    paragraphs = (part.strip() for part in inspect.cleandoc(docstring or "").split("\n\n"))
    for part in paragraphs:
        if part and not (part.endswith(")") or "->" in part or part.startswith(("..", ">>>"))):
            return " ".join(part.partition("\n..")[0].split())
    return ""
