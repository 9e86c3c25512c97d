"""Dicts, and the modules that are dicts of others."""

from __future__ import annotations

import ast

from shapecheck.analysis.interpreter.dict_contents import fetch, is_key, put, remove, thinned
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.kinds import Iterated, Kind, Spelling, register
from shapecheck.analysis.interpreter.op_calls import written
from shapecheck.analysis.interpreter.truth import DICT, any_equal
from shapecheck.analysis.kinds.lists import container_is_a
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.values.model import Bound, DictContent
from shapecheck.ops import UNKNOWN


class DictKind(Kind[DictContent]):
    """A dict; `dict_contents` says what is known of its keys."""

    foreign = True

    def truth(self, frame: Frame, held: DictContent) -> bool | None:
        return None if held.items is None else bool(held.items)

    def types(self, frame: Frame, held: DictContent) -> frozenset[str] | None:
        return DICT if held.kind == "dict" else frozenset()

    def is_a(self, frame: Frame, held: DictContent, cls: str) -> bool | None:
        return container_is_a(held.kind, cls)

    def iterate(self, frame: Frame, value: Value, held: DictContent) -> Iterated:
        return None if held.items is None else tuple(held.items), UNKNOWN

    def contains(self, frame: Frame, held: DictContent, item: Value) -> bool | None:
        return any_equal(frame, held.items, item)

    def item(
        self,
        frame: Frame,
        value: Value,
        held: DictContent,
        index: Value,
        node: ast.expr,
        source: ast.expr,
    ) -> Value:
        return fetch(frame, value, held, index)

    def set_item(
        self,
        frame: Frame,
        value: Value,
        held: DictContent,
        index: Value,
        new: Value,
        target: ast.Subscript,
        source: ast.expr,
    ) -> None:
        put(frame, value, held, index, new)

    def delete_item(self, frame: Frame, value: Value, held: DictContent, index: Value) -> None:
        sure = is_key(index)
        frame.state.put(value, remove(held, index) if sure else thinned(frame.state, held))

    def mapping(self, frame: Frame, value: Value, held: DictContent) -> DictContent | None:
        return held

    def attribute(
        self, frame: Frame, value: Value, held: DictContent, name: str, node: ast.expr
    ) -> Value:
        if held.kind == "nn.ModuleDict" and held.items is not None and name in held.items:
            return written(held.items[name])
        return Bound(value, name)

    def plain(self, spelling: Spelling, value: Value, held: DictContent) -> Value:
        values = None if held.items is None else spelling.each(tuple(held.items.values()))
        if held.items is None or values is None:
            return UNKNOWN
        # Rules hand keys on as they are, texts or not.
        return dict(zip(held.items, values, strict=True))  # type: ignore[arg-type]


register(DictContent, DictKind())
