"""What a repository says of the shapes of its tensors, told by its text."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from shapecheck.analysis import Source, mentions_tensors
from shapecheck.codemod.project.files import FileProblem, read
from shapecheck.project.parsing import parsed

_LIBRARIES: Final = ("shapecheck", "jaxtyping", "torchtyping", "dltype", "tensordict", "functorch")
"""Those whose types say shapes."""

_ANNOTATED: Final = "Annotated"
_TENSOR: Final = "Tensor"


@dataclass(slots=True)
class Survey:
    """How much there is, and how much of it says a shape.

    `files` of Python, and those `with_tensors`; in these, `shaped` annotations by the library whose
    types they are of, and `unshaped` ones, which say Tensor alone.
    """

    files: int = 0
    with_tensors: int = 0
    unshaped: int = 0
    shaped: Counter[str] = field(default_factory=Counter)


def survey(paths: Iterable[Path]) -> Survey:
    """Count what files say; one that can't be read says nothing."""
    found = Survey()
    for path in paths:
        found.files += 1
        try:
            text = read(path).text
        except FileProblem:
            continue
        if mentions_tensors(text):
            found.with_tensors += 1
            _count(Source(path.stem, str(path), text), found)
    return found


def _count(source: Source, found: Survey) -> None:
    try:
        tree = parsed(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    libraries = dict(_imported(tree))
    for node in ast.walk(tree):
        for annotation in _annotations(node):
            said = next(_said(annotation, libraries), None)
            if said is not None:
                found.shaped[said] += 1
            elif _says_tensor(annotation):
                found.unshaped += 1


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the names that come from a library of shapes, each with the library."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level and node.module is not None:
            root = node.module.partition(".")[0]
            for alias in node.names:
                if root in _LIBRARIES:
                    yield alias.asname or alias.name, root
                elif alias.name == _ANNOTATED:
                    yield alias.asname or alias.name, _ANNOTATED
        elif isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name.partition(".")[0]
                if root in _LIBRARIES:
                    yield alias.asname or root, root


def _annotations(node: ast.AST) -> Iterator[ast.expr]:
    found: ast.expr | None = None
    match node:
        case ast.arg() | ast.AnnAssign():
            found = node.annotation
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            found = node.returns
    if isinstance(found, ast.Constant) and isinstance(found.value, str):
        try:
            found = ast.parse(found.value, mode="eval").body
        except (SyntaxError, ValueError, RecursionError):
            return
    if found is not None:
        yield found


def _said(annotation: ast.expr, libraries: dict[str, str]) -> Iterator[str]:
    """Yield the libraries of the types in an annotation that are given a shape."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.Subscript):
            library = libraries.get(_root(node.value))
            is_shape = library != _ANNOTATED or _says_tensor(node)
            if library is not None and is_shape and _says_text(node):
                yield library


def _says_text(node: ast.Subscript) -> bool:
    return any(
        isinstance(part, ast.Constant) and isinstance(part.value, str | int)
        for part in ast.walk(node.slice)
    )


def _says_tensor(annotation: ast.expr) -> bool:
    return any(
        (isinstance(node, ast.Name) and node.id == _TENSOR)
        or (isinstance(node, ast.Attribute) and node.attr == _TENSOR)
        for node in ast.walk(annotation)
    )


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
