"""Tensors: their attributes and methods, which the signature files have, and their rows."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Final

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.analysis.interpreter import escaping, first_class
from shapecheck.analysis.interpreter.axis_names import name_given
from shapecheck.analysis.interpreter.by_name import METHOD, given_to_torch
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import UNROLL
from shapecheck.analysis.interpreter.kinds import (
    Iterated,
    Kind,
    Spelling,
    as_learned,
    assign_attribute,
    register,
)
from shapecheck.analysis.interpreter.op_calls import Site, apply, write_into
from shapecheck.analysis.interpreter.registry import MethodCall, method
from shapecheck.analysis.interpreter.size_labels import name_sizes
from shapecheck.analysis.interpreter.truth import ITERABLE
from shapecheck.analysis.kinds.constants import another_item
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.program.syntax import owner_of
from shapecheck.analysis.values.model import Array, Bound
from shapecheck.dims import IntSize
from shapecheck.ops import UNKNOWN, Packed
from shapecheck.ops.call import is_within
from shapecheck.shapes import Free, Shape, Tensor


def _call(frame: Frame, call: MethodCall[Tensor] | MethodCall[Free]) -> Value:
    """Call a method of a tensor; one that writes into it gives its variable the result."""
    source = owner_of(call.node.func)
    own = first_class.method(
        frame, call.owner, call.name, call.arguments.args, call.kwargs, call.node
    )
    if own is not None:
        return own
    signature = frame.program.table.signature(f"torch.Tensor.{call.name}")
    if signature is None:
        return NOTHING
    escaping.hand_over(frame, [*call.args, *call.kwargs.values()])
    site = Site(call.node, call.name, args=call.arguments.args, receiver=source or call.node)
    name_given(frame, call.arguments.sizes)
    args = [call.owner, *call.args]
    found = given_to_torch(frame, f"{METHOD}{call.name}", args, call.kwargs, site)
    if found is not NOTHING:
        return found
    result = apply(frame, signature, args, call.kwargs, site)
    name_sizes(frame, call.arguments.sizes, result, call.owner)
    if call.name.endswith("_"):
        changed = _changed_by(frame, source)
        _put_back(frame, changed, result, call.node, "reshapes" in signature.flags)
    return result


def _changed_by(frame: Frame, source: ast.expr | None) -> ast.expr | None:
    """Return what a method that writes is asked of at first: `x` of `x.div_(2).unsqueeze_(0)`."""
    match source:
        case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name.endswith("_"):
            if frame.program.table.signature(f"torch.Tensor.{name}") is not None:
                return _changed_by(frame, owner)
    return source


def _put_back(
    frame: Frame, source: ast.expr | None, result: Value, node: ast.expr, reshapes: bool
) -> None:
    """Give what a method has written into the result: a variable, or who has a part of it.

    `reshapes`: the tensor has other axes from now on, wherever it is kept.
    """
    match source, result:
        case ast.Name(), Tensor():
            frame.renew(source, result, node)
        case ast.Attribute(value=owner, attr=name), Tensor() if reshapes:
            assign_attribute(frame, frame.hush(Frame.eval, owner), name, result, source)
        case ast.expr(), Tensor(blank=False):
            write_into(frame, source)


def _index(value: Value) -> Value:
    """Return an index with numpy's arrays in it as torch reads them: numbers are integers."""
    match value:
        case Array(tensor=tensor):
            floats = tensor.dtype & dtypes.FLOAT
            return (
                replace(tensor, dtype=tensor.dtype & ~floats | dtypes.INT64) if floats else tensor
            )
        case tuple() if any(isinstance(part, Array) for part in value):
            return tuple(map(_index, value))
    return value


_TYPES: Final = ITERABLE | {"Hashable"}


class TensorKind(Kind[Tensor]):
    """A tensor."""

    foreign = True

    def is_callable(self, frame: Frame, held: Tensor) -> bool | None:
        return False

    def types(self, frame: Frame, held: Tensor) -> frozenset[str] | None:
        return _TYPES

    def is_a(self, frame: Frame, held: Tensor, cls: str) -> bool | None:
        return True if cls in ("torch.Tensor", "torch._tensor.Tensor") else None

    def has(self, frame: Frame, value: Value, held: Tensor, name: str) -> bool | None:
        return True if frame.program.table.signature(f"torch.Tensor.{name}") else None

    def iterate(self, frame: Frame, value: Value, held: Tensor) -> Iterated:
        first = frame.state.facts.reach(frame.state.facts.shape(held.shape).dims, 0)
        if first is None:
            return None, Tensor.unknown()
        shape = frame.state.facts.shape(held.shape)
        called = None if held.called is None else held.called[1:]
        row = replace(held, shape=Shape(shape.dims[1:]), inserted=False, called=called)
        count = frame.state.facts.dim(first)
        if is_within(count, most=UNROLL):
            return (row,) * count, row
        return None, row

    def length(self, frame: Frame, value: Value, held: Tensor) -> IntSize | None:
        first = frame.state.facts.reach(frame.state.facts.shape(held.shape).dims, 0)
        return None if first is None else dims.size_of(first)

    def another(self, frame: Frame, value: Value, held: Tensor) -> Value:
        items = frame.state.facts.items(held.shape.dims)
        return held.with_shape(Shape(tuple(map(another_item, items))))

    def item(
        self,
        frame: Frame,
        value: Value,
        held: Tensor,
        index: Value,
        node: ast.expr,
        source: ast.expr,
    ) -> Value:
        signature = frame.program.table.signature("torch.Tensor.__getitem__")
        if signature is None:
            return UNKNOWN
        site = Site(node, "[...]", (("tensor", source),))
        return apply(frame, signature, [held, _index(index)], {}, site)

    def set_item(
        self,
        frame: Frame,
        value: Value,
        held: Tensor,
        index: Value,
        new: Value,
        target: ast.Subscript,
        source: ast.expr,
    ) -> None:
        signature = frame.program.table.signature("torch.Tensor.__setitem__")
        if signature is not None:
            operands = (("tensor", target.value), ("", None), ("value", source))
            given = [held, _index(index), new]
            apply(frame, signature, given, {}, Site(target, "[...] =", operands))
        write_into(frame, target.value)

    def attribute(
        self, frame: Frame, value: Value, held: Tensor, name: str, node: ast.expr
    ) -> Value:
        found = first_class.tensor_attribute(held, name)
        if found is not None:
            return found
        signature = frame.program.table.signature(f"torch.Tensor.{name}")
        if signature is None:
            fields = {"values": 0, "indices": 1}
            return UNKNOWN if name not in fields else Bound(held, name)
        if frame.program.table.is_property(f"torch.Tensor.{name}"):
            site = Site(node, name, (("tensor", owner_of(node)),))
            return apply(frame, signature, [held], {}, site)
        return Bound(held, name)

    def call_method(self, frame: Frame, call: MethodCall[Tensor]) -> Value:
        return _call(frame, call)

    def plain(self, spelling: Spelling, value: Value, held: Tensor) -> Value:
        return as_learned(spelling.frame, held)


register(Tensor, TensorKind())


class FreeKind(Kind[Free]):
    """A first-class dimension of `functorch.dim`, which has a tensor's methods."""

    def attribute(self, frame: Frame, value: Value, held: Free, name: str, node: ast.expr) -> Value:
        return first_class.attribute(frame, held, name, node)

    def set_attribute(
        self, frame: Frame, value: Value, held: Free, name: str, new: Value, node: ast.expr
    ) -> None:
        first_class.set_size(frame, held, name, new, node)

    def call_method(self, frame: Frame, call: MethodCall[Free]) -> Value:
        return _call(frame, call)


register(Free, FreeKind())


class PackedKind(Kind[Packed]):
    """A `PackedSequence`."""

    def attribute(
        self, frame: Frame, value: Value, held: Packed, name: str, node: ast.expr
    ) -> Value:
        if name == "data":
            return held.data
        if name == "batch_sizes":
            return Tensor(Shape.of_rank(1), dtypes.INT64)
        return UNKNOWN if method(held, name) is None else Bound(held, name)


register(Packed, PackedKind())
