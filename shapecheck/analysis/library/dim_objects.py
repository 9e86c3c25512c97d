"""`Dim` objects: making them, their attributes and methods, and their algebra."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.analysis.interpreter.assigned import assigned_names
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import iterate
from shapecheck.analysis.interpreter.registry import LibraryCall, MethodCall, function, on
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.program.reading import body_of
from shapecheck.analysis.program.syntax import last_word
from shapecheck.dims import Dim, Origin, size_of, symbol_of
from shapecheck.dims.origins import MadeAt, Padded
from shapecheck.explain import Message
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import are, as_int, as_text
from shapecheck.shapes import Shape, Tensor
from shapecheck.shapes.model import Item

Named = Mapping[str, Value]


@function("shapecheck.Dim", "shapecheck.dims.Dim")
def _dim(frame: Frame, call: LibraryCall) -> Value:
    given = dict(zip(("name", "size", "kind"), call.args, strict=False)) | dict(call.kwargs)
    name, kind, size = as_text(given.get("name")), as_text(given.get("kind")), given.get("size")
    variables = assigned_names(frame, call.node)
    if given.get("name") is None:
        name = next((one.strip("_") for one in variables if one.strip("_")), "dim")
    if name is None:
        return UNKNOWN
    origin: Origin = _made_at(frame, call)
    if given.get("ragged") is True or given.get("lengths") is not None:
        origin = Padded(origin)
    labels = _labels(frame, given.get("labels"))
    try:
        made = Dim.at(origin, name, as_int(size), kind, labels)  # type: ignore[arg-type]  # it says which kinds there are
    except ValueError as error:
        frame.error(call.node, Message(str(error)))
        return UNKNOWN
    return _declared(frame, made, variables[0]) if len(variables) == 1 else made


@function("shapecheck.dims", "shapecheck.dims.dims", "shapecheck.dims.objects.dims", takes=1)
def _dims(frame: Frame, call: LibraryCall) -> Value:
    text = as_text(call.args[0])
    if text is None:
        return UNKNOWN
    place = _made_at(frame, call)
    try:
        names = enumerate(text.split())
        made = tuple(Dim.at(replace(place, index=at), name) for at, name in names)
    except ValueError as error:
        frame.error(call.node, Message(str(error)))
        return UNKNOWN
    variables = assigned_names(frame, call.node)
    if len(variables) == len(made):
        made = tuple(map(partial(_declared, frame), made, variables))
    return made[0] if len(made) == 1 else made or UNKNOWN


def _declared(frame: Frame, made: Dim, variable: str) -> Dim:
    """Return a dimension, or the one that it is declared to be the same as where it is made."""
    function = None if frame.function is None else frame.function.node
    around = None if isinstance(function, ast.Lambda) else function
    for one in body_of(around or frame.module.tree):
        match one:
            case ast.Expr(ast.Call(ast.Attribute(owner, "declare_same_as"), [ast.expr() as other])):
                if last_word(owner) == variable:
                    found = frame.hush(Frame.eval, other)
                    return found if isinstance(found, Dim) and not _clash(made, found) else made
    return made


def _clash(one: Dim, other: Dim) -> bool:
    """Whether two dimensions have sizes that differ."""
    return are([one.size, other.size], int) and one.size != other.size


@on(Dim, "declare_same_as", takes=1)
def _declare_same_as(frame: Frame, call: MethodCall[Dim]) -> Value:
    match call.args:
        case [Dim() as other]:
            if _clash(call.held, other):
                text = f'"{call.held}" is {call.held.size}, and "{other}" is {other.size}'
                frame.error(call.node, Message(text))
            elif (symbol := symbol_of(call.held.dim)) is not None:
                frame.state.facts.learn(symbol, size_of(other.dim))
    return None


def _made_at(frame: Frame, call: LibraryCall) -> MadeAt:
    frame.module.syntax.placed()
    return MadeAt(frame.module.name, call.node.lineno, call.node.col_offset)


def _labels(frame: Frame, given: Value) -> tuple[str, ...] | None:
    """Return a vocabulary, where each of its labels is known."""
    known = None if given is None else iterate(frame, given)[0]
    return tuple(known) if known and are(known, str) else None


@on(Dim, "with_lengths")
def _with_lengths(frame: Frame, call: MethodCall[Dim]) -> Value:
    return call.owner


@on(Dim, "div_left", takes=1)
def _div_left(frame: Frame, call: MethodCall[Dim]) -> Value:
    match call.args:
        case [Dim() | int() as by]:
            return call.held.div_left(by)
    return UNKNOWN


@on(Dim, "mask")
def _mask(frame: Frame, call: MethodCall[Dim]) -> Value:
    last: Item = dims.unknown(call.held.name)
    return Tensor(Shape((*Shape.unknown().dims, last)), dtypes.BOOL)


@on(Dim, "index", takes=1)
def _index(frame: Frame, call: MethodCall[Dim]) -> Value:
    label = as_text(call.args[0])
    if label is None or (call.held.labels is None and isinstance(call.held.size, int)):
        return UNKNOWN
    try:
        return call.held.index(label)
    except ValueError as error:
        frame.error(call.node, Message(str(error)))
        return UNKNOWN
