"""The dimension names in the texts of annotations: where each stands, and what it belongs to.

Told by the syntax alone, so that it is known of any text that is Python: a text in the brackets of
an annotation, `Float[Tensor, "b t"]`, one in `assert_shape(x, "b t")` and its like, and that of
`@shapecheck(dims="heads")` on a class.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from shapecheck import spec
from shapecheck.analysis import Span
from shapecheck.analysis.program.syntax import last_word, parsed_expression, text_of

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Owner: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module

NAME: Final = re.compile(r"[^\W\d]\w*")
_QUOTED: Final = re.compile(r"""(?P<prefix>[rRuU]?)(?P<quote>"{3}|'{3}|"|')""")
_BRACES: Final = re.compile(r"\{[^{}]*\}")
_FUNCTIONS: Final = ("min", "max")
_CLAIMS: Final = ("assert_shape", "named")
_OBJECTS: Final = ("dims", "Dim")
_NO_SHAPES: Final = ("Literal",)
_FRAMEWORK: Final = "shapecheck"


@dataclass(frozen=True, slots=True)
class Mention:
    """A dimension name in a text. `place` says of what: `parameter "x"`, `the result`.

    `owner` is the function, class or module that the text is part of, and `is_promised` whether it
    is in the head of a function. `classes` are those around it, the innermost last.
    """

    name: str
    span: Span
    place: str
    owner: Owner
    is_promised: bool
    classes: tuple[ast.ClassDef, ...]
    functions: tuple[Function, ...]


@dataclass(frozen=True, slots=True)
class DimensionTexts:
    """The texts of a module, and the names in them. `objects`: dimensions that are variables."""

    mentions: tuple[Mention, ...]
    objects: dict[str, Span]

    def at(self, line: int, column: int) -> Mention | None:
        """Return the name that stands at a place, or ends there."""
        for one in self.mentions:
            span = one.span
            if span.line == line and span.column <= column <= span.end_column:
                return one
        return None

    def same(self, mention: Mention) -> list[Mention]:
        """Return all mentions of the same dimension, that one among them, in order."""
        if mention.name in self.objects:
            return [one for one in self.mentions if one.name == mention.name]
        home = self.home(mention)
        found = (one for one in self.mentions if one.name == mention.name)
        return sorted(
            (one for one in found if self.home(one) is home),
            key=lambda one: (one.span.line, one.span.column),
        )

    def home(self, mention: Mention) -> Owner:
        """Return what a name is a dimension of: a function and what it calls so, or a class."""
        for cls in reversed(mention.classes):
            if any(
                one.owner is cls and one.name == mention.name and one.place == _OF_CLASS
                for one in self.mentions
            ):
                return cls
        # Of an inner function a name is its own where its head has it.
        for function in reversed(mention.functions):
            if any(
                one.owner is function and one.name == mention.name and one.is_promised
                for one in self.mentions
            ):
                return function
        return mention.owner


_OF_CLASS: Final = "the class"


def texts_in(tree: ast.Module, lines: Sequence[str]) -> DimensionTexts:
    """Return the dimension names in a module."""
    finder = _Finder(lines)
    finder.body(tree, tree.body)
    return DimensionTexts(tuple(finder.found), dict(_objects(tree, lines)))


class _Finder:
    """Goes through a module, and knows in which functions and classes it is."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.found: list[Mention] = []
        self._lines = lines
        self._classes: list[ast.ClassDef] = []
        self._functions: list[Function] = []

    def body(self, owner: Owner, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self._function(node)
                case ast.ClassDef():
                    self._class(node)
                case ast.AnnAssign(target=target, annotation=annotation):
                    kind = "field" if isinstance(owner, ast.ClassDef) else "variable"
                    self._add(owner, f'{kind} "{ast.unparse(target)}"', annotation)
                    self.body(owner, [] if node.value is None else [node.value])
                case ast.Call():
                    self._call(owner, node)
                    self.body(owner, ast.iter_child_nodes(node))
                case _:
                    self.body(owner, ast.iter_child_nodes(node))

    def _function(self, node: Function) -> None:
        self._functions.append(node)
        args = node.args
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        for one in every:
            if one is not None and one.annotation is not None:
                self._add(node, f'parameter "{one.arg}"', one.annotation, is_promised=True)
        if node.returns is not None:
            self._add(node, "the result", node.returns, is_promised=True)
        self.body(node, node.body)
        self._functions.pop()

    def _class(self, node: ast.ClassDef) -> None:
        self._classes.append(node)
        outer, self._functions = self._functions, []
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and last_word(decorator.func) == _FRAMEWORK:
                for one in decorator.keywords:
                    if one.arg == "dims":
                        self._text(node, _OF_CLASS, one.value)
        self.body(node, node.body)
        self._functions = outer
        self._classes.pop()

    def _call(self, owner: Owner, node: ast.Call) -> None:
        name = last_word(node.func)
        if name in _CLAIMS and len(node.args) > 1:
            self._text(owner, f"{name}()", node.args[1])
        elif name == "isinstance" and len(node.args) > 1:
            self._add(owner, f"{name}()", node.args[1])

    def _add(self, owner: Owner, place: str, node: ast.expr, *, is_promised: bool = False) -> None:
        """Add the names in an annotation."""
        for child in _in_brackets(node):
            self._text(owner, place, child, is_promised=is_promised)
        match node:
            case ast.Constant(value=str(text)):
                self._quoted(owner, place, node, text, is_promised)

    def _quoted(
        self, owner: Owner, place: str, node: ast.Constant, text: str, is_promised: bool
    ) -> None:
        start = self._start(node)
        if start is None:
            return
        try:
            inner = parsed_expression(text)
        except (SyntaxError, ValueError):
            return
        for child in _in_brackets(inner):
            value = text_of(child)
            column = text.find(value, child.col_offset) if value else -1
            if value and column >= 0:
                self._names(owner, place, value, node.lineno, start + column, is_promised)

    def _text(self, owner: Owner, place: str, node: ast.expr, *, is_promised: bool = False) -> None:
        text, start = text_of(node), self._start(node)
        if text and start is not None:
            self._names(owner, place, text, node.lineno, start, is_promised)

    def _start(self, node: ast.expr) -> int | None:
        """Return the column at which a text begins, None for one that isn't spelled as it is."""
        text = text_of(node)
        if text is None or node.lineno != node.end_lineno:
            return None
        line = self._lines[node.lineno - 1].encode()
        before = len(line[: node.col_offset].decode(errors="replace"))
        written = line[node.col_offset : node.end_col_offset].decode(errors="replace")
        begin = _QUOTED.match(written)
        if begin is None or written != f"{begin[0]}{text}{begin['quote']}":
            return None
        return before + begin.end()

    def _names(
        self, owner: Owner, place: str, text: str, line: int, start: int, is_promised: bool
    ) -> None:
        around = tuple(self._classes), tuple(self._functions)
        for name, column in names_in_text(text):
            span = Span(line, start + column, line, start + column + len(name))
            self.found.append(Mention(name, span, place, owner, is_promised, *around))


def _in_brackets(node: ast.expr) -> Iterator[ast.Constant]:
    """Yield the texts in the brackets of an annotation, of all that it is made of."""
    for child in ast.walk(node):
        if isinstance(child, ast.Subscript) and last_word(child.value) not in _NO_SHAPES:
            inner = child.slice
            for one in inner.elts if isinstance(inner, ast.Tuple) else [inner]:
                if isinstance(one, ast.Constant) and isinstance(one.value, str):
                    yield one


def names_in_text(text: str) -> Iterator[tuple[str, int]]:
    """Yield the dimension names in the text of an annotation, each with its column.

    Those that link nothing are left out: `_`, `_b`, and what stands before `=`, for readers alone.
    """
    try:
        spec.parse(text)
    except (spec.SpecError, RecursionError):
        return
    plain = _BRACES.sub(lambda found: " " * len(found[0]), text)
    for found in NAME.finditer(plain):
        after = plain[found.end() :].lstrip()[:1]
        is_function = found[0] in _FUNCTIONS and after == "("
        if not found[0].startswith("_") and not is_function and after != "=":
            yield found[0], found.start()


def _objects(tree: ast.Module, lines: Sequence[str]) -> Iterator[tuple[str, Span]]:
    """Yield the variables of a module that are dimensions, and where each gets its value."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[target], value=ast.Call(func=func)) if (
                last_word(func) in _OBJECTS
            ):
                for one in target.elts if isinstance(target, ast.Tuple) else [target]:
                    if isinstance(one, ast.Name):
                        yield one.id, _span(one, lines)


def _span(node: ast.expr, lines: Sequence[str]) -> Span:
    start = len(lines[node.lineno - 1].encode()[: node.col_offset].decode(errors="replace"))
    return Span(node.lineno, start, node.lineno, start + len(ast.unparse(node)))
