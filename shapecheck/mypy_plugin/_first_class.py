"""What a tensor is that was indexed with first-class dimensions: none of torch's, to mypy anything.

torch says that `Tensor.__getitem__` gives a `Tensor`, which has no `order`. `functorch.dim` has no
annotations, so that its dimensions are Any to mypy; with one in the index the result is Any too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mypy.nodes import Import, ImportFrom
from mypy.types import AnyType, Instance, TupleType, TypeOfAny, get_proper_type

from shapecheck.mypy_plugin._names import FIRST_CLASS

if TYPE_CHECKING:
    from mypy.checker import TypeChecker
    from mypy.nodes import MypyFile
    from mypy.plugin import MethodContext
    from mypy.types import Type


def indexed(ctx: MethodContext) -> Type:
    """Return what indexing a tensor gives."""
    index = ctx.arg_types[0] if ctx.arg_types else []
    checker = cast("TypeChecker", ctx.api)
    if any(map(_has_any, index)) and _imports_dims(checker.tree):
        return AnyType(TypeOfAny.special_form)
    return ctx.default_return_type


def _has_any(index: Type) -> bool:
    proper = get_proper_type(index)
    if isinstance(proper, TupleType):
        return any(map(_has_any, proper.items))
    if isinstance(proper, Instance):
        return any(map(_has_any, proper.args))
    return isinstance(proper, AnyType)


def _imports_dims(file: MypyFile) -> bool:
    for statement in file.imports:
        if isinstance(statement, ImportFrom) and FIRST_CLASS in (
            statement.id,
            *(f"{statement.id}.{name}" for name, _ in statement.names),
        ):
            return True
        if isinstance(statement, Import) and any(name == FIRST_CLASS for name, _ in statement.ids):
            return True
    return False
