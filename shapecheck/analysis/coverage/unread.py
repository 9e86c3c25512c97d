"""Annotations that clearly say a shape in a form that isn't read.

`Grid["b c"]`   `NDArray[Shape["2, 3"], Float]`   `Annotated[Tensor, Dims("b", 3)]`
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from typing import Final

from shapecheck.analysis.annotations import dialects
from shapecheck.analysis.annotations.declarations import speaks
from shapecheck.analysis.annotations.dialects.reading import known_as
from shapecheck.analysis.annotations.reader import Reader, reader, shape_type
from shapecheck.analysis.host import Unread
from shapecheck.analysis.program.model import dotted
from shapecheck.analysis.program.modules import Module
from shapecheck.analysis.program.syntax import (
    called,
    elements,
    last_word,
    parsed_expression,
    text_of,
)
from shapecheck.ops.call import only
from shapecheck.spec.dialects import is_description

_ANNOTATED: Final = ("typing.Annotated", "typing_extensions.Annotated")
_VERBATIM: Final = ("typing.Literal", "typing_extensions.Literal")
_ARRAYS: Final = re.compile(r"tensor|array|^TT$", re.IGNORECASE)
_ROW: Final = re.compile(r"[(\[][^()\[\]]*,[^()\[\]]*[)\]]|\S \| \S|\S x \S")
"""What is no prose: dimensions in brackets, or alternatives."""


def unread(module: Module) -> list[Unread]:
    """Return what `analysis.unread` does."""
    looker = _Looker(reader(module))
    found = (one for node in module.survey.annotations for one in looker.look(node))
    told = [Unread(name, module.lines.span(node)) for name, node in found]
    return sorted(told, key=lambda one: (one.span.line, one.span.column))


def _parts(node: ast.expr) -> list[ast.expr]:
    """Return what in brackets may be a dimension: a list's items, a name with its size, a text."""
    match node:
        case ast.Slice(lower=ast.expr() as name):
            return [name]
        case ast.Subscript(value=head, slice=inner) if last_word(head) == "Shape":
            return [inner]
    return elements(node) or [node]


def _written(node: ast.expr) -> str:
    """Return how an object is made that stands beside a type, without what it is made of."""
    match node:
        case ast.Subscript(value=head):
            return f"{ast.unparse(head)}[...]"
    return f"{ast.unparse(called(node))}(...)"


class _Looker:
    """Looks through the annotations of one module."""

    def __init__(self, read: Reader) -> None:
        self.reader = read

    def look(self, node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
        """Yield what isn't read in an annotation, by the name that its users know it by."""
        match node:
            case ast.Constant(value=str(text)):
                yield from self.quoted(text, node)
            case ast.BinOp(left=left, right=right):
                yield from self.look(left)
                yield from self.look(right)
            case ast.Subscript(value=head, slice=inner):
                yield from self.subscript(node, head, elements(inner) or [inner])

    def quoted(self, text: str, node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
        try:
            inner = parsed_expression(text.strip())
        except (SyntaxError, ValueError):
            return
        for name, _ in self.look(inner):
            yield name, node

    def subscript(
        self, node: ast.Subscript, head: ast.expr, args: list[ast.expr]
    ) -> Iterator[tuple[str, ast.expr]]:
        found = self.reader.resolve(head)
        name = dotted(found) or ""
        if name in _VERBATIM or shape_type(found) is not None or known_as(found) in dialects.HEADS:
            return
        if speaks(self.reader.read(node)):
            return
        if name in _ANNOTATED:
            yield from self.annotated(args)
        elif self.says_a_shape(head, args):
            yield f"{ast.unparse(head)}[...]", node
        else:
            for arg in args:
                for inner in elements(arg) or [arg]:
                    yield from self.look(inner)

    def annotated(self, args: list[ast.expr]) -> Iterator[tuple[str, ast.expr]]:
        """Yield what stands beside a tensor's type and isn't read."""
        kind, *extras = args
        if not self.reader.read(kind).has_tensor:
            yield from self.look(kind)
            return
        if dialects.beside(self.reader, extras) is not None:
            return
        for extra in extras:
            text = text_of(extra)
            if text is not None and _ROW.search(text):
                yield "Annotated[..., text]", extra
            elif self.has_sizes(extra):
                yield f"Annotated[..., {_written(extra)}]", extra

    def has_sizes(self, extra: ast.expr) -> bool:
        """Whether an object that stands beside a type is made of names or sizes."""
        match extra:
            case ast.Call(args=given):
                pass
            case ast.Subscript(slice=inner):
                given = elements(inner) or [inner]
            case _:
                return False
        held = [one.value for one in only(given, ast.Constant)]
        sizes = [one for one in held if isinstance(one, (str, int)) and not isinstance(one, bool)]
        texts = [one for one in sizes if isinstance(one, str)]
        return bool(sizes) and len(sizes) == len(given) and not any(map(is_description, texts))

    def says_a_shape(self, head: ast.expr, args: list[ast.expr]) -> bool:
        """Whether what stands in brackets names dimensions, not types."""
        parts = [inner for arg in args for inner in _parts(arg)]
        held = [one.value for one in only(parts, ast.Constant)]
        texts = [one for one in held if isinstance(one, str)]
        if texts and all(map(self.is_type, texts)):
            return False
        named = _ARRAYS.search(last_word(head)) is not None
        sizes = [one for one in held if isinstance(one, int) and not isinstance(one, bool)]
        return bool(named and (texts or sizes)) or any(len(text.split()) > 1 for text in texts)

    def is_type(self, text: str) -> bool:
        """Whether a text may be a forward reference to a type."""
        word = text.partition("[")[0].partition(".")[0].strip()
        bound = self.reader.module.syntax.bound(word)
        return bool(bound) or hasattr(builtins, word)
