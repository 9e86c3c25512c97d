"""Tensors by name, `NamedTensor`: their methods are the functions of `shapecheck.named`."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Final

from shapecheck.analysis.interpreter import escaping, registry
from shapecheck.analysis.interpreter.by_name import METHOD, elementwise, unheld, view_of
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.kinds import Kind, Spelling, as_learned, register
from shapecheck.analysis.interpreter.op_calls import PREFIX, Site, apply, takes_names, write_into
from shapecheck.analysis.interpreter.registry import LibraryCall, MethodCall
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.program.syntax import owner_of
from shapecheck.analysis.values.model import Argument, Arguments, Bound, ByName, DictContent
from shapecheck.dims import DimExpr, size_of
from shapecheck.explain import Message, operation
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import are
from shapecheck.ops.named.naming import is_named
from shapecheck.ops.named.views import absent, refused_as_hidden
from shapecheck.shapes import Tensor

_OWN: Final = f"{PREFIX}NamedTensor"
"""Where the methods are that are no functions of `shapecheck.named`."""
_TENSOR: Final = ("tensor", "values")
_NAMES: Final = ("dims", "names", "shape")


class ViewKind(Kind[ByName]):
    """A tensor by name."""

    foreign = True

    def is_callable(self, frame: Frame, held: ByName) -> bool | None:
        return False

    def is_a(self, frame: Frame, held: ByName, cls: str) -> bool | None:
        return False if cls.startswith("torch.") else None

    def item(
        self,
        frame: Frame,
        value: Value,
        held: ByName,
        index: Value,
        node: ast.expr,
        source: ast.expr,
    ) -> Value:
        signature = frame.program.table.signature(f"{PREFIX}_item")
        assert signature is not None
        site = Site(node, "[...]", (("tensor", source),))
        if self._is_hidden(frame, held, [index], {}, site):
            return UNKNOWN
        found = apply(frame, signature, [held.tensor, index], {}, site)
        return view_of(frame, found, held.hidden)

    def set_item(
        self,
        frame: Frame,
        value: Value,
        held: ByName,
        index: Value,
        new: Value,
        target: ast.Subscript,
        source: ast.expr,
    ) -> None:
        signature = frame.program.table.signature(f"{PREFIX}put")
        assert signature is not None
        operands = (("tensor", target.value), ("", None), ("value", source))
        site = Site(target, "[...] =", operands)
        if self._is_hidden(frame, held, [index], {}, site):
            return
        apply(frame, signature, [held.tensor, index, unheld(new)], {}, site)
        write_into(frame, target.value)

    def attribute(
        self, frame: Frame, value: Value, held: ByName, name: str, node: ast.expr
    ) -> Value:
        if name in _TENSOR:
            return held.tensor
        if name in _NAMES:
            return self._names(frame, held, name)
        table = frame.program.table
        own = f"{_OWN}.{name}"
        if table.is_property(own) and (signature := table.signature(own)) is not None:
            site = Site(node, name, (("tensor", owner_of(node)),))
            return apply(frame, signature, [held.tensor], {}, site)
        if _has(frame, name):
            return Bound(held, name)
        if not name.startswith("__"):
            frame.error(node, Message(absent(name, table.has(f"torch.Tensor.{name}"))))
        return UNKNOWN

    def has(self, frame: Frame, value: Value, held: ByName, name: str) -> bool | None:
        return name in _TENSOR or name in _NAMES or _has(frame, name)

    def _names(self, frame: Frame, held: ByName, name: str) -> Value:
        items = held.tensor.shape.known or frame.state.facts.shape(held.tensor.shape).known
        if items is None:
            return UNKNOWN
        texts = [_text(item) for item in items]
        if name != "shape":
            return tuple(texts)
        if UNKNOWN in texts:
            return UNKNOWN
        sizes = zip(texts, map(size_of, items), strict=True)
        return frame.state.new(DictContent({text: size for text, size in sizes if text}))

    def call_method(self, frame: Frame, call: MethodCall[ByName]) -> Value:
        source = owner_of(call.node.func) or call.node
        escaping.hand_over(frame, [*call.args, *call.kwargs.values()])
        given = call.arguments
        name = f"{PREFIX}{call.name}"
        site = Site(call.node, call.label, args=given.args, receiver=source)
        if self._is_hidden(frame, call.held, call.args, call.kwargs, site):
            return UNKNOWN
        handler = registry.FUNCTIONS.get(name)
        if handler is not None:
            args = (Argument(call.held.tensor, source), *given.args)
            arguments = Arguments(args, given.kwargs)
            found = handler(frame, LibraryCall(call.name, arguments, call.node, call.label))
            return view_of(frame, found, call.held.hidden)
        table = frame.program.table
        signature = table.signature(name) or table.signature(f"{_OWN}.{call.name}")
        if signature is None:
            return elementwise(
                frame, f"{METHOD}{call.name}", [call.held, *call.args], call.kwargs, site
            )
        values = [call.held.tensor, *call.args]
        if not takes_names(frame, call.kwargs):  # what there is, whatever it is called
            values = [
                Tensor.unknown() if isinstance(one, (Tensor, ByName)) else one for one in values
            ]
        found = apply(frame, signature, values, call.kwargs, site)
        if call.name == "mask_to":
            if not isinstance(found, tuple) or not are(found, str):
                return UNKNOWN
            return ByName(call.held.tensor, frozenset(found))
        return view_of(frame, found, call.held.hidden)

    def _is_hidden(
        self,
        frame: Frame,
        held: ByName,
        args: Sequence[Value],
        kwargs: Mapping[str, Value],
        site: Site,
    ) -> bool:
        """Whether what is given to a method names a dimension that is hidden, which is told."""
        shape = frame.state.facts.shape(held.tensor.shape)
        given = [self._spelled(frame, one) for one in args]
        words = {name: self._spelled(frame, one) for name, one in kwargs.items()}
        refused = refused_as_hidden(held.hidden, shape, given, words) if held.hidden else None
        if refused is not None:
            frame.error(site.node, operation(site.label, refused.problem))
        return refused is not None

    def _spelled(self, frame: Frame, value: Value) -> Value:
        content = frame.state.dict_of(value)
        if content is not None:
            return tuple(content.items or ())
        listed = frame.state.list_of(value)
        return value if listed is None else tuple(listed.items or ())

    def plain(self, spelling: Spelling, value: Value, held: ByName) -> Value:
        return as_learned(spelling.frame, held.tensor)


register(ByName, ViewKind())


def _text(item: DimExpr) -> Value:
    """Return what a dimension is called, None for one without a name."""
    if is_named(item):
        return str(item)
    return None if isinstance(item, int) else UNKNOWN


def _has(frame: Frame, name: str) -> bool:
    """Whether there is a method or an attribute of this name, of those that signatures tell of."""
    inner, table = f"{PREFIX}{name}", frame.program.table
    if inner in registry.FUNCTIONS or (table.has(inner) and not name.startswith("_")):
        return True
    return table.has(f"{_OWN}.{name}") or table.is_elementwise(f"torch.Tensor.{name}")
