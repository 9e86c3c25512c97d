"""What results are called by the functions that gave them, which operations by name go by."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from shapecheck.analysis.annotations.reader import reader
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Function, Value, dotted
from shapecheck.analysis.values.heap import Moving
from shapecheck.analysis.values.model import ByName, Ref
from shapecheck.dims import Kind, Size, Sym, size_of, symbol_of, symbols, unknown
from shapecheck.dims.origins import OfResult
from shapecheck.ops.named.naming import is_named
from shapecheck.shapes import Facts, Item, Run, Shape, Tensor

DECORATOR: Final = frozenset(("shapecheck.shapecheck", "shapecheck.runtime.shapecheck"))
"""What makes a call have names of its own at run time."""


def is_outside_of_calls(frame: Frame) -> bool:
    """Whether no call is running at run time that has names of its own: a script, say.

    There the result of a function is called by the names that the function has for it.
    """
    function = frame.function
    return function is None or not _is_decorated(function)


def _is_decorated(function: Function) -> bool:
    module = function.module

    def found() -> bool:
        resolve = reader(module).resolve
        nodes = [function.node, *([function.owner.node] if function.owner is not None else [])]
        return any(
            dotted(resolve(one.func if isinstance(one, ast.Call) else one)) in DECORATOR
            for node in nodes
            for one in getattr(node, "decorator_list", ())
        )

    return module.recall(("decorated by us", function.node), found, False)


class Unforeseen(Moving):
    """Has axes without names be called anything: what a function gives that has its own names.

    They are those of the caller where that has some, which is what the function was run on.
    """

    def tensor(self, tensor: Tensor) -> Tensor:
        """Return a tensor of which the function may have called the axes anything."""
        if tensor.called or all(
            not isinstance(one, Run) and is_named(one) for one in tensor.shape.dims
        ):
            return tensor
        return replace(tensor, called=None)


def are_called_twice(frame: Frame, values: Sequence[Value]) -> bool:
    """Whether an axis of a result has a name here, and another one of the function that gave it.

    Which of them it has at run time depends on whether names are carried outside of calls.
    """
    return any(
        name is not None and not isinstance(item, Run) and is_named(item) and str(item) != name
        for one in _tensors(frame, values)
        for name, item in zip(one.called or (), one.shape.dims, strict=False)
    )


def by_their_names(frame: Frame, values: Sequence[Value], theirs: bool = False) -> list[Value]:
    """Return what an operation by name is given, results with the names that they are called by.

    One that another tensor has for a dimension of this size is that one. `theirs`: also of axes
    that have names here.
    """
    tensors = [*_tensors(frame, values)]
    if not any(one.called != () or any(map(_is_of_result, one.shape.dims)) for one in tensors):
        return [*values]
    facts = frame.state.facts
    names = {
        symbol.name: symbol
        for one in tensors
        for item in one.shape.dims
        if not isinstance(item, Run) and (symbol := symbol_of(item)) is not None
        if symbol.kind is Kind.NAME and not isinstance(symbol.origin, OfResult)
    }
    calling = _Calling(frame, facts, {} if theirs else names, theirs)
    return [calling.value(value) for value in values]


def _tensors(frame: Frame, values: Sequence[Value]) -> Iterator[Tensor]:
    for value in values:
        match value:
            case Tensor():
                yield value
            case ByName(tensor=tensor):
                yield tensor
            case tuple():
                yield from _tensors(frame, value)
            case Ref() if (content := frame.state.list_of(value)) is not None:
                yield from (one for one in content.values if isinstance(one, Tensor))
                yield from (one.tensor for one in content.values if isinstance(one, ByName))


@dataclass(frozen=True, slots=True)
class _Calling:
    """Calls results by the names that they have; `names` are those of other tensors."""

    frame: Frame
    facts: Facts
    names: dict[str, Sym]
    theirs: bool

    def value(self, value: Value) -> Value:
        match value:
            case Tensor():
                return self.tensor(value)
            case ByName(tensor=tensor):
                return replace(value, tensor=self.tensor(tensor))
            case tuple():
                return tuple(map(self.value, value))
            case Ref() if (content := self.frame.state.list_of(value)) is not None:
                if content.items is not None:
                    return tuple(map(self.value, content.items))
        return value

    def tensor(self, tensor: Tensor) -> Tensor:
        dims, called = tensor.shape.dims, tensor.called
        if called is None:
            known = (one if isinstance(one, Run) or is_named(one) else unknown() for one in dims)
            return Tensor(Shape(tuple(known)), tensor.dtype)
        if len(called) != len(dims):
            called = (None,) * len(dims)
        items = tuple(self._item(item, name) for item, name in zip(dims, called, strict=True))
        return Tensor(Shape(items), tensor.dtype, tensor.inserted, blank=tensor.blank)

    def _item(self, item: Item, name: str | None) -> Item:
        if isinstance(item, Run):
            return item
        size = self.facts.size(size_of(item))
        if _is_of_result(item):
            name = str(item)
        elif any(one.kind is Kind.UNKNOWN for one in symbols(size)) or (
            not self.theirs and (is_named(item) or is_named(size))
        ):
            return item
        if name is None:
            return item
        other = self.names.get(name)
        if other is not None and self.facts.same(Size.of(other), size):
            return Size.of(other)
        own = Sym(name, Kind.NAME, OfResult(size))
        self.facts.learn(own, size)
        return Size.of(own)


def _is_of_result(item: Item) -> bool:
    symbol = None if isinstance(item, Run) else symbol_of(item)
    return symbol is not None and isinstance(symbol.origin, OfResult)
