"""State dicts: what modules hold in parameters and buffers, by names, and modules that load it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from shapecheck.analysis.annotations.classes import find_method, own_ancestry
from shapecheck.analysis.interpreter.dict_contents import STATE
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.kinds import held_by
from shapecheck.analysis.interpreter.registry import MethodCall, on
from shapecheck.analysis.kinds.module_children import LAYER
from shapecheck.analysis.program.model import Class, Value
from shapecheck.analysis.program.syntax import called, kept_by_node, last_word, nodes, text_of
from shapecheck.analysis.values.model import DictContent, Instance, ListContent, OpInstance
from shapecheck.analysis.values.parts import numbers_in
from shapecheck.explain import Message
from shapecheck.ops import UNKNOWN
from shapecheck.shapes import Tensor

_DEEPEST: Final = 12
_MOST: Final = 4096


@on(Instance, "state_dict")
@on(OpInstance, "state_dict")
@on(ListContent, "state_dict")
def _state(frame: Frame, call: MethodCall[object]) -> Value:
    """Return a dict of which those tensors are known that certainly are in it."""
    found = None if call.args or call.kwargs else state_of(frame, call.owner)
    return frame.state.new(DictContent(None, kind=STATE, known=found)) if found else UNKNOWN


@on(Instance, "load_state_dict")
@on(OpInstance, "load_state_dict")
@on(ListContent, "load_state_dict")
def _load(frame: Frame, call: MethodCall[object]) -> Value:
    """Report a tensor that is of another size in the module than in what it loads."""
    given = frame.state.dict_of(call.get(0, "state_dict"))
    if given is None or given.kind != STATE:
        return UNKNOWN
    own = state_of(frame, call.owner)
    both = (name for name in given.known if name in own)
    unlike = ((str(name), _clash(frame, given.known[name], own[name])) for name in both)
    for name, problem in unlike:
        if problem:
            text = f'"{call.label}" can\'t load "{name}": {problem}'
            numbers = numbers_in(given.known[name], own[name])
            notes = (_FIX.format(name),)
            frame.error(call.node, Message(text, notes=notes, numbers=numbers))
            break
    return UNKNOWN


_FIX: Final = 'what is made as the saved one was can load it, or one without "{}" and strict=False'


def _clash(frame: Frame, given: Value, own: Value) -> str:
    """Return how two tensors certainly differ in shape; nothing where they may be alike."""
    if not (isinstance(given, Tensor) and isinstance(own, Tensor)):
        return ""
    shapes = [frame.state.facts.shape(one.shape) for one in (given, own)]
    there, here = (shape.known for shape in shapes)
    if there is None or here is None:
        return ""
    said = f"it is {shapes[0]} in what is loaded, and {shapes[1]} in the module"
    if len(there) != len(here):
        return said
    for axis, (one, other) in enumerate(zip(there, here, strict=True)):
        if isinstance(one, int) and isinstance(other, int) and one != other:
            return f"{said}: axis {axis} is {one} there, and {other} here"
    return ""


def state_of(frame: Frame, module: Value) -> dict[Value, Value]:
    """Return the tensors that are certainly in the state dict of a module, by their names."""
    found: dict[Value, Value] = {}
    for name, tensor in _tensors(frame, module, "", 0):
        found[name] = tensor
        if len(found) == _MOST:
            break
    return found


def _tensors(frame: Frame, module: Value, before: str, depth: int) -> Iterator[tuple[str, Tensor]]:
    held = held_by(frame, module)
    if isinstance(held, OpInstance):
        yield from ((before + name, tensor) for name, tensor in _weights(held))
    if depth == _DEEPEST:
        return
    for name, value in _parts(held).items():
        if isinstance(value, Tensor):
            yield before + name, value
        elif name == LAYER:
            yield from _tensors(frame, value, before, depth + 1)
        else:
            yield from _tensors(frame, value, f"{before}{name}.", depth + 1)


def _parts(held: object) -> Mapping[str, Value]:
    """Return what may hold tensors in a module, by the names under which it does."""
    match held:
        case Instance(cls=cls, attrs=attrs, path=None) if not find_method(cls, _OTHERWISE):
            own = _registered(cls)
            return {n: v for n, v in attrs.items() if n in own or not isinstance(v, Tensor)}
        case ListContent(items=tuple() as items, kind="nn.Sequential" | "nn.ModuleList"):
            names = [*held.names, *map(str, range(len(held.names), len(items)))]
            return dict(zip(names, items, strict=True))
        case DictContent(items=items, kind="nn.ModuleDict") if items is not None:
            return {str(name): value for name, value in items.items()}
    return {}


_OTHERWISE: Final = "_load_from_state_dict"
"""The method of a module that loads in another way than others."""


def _weights(held: OpInstance) -> Iterator[tuple[str, Tensor]]:
    """Yield the weights of a layer; its biases, which it may not have, say no more than these."""
    if not all(held.attrs.get(flag, True) is True for flag in _FLAGS):
        return
    for name in held.cls.fields:
        value = held.cls.attribute(name, held.attrs)
        if "bias" not in name and isinstance(value, Tensor):
            yield name, value


_FLAGS: Final = ("affine", "elementwise_affine", "track_running_stats")
"""What a layer is made with that may leave it without weights."""


def _registered(cls: Class) -> frozenset[str]:
    """Return the attributes that a class makes parameters or buffers that are saved."""
    return frozenset[str]().union(*(_registered_by(one.node) for one in own_ancestry(cls)))


@kept_by_node(256)
def _registered_by(node: ast.AST) -> frozenset[str]:
    found = set()
    for one in nodes(node):
        match one:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=made
            ) if last_word(called(made)) == "Parameter":
                found.add(name)
            case ast.Call(func=ast.Attribute(attr=method), args=[name_node, *_], keywords=[]) if (
                method in ("register_buffer", "register_parameter")
            ):
                found.add(text_of(name_node) or "")
    return frozenset(found)
