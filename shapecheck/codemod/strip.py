"""Takes shape annotations out of source text: `Float[Tensor, "b c"]` becomes `Tensor`.

What `annotate` wrote where there was nothing goes altogether, and its imports with it: stripping
what was annotated gives the same bytes again.
"""

from __future__ import annotations

from typing import Final

import libcst as cst

from shapecheck.codemod.write.edit import swapped
from shapecheck.codemod.write.imports import (
    LIBRARIES,
    Bindings,
    Mark,
    dotted,
    find_mark,
    without_unused,
)

_ANNOTATED: Final = ("typing.Annotated", "typing_extensions.Annotated")


def strip(text: str) -> str:
    """Return a module's text without its shape annotations; raises `cst.ParserSyntaxError`."""
    if not any(name in text for name in (*LIBRARIES, "Annotated")):
        return text
    module = cst.parse_module(text)
    bindings = Bindings(text)
    stripper = _Stripper(bindings, find_mark(module))
    stripped = module.visit(stripper)
    if not stripper.is_changed and find_mark(module) is None:
        return text
    return without_unused(stripped, LIBRARIES, stripper.gone).code


class _Stripper(cst.CSTTransformer):
    def __init__(self, bindings: Bindings, mark: Mark | None) -> None:
        self.bindings, self.mark = bindings, mark
        self.is_changed = False
        self.gone: set[str] = set()

    def leave_Subscript(
        self, original_node: cst.Subscript, updated_node: cst.Subscript
    ) -> cst.BaseExpression:
        if not self._is_shaped(original_node):
            return updated_node
        first = updated_node.slice[0].slice
        if not isinstance(first, cst.Index):
            return updated_node
        self.is_changed = True
        self.gone.add(dotted(original_node.value))
        outer = {part: (*getattr(updated_node, part),) for part in ("lpar", "rpar")}
        inner = {part: (*getattr(first.value, part, ()),) for part in ("lpar", "rpar")}
        return first.value.with_changes(
            lpar=outer["lpar"] + inner["lpar"], rpar=inner["rpar"] + outer["rpar"]
        )

    def leave_BinaryOperation(
        self, original_node: cst.BinaryOperation, updated_node: cst.BinaryOperation
    ) -> cst.BaseExpression:
        parts = (original_node.left, original_node.right)
        shaped = all(isinstance(one, cst.Subscript) and self._is_shaped(one) for one in parts)
        is_once = shaped and updated_node.left.deep_equals(updated_node.right)
        return updated_node.left if is_once else updated_node

    def _is_shaped(self, node: cst.Subscript) -> bool:
        if len(node.slice) != 2 or not isinstance(second := node.slice[1].slice, cst.Index):
            return False
        if self.bindings.category(node.value) is not None:
            return True
        is_text = isinstance(second.value, (cst.SimpleString, cst.ConcatenatedString))
        return self.bindings.meaning(node.value) in _ANNOTATED and is_text

    def _is_ours(self, annotation: cst.Annotation | None) -> bool:
        """Whether an annotation was written where there was none."""
        if annotation is None or self.mark is None or not self.mark.tensor:
            return False
        found = _Spelled(self.bindings, self.mark.tensor)
        annotation.annotation.visit(found)
        return found.is_there

    def leave_Param(self, original_node: cst.Param, updated_node: cst.Param) -> cst.Param:
        if not self._is_ours(original_node.annotation):
            return updated_node
        self.is_changed = True
        equal = updated_node.equal
        if updated_node.default is not None and isinstance(equal, cst.AssignEqual):
            equal = equal if self.mark is not None and self.mark.spaced else swapped(equal)
        return updated_node.with_changes(annotation=None, equal=equal)

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.BaseStatement:
        if not self._is_ours(original_node.returns):
            return updated_node
        self.is_changed = True
        return updated_node.with_changes(returns=None)

    def leave_AnnAssign(
        self, original_node: cst.AnnAssign, updated_node: cst.AnnAssign
    ) -> cst.BaseSmallStatement:
        equal = updated_node.equal
        if updated_node.value is None or not isinstance(equal, cst.AssignEqual):
            return updated_node
        if not self._is_ours(original_node.annotation):
            return updated_node
        self.is_changed = True
        before, after = equal.whitespace_before, equal.whitespace_after
        assert isinstance(before, cst.SimpleWhitespace)
        assert isinstance(after, cst.SimpleWhitespace)
        target = cst.AssignTarget(updated_node.target, before, after)
        return cst.Assign([target], updated_node.value, updated_node.semicolon)


class _Spelled(cst.CSTVisitor):
    """Whether there is a shape around a tensor that is spelled in a given way."""

    def __init__(self, bindings: Bindings, tensor: str) -> None:
        self.bindings, self.tensor, self.is_there = bindings, tensor, False

    def visit_Subscript(self, node: cst.Subscript) -> None:
        if not self.bindings.is_shaped(node):
            return
        first = node.slice[0].slice
        if isinstance(first, cst.Index) and dotted(first.value) == self.tensor:
            self.is_there = True
