"""Lists, sets, deques, and the modules that are lists of others."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Final

import shapecheck.dims as dims
from shapecheck.analysis.interpreter.calls import invoke
from shapecheck.analysis.interpreter.dict_contents import any_of
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import another
from shapecheck.analysis.interpreter.kinds import Iterated, Kind, Spelling, register
from shapecheck.analysis.interpreter.op_calls import written
from shapecheck.analysis.interpreter.operators import certain
from shapecheck.analysis.interpreter.truth import CONTAINERS, LIST, SEQUENCE, SET, any_equal
from shapecheck.analysis.kinds.module_children import is_child
from shapecheck.analysis.kinds.tuples import is_plainly_at, item_of, part_of
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.values.model import Argument, Arguments, Attributes, Bound, ListContent
from shapecheck.dims import IntSize
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import as_shape
from shapecheck.shapes import has_run

_TYPES = {"list": LIST, "set": SET, "tuple": SEQUENCE | {"tuple"}}

_OF_EVERY_MODULE: Final = frozenset(
    "T_destination add_module append apply bfloat16 buffers call_super_init children compile cpu "
    "cuda double dump_patches eval extend extra_repr float forward get_buffer get_extra_state "
    "get_parameter get_submodule half insert ipu load_state_dict modules mtia named_buffers "
    "named_children named_modules named_parameters parameters pop register_backward_hook "
    "register_buffer register_forward_hook register_forward_pre_hook register_full_backward_hook "
    "register_full_backward_pre_hook register_load_state_dict_post_hook "
    "register_load_state_dict_pre_hook register_module register_parameter "
    "register_state_dict_post_hook register_state_dict_pre_hook requires_grad_ set_extra_state "
    "set_submodule share_memory state_dict to to_empty train training type xpu zero_grad".split()
)


def container_is_a(kind: str, cls: str) -> bool | None:
    """Whether a list or dict of a kind is an instance of a class of a library."""
    if not kind.startswith("nn."):
        return False
    made = CONTAINERS.get(cls)
    return True if cls == "torch.nn.Module" else None if made is None else made == kind


class ListKind(Kind[ListContent]):
    """A list, or what is like one; its items are known, or what any of them is."""

    foreign = True

    def truth(self, frame: Frame, held: ListContent) -> bool | None:
        return None if held.items is None or has_run(held.items) else bool(held.items)

    def types(self, frame: Frame, held: ListContent) -> frozenset[str] | None:
        return _TYPES.get(held.kind, frozenset())

    def is_a(self, frame: Frame, held: ListContent, cls: str) -> bool | None:
        return container_is_a(held.kind, cls)

    def has(self, frame: Frame, value: Value, held: ListContent, name: str) -> bool | None:
        """Whether one of its modules is called so; of what else it has nothing is known."""
        if name in held.names:
            return True
        is_known = bool(held.names) and held.items is not None and not name.startswith("_")
        return False if is_known and name not in _OF_EVERY_MODULE else None

    def iterate(self, frame: Frame, value: Value, held: ListContent) -> Iterated:
        if held.items is not None and has_run(held.items):
            return None, dims.unknown()
        return held.items, another(frame, held.element)

    def contains(self, frame: Frame, held: ListContent, item: Value) -> bool | None:
        return None if has_run(held.items or ()) else any_equal(frame, held.items, item)

    def length(self, frame: Frame, value: Value, held: ListContent) -> IntSize | None:
        items = held.items
        if items is not None and has_run(items):
            return frame.state.facts.shape(as_shape(items)).axes
        return held.length

    def item(
        self,
        frame: Frame,
        value: Value,
        held: ListContent,
        index: Value,
        node: ast.expr,
        source: ast.expr,
    ) -> Value:
        match held.items, index:
            case None, slice():
                return frame.state.new(ListContent(None, held.element, held.kind))
            case None, _:
                return another(frame, held.element)
            case tuple() as items, slice():
                part = part_of(frame, items, index)
                made = None if part is None else ListContent(part, kind=held.kind)
                return UNKNOWN if made is None else frame.state.new(made)
            case tuple() as items, int():
                return item_of(frame, items, index)
            case tuple() as items, _ if has_run(items):
                return dims.unknown()
            case items, _:
                return any_of(frame, list(items or ()))

    def set_item(
        self,
        frame: Frame,
        value: Value,
        held: ListContent,
        index: Value,
        new: Value,
        target: ast.Subscript,
        source: ast.expr,
    ) -> None:
        if held.items is None or not isinstance(index, int) or not is_plainly_at(held.items, index):
            frame.state.put(value, None)
        elif -len(held.items) <= index < len(held.items):
            items = list(held.items)
            items[index] = new
            frame.state.put(value, ListContent(tuple(items), kind=held.kind))

    def delete_item(self, frame: Frame, value: Value, held: ListContent, index: Value) -> None:
        if held.items is None or not isinstance(index, int) or not is_plainly_at(held.items, index):
            frame.state.forget(value)
            return
        kept = [*held.items]
        del kept[index : index + 1 or None]
        frame.state.put(value, ListContent(tuple(kept), kind=held.kind))

    def attribute(
        self, frame: Frame, value: Value, held: ListContent, name: str, node: ast.expr
    ) -> Value:
        if name == "_modules" and held.kind.startswith("nn."):
            return Attributes(value)
        if name not in held.names:
            return Bound(value, name)
        items, at = held.items or (), held.names.index(name)
        return written(items[at]) if at < len(items) else UNKNOWN

    def set_attribute(
        self, frame: Frame, value: Value, held: ListContent, name: str, new: Value, node: ast.expr
    ) -> None:
        """Put another module in the place of one of its own, or behind all of them.

        A data set of which something is set may have other rows.
        """
        if held.kind != "nn.Sequential":
            if not held.kind.startswith("nn."):
                frame.state.put(value, None)
            return
        items, names, added = held.items, held.names, is_child(frame, new)
        if items is None or added is None or name == "forward":
            frame.state.put(value, None)
        elif name in names:
            at = names.index(name)
            frame.state.put(value, replace(held, items=(*items[:at], new, *items[at + 1 :])))
        elif added:
            names = (*names, name) if len(names) == len(items) else names
            frame.state.put(value, replace(held, items=(*items, new), names=names))
        else:
            frame.state.put(value, replace(held, names=()))

    def call(
        self,
        frame: Frame,
        value: Value,
        held: ListContent,
        arguments: Arguments,
        node: ast.Call,
        label: str,
    ) -> Value:
        """Pass the input of an `nn.Sequential` through its modules; one is named by its index."""
        if held.kind != "nn.Sequential":
            return NOTHING
        if held.items is None or len(arguments.args) != 1:
            return UNKNOWN
        passed = arguments.args[0]
        for index, module in enumerate(held.items):
            frame.spend(1)
            given = Arguments((passed,), {})
            found = invoke(frame, certain(module, None), given, node, f"{label}[{index}]")
            if found is UNKNOWN:
                return UNKNOWN
            passed = Argument(found)
        return passed.value

    def plain(self, spelling: Spelling, value: Value, held: ListContent) -> Value:
        return spelling.list(held.items, held.element, held.count)


register(ListContent, ListKind())
