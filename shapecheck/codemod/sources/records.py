"""From the calls in a record to annotations: which dimensions agree, and what they are called."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.analysis.study.model import Study
from shapecheck.analysis.values.model import OneOf
from shapecheck.codemod.sources.record_axes import Axes
from shapecheck.codemod.write.annotation_types import (
    NONE,
    DictType,
    ListType,
    NoneType,
    Plain,
    TensorType,
    TupleType,
    Type,
    either,
)
from shapecheck.dims import Size, Sym
from shapecheck.ops import Value
from shapecheck.record.store import Call, Recorded
from shapecheck.shapes import Run, Shape, Tensor

_PLAIN: Final = {
    "builtins.bool": "bool",
    "builtins.int": "int",  # one of many digits
    "builtins.float": "float",
    "builtins.str": "str",
    "builtins.bytes": "bytes",
}
RESULT: Final = "return"


def known(recorded: Recorded, study: Study) -> dict[str, Value]:
    """Return what a record says of the parameters that are always tensors, for the analysis."""
    found: dict[str, Value] = {}
    for name in study.params:
        values = [call.args[name] for call in recorded.kinds if name in call.args]
        some = [value for value in values if value is not None]
        if not some or any(kind_of(value) != "t" for value in some):
            continue
        ranks, mask = {len(value[3]) for value in some}, 0
        for value in some:
            mask |= dtypes.of(value[1])
        shape = Shape((Run(Sym.suppose("...")),))
        if len(ranks) == 1:  # what is never 1 doesn't broadcast
            columns = zip(*(value[3] for value in some), strict=True)
            axes = (
                dims.unknown() if 1 in sizes else Size.of(Sym.suppose("_")) for sizes in columns
            )
            shape = Shape(tuple(axes))
        tensor = Tensor(shape, dtypes.CATEGORIES[_category_of(mask)])
        found[name] = tensor if len(some) == len(values) else OneOf((tensor, None))
    return found


def propose(
    recorded: Recorded, study: Study, slots: Iterable[str], code: Collection[str]
) -> dict[str, Type]:
    """Return annotations for parameters and the result (`return`) that fit all recorded calls.

    `code` are the identifiers of the module, from which names may come.
    """
    calls = recorded.kinds
    found = _Found(calls, study, code)
    trees = {slot: found.tree(slot) for slot in slots}
    found.axes.name()
    kinds = {slot: found.kind(tree) for slot, tree in trees.items() if tree is not None}
    return {slot: kind for slot, kind in kinds.items() if kind is not None and _has_tensor(kind)}


def _has_tensor(kind: Type) -> bool:
    return any(True for _ in kind.tensors())


class _Found:
    """What is found out about one function."""

    def __init__(self, calls: Sequence[Call], study: Study, code: Collection[str]) -> None:
        self.calls, self.study = calls, study
        self.axes = Axes(calls, study, code)

    # What is in the slots

    def tree(self, slot: str) -> Any:
        """Return what is in a slot: nested lists with the numbers of leaves; None if unsayable."""
        if slot == RESULT:
            values = [(at, call.result) for at, call in enumerate(self.calls)]
            return self._merged(values, self.study.result)
        values = [(at, call.args[slot]) for at, call in enumerate(self.calls) if slot in call.args]
        return self._merged(values, self.study.params.get(slot))

    def _merged(self, values: list[tuple[int, Any]], known: Value) -> Any:
        by_kind: dict[str, list[tuple[int, Any]]] = {}
        for at, value in values:
            by_kind.setdefault(kind_of(value), []).append((at, value))
        parts = []
        for kind, some in by_kind.items():
            part = self._part(kind, some, known)
            if part is None:
                return None
            parts.append(part)
        if not parts:
            return None
        return parts[0] if len(parts) == 1 else ("either", parts)

    def _part(self, kind: str, values: list[tuple[int, Any]], known: Value) -> Any:
        if kind == "none":
            return NONE
        if kind == "int":
            return Plain("int")
        if kind == "t":
            rows = [(at, tuple(value[3])) for at, value in values]
            kinds = {value[1] for _, value in values}
            return ("leaf", (self.axes.add(rows, _tensor_of(known)), _category(kinds)))
        if kind == "d":
            items = [(at, item) for at, value in values for _, item in value[2]]
            inner = self._merged(items, None) if items else None
            return None if inner is None else ("dict", inner)
        if kind == "l":
            items = [(at, item) for at, value in values for item in value[2]]
            inner = self._merged(items, getattr(known, "element", None)) if items else None
            return None if inner is None else ("list", inner)
        if kind == "u":
            return self._tuple(values, known)
        return Plain(_PLAIN[kind]) if kind in _PLAIN else None

    def _tuple(self, values: list[tuple[int, Any]], known: Value) -> Any:
        lengths = {value[1] for _, value in values}
        if len(lengths) != 1 or not 0 < (length := lengths.pop()) <= 8:
            items = [(at, item) for at, value in values for item in value[2]]
            inner = self._merged(items, None) if items else None
            return None if inner is None else ("endless", inner)
        parts = []
        for index in range(length):
            item = known[index] if isinstance(known, tuple) and len(known) == length else None
            part = self._merged([(at, value[2][index]) for at, value in values], item)
            if part is None:
                return None
            parts.append(part)
        return ("tuple", parts)

    # The annotations

    def kind(self, tree: Any) -> Type | None:
        """Return the type that a tree of `tree` stands for."""
        if isinstance(tree, (Plain, NoneType)):
            return tree
        what, inner = tree
        if what == "leaf":
            number, category = inner
            return TensorType(category, self.axes.text(number))
        if what in ("list", "dict", "endless"):
            element = self.kind(inner)
            if element is None:
                return None
            if what == "list":
                return ListType(element)
            return DictType("str", element) if what == "dict" else TupleType((element,), True)
        parts = [self.kind(part) for part in inner]
        known = [part for part in parts if part is not None]
        if len(known) != len(parts):
            return None
        if what == "tuple":
            return TupleType(tuple(known))
        some = [part for part in known if isinstance(part, TensorType)]
        if len(some) > 1 or (some and any(isinstance(part, Plain) for part in known)):
            return None  # of several ranks or kinds: no annotation says that well
        return either(*known)


def _tensor_of(value: Value) -> Value:
    """Return the only tensor that a value may be."""
    if isinstance(value, OneOf):
        some = [option for option in value.options if isinstance(option, Tensor)]
        return some[0] if len(some) == 1 else None
    return value


def kind_of(value: Any) -> str:
    """Return what a recorded value is: `t` (a tensor), `l`, `u`, `d`, `int`, `none` or a type."""
    if value is None:
        return "none"
    if isinstance(value, int):
        return "int"
    return value if isinstance(value, str) else value[0]


def _category(kinds: Iterable[str]) -> str:
    mask = 0
    for kind in kinds:
        mask |= dtypes.of(kind)
    return _category_of(mask)


def _category_of(mask: dtypes.DTypes) -> str:
    for name in ("Bool", "Float", "Int", "Integer", "Complex", "Num"):
        if not mask & ~dtypes.CATEGORIES[name]:
            return name
    return "Shaped"
