"""What the `def` of a function declares."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from shapecheck.analysis.annotations.reader import reader
from shapecheck.analysis.program.declared import (
    AnyDecl,
    CallableDecl,
    Declared,
    TensorDecl,
    alternatives,
)
from shapecheck.analysis.program.model import Function, dotted
from shapecheck.analysis.program.modules import Module
from shapecheck.analysis.program.syntax import Def, called, is_def


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function: its annotation and default, and how arguments reach it."""

    name: str
    declared: Declared
    default: ast.expr | None
    kind: str
    """`positional`, `keyword`, `star`, `double-star`, or `options` of `**kwargs: Unpack[...]`."""
    node: ast.arg | None = None

    @property
    def line(self) -> int:
        """The line that it stands on."""
        return 0 if self.node is None else self.node.lineno


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a function's `def` says."""

    params: tuple[Parameter, ...]
    result: Declared

    @property
    def shaped(self) -> bool:
        """Whether any parameter or the result declares a shape."""
        return any(map(speaks, (*(p.declared for p in self.params), self.result)))


def speaks(declared: Declared) -> bool:
    """Whether a declaration says anything about a shape."""
    return any(True for _ in declared.texts())


def speaks_of_calls(declared: CallableDecl) -> bool:
    """Whether a `Callable` says anything about the shapes that it takes or returns."""
    return any(map(speaks, (*(declared.params or ()), declared.result)))


def declaration(function: Function) -> Declaration:
    """Return what a function's `def` says; read once."""
    return function.module.recall(("declaration", function.node), lambda: _read(function), _NOTHING)


_NOTHING: Final = Declaration((), AnyDecl())


def _read(function: Function) -> Declaration:
    memory = function.module.program.memory
    if memory.traces:
        memory.asked.add((function.module.source.path, function.node.lineno))
    arguments = function.node.args
    read = _reading(function)
    params: list[Parameter] = []
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    for argument, default in zip(positional, [*defaults, *arguments.defaults], strict=True):
        declared = read(argument.annotation, default)
        params.append(Parameter(argument.arg, declared, default, "positional", argument))
    if (star := arguments.vararg) is not None:
        params.append(Parameter(star.arg, read(star.annotation, None), None, "star", star))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        declared = read(argument.annotation, default)
        params.append(Parameter(argument.arg, declared, default, "keyword", argument))
    if (double := arguments.kwarg) is not None:
        options = reader(function.module).options(double.annotation)
        declared = read(double.annotation, None) if options is None else options
        kind = "double-star" if options is None else "options"
        params.append(Parameter(double.arg, declared, None, kind, double))
    returns = getattr(function.node, "returns", None)
    return Declaration(tuple(params), read(returns, None))


def _reading(function: Function) -> Callable[[ast.expr | None, ast.expr | None], Declared]:
    """Return what reads the annotations of a function: numba gives it arrays, and no `Tensor`."""
    read, node = reader(function.module).read_with_default, function.node
    if not is_def(node) or not node.decorator_list:
        return read
    if not any(one.startswith("numba.") for one in decorator_names(function.module, node)):
        return read

    def found(annotation: ast.expr | None, default: ast.expr | None) -> Declared:
        declared = read(annotation, default)
        is_tensor = any(isinstance(one, TensorDecl) for one in alternatives(declared))
        return AnyDecl() if is_tensor else declared

    return found


def arguments_of(node: Def | ast.Lambda, *, stars: bool = False) -> list[ast.arg]:
    """Return the arguments of a `def` or a lambda; `stars`: with `*args` and `**kwargs`, last."""
    given = node.args
    more = (given.vararg, given.kwarg) if stars else ()
    every = (*given.posonlyargs, *given.args, *given.kwonlyargs, *more)
    return [one for one in every if one is not None]


def own_names(function: Function) -> set[str]:
    """Return the dimension names in a function's annotations."""
    says = declaration(function)
    return names_of(*(param.declared for param in says.params), says.result)


def names_of(*declared: Declared) -> set[str]:
    """Return the dimension names in the texts of declarations."""
    return {name for one in declared for text in one.texts() for name in text.names()}


def decorator_names(module: Module, node: Def | ast.ClassDef) -> Iterator[str]:
    """Yield the dotted names of a function's or class' decorators, `?` for what isn't known."""
    for decorator in node.decorator_list:
        target = called(decorator)
        if target is not decorator and ast.unparse(target).endswith("jaxtyped"):
            yield "jaxtyping.jaxtyped"
            continue
        yield dotted(reader(module).resolve(target)) or "?"
