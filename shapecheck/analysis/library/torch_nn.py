"""What `torch.nn` has beside its layers: modules that hold others, and what every module does."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from shapecheck.analysis.annotations.classes import defaults, is_module
from shapecheck.analysis.interpreter import escaping
from shapecheck.analysis.interpreter.calls import call_back, invoke
from shapecheck.analysis.interpreter.dict_contents import as_dict
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import iterate, length
from shapecheck.analysis.interpreter.registry import (
    Held,
    LibraryCall,
    Method,
    MethodCall,
    function,
    on,
)
from shapecheck.analysis.interpreter.truth import CONTAINERS
from shapecheck.analysis.kinds.module_children import LAYER, children, is_sequential, layer_class
from shapecheck.analysis.library.reflection import set_by_name
from shapecheck.analysis.program.model import NOTHING, Dotted, Function, Value
from shapecheck.analysis.program.syntax import (
    FORWARD_HOOKS,
    MUTATORS,
    SETTERS,
    is_def,
    is_none,
    last_word,
    nodes_of,
    owner_of,
)
from shapecheck.analysis.values.model import (
    Bound,
    DictContent,
    Instance,
    Items,
    ListContent,
    OpInstance,
    Partial,
    tensor_of,
)
from shapecheck.dims import size_of
from shapecheck.ops import UNKNOWN, Packed

_HELD: Final = {
    "ModuleList": "modules",
    "ParameterList": "values",
    "ModuleDict": "modules",
    "ParameterDict": "parameters",
}
"""How each container calls what it is made of."""


@function("torch.nn.ModuleList", "torch.nn.ParameterList", takes=(0, 1))
def _list(frame: Frame, call: LibraryCall) -> Value:
    kind = CONTAINERS[f"torch.nn.{call.name}"]
    given = call.get(0, _HELD[call.name])
    if given is None:
        return frame.state.new(ListContent((), kind=kind))
    items, element = iterate(frame, given)
    count = None if items is not None else length(frame, given)
    return frame.state.new(ListContent(items, element, kind, count))


@function("torch.nn.ModuleDict", "torch.nn.ParameterDict", takes=(0, 1))
def _dict(frame: Frame, call: LibraryCall) -> Value:
    given = call.get(0, _HELD[call.name])
    held = frame.state.dict_of(as_dict(frame, [] if given is None else [given], {}))
    kind = CONTAINERS[f"torch.nn.{call.name}"]
    return frame.state.new(replace(held, kind=kind)) if held is not None else UNKNOWN


@function("torch.nn.Sequential")
def _sequential(frame: Frame, call: LibraryCall) -> Value:
    kind = CONTAINERS[f"torch.nn.{call.name}"]
    content = frame.state.dict_of(call.args[0]) if len(call.args) == 1 else None
    if content is None:
        return frame.state.new(ListContent(tuple(call.args), kind=kind))
    items = tuple(content.items.values()) if content.items else None
    names = tuple(map(str, content.items or ()))
    return frame.state.new(ListContent(items, kind=kind, names=names))


@function("torch.nn.Embedding.from_pretrained")
def _embedding_of(frame: Frame, call: LibraryCall) -> Value:
    """Make an embedding of the rows of a matrix."""
    rows = tensor_of(call.get(0, "embeddings"))
    sizes = None if rows is None else frame.state.facts.shape(rows.shape).known
    if sizes is None or len(sizes) != _OF_A_MATRIX:
        return UNKNOWN
    return call_back(frame, Dotted("torch.nn.Embedding"), map(size_of, sizes))


_OF_A_MATRIX: Final = 2


_REGISTER: Final = ("register_buffer", "register_parameter", "add_module", "register_module")


@on(Instance, *_REGISTER)
@on(OpInstance, *_REGISTER)
def _register(frame: Frame, call: MethodCall[Instance | OpInstance]) -> Value:
    named = ("name", "tensor", "param", "module")
    values = [*call.args, *(call.kwargs[key] for key in named if key in call.kwargs)]
    match values:
        case [str(name), value, *_]:
            set_by_name(frame, call, call.owner, owner_of(call.node.func), name, value)
        case _:  # one more of which the name isn't known
            if isinstance(call.held, Instance):
                frame.state.put(call.owner, replace(call.held, whole=False))
    return None


def _of_modules(kind: type[Held]) -> Callable[[Method[Held]], Callable[..., Value]]:
    """Register what the methods of modules do that return the module, for a kind of value."""
    return on(
        kind,
        "train",
        "eval",
        "to",
        "cuda",
        "cpu",
        "float",
        "half",
        "double",
        "bfloat16",
        "type",
        "requires_grad_",
    )


@_of_modules(Instance)
@_of_modules(OpInstance)
@_of_modules(Packed)
def _itself(frame: Frame, call: MethodCall[object]) -> Value:
    return call.owner


@_of_modules(ListContent)
@_of_modules(DictContent)
def _container_itself(frame: Frame, call: MethodCall[ListContent | DictContent]) -> Value:
    return call.owner if call.held.kind.startswith("nn.") else UNKNOWN


@on(Instance, "apply", takes=1)
@on(OpInstance, "apply", takes=1)
@on(ListContent, "apply", takes=1)
@on(DictContent, "apply", takes=1)
def _apply(
    frame: Frame, call: MethodCall[Instance | OpInstance | ListContent | DictContent]
) -> Value:
    """Have a function called on each module that is held, which may change it."""
    if isinstance(call.held, (ListContent, DictContent)) and not call.held.kind.startswith("nn."):
        return UNKNOWN
    escaping.called_on_parts(frame, call.args[0], call.owner)
    return call.owner


@on(Instance, *FORWARD_HOOKS)
@on(OpInstance, *FORWARD_HOOKS)
@on(ListContent, *FORWARD_HOOKS)
def _hook(frame: Frame, call: MethodCall[Instance | OpInstance | ListContent]) -> Value:
    """Have a function called at each call of the module; it may put in another input or output."""
    hook = call.get(0, "hook")
    escaping.let_go(frame, [hook])
    if _may_give(hook):
        set_by_name(frame, call, call.owner, owner_of(call.node.func), "forward", UNKNOWN)
    return UNKNOWN


def _may_give(hook: Value) -> bool:
    """Whether a function may return anything but None."""
    match hook:
        case Partial(function=inner):
            return _may_give(inner)
        case Function(node=ast.Lambda(body=ast.Call(func=called))):
            return last_word(called) not in _GIVING_NOTHING
        case Function(node=node) | Bound(function=Function(node=node)) if is_def(node):
            given = [one.value for one in nodes_of(ast.Return, *node.body)]
            return not all(value is None or is_none(value) for value in given)
    return True


_GIVING_NOTHING: Final = MUTATORS - {"pop", "popitem", "setdefault"} | SETTERS | {"print"}


@on(Instance, "__init__")
def _of_layer(frame: Frame, call: MethodCall[Instance]) -> Value:
    """Hold what a class gives to the constructor of a library: modules, sizes, or fields."""
    if is_sequential(call.held.cls):
        return NOTHING if call.kwargs else _hold_modules(frame, call)
    layer = layer_class(call.held.cls)
    if layer is None:
        if not is_module(call.held.cls):
            _hold_fields(frame, call)
        return NOTHING
    made = invoke(frame, Dotted(layer.name), call.arguments, call.node, call.label)
    frame.state.set_attribute(call.owner, LAYER, made)
    return None


def _hold_fields(frame: Frame, call: MethodCall[Instance]) -> None:
    """Hold what a constructor that isn't known is given, as that of pydantic's models.

    What it is given by name are the fields of that name; of what is given otherwise, it isn't known
    which they are.
    """
    is_open = call.args or any(word.arg is None for word in call.node.keywords)
    for name in defaults(call.held.cls).difference(call.held.attrs):
        if is_open or name in call.kwargs:
            frame.state.set_attribute(call.owner, name, call.kwargs.get(name, UNKNOWN))


def _hold_modules(frame: Frame, call: MethodCall[Instance]) -> Value:
    content = frame.state.dict_of(call.args[0]) if len(call.args) == 1 else None
    held = dict(enumerate(call.args)) if content is None else content.items
    for name, value in (held or {}).items():
        frame.state.set_attribute(call.owner, str(name), value)
    return None


@on(Instance, "children", "named_children", takes=0)
def _children(frame: Frame, call: MethodCall[Instance]) -> Value:
    """Return the modules among the attributes, in the order in which they were assigned."""
    found = children(frame, call.held)
    if found is None or LAYER in call.held.attrs:
        return UNKNOWN
    named = call.name == "named_children"
    items = [value for at, (_, value) in enumerate(found) if value not in dict(found[:at]).values()]
    return Items(tuple(found) if named else tuple(items))


@on(ListContent, "children", takes=0)
def _held_children(frame: Frame, call: MethodCall[ListContent]) -> Value:
    held = call.held
    return Items(held.items, held.element) if held.kind.startswith("nn.") else UNKNOWN
