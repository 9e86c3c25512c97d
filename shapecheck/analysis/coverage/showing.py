"""What an editor shows of the expressions of a part: their shapes, and which ops they call."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from shapecheck import dtypes
from shapecheck.analysis.coverage.source_words import bindings
from shapecheck.analysis.coverage.watching import Analysis, Observed, Watcher
from shapecheck.analysis.findings import Group, Lines
from shapecheck.analysis.host import Look, OpCalled, Shown
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Dotted, Value
from shapecheck.analysis.program.modules import Module
from shapecheck.analysis.program.syntax import DEFINITIONS, add_children, elements
from shapecheck.analysis.values.model import Array, Bound, OpInstance, options
from shapecheck.shapes import Facts, Shape, Tensor

_OF_TENSORS: Final = "torch.Tensor"


class Showing(Watcher):
    """Notes what expressions are worth, and for how long variables have had their values."""

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self._since: dict[ast.AST, int | None] = {}

    def evaluated(self, frame: Frame, node: ast.expr, value: Value) -> None:
        """Take note of what an expression is worth: in a loop, the last time."""
        super().evaluated(frame, node, value)
        if isinstance(node, ast.Name):
            self._since[node] = frame.state.since.get(node.id)

    def look(self, lines: Lines, said: Iterable[Group]) -> Look:
        """Return what is to be shown of the part that has these lines, of which errors are said."""
        analysis = self.analysis(said)
        shapes = (*_expressions(analysis, self._since), *_targets(analysis, lines))
        return Look(lines, shapes, tuple(_ops(analysis)))


def _ops(analysis: Analysis) -> Iterator[OpCalled]:
    """Yield what is called by the names of a library: a function, a method or a module."""
    for node, seen in analysis.observed.items():
        name = _name(seen.value)
        if name is not None and isinstance(node, ast.Name | ast.Attribute):
            yield OpCalled(analysis.module.lines.span(node), name)


def _name(value: Value) -> str | None:
    match value:
        case Dotted(name=name):
            return name
        case Bound(receiver=Tensor(), name=name, function=None):
            return f"{_OF_TENSORS}.{name}"
        case OpInstance(cls=cls):
            return cls.name
    return None


def _expressions(analysis: Analysis, since: Mapping[ast.AST, int | None]) -> Iterator[Shown]:
    for node, seen in analysis.observed.items():
        found = _told(seen.value, seen.state.facts)
        if found is not None and isinstance(node, ast.expr):
            yield Shown(analysis.module.lines.span(node), *found, since=since.get(node))


def _targets(analysis: Analysis, lines: Lines) -> Iterator[Shown]:
    """Yield the names that something observed is assigned to, each with its part of that."""
    for node in _on(analysis.module.tree, lines):
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension | ast.withitem):
            continue  # what they bind isn't the value that is observed
        for target, value in bindings(node):
            seen = analysis.observed.get(value)
            if seen is not None:
                yield from _bound(analysis, target, seen, seen.value)


def _on(tree: ast.Module, lines: Lines) -> Iterator[ast.AST]:
    """Yield the nodes on some lines, or for no lines those that are in no function."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        first = getattr(node, "lineno", 1)
        if lines[1] and not (first <= lines[1] and lines[0] <= (_last(node) or lines[0])):
            continue
        if not lines[1] and isinstance(node, DEFINITIONS) and not isinstance(node, ast.ClassDef):
            continue
        yield node
        add_children(node, waiting)


def _last(node: ast.AST) -> int | None:
    return getattr(node, "end_lineno", None)


def _bound(analysis: Analysis, target: ast.AST, seen: Observed, value: Value) -> Iterator[Shown]:
    inner = elements(target) if isinstance(target, ast.expr) else None
    if inner is not None:
        for one, part in zip(inner, _parts(value, len(inner), seen.state.facts), strict=False):
            yield from _bound(analysis, one, seen, part)
        return
    found = _told(value, seen.state.facts)
    if found is not None and isinstance(target, ast.Name):
        span = analysis.module.lines.span(target)
        yield Shown(span, *found, since=span.line, binds=True)


def _parts(value: Value, count: int, facts: Facts) -> tuple[Value, ...]:
    """Return what each of some names takes of a value, nothing where that isn't known."""
    if isinstance(value, tuple):
        return value if len(value) == count else ()
    if not isinstance(value, Tensor):
        return ()
    shape = facts.shape(value.shape)
    if shape.at(0) is None:
        return ()
    return (Tensor(Shape(shape.dims[1:]), value.dtype),) * count


def _told(value: Value, facts: Facts) -> tuple[str, str] | None:
    """Return the shape and the dtype of a tensor, each "" where it isn't known."""
    match value:
        case Array(tensor=tensor):
            return _told(tensor, facts)
        case Tensor(shape=shape, dtype=dtype):
            known = facts.shape(shape)
            text = "" if known.opaque else str(known)
            return text, "" if dtype == dtypes.ANY else dtypes.describe(dtype)
    every = [_told(one, facts) for one in options(value)] if options(value) != (value,) else []
    said = dict.fromkeys(one for one in every if one is not None)
    if len(said) == 1:
        return next(iter(said))
    if said:
        return " or ".join(text for text, _ in said if text), ""
    return None
