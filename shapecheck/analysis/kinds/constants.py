"""Numbers, texts, None and sizes: what Python's own constants are, and what stands for some."""

from __future__ import annotations

import ast
from typing import Final, TypeVar

import shapecheck.dims as dims
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.kinds import Iterated, Kind, Spelling, register
from shapecheck.analysis.interpreter.registry import MethodCall
from shapecheck.analysis.interpreter.truth import ATOMIC, CONSTANTS, INTEGER, NUMBER, SEQUENCE
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.values.model import Bound, ListContent
from shapecheck.dims import Dim, IntSize, Size, symbol_of
from shapecheck.dims.composites import symbols
from shapecheck.ops import UNKNOWN, DType
from shapecheck.ops.call import as_text
from shapecheck.shapes import Item, Run

_C_contra = TypeVar("_C_contra", contravariant=True)


class _Constant(Kind[_C_contra]):
    """A value that is known itself."""

    foreign = True

    def is_callable(self, frame: Frame, held: _C_contra) -> bool | None:
        return False

    def truth(self, frame: Frame, held: _C_contra) -> bool | None:
        return bool(held)

    def is_a(self, frame: Frame, held: _C_contra, cls: str) -> bool | None:
        return False

    def has(self, frame: Frame, value: Value, held: _C_contra, name: str) -> bool | None:
        return hasattr(held, name)


class NoneKind(_Constant[None]):
    """None."""

    family = "None"

    def types(self, frame: Frame, held: None) -> frozenset[str] | None:
        return ATOMIC | {"NoneType"}


register(type(None), NoneKind())


class IntKind(_Constant[int]):
    """A number of items that is known."""

    family = "number"

    def types(self, frame: Frame, held: int) -> frozenset[str] | None:
        return INTEGER


register(int, IntKind())


class BoolKind(IntKind):
    """True or False."""

    def types(self, frame: Frame, held: int) -> frozenset[str] | None:
        return INTEGER | {"bool"}


register(bool, BoolKind())


class FloatKind(_Constant[float]):
    """A number with a fraction."""

    family = "number"

    def types(self, frame: Frame, held: object) -> frozenset[str] | None:
        return NUMBER | {"float"}


register(float, FloatKind())


_TEXT_METHODS: Final = frozenset(
    "startswith endswith split rsplit lower upper replace strip lstrip rstrip removeprefix "
    "removesuffix partition rpartition isdigit find index count title capitalize".split()
)


_MOST_LETTERS: Final = 1024
"""As many letters of a text are gone through one by one."""


class TextKind(_Constant[str]):
    """A text."""

    family = "str"

    def types(self, frame: Frame, held: str) -> frozenset[str] | None:
        return SEQUENCE | {"str"}

    def iterate(self, frame: Frame, value: Value, held: str) -> Iterated:
        return (tuple(held), UNKNOWN) if len(held) <= _MOST_LETTERS else (None, UNKNOWN)

    def contains(self, frame: Frame, held: str, item: Value) -> bool | None:
        text = as_text(item)
        return None if text is None else text in held

    def length(self, frame: Frame, value: Value, held: str) -> IntSize | None:
        return len(held)

    def call_method(self, frame: Frame, call: MethodCall[str]) -> Value:
        """Call a method of the text itself where its arguments are known."""
        if call.name not in _TEXT_METHODS:
            return super().call_method(frame, call)
        given = (*call.args, *call.kwargs.values())
        if not all(isinstance(arg, (*CONSTANTS, tuple)) for arg in given):
            found = super().call_method(frame, call)
            return UNKNOWN if found is NOTHING else found
        try:
            made: Value = getattr(call.held, call.name)(*call.args, **call.kwargs)
        except (TypeError, ValueError):
            return UNKNOWN
        match made:
            case list():
                return frame.state.new(ListContent(tuple(made)))
        return made


register(str, TextKind())


class SizeKind(Kind[Size]):
    """A number of items of which only the name is known, or what it is computed from."""

    family = "number"
    foreign = True

    def is_callable(self, frame: Frame, held: Size) -> bool | None:
        return False

    def types(self, frame: Frame, held: Size) -> frozenset[str] | None:
        return INTEGER

    def is_a(self, frame: Frame, held: Size, cls: str) -> bool | None:
        return False

    def another(self, frame: Frame, value: Value, held: Size) -> Value:
        return another_item(held)


register(Size, SizeKind())


def another_item(item: Item) -> Item:
    """Return a size like one, or a run of them: of what isn't known a different one."""
    if isinstance(item, Run):
        return Run(item.symbol.again()) if item.symbol.varies else item
    if any(symbol.varies for symbol in dims.symbols(item)):
        alone = symbol_of(item)
        return dims.unknown() if alone is None else Size.of(alone.again())
    return item


class DTypeKind(Kind[DType]):
    """A dtype."""

    family = "object"

    def truth(self, frame: Frame, held: DType) -> bool | None:
        return True

    def types(self, frame: Frame, held: DType) -> frozenset[str] | None:
        return frozenset()


register(DType, DTypeKind())


class DimKind(Kind[Dim]):
    """A dimension as an object, `Dim("b")`."""

    def attribute(self, frame: Frame, value: Value, held: Dim, name: str, node: ast.expr) -> Value:
        if name not in _OF_DIMENSIONS:
            return Bound(value, name)
        found: Value = getattr(held, name)
        return found

    def plain(self, spelling: Spelling, value: Value, held: Dim) -> Value:
        if isinstance(held.size, int):  # then it is the same in all that the body calls
            spelling.frame.dims |= symbols(held.dim)
        return held.dim


register(Dim, DimKind())


_OF_DIMENSIONS: Final = frozenset(("bases", "name", "size", "kind", "labels", "ragged"))
