"""A tree of the package, parsed, and the figures of it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

PACKAGE = "shapecheck"
DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Place:
    """What a figure counts one of: where it is, and what stands there."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}" if self.line else f"{self.path}: {self.text}"


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, what it is of, and the places that it counts."""

    title: str
    number: int
    places: list[Place] = field(default_factory=list)
    note: str = ""

    def __str__(self) -> str:
        return f"{self.number:,}" + (f" ({self.note})" if self.note else "")


@dataclass(frozen=True, slots=True)
class File:
    """A file of the package: its path in the tree, its dotted name, its syntax, and all of that."""

    path: str
    module: str
    text: str
    tree: ast.Module
    nodes: tuple[ast.AST, ...]

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def package(self) -> str:
        """The package that its relative imports start at."""
        return self.folder.replace("/", ".")

    def place(self, node: ast.AST, text: str | None = None) -> Place:
        said = ast.unparse(node) if text is None else text
        return Place(self.path, node.lineno, " ".join(said.split())[:100])  # type: ignore[attr-defined]

    def is_in(self, *rooms: str) -> bool:
        return self.path.startswith(tuple(f"{PACKAGE}/{room}/" for room in rooms))


class Tree:
    """The package below a folder, parsed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = [self._file(path) for path in sorted((root / PACKAGE).rglob("*.py"))]
        self.by_module = {file.module: file for file in self.files}

    def _file(self, path: Path) -> File:
        inside = path.relative_to(self.root)
        text = path.read_text("utf-8")
        module = ".".join(inside.with_suffix("").parts).removesuffix(".__init__")
        syntax = ast.parse(text)
        return File(inside.as_posix(), module, text, syntax, tuple(ast.walk(syntax)))

    def within(self, *rooms: str) -> list[File]:
        return [file for file in self.files if file.is_in(*rooms)]

    @cached_property
    def classes(self) -> set[str]:
        """The names of all classes of the package."""
        return {
            node.name
            for file in self.files
            for node in file.nodes
            if isinstance(node, ast.ClassDef)
        }
