"""`Dim` objects: making them, their attributes and methods, and their algebra."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import iterate
from shapecheck.analysis.interpreter.registry import function, on
from shapecheck.dims import Dim
from shapecheck.dims.symbols import Padded
from shapecheck.explain import Message
from shapecheck.ops import UNKNOWN, Value
from shapecheck.shapes import Shape, Tensor
from shapecheck.shapes.model import Item

Named = Mapping[str, Value]


@function("shapecheck.Dim", "shapecheck.dims.Dim")
def _dim(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    given = dict(zip(("name", "size", "kind"), args, strict=False)) | dict(kwargs)
    name, size, kind = (given.get(key) for key in ("name", "size", "kind"))
    if not isinstance(name, str):
        return UNKNOWN
    scope: object = ("dim", frame.module.name, node.lineno, node.col_offset)
    if given.get("ragged") is True or given.get("lengths") is not None:
        scope = Padded(scope)
    labels = _labels(frame, given.get("labels"))
    try:
        return Dim.at(scope, name, _number(size), kind if isinstance(kind, str) else None, labels)  # type: ignore[arg-type]  # it says which kinds there are
    except ValueError as error:
        frame.error(node, Message(str(error)))
        return UNKNOWN


@function("shapecheck.dims", "shapecheck.dims.dims", "shapecheck.dims.objects.dims")
def _dims(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    if len(args) != 1 or not isinstance(args[0], str):
        return UNKNOWN
    place = ("dims", frame.module.name, node.lineno, node.col_offset)
    try:
        made = tuple(Dim.at((*place, at), name) for at, name in enumerate(args[0].split()))
    except ValueError as error:
        frame.error(node, Message(str(error)))
        return UNKNOWN
    return made[0] if len(made) == 1 else made or UNKNOWN


def _number(size: Value) -> int | None:
    return size if isinstance(size, int) else None


def _labels(frame: Frame, given: Value) -> tuple[str, ...] | None:
    """Return a vocabulary, where each of its labels is known."""
    known = None if given is None else iterate(frame, given)[0]
    texts = tuple(one for one in known or () if isinstance(one, str))
    return texts if known and len(texts) == len(known) else None


@on("dim", "with_lengths")
def _with_lengths(
    frame: Frame, owner: Value, args: list[Value], kwargs: Named, node: ast.Call
) -> Value:
    return owner


@on("dim", "div_left")
def _div_left(frame: Frame, owner: Dim, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    known = len(args) == 1 and isinstance(args[0], (Dim, int))
    return owner.div_left(args[0]) if known else UNKNOWN


@on("dim", "mask")
def _mask(frame: Frame, owner: Value, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    last: Item = dims.unknown(owner.name)
    return Tensor(Shape((*Shape.unknown().dims, last)), dtypes.BOOL)


@on("dim", "index")
def _index(frame: Frame, owner: Value, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    label = args[0] if args else UNKNOWN
    if not isinstance(label, str) or (owner.labels is None and isinstance(owner.size, int)):
        return UNKNOWN
    try:
        return owner.index(label)
    except ValueError as error:
        frame.error(node, Message(str(error)))
        return UNKNOWN
