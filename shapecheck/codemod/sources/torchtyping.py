"""From torchtyping to our types: `TensorType["b", "c", float]` becomes `Float[Tensor, "b c"]`."""

from __future__ import annotations

from typing import Final

import libcst as cst
from libcst import matchers as m

from shapecheck.codemod.write.imports import SHAPED, Bindings, added, dotted, without_unused


def convert(text: str, style: str = "shapecheck") -> str:
    """Write torchtyping's `TensorType["b", "c", float]` as `Float[Tensor, "b c"]`.

    A form that has no equal stays as it is. Raises `cst.ParserSyntaxError`.
    """
    if "torchtyping" not in text:
        return text
    module = cst.parse_module(text)
    bindings = Bindings(text)
    converter = _Converter(bindings, style)
    changed = module.visit(converter)
    if not converter.used:
        return text
    known = {meaning: name for name, meaning in bindings.imported.items()}
    lines = []
    if "torch.Tensor" not in known:
        lines.append("from torch import Tensor")
    missing = [k for k in sorted(converter.used) if f"{style}.{k}" not in known]
    if missing:
        lines.append(f"from {style} import {', '.join(missing)}")
    return without_unused(added(changed, lines), ("torchtyping",), ("TensorType",)).code


_ELEMENTS: Final = {
    "float": "Float",
    "int": "Int",
    "bool": "Bool",
    "complex": "Complex",
    "torch.float": "Float32",
    "torch.float16": "Float16",
    "torch.half": "Float16",
    "torch.bfloat16": "BFloat16",
    "torch.float32": "Float32",
    "torch.float64": "Float64",
    "torch.double": "Float64",
    "torch.long": "Int64",
    "torch.int64": "Int64",
    "torch.int32": "Int32",
    "torch.int": "Int32",
    "torch.uint8": "UInt8",
    "torch.bool": "Bool",
}
_CHECKS: Final = ("torchtyping.is_named", "torchtyping.is_float")


class _Converter(cst.CSTTransformer):
    def __init__(self, bindings: Bindings, style: str) -> None:
        self.bindings, self.style = bindings, style
        self.used: set[str] = set()

    def leave_Subscript(
        self, original_node: cst.Subscript, updated_node: cst.Subscript
    ) -> cst.BaseExpression:
        if self.bindings.meaning(original_node.value) != "torchtyping.TensorType":
            return updated_node
        words, category = [], "Shaped"
        for element in original_node.slice:
            word = self._word(element.slice)
            if word is None:
                return updated_node
            if word in SHAPED:
                category = word
            elif word:
                words.append(word)
        self.used.add(category)
        return cst.parse_expression(f'{category}[Tensor, "{" ".join(words)}"]')

    def _word(self, node: cst.BaseSlice) -> str | None:
        """Return a dimension, or an element type; "" for a check that says neither, None if odd."""
        if isinstance(node, cst.Slice):  # "channels": 3, or "batch": ...
            name, size = _literal(node.lower), _literal(node.upper)
            if size == "...":
                return "..." if name is None else f"*{name}"
            return f"{name}={size}" if name and size else size
        assert isinstance(node, cst.Index)
        meaning = dotted(node.value)
        if meaning in _ELEMENTS:
            return _ELEMENTS[meaning]
        if self.bindings.meaning(node.value) in _CHECKS:
            return ""
        return _literal(node.value)


def _literal(node: cst.BaseExpression | None) -> str | None:
    """Return a size, name or `...` as our language has it."""
    if isinstance(node, cst.SimpleString):
        text = node.evaluated_value
        return text if isinstance(text, str) and text.isidentifier() else None
    if isinstance(node, cst.Integer):
        return node.value
    if isinstance(node, cst.Ellipsis):
        return "..."
    return "_" if node is not None and m.matches(node, m.UnaryOperation(m.Minus())) else None
