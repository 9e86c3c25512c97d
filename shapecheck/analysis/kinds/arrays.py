"""Arrays of numpy, and its numbers: what the signature files say of `numpy.ndarray`."""

from __future__ import annotations

import ast
from typing import Final

from shapecheck.analysis.interpreter import escaping
from shapecheck.analysis.interpreter.axis_names import name_given
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import another, iterate, length
from shapecheck.analysis.interpreter.kinds import Iterated, Kind, Spelling, as_learned, register
from shapecheck.analysis.interpreter.op_calls import Site, apply, write_into
from shapecheck.analysis.interpreter.registry import MethodCall
from shapecheck.analysis.interpreter.size_labels import name_sizes
from shapecheck.analysis.interpreter.truth import ITERABLE
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.program.syntax import owner_of
from shapecheck.analysis.values.model import Array, Bound, array_of
from shapecheck.dims import IntSize
from shapecheck.ops import UNKNOWN
from shapecheck.shapes import Tensor

_OWNER: Final = "numpy.ndarray"
_RESHAPES: Final = frozenset(("shape", "dtype", "strides"))
"""The attributes that change what is known of an array when they are assigned."""


class ArrayKind(Kind[Array]):
    """An array, or a number of numpy's."""

    foreign = True

    def is_callable(self, frame: Frame, held: Array) -> bool | None:
        return False

    def types(self, frame: Frame, held: Array) -> frozenset[str] | None:
        # One of no axes may be a number, which is a float of Python's as well.
        return ITERABLE if frame.state.facts.shape(held.tensor.shape).rank else None

    def is_a(self, frame: Frame, held: Array, cls: str) -> bool | None:
        if cls == _OWNER:
            # One of no axes may be a number such as `np.float64`.
            return None if frame.state.facts.shape(held.tensor.shape).rank == 0 else True
        return False if cls.startswith("torch.") else None

    def has(self, frame: Frame, value: Value, held: Array, name: str) -> bool | None:
        return True if frame.program.table.signature(f"{_OWNER}.{name}") else None

    def iterate(self, frame: Frame, value: Value, held: Array) -> Iterated:
        rows, row = iterate(frame, held.tensor)
        each = None if rows is None else tuple(map(_array, rows))
        return each, _array(row)

    def length(self, frame: Frame, value: Value, held: Array) -> IntSize | None:
        return length(frame, held.tensor)

    def another(self, frame: Frame, value: Value, held: Array) -> Value:
        return _array(another(frame, held.tensor))

    def item(
        self,
        frame: Frame,
        value: Value,
        held: Array,
        index: Value,
        node: ast.expr,
        source: ast.expr,
    ) -> Value:
        signature = frame.program.table.signature(f"{_OWNER}.__getitem__")
        if signature is None:
            return UNKNOWN
        return apply(frame, signature, [held, index], {}, Site(node, "[...]", (("array", source),)))

    def set_item(
        self,
        frame: Frame,
        value: Value,
        held: Array,
        index: Value,
        new: Value,
        target: ast.Subscript,
        source: ast.expr,
    ) -> None:
        signature = frame.program.table.signature(f"{_OWNER}.__setitem__")
        if signature is not None:
            operands = (("array", target.value), ("", None), ("value", source))
            apply(frame, signature, [held, index, new], {}, Site(target, "[...] =", operands))
        write_into(frame, target.value)

    def attribute(
        self, frame: Frame, value: Value, held: Array, name: str, node: ast.expr
    ) -> Value:
        signature = frame.program.table.signature(f"{_OWNER}.{name}")
        if signature is None:
            return UNKNOWN
        if frame.program.table.is_property(f"{_OWNER}.{name}"):
            return apply(
                frame, signature, [held], {}, Site(node, name, (("array", owner_of(node)),))
            )
        return Bound(held, name)

    def set_attribute(
        self, frame: Frame, value: Value, held: Array, name: str, new: Value, node: ast.expr
    ) -> None:
        if name in _RESHAPES and isinstance(node, ast.Attribute):
            frame.renew(node.value, Array(Tensor.unknown()), node)

    def call_method(self, frame: Frame, call: MethodCall[Array]) -> Value:
        signature = frame.program.table.signature(f"{_OWNER}.{call.name}")
        if signature is None:
            return NOTHING
        source = owner_of(call.node.func)
        escaping.hand_over(frame, [*call.args, *call.kwargs.values()])
        given = call.arguments.args
        site = Site(call.node, call.name, (), given, source or call.node, "array")
        name_given(frame, call.arguments.sizes)
        result = apply(frame, signature, [call.held, *call.args], call.kwargs, site)
        name_sizes(frame, call.arguments.sizes, result, call.held)
        if (
            f"{_OWNER}.{call.name}" in frame.program.table.flagged("reshapes")
            and source is not None
        ):
            frame.renew(source, Array(Tensor.unknown()), call.node)
        return result

    def plain(self, spelling: Spelling, value: Value, held: Array) -> Value:
        return as_learned(spelling.frame, held.tensor) if spelling.arrays else held


def _array(value: Value) -> Value:
    """Return a row of an array, which is one."""
    return array_of(value) if isinstance(value, Tensor) else value


register(Array, ArrayKind())
