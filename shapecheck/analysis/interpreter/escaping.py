"""What may happen to lists, dicts and instances once who changes them is out of sight."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from shapecheck.analysis.annotations.class_fields import set_by_name
from shapecheck.analysis.annotations.classes import find_member, find_method, own_ancestry
from shapecheck.analysis.annotations.construction import assigned
from shapecheck.analysis.annotations.declarations import arguments_of
from shapecheck.analysis.interpreter.effects import changes_around, set_on_unknown
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.asking import about, asks_about
from shapecheck.analysis.program.model import NOTHING, Class, Function, Scope, Value
from shapecheck.analysis.program.modules import Module
from shapecheck.analysis.program.syntax import kept_by_node, names_in, nodes_of
from shapecheck.analysis.values.heap import inside, reachable
from shapecheck.analysis.values.model import (
    Attributes,
    Bound,
    DictContent,
    Instance,
    ListContent,
    OneOf,
    OpInstance,
    Partial,
    Ref,
)
from shapecheck.analysis.values.state import State, is_to_fill
from shapecheck.ops import UNKNOWN, Fields, Sizes


def let_go(frame: Frame, values: Iterable[Value]) -> None:
    """Give up on what code that isn't followed may change, which is given some values.

    These are the lists and dicts themselves, and all that a function among the values may change
    whenever it is called.
    """
    escape = _Escape(frame)
    for value in values:
        escape.value(value)


def hand_over(frame: Frame, values: Iterable[Value]) -> None:
    """Give up on what functions among the arguments of an op may change, which may keep them."""
    let_go(frame, [value for value in values if isinstance(value, (Function, Bound, Partial))])


def called_unseen(frame: Frame, value: Value) -> None:
    """Give up on what a function changes that is called, nobody follows when and with what."""
    match value:
        case Bound(function=Function() as function, receiver=receiver):
            given = {one.arg: receiver for one in arguments_of(function.node)[:1]}
        case Function() as function:
            given = {}
        case _:
            return
    if changes_around(frame, function, given):
        let_go(frame, [value])


def called_on_parts(frame: Frame, value: Value, owner: Value) -> None:
    """Give up on what a function changes that is called on each part of something."""
    called_unseen(frame, value)
    match value:
        case Partial(function=Function() as function, args=args):
            before = len(args)
        case Bound(function=Function() as function):
            before = 1
        case Function() as function:
            before = 0
        case _:
            return
    parts = {one.arg: UNKNOWN for one in arguments_of(function.node)[before : before + 1]}
    for name in sorted(set_on_unknown(function, parts)):
        _set_of_some(frame, [owner], name)


def set_somewhere(frame: Frame, owner: Value, name: str) -> None:
    """Give up on an attribute of all that may be what it is assigned to.

    `owner` is that: nothing is known of it, or it stands for any instance of its class.
    """
    match frame.state.content(owner):
        case Instance(path=path, cls=cls) if path is not None:
            _set_of_some(frame, frame.state.vars.values(), name, cls, owner)
        case None if owner is UNKNOWN or isinstance(owner, Ref):
            _set_of_some(frame, frame.state.vars.values(), name)


def lose_layer(state: State, layer: OpInstance) -> None:
    """Give up on a layer that is changed under one name, whoever has it."""

    def left(value: Value) -> Value:
        return UNKNOWN if value is layer else value

    for name, value in state.vars.items():
        state.vars[name] = left(value)
    for ref, content in [*state.heap.items()]:
        if content is not None and any(value is layer for value in inside(content)):
            state.put(ref, content.changed(left))


def _set_of_some(
    frame: Frame,
    roots: Iterable[Value],
    name: str,
    cls: Class | None = None,
    but: Value = NOTHING,
) -> None:
    """Give up on an attribute of instances that can be reached, of a class if one is given."""
    heap = frame.state.heap
    having = {
        ref: content
        for ref, content in heap.items()
        if isinstance(content, Instance) and ref is not but and _has(content, name, cls)
    }
    for ref in [*reachable(roots, heap)] if having else ():
        if ref in having:
            attrs = {**having[ref].attrs, name: UNKNOWN}
            frame.state.put(ref, having[ref].with_attrs(attrs))


def _has(content: Instance, name: str, cls: Class | None) -> bool:
    """Whether an instance has an attribute, and is of a class if one is given."""
    if name not in content.attrs and find_member(content.cls, name) is None:
        return False
    return cls is None or any(parent.node is cls.node for parent in own_ancestry(content.cls))


class _Escape:
    """One way out of what is followed; `seen` is what has gone it."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.seen: set[object] = set()

    def value(self, value: Value) -> None:
        """Let go of a value that is handed over."""
        of_its_kind = _OF_KIND.get(type(value))
        if of_its_kind is not None:
            of_its_kind(self, value)

    def one_of(self, value: OneOf) -> None:
        self.all(value.options)

    def partial(self, value: Partial) -> None:
        self.all((value.function, *value.args, *(held for _, held in value.kwargs)))

    def attributes(self, value: Attributes) -> None:
        self.value(value.owner)

    def bound(self, value: Bound) -> None:
        if value.function is None:
            self.value(value.receiver)
        else:
            self._used(value.receiver, value.function)

    def definition(self, value: Function | Class) -> None:
        """Let go of what a function, or a class in a function, uses of what is around it, once."""
        home = self._home(value)
        if home is None or value in self.seen:
            return
        self.seen.add(value)
        if isinstance(value, Function):
            self.all(value.defaults)
        self._around(value, home)

    def _home(self, value: Function | Class) -> Scope | None:
        """Return where the variables of a function or class are, if code runs that has them."""
        if value.home is None and isinstance(value, Function):
            is_here = self.frame.function is None and value.module is self.frame.module
            return self.frame if is_here else None
        return value.home

    def all(self, values: Iterable[Value]) -> None:
        for value in values:
            self.value(value)

    def content(self, ref: Ref) -> None:
        match self.frame.state.content(ref):
            case Instance(cls=cls):
                self.value(cls)
                self._held_in(ref)
            case None:
                pass
            case content:
                self.frame.state.put(ref, None)
                self.all(inside(content))

    def _held_in(self, ref: Ref) -> None:
        """Let go of what is in an instance to be filled, or to become another.

        That are empty lists and dicts, and what methods assign that the construction doesn't call;
        layers stay what they are.
        """
        # decisions.md, "An instance that is handed on keeps its layers"
        state = self.frame.state
        for held in [*reachable([ref], state.heap)]:
            content = state.heap[held]
            if isinstance(content, (ListContent, DictContent)):
                if is_to_fill(content):
                    state.put(held, None)
            elif isinstance(content, Instance):
                later, _ = assigned(content.cls)
                lost = [n for n in later & content.attrs.keys() if _is_fleeting(content.attrs[n])]
                if lost:
                    attrs = {**content.attrs, **dict.fromkeys(lost, UNKNOWN)}
                    state.put(held, content.with_attrs(attrs))

    def _around(self, user: Function | Class, home: Scope) -> None:
        """Let go of what a function or class uses of the variables around it."""
        used = names_in(user.node)
        rebound = _rebound_in(user.node)
        for name in sorted(used):
            held = home.find(name)
            self._used(held, user)
            self.value(held)
        if isinstance(home, Frame):
            home.share(used, rebound)
            for name in rebound:
                home.rebind(name, UNKNOWN)

    def _used(self, value: Value, user: Function | Class) -> None:
        """Let go of what a function or class may change of an instance that it can reach."""
        content = self.frame.state.instance_of(value)
        if content is None or (value, user.node) in self.seen:
            return
        self.seen.add((value, user.node))
        stored, mentioned = _attributes_in(user.module, user.node)
        for name in sorted(mentioned):
            method = find_method(content.cls, name)
            if method is not None:
                self._used(value, method)
            else:
                self.value(content.attrs.get(name, UNKNOWN))
        left = self.frame.state.instance_of(value)
        if left is not None and stored and value in self.frame.state.heap:
            attrs = {**left.attrs, **dict.fromkeys(sorted(stored), UNKNOWN)}
            self.frame.state.put(value, left.with_attrs(attrs))


def _is_fleeting(value: Value) -> bool:
    """Whether a value that methods assign is no layer, nor anything else that lies on the heap."""
    return not isinstance(value, (OpInstance, Ref))


_OF_KIND: Final[dict[type, Callable[..., None]]] = {
    Ref: _Escape.content,
    tuple: _Escape.all,
    Sizes: _Escape.all,
    Fields: _Escape.all,
    OneOf: _Escape.one_of,
    Partial: _Escape.partial,
    Attributes: _Escape.attributes,
    Bound: _Escape.bound,
    Function: _Escape.definition,
    Class: _Escape.definition,
}
"""How what can be changed from outside is let go; nothing can be of what is not here."""


def stored_attributes(function: Function) -> frozenset[str]:
    """Return the attributes that a function assigns, or takes away, of whatever has them."""
    return _attributes_in(function.module, function.node).stored


class _Attributes(NamedTuple):
    """The attributes that a piece of source assigns or takes away, and all that it mentions."""

    stored: frozenset[str]
    mentioned: frozenset[str]


_KIND: Final = "attributes in"
_NO_ATTRIBUTES: Final = _Attributes(frozenset(), frozenset())


@asks_about(_KIND)
def _attributes_in(module: Module, node: ast.AST) -> _Attributes:
    """Return the attributes in a function or class: an edit of it has mostly the same ones."""
    telling = about(_KIND, module, node)
    return module.recall((_KIND, node), lambda: _find_in(node), _NO_ATTRIBUTES, telling=telling)


def _find_in(node: ast.AST) -> _Attributes:
    found = [*nodes_of(ast.Attribute, node)]
    stored = {one.attr for one in found if isinstance(one.ctx, (ast.Store, ast.Del))}
    return _Attributes(frozenset(stored | set_by_name(node)), frozenset(one.attr for one in found))


@kept_by_node(1024)
def _rebound_in(node: ast.AST) -> tuple[str, ...]:
    """Return the variables around a function that it assigns."""
    return tuple(sorted({name for one in nodes_of(ast.Nonlocal, node) for name in one.names}))
