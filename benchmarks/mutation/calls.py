"""Calls a function with tensors made from its annotations: a size of its own for each name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from mutation.edits import annotation_text
from shapecheck.spec import Spec, SpecError, expr_names, parse
from shapecheck.spec.nodes import Axis, Binary, Expr, Group, Merge, Name, Negate, Number, Wild

SIZES: Final = (
    (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43),
    (4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56),
    (64, 48, 32, 36, 40, 44, 52, 56, 60, 68, 72, 76, 80, 84),
)
"""Sizes to give to names: coprime ones, ones that divide evenly, and large ones."""


class UnmakeableError(Exception):
    """There is no telling what a parameter takes."""


@dataclass(frozen=True, slots=True)
class Choice:
    """How the sizes of one call are chosen.

    `pool` gives each name a size of its own. `fixed` is a name and the number that it is instead.
    A group has so many `axes`, none in the annotation of the parameter `bare`.
    """

    pool: tuple[int, ...]
    fixed: tuple[str, int] | None = None
    axes: int = 2
    bare: str = ""


def others(node: ast.FunctionDef, choice: Choice) -> Iterator[Choice]:
    """Yield the other choices with which a function may run, see `mutation/corpus.py`."""
    annotated = {a.arg: a.annotation for a in ast.walk(node) if isinstance(a, ast.arg)}
    found = {name: [*_specs(annotation)] for name, annotation in annotated.items()}
    specs = [text for each in found.values() for text in each]
    entries = [entry for text in specs for entry in text.entries]
    groups = {e.name: e for e in entries if isinstance(e, Group)}
    names = sorted({n for e in entries if isinstance(e, Axis) for n in expr_names(e.expr)})
    lengths = (choice.axes, 1) if groups else (choice.axes,)
    for axes in lengths[1:]:
        yield replace(choice, axes=axes)
    for name, each in found.items():
        if any(t.entries and isinstance(g := t.entries[0], Group) and g.broadcast for t in each):
            for axes in lengths:
                yield replace(choice, axes=axes, bare=name)
    for number in _numbers(node):
        beside = {e for t in specs if Number(number) in map(_size, t.entries) for e in t.entries}
        apart = {n for n in names if not any(_size(e) == Name(n) for e in beside)}
        for name in sorted(apart):
            for axes in lengths:
                yield replace(choice, fixed=(name, number), axes=axes)
        for group in groups.keys() - {e.name for e in beside if isinstance(e, Group)}:
            yield replace(choice, fixed=(f"*{group}", number), axes=1)


def _size(entry: Axis | Group) -> Expr | None:
    return entry.expr if isinstance(entry, Axis) else None


def _specs(annotation: ast.AST | None) -> Iterator[Spec]:
    for node in ast.walk(annotation) if annotation is not None else ():
        text = annotation_text(node)
        if text is not None:
            with suppress(SpecError):
                yield parse(str(text.value))


def _numbers(node: ast.FunctionDef) -> list[int]:
    """Return the numbers that a function mentions, in its annotations too, and that sizes can be.

    Not 1: whatever meets an axis of size 1 broadcasts.
    """
    texts = (str(n.value) for n in ast.walk(node) if isinstance(n, ast.Constant))
    found = {
        int(number) for text in texts for number in re.findall(r"(?<![\w.])\d+(?![\w.])", text)
    }
    return sorted(number for number in found if 2 <= number <= _MOST)[:_SO_MANY]


_MOST: Final = 64
_SO_MANY: Final = 8


class Sizes:
    """What each name is worth in one call."""

    def __init__(self, choice: Choice) -> None:
        self.choice = choice
        self._pool: Iterator[int] = iter(choice.pool)
        self._names: dict[str, int] = dict([choice.fixed] if choice.fixed else [])
        self._groups: dict[str, tuple[int, ...]] = {}
        self.bare = False

    def shape(self, text: str) -> tuple[int, ...]:
        """Return the sizes that an annotation's text asks for."""
        try:
            spec = parse(text)
        except SpecError as error:
            raise UnmakeableError from error
        found: list[int] = []
        for entry in spec.entries:
            if isinstance(entry, Group):
                found += self._group(entry)
            else:
                found.append(self._size(entry.expr))
        return tuple(found)

    def _next(self) -> int:
        try:
            return next(self._pool)
        except StopIteration:
            raise UnmakeableError from None

    def _group(self, group: Group) -> tuple[int, ...]:
        if group.name is None or group.anonymous:
            return (self._next(),)
        if group.name not in self._groups:
            drawn = tuple(self._next() for _ in range(self.choice.axes))
            number = self._names.get(f"*{group.name}")
            self._groups[group.name] = drawn if number is None else (number,)
        return () if self.bare else self._groups[group.name]

    def _size(self, size: Expr) -> int:
        if isinstance(size, Number):
            return size.value
        if isinstance(size, Wild):
            return self._next()
        if isinstance(size, Name):
            if size.id not in self._names:
                self._names[size.id] = self._next()
            return self._names[size.id]
        if isinstance(size, Merge):
            whole = 1
            for part in size.parts:
                whole *= self._size(part.expr) if isinstance(part, Axis) else 2
            return whole
        if isinstance(size, Negate):
            return -self._size(size.operand)
        if isinstance(size, Binary):
            left, right = self._size(size.left), self._size(size.right)
            return int(_OPERATORS[size.op](left, right))
        raise UnmakeableError


_OPERATORS: Final[dict[str, Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
}


def arguments(node: ast.FunctionDef, sizes: Sizes) -> dict[str, Any]:
    """Return arguments for the parameters of a function (without `self`) that need one.

    Raises UnmakeableError where a parameter says too little.
    """
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    without = len(positional) - len(given.defaults)
    needed = {arg.arg for arg in positional[:without]}
    needed |= {a.arg for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d is None}
    made: dict[str, Any] = {}
    for arg in [*positional, *given.kwonlyargs]:
        if arg.arg in ("self", "cls"):
            continue
        if arg.arg in needed or (arg.annotation is not None and _tensor(arg.annotation)):
            sizes.bare = arg.arg == sizes.choice.bare
            made[arg.arg] = _value(arg.annotation, sizes)
    return made


def _tensor(node: ast.expr) -> bool:
    return annotation_text(node) is not None


def _value(node: ast.expr | None, sizes: Sizes) -> Any:
    import torch

    if node is None:
        raise UnmakeableError
    text = annotation_text(node)
    if text is not None:
        assert isinstance(node, ast.Subscript)
        category = ast.unparse(node.value).rpartition(".")[2]
        return _of_category(category, sizes.shape(str(text.value)))
    if isinstance(node, ast.BinOp):
        return _value(node.left, sizes)
    if isinstance(node, ast.Subscript):
        head = ast.unparse(node.value).rpartition(".")[2]
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if head in ("Optional", "Union"):
            return _value(parts[0], sizes)
        if head in ("list", "List"):
            return [_value(parts[0], sizes), _value(parts[0], sizes)]
        if head in ("tuple", "Tuple") and "..." not in ast.unparse(node):
            return tuple(_value(part, sizes) for part in parts)
        if head == "Literal" and isinstance(parts[0], ast.Constant):
            return parts[0].value
        raise UnmakeableError
    name = ast.unparse(node).strip("'\"")
    if name == "int":
        return 2
    if name in ("float", "bool"):
        return {"float": 0.5, "bool": True}[name]
    if re.fullmatch(r"(torch\.|t\.)?device", name):
        return torch.device("cpu")
    raise UnmakeableError


def _of_category(category: str, shape: tuple[int, ...]) -> Any:
    import torch

    if any(size < 0 for size in shape) or _elements(shape) > 10**7:
        raise UnmakeableError
    if category == "Bool":
        return torch.ones(shape, dtype=torch.bool)
    if re.match(r"U?Int", category):
        kind = getattr(torch, category.lower(), torch.int64)
        return torch.randint(0, 2, shape).to(kind)
    return torch.rand(shape)


def _elements(shape: tuple[int, ...]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total
