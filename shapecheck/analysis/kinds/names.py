"""Names: of what a library has, of modules of the program, and of attributes of unknown things."""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable
from typing import Final

from shapecheck import dtypes
from shapecheck.analysis.annotations.reader import shaped_type
from shapecheck.analysis.interpreter import escaping, op_calls, registry
from shapecheck.analysis.interpreter.axis_names import name_given
from shapecheck.analysis.interpreter.by_name import given_to_torch
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.kinds import Kind, Spelling, register
from shapecheck.analysis.interpreter.op_calls import Site, apply, plain
from shapecheck.analysis.interpreter.registry import LibraryCall
from shapecheck.analysis.interpreter.size_labels import name_sizes
from shapecheck.analysis.interpreter.truth import TYPE, is_class, is_op
from shapecheck.analysis.program.model import NOTHING, Dotted, ModuleRef, Value
from shapecheck.analysis.program.modules import library
from shapecheck.analysis.values.model import Arguments, OpInstance, Path
from shapecheck.ops import UNKNOWN, DType
from shapecheck.ops.arrays.promotion import NAMED
from shapecheck.signatures import OpClass


class DottedKind(Kind[Dotted]):
    """A function, a class or a constant of a library, of which only the name is known."""

    def may_be_none(self, frame: Frame, held: Dotted) -> bool:
        return not is_op(frame, held)

    def truth(self, frame: Frame, held: Dotted) -> bool | None:
        return True if is_op(frame, held) else None

    def is_callable(self, frame: Frame, held: Dotted) -> bool | None:
        return True if is_op(frame, held) else None

    def types(self, frame: Frame, held: Dotted) -> frozenset[str] | None:
        return TYPE if is_class(frame, held) else None

    def item(
        self,
        frame: Frame,
        value: Value,
        held: Dotted,
        index: Value,
        node: ast.expr,
        source: ast.expr,
    ) -> Value:
        return shaped_type(held, index, frame.program.table)

    def attribute(
        self, frame: Frame, value: Value, held: Dotted, name: str, node: ast.expr
    ) -> Value:
        if name in ("__name__", "__qualname__"):
            return held.name.rpartition(".")[2]
        inner = f"{held.name}.{name}"
        if frame.program.table.describes(held.name):  # perhaps in part, and not what is inside
            return frame.program.member(held.name, name)
        return library(inner)

    def call(
        self,
        frame: Frame,
        value: Value,
        held: Dotted,
        arguments: Arguments,
        node: ast.Call,
        label: str,
    ) -> Value:
        """Call what is registered by that name, or what the signature files have."""
        name = held.name
        handler = registry.FUNCTIONS.get(name)
        if handler is not None:
            last = name.rpartition(".")[2]
            escaping.called_unseen(frame, arguments.named.get("key"))  # as `sorted` does
            found = handler(frame, LibraryCall(last, arguments, node, label))
            if found is not NOTHING:
                return found
        table = frame.program.table
        signature = table.signature(name)
        if name.startswith(op_calls.PREFIX) and not op_calls.takes_names(frame, arguments.kwargs):
            return UNKNOWN
        if signature is not None:
            site = Site(node, label, args=arguments.args)
            escaping.hand_over(frame, [*arguments.values, *arguments.named.values()])
            name_given(frame, arguments.sizes)
            if name.startswith("torch."):
                found = given_to_torch(frame, name, arguments.values, arguments.named, site)
                if found is not NOTHING:
                    return found
            result = apply(frame, signature, arguments.values, arguments.named, site)
            name_sizes(frame, arguments.sizes, result)
            return result
        cls = table.lookup_class(name)
        return NOTHING if cls is None else _instance(frame, cls, arguments)

    def plain(self, spelling: Spelling, value: Value, held: Dotted) -> Value:
        found = _NUMBER_TYPES.get(held.name)
        if found is None and _LIKE_A_DTYPE.fullmatch(held.name):
            return UNKNOWN  # one that there is since some version
        return held if found is None else found


register(Dotted, DottedKind())


_LIKE_A_DTYPE: Final = re.compile(r"torch\.[a-z]+\d\w*")

_NUMBER_TYPES: Final = {
    f"builtins.{name}": DType(dtypes.of(dtype))
    for name, dtype in (("bool", "bool"), ("int", "int64"), ("float", "float64"))
} | {f"numpy.{name}": DType(kind) for name, kind in NAMED.items()}
"""The dtypes that Python's own types stand for as an argument, and numpy's numbers."""


def _instance(frame: Frame, cls: OpClass, arguments: Arguments) -> Value:
    """Return an instance of a library's class; the same object for the same arguments."""
    args = tuple(plain(frame, value) for value in arguments.values)
    kwargs = {key: plain(frame, value) for key, value in arguments.named.items()}
    made = frame.program.memo.instances
    kinds = tuple(map(type, (*args, *kwargs.values())))
    key: Hashable | None = (cls.name, args, tuple(kwargs.items()), kinds)
    try:
        found = made.get(key)
    except TypeError:
        found = key = None
    if found is None:
        attrs = cls.construct(args, kwargs)
        found = UNKNOWN if attrs is None else OpInstance(cls, attrs)
        if key is not None:
            made[key] = found
    return found


class ModuleKind(Kind[ModuleRef]):
    """A module of the program."""

    family = "object"

    def truth(self, frame: Frame, held: ModuleRef) -> bool | None:
        return True

    def attribute(
        self, frame: Frame, value: Value, held: ModuleRef, name: str, node: ast.expr
    ) -> Value:
        return frame.program.member(held.name, name)


register(ModuleRef, ModuleKind())


class PathKind(Kind[Path]):
    """An attribute of something unknown, which may be anything."""

    def may_be_none(self, frame: Frame, held: Path) -> bool:
        return True

    def item(
        self, frame: Frame, value: Value, held: Path, index: Value, node: ast.expr, source: ast.expr
    ) -> Value:
        match index:
            case int() | str():
                return held.at(held.text + f"[{index!r}]")
        return UNKNOWN

    def attribute(self, frame: Frame, value: Value, held: Path, name: str, node: ast.expr) -> Value:
        return held.at(held.text + f".{name}")

    def plain(self, spelling: Spelling, value: Value, held: Path) -> Value:
        # a shape is any number of sizes
        return UNKNOWN if str(held.text).endswith("shape") else held.size


register(Path, PathKind())
