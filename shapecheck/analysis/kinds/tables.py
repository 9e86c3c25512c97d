"""Tables and columns of pandas: what is known of their values, as an array has them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.analysis.interpreter.calls import invoke
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import length
from shapecheck.analysis.interpreter.kinds import Iterated, Kind, Spelling, as_learned, register
from shapecheck.analysis.interpreter.registry import MethodCall
from shapecheck.analysis.interpreter.statements import store
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.program.syntax import owner_of
from shapecheck.analysis.values.model import Array, Bound, ListContent, Table
from shapecheck.dims import IntSize, size_of
from shapecheck.ops import UNKNOWN, Sizes
from shapecheck.shapes import Item, Run, Shape, Tensor

PLACES: Final = frozenset(("iloc", "loc"))
_CLASSES: Final = {"pandas.DataFrame": 2, "pandas.Series": 1}


def table(*axes: Item, dtype: dtypes.DTypes = dtypes.ANY) -> Table:
    """Return a table of so many rows and columns, or a column of so many rows."""
    return Table(Tensor(Shape(axes), dtype))


def any_table() -> Table:
    """Return a table of which nothing is known."""
    return table(dims.unknown("rows"), dims.unknown("columns"))


class TableKind(Kind[Table]):
    """A table, or a column of one."""

    foreign = True

    def is_callable(self, frame: Frame, held: Table) -> bool | None:
        return False

    def is_a(self, frame: Frame, held: Table, cls: str) -> bool | None:
        rank = _CLASSES.get(cls)
        return None if rank is None else rank == _rank(held)

    def iterate(self, frame: Frame, value: Value, held: Table) -> Iterated:
        return None, UNKNOWN

    def length(self, frame: Frame, value: Value, held: Table) -> IntSize | None:
        return None if held.place else _size(held.tensor.shape.dims[0])

    def item(
        self,
        frame: Frame,
        value: Value,
        held: Table,
        index: Value,
        node: ast.expr,
        source: ast.expr,
    ) -> Value:
        if held.place == "iloc":
            return _at(frame, held, index)
        rows, *columns = held.tensor.shape.dims
        if _is_condition(node):
            return table(dims.unknown(), *columns)
        if held.place == "loc":
            return _located(frame, held, index)
        match index:
            case slice():
                return table(dims.unknown(), *columns)
            case str() if columns:
                return table(rows)
        several = _several(frame, index)
        return UNKNOWN if several is None or not columns else table(rows, several)

    def set_item(
        self,
        frame: Frame,
        value: Value,
        held: Table,
        index: Value,
        new: Value,
        target: ast.Subscript,
        source: ast.expr,
    ) -> None:
        """Count the columns anew: there may be another one."""
        if not held.place and _rank(held) == 2:
            _put(frame, target.value, table(held.tensor.shape.dims[0], dims.unknown()), target)

    def attribute(
        self, frame: Frame, value: Value, held: Table, name: str, node: ast.expr
    ) -> Value:
        shape = held.tensor.shape
        if name in PLACES:
            return replace(held, place=name)
        if name == "values":
            return Array(held.tensor)
        if name == "shape":
            return Sizes(shape.dims)
        if name == "T":
            return table(*reversed(shape.dims))
        return Bound(held, name) if name in METHODS else UNKNOWN

    def call_method(self, frame: Frame, call: MethodCall[Table]) -> Value:
        """Return what a method makes; under `inplace=True` the table itself becomes that."""
        change = METHODS.get(call.name)
        if change is None:
            return NOTHING
        made = change(frame, call)
        if call.kwargs.get("inplace") in (None, False):
            return made
        place = owner_of(call.node.func)
        if place is not None:
            _put(frame, place, made, call.node)
        return None

    def plain(self, spelling: Spelling, value: Value, held: Table) -> Value:
        if held.place or not spelling.arrays:
            return UNKNOWN
        return as_learned(spelling.frame, held.tensor)


register(Table, TableKind())


def _size(axis: Item) -> IntSize:
    return dims.unknown() if isinstance(axis, Run) else size_of(axis)


def _rank(held: Table) -> int:
    return len(held.tensor.shape.dims)


def _put(frame: Frame, place: ast.expr, changed: Value, node: ast.expr) -> None:
    """Have a table be another from here on, where an expression finds it."""
    if isinstance(place, ast.Name):
        frame.renew(place, changed, node)
    else:
        store(frame, place, changed, node)


def _is_condition(node: ast.expr) -> bool:
    """Whether rows are chosen by a condition on them: `table[table["age"] > 3]`."""
    match node:
        case ast.Subscript(slice=ast.Compare() | ast.UnaryOp(op=ast.Invert())):
            return True
        case ast.Subscript(slice=ast.BinOp(op=ast.BitAnd() | ast.BitOr())):
            return True
    return False


def _several(frame: Frame, index: Value) -> IntSize | None:
    """Return how many columns a list names."""
    is_list = isinstance(index, list) or frame.state.list_of(index) is not None
    return length(frame, index) if is_list else None


def _at(frame: Frame, held: Table, index: Value) -> Value:
    """Return what is at places that are counted, as numpy counts them."""
    parts = index if isinstance(index, tuple) else (index,)
    axes = [*held.tensor.shape.dims]
    left: list[Item] = []
    if len(parts) > len(axes):
        return UNKNOWN
    for axis, part in zip(axes, (*parts, *[slice(None)] * (len(axes) - len(parts))), strict=True):
        match part:
            case int():
                continue
            case slice():
                left.append(axis if part == slice(None) else _cut(frame, axis, part))
            case _:
                several = _several(frame, part)
                if several is None:
                    return UNKNOWN
                left.append(several)
    return table(*left) if left else UNKNOWN


def _cut(frame: Frame, axis: Item, part: slice) -> IntSize:
    """Return how many items a slice leaves of an axis.

    One whose size isn't known is supposed to be as long as the slice has it.
    """
    size = frame.state.facts.size(_size(axis))
    if isinstance(size, int):
        bounds = (part.start, part.stop, part.step)
        is_told = all(one is None or type(one) is int for one in bounds) and part.step != 0
        return len(range(size)[part]) if is_told else dims.unknown()
    match part:
        case slice(start=None, stop=int() as stop, step=None) if stop < 0:
            return size + stop
        case slice(start=int() as start, stop=None, step=None) if start > 0:
            return size - start
        case slice(start=int() as start, stop=int() as stop, step=None) if 0 <= start <= stop:
            return stop - start
    return dims.unknown()


def _located(frame: Frame, held: Table, index: Value) -> Value:
    """Return what is at places that are named, where the rows are all or some of them."""
    rows, *columns = held.tensor.shape.dims
    match index:
        case slice():
            return table(dims.unknown(), *columns)
        case (slice() as which, name) if columns:
            some = rows if which == slice(None) else dims.unknown()
            if isinstance(name, str):
                return table(some)
            several = dims.unknown() if isinstance(name, slice) else _several(frame, name)
            return UNKNOWN if several is None else table(some, several)
    return UNKNOWN


# Methods ------------------------------------------------------------------------------------------

_Change = Callable[[Frame, "MethodCall[Table]"], Value]


def _same(frame: Frame, call: MethodCall[Table]) -> Value:
    return call.held


def _array(frame: Frame, call: MethodCall[Table]) -> Value:
    return Array(call.held.tensor)


def _cast(frame: Frame, call: MethodCall[Table]) -> Value:
    """Return the values as another kind of number."""
    array = Array(call.held.tensor)
    made = frame.hush(invoke, Bound(array, "astype"), call.arguments, call.node, call.label)
    return Table(made.tensor) if isinstance(made, Array) else table(*call.held.tensor.shape.dims)


def _other_rows(frame: Frame, call: MethodCall[Table]) -> Value:
    return table(dims.unknown(), *call.held.tensor.shape.dims[1:])


def _other_columns(frame: Frame, call: MethodCall[Table]) -> Value:
    columns = (dims.unknown() for _ in call.held.tensor.shape.dims[1:])
    return table(call.held.tensor.shape.dims[0], *columns)


def _without(frame: Frame, call: MethodCall[Table]) -> Value:
    """Leave columns out, or rows."""
    rows, *columns = call.held.tensor.shape.dims
    names = call.kwargs.get("columns")
    if names is None and call.get(1, "axis", 0) in (1, "columns"):
        names = call.get(0, "labels")
    if names is None or not columns:
        return _other_rows(frame, call)
    fewer = 1 if isinstance(names, str) else _several(frame, names)
    if fewer is None or "errors" in call.kwargs:
        return table(rows, dims.unknown())
    return table(rows, _size(columns[0]) - fewer)


def _numbered(frame: Frame, call: MethodCall[Table]) -> Value:
    return call.held if call.kwargs.get("drop") is True else _other_columns(frame, call)


def _list(frame: Frame, call: MethodCall[Table]) -> Value:
    return frame.state.new(ListContent(None, UNKNOWN, count=length(frame, call.held)))


def _of_each(frame: Frame, call: MethodCall[Table]) -> Value:
    """Return a column of what a function makes of each value of one."""
    return table(call.held.tensor.shape.dims[0]) if _rank(call.held) == 1 else UNKNOWN


def _column_taken(frame: Frame, call: MethodCall[Table]) -> Value:
    place = owner_of(call.node.func)
    if place is not None:
        _put(frame, place, _other_columns(frame, call), call.node)
    return table(call.held.tensor.shape.dims[0])


def _named(names: str, change: _Change) -> dict[str, _Change]:
    return dict.fromkeys(names.split(), change)


METHODS: Final[dict[str, _Change]] = {
    **_named("copy fillna sort_values sort_index rename clip round ffill bfill", _same),
    **_named("replace interpolate abs shift diff cumsum rank infer_objects", _same),
    **_named("to_numpy", _array),
    **_named("astype", _cast),
    **_named("dropna drop_duplicates sample query head tail", _other_rows),
    **_named("assign join set_index insert", _other_columns),
    **_named("drop", _without),
    **_named("reset_index", _numbered),
    **_named("tolist to_list", _list),
    **_named("map apply isin notna isna", _of_each),
    **_named("pop", _column_taken),
}
"""What the methods of tables and columns make; of others nothing is known."""
