"""Namespaces, `SimpleNamespace(lr=0.1, width=64)`: attributes and nothing else."""

from __future__ import annotations

import ast
from dataclasses import replace

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.kinds import Kind, Spelling, register
from shapecheck.analysis.interpreter.op_calls import written
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.values.model import Attributes, Namespace
from shapecheck.ops import UNKNOWN


class NamespaceKind(Kind[Namespace]):
    """A namespace."""

    foreign = True

    def is_callable(self, frame: Frame, held: Namespace) -> bool | None:
        return False

    def truth(self, frame: Frame, held: Namespace) -> bool | None:
        return True

    def is_a(self, frame: Frame, held: Namespace, cls: str) -> bool | None:
        return False

    def has(self, frame: Frame, value: Value, held: Namespace, name: str) -> bool | None:
        return True if name in held.attrs else False if held.whole else None

    def attribute(
        self, frame: Frame, value: Value, held: Namespace, name: str, node: ast.expr
    ) -> Value:
        if name == "__dict__":
            return Attributes(value)
        return written(held.attrs.get(name, UNKNOWN))

    def set_attribute(
        self, frame: Frame, value: Value, held: Namespace, name: str, new: Value, node: ast.expr
    ) -> None:
        frame.state.put(value, replace(held, attrs={**held.attrs, name: new}))

    def plain(self, spelling: Spelling, value: Value, held: Namespace) -> Value:
        return UNKNOWN


register(Namespace, NamespaceKind())
