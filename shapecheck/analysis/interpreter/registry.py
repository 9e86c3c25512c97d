"""What is looked up where it is needed: by the kind of syntax, by the name of a library's function.

Whoever knows what something does registers it here when its module is imported; the modules of
`library` are all imported before the first function is looked at.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from shapecheck.ops import Value

if TYPE_CHECKING:
    from shapecheck.analysis.interpreter.frame import Frame
    from shapecheck.analysis.values.model import Arguments

Named: TypeAlias = Mapping[str, Value]
Function: TypeAlias = "Callable[[Frame, list[Value], Named, ast.Call], Value]"
"""What calling a library's function gives: by its arguments, and the call."""
Family: TypeAlias = "Callable[[str, Frame, list[Value], Named, ast.Call], Value]"
Method: TypeAlias = "Callable[[Frame, Value, list[Value], Named, ast.Call], Value]"
"""What calling a method gives: by its owner, its arguments, and the call."""
Caller: TypeAlias = "Callable[[Frame, Arguments, ast.Call, str], Value]"
"""What calling a library's function gives that calls what it is given: by its label, too."""
Expression: TypeAlias = Callable[..., Value]
Statement: TypeAlias = Callable[..., None]

EXPRESSIONS: Final[dict[type[ast.AST], Expression]] = {}
STATEMENTS: Final[dict[type[ast.AST], Statement]] = {}
FUNCTIONS: Final[dict[str, Function]] = {}
CALLERS: Final[dict[str, Caller]] = {}
METHODS: Final[dict[tuple[str, str], Method]] = {}


def expression(kind: type[ast.expr]) -> Callable[[Expression], Expression]:
    """Register what a kind of expression is worth: `handler(frame, node)`."""

    def register(handler: Expression) -> Expression:
        EXPRESSIONS[kind] = handler
        return handler

    return register


def statement(kind: type[ast.stmt]) -> Callable[[Statement], Statement]:
    """Register what a kind of statement does: `handler(frame, node)`."""

    def register(handler: Statement) -> Statement:
        STATEMENTS[kind] = handler
        return handler

    return register


def function(*names: str) -> Callable[[Function], Function]:
    """Register what calling a library's function, by its dotted names, gives."""

    def register(handler: Function) -> Function:
        for name in names:
            FUNCTIONS[name] = handler
        return handler

    return register


def family(*names: str) -> Callable[[Family], Family]:
    """Register a handler of several functions, which is told the last name of the one called."""

    def register(handler: Family) -> Family:
        for name in names:
            FUNCTIONS[name] = partial(handler, name.rpartition(".")[2])
        return handler

    return register


def caller(*names: str) -> Callable[[Caller], Caller]:
    """Register what calling a library's function gives that calls what it is given."""

    def register(handler: Caller) -> Caller:
        CALLERS.update(dict.fromkeys(names, handler))
        return handler

    return register


def on(kind: str, *names: str) -> Callable[[Method], Method]:
    """Register what methods of a kind of value do; `methods.method` tells the kinds."""

    def register(handler: Method) -> Method:
        for name in names:
            METHODS[kind, name] = handler
        return handler

    return register
