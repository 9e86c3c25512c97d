"""torchtyping's `TensorType["batch": ..., 3, "channels", float, is_named]`."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from shapecheck import dtypes
from shapecheck.analysis.annotations.dialects.reading import Reading, is_name, is_word
from shapecheck.analysis.program.declared import TensorDecl
from shapecheck.analysis.program.model import Value, dotted
from shapecheck.analysis.program.syntax import called
from shapecheck.spec import dialects

_ELEMENT_TYPES: Final[Mapping[str, dtypes.DTypes]] = {
    "builtins.float": dtypes.DEFAULT_FLOAT,
    "builtins.int": dtypes.INT64,
    "builtins.bool": dtypes.BOOL,
    "builtins.complex": dtypes.COMPLEX,
    "torchtyping.is_float": dtypes.FLOAT,
}
_ANY_SIZE: Final = "typing.Any"


def _element_type(value: Value) -> dtypes.DTypes | None:
    """Return which dtypes `float` and `torch.float32` are as parts of an annotation."""
    name = dotted(value) or ""
    package, _, word = name.rpartition(".")
    if package == "torch" and dtypes.of(word) != dtypes.ANY:
        return dtypes.of(word)
    return _ELEMENT_TYPES.get(name)


def tensor_type(reading: Reading, node: ast.Subscript) -> TensorDecl:
    """Read `TensorType["batch": ..., 3, "c", float, is_named]`."""
    dtype, slots, is_known = dtypes.ANY, list[dialects.Slot](), True
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for part in parts:
        held = _element_type(reading.resolve(part)) if is_name(part) else None
        if held is not None:
            dtype &= held
        elif (slot := _slot(reading, part)) is not None:
            slots.append(slot)
        elif not _is_detail(reading, part):
            is_known = False
    is_scalar = any(map(_is_empty, [node.slice, *parts]))
    text = dialects.of_slots(slots) if is_known and (slots or is_scalar) else None
    return TensorDecl(text, dtype)


def _slot(reading: Reading, node: ast.expr) -> dialects.Slot | None:
    if isinstance(node, ast.Slice):
        ends = node.lower, node.upper
        low, high = (None if end is None else reading.value(end) for end in ends)
        if (low is None or isinstance(low, str)) and is_word(high):
            return low, high
        return None
    if is_name(node) and dotted(reading.resolve(node)) == _ANY_SIZE:
        return None, None
    found = reading.value(node)
    if isinstance(found, str):
        return found, None
    return (None, found) if found is None or is_word(found) else None


def _is_empty(node: ast.expr) -> bool:
    return isinstance(node, ast.Tuple) and not node.elts


def _is_detail(reading: Reading, node: ast.expr) -> bool:
    """Whether a part asks for something else than sizes: a layout, names, a detail of one's own."""
    if isinstance(node, ast.Tuple):
        return _is_empty(node)
    known = dotted(reading.resolve(called(node))) if is_name(called(node)) else None
    return known is not None and known.partition(".")[0] in ("torch", "torchtyping")
