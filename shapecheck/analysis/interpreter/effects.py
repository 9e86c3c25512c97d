"""Whether a call changes what its caller sees: an annotation tells what it gives, and not that."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from shapecheck.analysis.annotations.classes import find_method, members, own_ancestry
from shapecheck.analysis.annotations.declarations import arguments_of
from shapecheck.analysis.annotations.reader import reader
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.asking import BY_SPELLING, about, asks_about
from shapecheck.analysis.program.model import NOTHING, Class, Function, Value, dotted
from shapecheck.analysis.program.modules import Module
from shapecheck.analysis.program.syntax import (
    FORWARD_HOOKS,
    MUTATORS,
    SETTERS,
    is_def,
    last_word,
    nodes_of,
    unstarred,
)
from shapecheck.analysis.values.model import OpInstance
from shapecheck.analysis.values.state import State
from shapecheck.ops import UNKNOWN


class Change(NamedTuple):
    """Something that a body changes: a variable's content, or that of its attribute.

    `sets`: the attribute itself is another one from then on.
    """

    name: str
    attribute: str | None = None
    sets: bool = False


class Changes(NamedTuple):
    """What a body changes that it didn't make, the outer variables it binds, what it may call.

    `called` are plain names, and methods by the expression that they are asked of; `handed` is
    what other calls are given, with the expression that is called.
    """

    changed: frozenset[Change]
    rebound: frozenset[str]
    called: frozenset[tuple[str, str | None, str | None]]
    handed: tuple[tuple[ast.expr, Change], ...]


def changes_around(frame: Frame, function: Function, values: Mapping[str, Value]) -> bool:
    """Whether a function may change lists, dicts, attributes or variables that are known here.

    `values` are its arguments. What it changes by the methods of instances that it has, and by the
    functions around it, counts.
    """
    return _Looking(frame.state).finds(function, values)


def set_on_unknown(function: Function, values: Mapping[str, Value]) -> frozenset[str]:
    """Return the attributes that a body assigns to arguments of which nothing is known."""
    unknown = {name for name, value in values.items() if value is UNKNOWN}
    if not unknown:
        return _NO_NAMES
    changed = _changes(function.module, function.node).changed
    return frozenset(
        one.attribute
        for one in changed
        if one.sets and one.attribute is not None and one.name in unknown
    )


def layers_set(function: Function, values: Mapping[str, Value]) -> list[OpInstance]:
    """Return the layers among the arguments of which a body assigns an attribute."""
    layers = {name: value for name, value in values.items() if isinstance(value, OpInstance)}
    if not layers:
        return []
    changed = _changes(function.module, function.node).changed
    names = {one.name for one in changed if one.sets}
    return [value for name, value in layers.items() if name in names]


def set_by_hooks(module: Module, cls: Class) -> frozenset[str]:
    """Return the attributes of instances of a class that the hooks of layers in a module change.

    Nobody sees when they are called. What a method changes of itself, those of other classes keep.
    """
    hooks = module.syntax.hooks()
    if not hooks:
        return _NO_NAMES

    def found() -> frozenset[str]:
        own = {node for one in own_ancestry(cls) for node in members(one).values()}
        return frozenset(
            one.attribute
            for hook in hooks
            for one in _changes(module, hook).changed
            if one.attribute is not None and (hook in own or one.name != _receiver(hook))
        )

    return module.recall(("set by hooks", cls.node), found, _NO_NAMES)


def _receiver(function: ast.AST) -> str | None:
    """Return what a method calls the instance that it is called with."""
    first = arguments_of(function)[:1] if is_def(function) else ()
    return next((one.arg for one in first if one.arg == "self"), None)


_NO_NAMES: Final = frozenset[str]()


class _Looking:
    """One look for changes; `seen` are the functions that were looked through, with what."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.seen: set[object] = set()

    def finds(self, function: Function, values: Mapping[str, Value]) -> bool:
        found = _changes(function.module, function.node)
        for name in found.rebound:
            if _around(function, name) is not NOTHING:
                return True
        if any(self._is_known(one, _find(function, values, one.name)) for one in found.changed):
            return True
        read = reader(function.module)
        for called, one in found.handed:
            if self._is_container(one, _find(function, values, one.name)):
                if dotted(read.resolve(called)) is None:  # a library's function only reads it
                    return True
        return any(
            self._finds_once(other, given) for other, given in self._called(function, values)
        )

    def _finds_once(self, function: Function, values: Mapping[str, Value]) -> bool:
        key = (function.node, *values.values())
        if key in self.seen:
            return False
        self.seen.add(key)
        return self.finds(function, values)

    def _is_known(self, change: Change, value: Value) -> bool:
        """Whether it is known what is changed, so that something else is known afterwards."""
        if change.attribute is None:
            return self._is_changeable(value)
        held = value
        if not isinstance(value, Class):
            held = self._attribute(value, change.attribute)
        return held is not UNKNOWN if change.sets else self._is_changeable(held)

    def _is_container(self, change: Change, value: Value) -> bool:
        """Whether a list or dict is handed on; what it is then changed in counts, too."""
        held = value if change.attribute is None else self._attribute(value, change.attribute)
        return self.state.container_of(held) is not None

    def _is_changeable(self, value: Value) -> bool:
        if isinstance(value, tuple):
            return any(map(self._is_changeable, value))
        if isinstance(value, Class):
            return True
        of = self.state
        return of.container_of(value) is not None or of.instance_of(value) is not None

    def _attribute(self, value: Value, name: str | None) -> Value:
        content = self.state.instance_of(value)
        return UNKNOWN if content is None or name is None else content.attrs.get(name, UNKNOWN)

    def _called(
        self, function: Function, values: Mapping[str, Value]
    ) -> Iterator[tuple[Function, Mapping[str, Value]]]:
        """Yield the functions around a body and the methods of instances that it mentions."""
        for name, attribute, method in sorted(
            _changes(function.module, function.node).called, key=str
        ):
            value = _find(function, values, name)
            if isinstance(value, Function) and method is None:
                yield value, {}
                continue
            owner = value if attribute is None else self._attribute(value, attribute)
            content = self.state.instance_of(owner)
            found = None if content is None or method is None else _method(content.cls, method)
            if found is not None:
                yield found, {arguments_of(found.node)[0].arg: owner}


def _method(cls: Class, name: str) -> Function | None:
    found = find_method(cls, name)
    return found if found is not None and arguments_of(found.node) else None


def _find(function: Function, values: Mapping[str, Value], name: str) -> Value:
    """Return what a name in a body stands for when it begins."""
    found = values.get(name, NOTHING)
    return _around(function, name) if found is NOTHING else found


def _around(function: Function, name: str) -> Value:
    return NOTHING if function.home is None else function.home.find(name)


# What stands in the source ------------------------------------------------------------------------

_KIND: Final = "changes in"


@asks_about(_KIND)
def _changes(module: Module, node: ast.AST) -> Changes:
    """Return what a function changes, as what it rests on is noted: an edit may change nothing."""
    telling = about(_KIND, module, node)
    return module.recall(
        (_KIND, node), lambda: changes_in(node), _NO_CHANGES, BY_SPELLING, telling=telling
    )


_NO_CHANGES: Final = Changes(frozenset(), frozenset(), frozenset(), ())


def changes_in(node: ast.AST) -> Changes:
    """Return what a function changes that it didn't make, and what it may call."""
    stands_for = _aliases(node)
    changed: set[Change] = set()
    called: set[tuple[str, str | None, str | None]] = set()
    for one in nodes_of((ast.Attribute, ast.Subscript, ast.Name, ast.AugAssign, ast.Call), node):
        match one:
            case ast.Call(args=[owner, ast.Constant(value=str(name)), _]) if (
                last_word(one.func) in SETTERS
            ):
                changed.update(_of(owner, stands_for, name))
            case ast.Name(id=name, ctx=ast.Load()):
                called.add((name, None, None))
            case ast.Attribute(value=owner, attr=name, ctx=ast.Store() | ast.Del()):
                changed.update(_of(owner, stands_for, name))
            case ast.AugAssign(target=owner):  # `rows += [row]`
                changed.update(_of(owner, stands_for))
            case ast.Attribute(value=owner, attr=name) if name in FORWARD_HOOKS:
                changed.update(_of(owner, stands_for, "forward"))
            case ast.Attribute(value=owner, attr=name) if name in MUTATORS:
                changed.update(_of(owner, stands_for))
            case ast.Subscript(value=owner, ctx=ast.Store() | ast.Del()):
                changed.update(_of(owner, stands_for))
        match one:
            case ast.Attribute(value=ast.Name(id=name), attr=method):
                called.add((name, None, method))
            case ast.Attribute(
                value=ast.Attribute(value=ast.Name(id=name), attr=held), attr=method
            ):
                called.add((name, held, method))
    handed = tuple(
        (one.func, Change(*root))
        for one in nodes_of(ast.Call, node)
        for given in (*one.args, *(word.value for word in one.keywords))
        for root in _roots(unstarred(given), stands_for)
    )
    rebound = frozenset(name for one in nodes_of(ast.Nonlocal, node) for name in one.names)
    return Changes(frozenset(changed), rebound, frozenset(called), handed)


_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_Roots: TypeAlias = tuple[tuple[str, str | None], ...]


def _of(
    owner: ast.expr, stands_for: Mapping[str, _Roots], attribute: str | None = None
) -> Iterator[Change]:
    """Yield what is changed where that happens to the value of an expression."""
    for name, held in _roots(owner, stands_for):
        if held is not None:
            yield Change(name, held)
        else:
            yield Change(name, attribute, sets=attribute is not None)


def _roots(node: ast.expr, stands_for: Mapping[str, _Roots]) -> _Roots:
    """Return the variables, and their attributes, in which the value of an expression may be."""
    attribute: str | None = None
    while not isinstance(node, ast.Name):
        match node:
            case (
                ast.Attribute(value=inner, attr="__dict__")
                | ast.Call(func=ast.Name(id="vars"), args=[inner])
            ):
                node, attribute = inner, None
            case ast.Attribute(value=inner, attr=name):
                node, attribute = inner, name
            case ast.Subscript(value=inner) | ast.Call(func=ast.Attribute(value=inner)):
                node, attribute = inner, None  # `groups.setdefault(key, [])`
            case _:
                return ()
    known = stands_for.get(node.id, ((node.id, None),))
    return tuple((root, held or attribute) for root, held in known)


def _aliases(node: ast.AST) -> dict[str, _Roots]:
    """Return for each variable that a body binds where its value may be, nowhere if it is new."""
    given = arguments_of(node, stars=True) if isinstance(node, _FUNCTIONS) else []
    found: dict[str, _Roots] = {one.arg: ((one.arg, None),) for one in given}
    for one in nodes_of(_BINDING, node):
        targets, value = _bound(one)
        is_new = isinstance(value, ast.Call) and isinstance(one, (ast.Assign, ast.AnnAssign))
        held = () if is_new or value is None else _roots(value, found)
        for target in nodes_of(ast.Name, *targets):
            if isinstance(target.ctx, ast.Store):
                found[target.id] = (*found.get(target.id, ()), *held)
    return found


_BINDING: Final = (ast.Assign, ast.AnnAssign, ast.For, ast.comprehension, ast.NamedExpr)


def _bound(node: ast.AST) -> tuple[list[ast.expr], ast.expr | None]:
    """Return what a statement or expression binds, and to what, or to the items of what."""
    match node:
        case ast.Assign(targets=targets, value=value):
            return targets, value
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            return [target], value
        case ast.AnnAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
            return [target], value
    return [], None
