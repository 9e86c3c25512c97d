"""Classes that calls make, `namedtuple("P", "x y")`; what named tuples and dataclasses have."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from shapecheck.analysis.annotations.classes import instance_fields, is_dataclass
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import iterate
from shapecheck.analysis.interpreter.kinds import attribute
from shapecheck.analysis.interpreter.registry import LibraryCall, MethodCall, function, on
from shapecheck.analysis.kinds.construct import construct, replaced
from shapecheck.analysis.program.model import Class, Value
from shapecheck.analysis.program.syntax import elements, text_of
from shapecheck.analysis.values.model import Argument, Attributes, DictContent, Instance
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import are, as_text

_ANYTHING = ast.Constant(...)


@function("collections.namedtuple")
def _namedtuple(frame: Frame, call: LibraryCall) -> Value:
    names = call.get(1, "field_names")
    if (text := as_text(names)) is not None:
        names = tuple(text.replace(",", " ").split())
    known = iterate(frame, names)[0]
    if not known or not are(known, str):
        return UNKNOWN
    given = next((elements(k.value) for k in call.node.keywords if k.arg == "defaults"), None) or ()
    fields = dict.fromkeys(known, _ANYTHING)
    return _made(frame, call.node, "typing.NamedTuple", fields, given)


@function("typing.NamedTuple")
def _typed(frame: Frame, call: LibraryCall) -> Value:
    fields: dict[str, ast.expr] = {}
    for pair in (elements(call.node.args[1]) if len(call.node.args) > 1 else None) or ():
        match pair:
            case ast.Tuple(elts=[ast.Constant(value=str() as name), kind]):
                fields[name] = kind
            case _:
                return UNKNOWN
    return _made(frame, call.node, "typing.NamedTuple", fields, ()) if fields else UNKNOWN


@function("typing.TypedDict", "typing_extensions.TypedDict")
def _typed_dict(frame: Frame, call: LibraryCall) -> Value:
    match call.node.args:
        case [_, ast.Dict(keys=keys, values=kinds), *_]:
            named = zip(map(text_of, keys), kinds, strict=True)
            fields = {name: kind for name, kind in named if name is not None}
            return _made(frame, call.node, "typing.TypedDict", fields, ())
    return UNKNOWN


def _made(
    frame: Frame,
    node: ast.Call,
    base: str,
    fields: Mapping[str, ast.expr],
    defaults: Sequence[ast.expr],
) -> Value:
    """Return the class that a `class` statement with these fields would make; one for each call."""

    def made() -> Value:
        first = node.args[0] if node.args else None
        name = first.value if isinstance(first, ast.Constant) else None
        given = [None] * (len(fields) - len(defaults)) + [*defaults]
        body: list[ast.stmt] = [
            ast.copy_location(ast.AnnAssign(ast.Name(field, ast.Store()), kind, default, 1), node)
            for (field, kind), default in zip(fields.items(), given, strict=False)
        ]
        statement = ast.ClassDef(str(name or "record"), [ast.Constant(base)], [], body, [])
        return Class(ast.copy_location(statement, node), frame.module)

    return frame.module.recall(("made", node), made, UNKNOWN)


@on(Instance, "_replace")
def _replace(frame: Frame, call: MethodCall[Instance]) -> Value:
    nodes = {keyword.arg: keyword.value for keyword in call.node.keywords}
    changes = {name: Argument(value, nodes.get(name)) for name, value in call.kwargs.items()}
    return replaced(frame, call.owner, changes, call.node)


@on(Instance, "_asdict")
def _as_dict(frame: Frame, call: MethodCall[Instance]) -> Value:
    return _fields(frame, call.owner, call.node)


@function("dataclasses.asdict", takes=1)
def _dataclass_as_dict(frame: Frame, call: LibraryCall) -> Value:
    return _fields(frame, call.args[0], call.node)


@function("builtins.vars", takes=1)
def _vars(frame: Frame, call: LibraryCall) -> Value:
    found = attribute(frame, call.args[0], "__dict__", call.node)
    return found if isinstance(found, Attributes) else UNKNOWN


def _fields(frame: Frame, owner: Value, node: ast.expr) -> Value:
    """Return a dict of the fields of an instance."""
    content = frame.state.instance_of(owner)
    if content is None or not is_dataclass(content.cls):
        return UNKNOWN
    names = [name for name, _, _ in instance_fields(content.cls)]
    return frame.state.new(
        DictContent({name: attribute(frame, owner, name, node) for name in names})
    )


@function("dataclasses.astuple", takes=1)
def _as_tuple(frame: Frame, call: LibraryCall) -> Value:
    content = frame.state.instance_of(call.args[0])
    if content is None or not is_dataclass(content.cls):
        return UNKNOWN
    fields = instance_fields(content.cls)
    return tuple(attribute(frame, call.args[0], name, call.node) for name, _, _ in fields)


@on(Class, "_make", takes=1)
def _make(frame: Frame, call: MethodCall[Class]) -> Value:
    items = iterate(frame, call.args[0])[0]
    if items is None:
        return UNKNOWN
    return construct(frame, call.held, list(map(Argument, items)), {}, call.node, call.held.name)
