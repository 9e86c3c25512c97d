"""What the names in a module's annotations mean, and where what is wrong with one is told."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from typing import Final

from shapecheck import spec
from shapecheck.analysis.host import Span
from shapecheck.analysis.program.model import NOTHING, Dotted, ModuleRef, Value
from shapecheck.analysis.program.modules import Module, Problem
from shapecheck.analysis.program.syntax import elements, last_word, name_of
from shapecheck.explain import Message
from shapecheck.ops import UNKNOWN

_ROW: Final = "IntTuple"
_TYPE_VARIABLE_MAKERS: Final = ("TypeVar", "TypeVarTuple", "IntVar", "NewType")


class Names:
    """The names of one module, as its annotations use them."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def resolve(self, node: ast.expr) -> Value:
        """Return what a name in an annotation means."""
        match node:
            case ast.Name(id=name):
                found = self.module.resolve(name)
                return Dotted(f"builtins.{name}") if found is NOTHING else found
            case ast.Attribute(value=owner, attr=name):
                return self._member(self.resolve(owner), name)
            case ast.Constant(value=str(name)):
                return Dotted(name)  # the base of a class that a call makes
            case ast.Call():
                return self.module.program.evaluate(self.module, node, {}, False)
        return UNKNOWN

    def _member(self, owner: Value, name: str) -> Value:
        match owner:
            case Dotted(name=library):
                return Dotted(f"{library}.{name}")
            case ModuleRef(name=module):
                return self.module.program.member(module, name)
        return UNKNOWN

    def home(self, node: ast.Name | ast.Attribute) -> tuple[Module | None, str]:
        """Return the module that defines a name, and the name there."""
        match node:
            case ast.Name(id=name):
                return _follow(self.module, name)
            case ast.Attribute(value=value, attr=name):
                match self.resolve(value):
                    case ModuleRef(name=owner):
                        return _follow(self.module.program.module(owner), name)
        return None, ""

    def value(self, node: ast.expr) -> object:
        """Return a text, a number, `...` or None, `UNKNOWN` for anything else."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self.module.resolve(node.id)
        return self.module.program.evaluate(self.module, node, {}, False)

    def written(self, node: ast.expr) -> ast.expr:
        """Return what a name stands for, as its module writes it."""
        seen: list[ast.expr] = []
        while isinstance(node, (ast.Name, ast.Attribute)) and node not in seen:
            seen.append(node)
            home, name = self.home(node)
            right = None if home is None else home.alias(name)
            if right is None or home is not self.module:
                break
            node = right
        return node

    def is_variable(self, name: str) -> bool:
        """Whether a name is a type variable's, in this module or of the `def` around it."""
        if name in self._bounds():
            return True
        star = self.module.syntax.bound("*")
        return not self.module.syntax.bound(name) and not hasattr(builtins, name) and not star

    def is_row(self, name: str) -> bool:
        """Whether a type variable stands for any number of dimensions: `S: IntTuple`."""
        return _ROW in self._bounds().get(name, ())

    def _bounds(self) -> Mapping[str, set[str]]:
        """Return the type variables of the module, each with what they are bounded by."""
        return self.module.recall(("type variables",), lambda: _variables(self.module), {})

    def malformed(self, node: ast.expr, error: spec.SpecError) -> None:
        """Take note of a text that isn't in the language, at the token that is wrong."""
        lines = self.module.lines
        span = lines.span(node)
        written = lines.segment(node)
        at = written.find(error.text)
        if at >= 0 and span.line == span.end_line:
            column = span.column + at
            span = Span(span.line, column + error.start, span.line, column + error.end)
        self._found(span, str(error))

    def fail(self, node: ast.expr, text: str) -> None:
        """Take note of an annotation that isn't one."""
        self._found(self.module.lines.span(node), text)

    def _found(self, span: Span, text: str) -> None:
        self.module.syntax.placed()
        problem = Problem(self.module, span, Message(text, "shape-annotation"))
        problem.tell()
        self.module.program.problems.append(problem)


def _follow(module: Module | None, name: str) -> tuple[Module | None, str]:
    """Follow imports to the module that defines a name."""
    for _ in range(8):
        if module is None:
            return None, name
        match module.syntax.bound(name):
            case [*_, ast.ImportFrom() as node]:
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        name = alias.name
                module = module.program.module(module.absolute(node))
            case _:
                return module, name
    return None, name


def _variables(module: Module) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for node in ast.walk(module.tree):
        for param in getattr(node, "type_params", ()):  # Python 3.12
            bound = getattr(param, "bound", None)
            found.setdefault(param.name, set()).add("" if bound is None else last_word(bound))
        match node:
            case ast.Assign(targets=[target], value=value):
                names, made = elements(target) or [target], elements(value) or [value]
                for name, call in zip(names, made, strict=False):
                    if isinstance(call, ast.Call) and last_word(call.func) in _TYPE_VARIABLE_MAKERS:
                        bounds = (one.value for one in call.keywords if one.arg == "bound")
                        found.setdefault(name_of(name) or "", set()).update(map(last_word, bounds))
    return found
