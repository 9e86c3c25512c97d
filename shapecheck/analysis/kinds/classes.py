"""Classes of the program."""

from __future__ import annotations

import ast
from typing import Final

from shapecheck.analysis.annotations import declarations
from shapecheck.analysis.annotations.classes import ancestry, find_member
from shapecheck.analysis.annotations.construction import is_named_tuple
from shapecheck.analysis.interpreter import decorators, functions
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.kinds import Kind, register
from shapecheck.analysis.interpreter.truth import TYPE
from shapecheck.analysis.kinds.construct import construct
from shapecheck.analysis.program.model import Class, Dotted, Function, Value
from shapecheck.analysis.values.model import Arguments, Bound, Partial
from shapecheck.ops import UNKNOWN


class ClassKind(Kind[Class]):
    """A class of the program."""

    family = "object"

    def is_callable(self, frame: Frame, held: Class) -> bool | None:
        return True

    def truth(self, frame: Frame, held: Class) -> bool | None:
        return True

    def types(self, frame: Frame, held: Class) -> frozenset[str] | None:
        return TYPE

    def attribute(
        self, frame: Frame, value: Value, held: Class, name: str, node: ast.expr
    ) -> Value:
        return held.name if name in ("__name__", "__qualname__") else _attribute(frame, held, name)

    def call(
        self,
        frame: Frame,
        value: Value,
        held: Class,
        arguments: Arguments,
        node: ast.Call,
        label: str,
    ) -> Value:
        return construct(frame, held, list(arguments.args), arguments.kwargs, node, label)


register(Class, ClassKind())


def _attribute(frame: Frame, owner: Class, name: str) -> Value:
    found = find_member(owner, name)
    if found is None:
        if name == "apply" and not _AUTOGRAD.isdisjoint(ancestry(owner)):
            return Partial(Dotted("torch.autograd.Function.apply"), (owner,), ())
        made = name == "_make" and is_named_tuple(owner)
        return Bound(owner, name) if made else UNKNOWN
    home, statement = found
    if isinstance(statement, ast.FunctionDef):
        kinds = set(declarations.decorator_names(home.module, statement))
        function = decorators.decorated(Function(statement, home.module, home, home.home))
        if "builtins.classmethod" in kinds and isinstance(function, Function):
            return Bound(owner, name, function)
        return UNKNOWN if kinds & decorators.PROPERTIES else function
    return functions.assigned(frame, home, statement)


_AUTOGRAD: Final = frozenset(("torch.autograd.Function", "torch.autograd.function.Function"))
