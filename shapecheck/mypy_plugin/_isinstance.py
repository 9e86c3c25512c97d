"""`isinstance(x, Float[Tensor, "b c"])` is correct code, and `x` is a `Tensor` where it holds.

To mypy `Float[...]` is a special form, which `isinstance` doesn't take. Here it counts as
`type[Tensor]`: it narrows where the check holds and says nothing where it fails, since a tensor of
another shape is still a tensor. The same goes for an alias, `Image = Float[Tensor, "3 h w"]`, which
mypy would take for the exact class `Tensor`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from mypy.nodes import IndexExpr, MemberExpr, NameExpr, RefExpr, TupleExpr, TypeAlias, TypeInfo
from mypy.types import AnyType, Instance, TupleType, TypeOfAny, TypeType, get_proper_type
from mypy.typevars import fill_typevars_with_any

from shapecheck.mypy_plugin._names import ANNOTATED, OBJECT

if TYPE_CHECKING:
    from mypy.checker import TypeChecker
    from mypy.nodes import Expression
    from mypy.plugin import FunctionContext, FunctionSigContext
    from mypy.types import FunctionLike, ProperType, Type

    from shapecheck.mypy_plugin._sources import ModuleFinder, SourceReader


class IsInstance:
    """The two hooks of `isinstance` and `issubclass`: what they take, and what they narrow to."""

    def __init__(self, reader: SourceReader, finder: ModuleFinder) -> None:
        self._reader = reader
        self._finder = finder

    def accept_annotated(self, ctx: FunctionSigContext) -> FunctionLike:
        """Let the second parameter take anything where an annotated type is passed."""
        signature = ctx.default_signature
        if not (len(ctx.args) == 2 and ctx.args[1] and self._has_annotated(ctx.args[1][0])):
            return signature
        anything = ctx.api.named_generic_type(OBJECT, [])
        return signature.copy_modified(arg_types=[signature.arg_types[0], anything])

    def narrow(self, ctx: FunctionContext) -> Type:
        """Record the class that an annotated type stands for, where mypy looks for it."""
        if len(ctx.args) == 2 and ctx.args[1] and self._has_annotated(ctx.args[1][0]):
            checker = cast("TypeChecker", ctx.api)
            classes = ctx.args[1][0]
            checker.store_type(classes, self._class_of(classes, checker))
        return ctx.default_return_type

    def _has_annotated(self, classes: Expression) -> bool:
        if isinstance(classes, TupleExpr):
            return any(map(self._has_annotated, classes.items))
        return _is_annotated(classes) or self._is_annotated_alias(classes)

    def _class_of(self, classes: Expression, checker: TypeChecker) -> ProperType:
        """Return the type of the second argument, with `type[Tensor]` for annotated tensors."""
        known = get_proper_type(checker.lookup_type(classes))
        if isinstance(classes, TupleExpr) and isinstance(known, TupleType):
            items: list[Type] = [self._class_of(item, checker) for item in classes.items]
            return known.copy_modified(items=items)
        if isinstance(classes, IndexExpr) and _is_annotated(classes):
            index = classes.index
            return _type_of(index.items[0] if isinstance(index, TupleExpr) else index)
        return _type_of(classes) if self._is_annotated_alias(classes) else known

    def _is_annotated_alias(self, expression: Expression) -> bool:
        """Was this name assigned something like `Float[...]`? mypy keeps only the class."""
        if not (isinstance(expression, RefExpr) and isinstance(expression.node, TypeAlias)):
            return False
        alias = expression.node
        module = self._finder.modules.get(alias.module)
        found = module and self._reader.read(alias.module, module.path)
        lines = found[0].text.splitlines() if found else []
        if not 0 < alias.line <= len(lines):
            return False
        assignment = rf"\s*{re.escape(alias.name)}\s*(?::[^=]*)?=\s*[\w.]+\s*\["
        return re.match(assignment, lines[alias.line - 1]) is not None


def _is_annotated(expression: Expression) -> bool:
    """Is this `Float[...]`, which mypy knows as `Annotated` by another name?

    Under its own name, `Annotated[Tensor, "b c"]`, Python refuses it in `isinstance` as mypy does.
    """
    base = expression.base if isinstance(expression, IndexExpr) else None
    if not isinstance(base, (NameExpr, MemberExpr)):
        return False
    return base.fullname in ANNOTATED and base.name != "Annotated"


def _type_of(annotated: Expression) -> ProperType:
    """Tensor -> type[Tensor], by the class or the alias that an expression names."""
    node = annotated.node if isinstance(annotated, RefExpr) else None
    if isinstance(node, TypeInfo):
        return get_proper_type(TypeType.make_normalized(fill_typevars_with_any(node)))
    target = get_proper_type(node.target) if isinstance(node, TypeAlias) else None
    if isinstance(target, Instance):
        return get_proper_type(TypeType.make_normalized(target))
    return AnyType(TypeOfAny.special_form)
