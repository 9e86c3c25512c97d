"""What the dialects need of the reader of annotations, and what they tell it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Protocol, TypeGuard

from shapecheck import dtypes, spec
from shapecheck.analysis.program.declared import Declared
from shapecheck.analysis.program.model import Class, Dotted, Value
from shapecheck.spec.dialects import Word


class Reading(Protocol):
    """What the forms need of the reader of a module's annotations."""

    def read(self, node: ast.expr | None) -> Declared:
        """Return what a type declares."""

    def resolve(self, node: ast.expr) -> Value:
        """Return what a name means."""

    def value(self, node: ast.expr) -> object:
        """Return a text, a number, `...` or None, `UNKNOWN` for anything else."""

    def written(self, node: ast.expr) -> ast.expr:
        """Return what a name stands for, as its module writes it."""

    def is_variable(self, name: str) -> bool:
        """Whether a name is a type variable's, in this module or of the `def` around it."""

    def is_row(self, name: str) -> bool:
        """Whether a type variable stands for any number of dimensions: `S: IntTuple`."""

    def malformed(self, node: ast.expr, error: spec.SpecError) -> None:
        """Take note of a text that isn't in its language."""


@dataclass(frozen=True, slots=True)
class Said:
    """What stands beside a tensor's type: a shape (`text` None: an unknown one) and its dtypes.

    `is_stacked`: a list or tuple of tensors counts as one that is stacked of them.
    """

    text: spec.Spec | None
    dtype: dtypes.DTypes = dtypes.ANY
    is_stacked: bool = False


def known_as(value: Value) -> str:
    """Return the package and the last name of a class: `torchtyping.TensorType`; "" for others."""
    match value:
        case Dotted(name=name):
            return f"{name.partition('.')[0]}.{name.rpartition('.')[2]}"
        case Class(node=node, module=module):
            return f"{module.name.partition('.')[0]}.{node.name}"
    return ""


def is_word(value: object) -> TypeGuard[Word]:
    """Whether a value is a dimension by itself: its name, its size, or `...`."""
    return value is ... or (isinstance(value, (str, int)) and not isinstance(value, bool))


def is_name(node: ast.expr) -> bool:
    """Whether an expression is a name, dotted or not."""
    return isinstance(node, (ast.Name, ast.Attribute))
