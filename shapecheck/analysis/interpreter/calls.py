"""Calls: what is called with what, and what may happen where nobody knows."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from shapecheck.analysis.annotations.classes import constructor
from shapecheck.analysis.annotations.declarations import declaration
from shapecheck.analysis.interpreter import escaping, first_class, registry
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import spelled_out
from shapecheck.analysis.interpreter.kinds import attribute, held_by, kind_of, mapping_of
from shapecheck.analysis.interpreter.shown_by_use import receiver_of
from shapecheck.analysis.program.model import NOTHING, Class, Dotted, Function, Value
from shapecheck.analysis.program.syntax import name_of
from shapecheck.analysis.values.model import (
    Argument,
    Arguments,
    Bound,
    DictContent,
    ListContent,
    Ref,
    Super,
)
from shapecheck.ops import UNKNOWN
from shapecheck.shapes import Shape, Tensor

_NOTHING_NAMED: Final[Mapping[str, Value]] = MappingProxyType({})


_CHANGING: Final = frozenset(("list", "dict", "set"))
"""What methods change; layers in a list of layers stay what they are."""


def follows(name: str) -> bool:
    """Whether calling something of a library gives what follows from what it is given."""
    return name in registry.FUNCTIONS


def call(frame: Frame, node: ast.Call) -> Value:
    """Return the value of a call."""
    func = node.func
    if type(func) is ast.Name and func.id == "super" and frame.function is not None:
        return _super(frame, frame.function, node.args)
    target = frame.eval(func)
    if target is UNKNOWN and type(func) is ast.Attribute:
        receiver = receiver_of(frame, func, node.args)
        target = UNKNOWN if receiver is UNKNOWN else attribute(frame, receiver, func.attr, func)
    arguments = evaluate_arguments(frame, node)
    return invoke(frame, target, arguments, node, _label(frame, func))


def _super(frame: Frame, function: Function, given: Sequence[ast.expr]) -> Value:
    """Return what `super()` is in a function, or `super(cls, self)` there."""
    if len(given) == 2:
        after = frame.eval(given[0])
        return Super(after, frame.eval(given[1])) if isinstance(after, Class) else UNKNOWN
    first = function.node.args.args
    if function.owner is None or not first:
        return UNKNOWN
    return Super(function.owner, frame.lookup(first[0].arg))


def evaluate_arguments(frame: Frame, node: ast.Call) -> Arguments:
    """Evaluate the arguments of a call, starred ones spelled out."""
    args: list[Argument] = []
    complete, more_args, more_kwargs = True, False, False
    spread: Value = NOTHING
    for arg in node.args:
        match arg:
            case ast.Starred(value=inner):
                value = frame.eval(inner)
                items = spelled_out(frame, value)
                if items is None:
                    more_args = complete and arg is node.args[-1]
                    complete, spread = False, value
                args.extend(map(Argument, items or ()))
            case _:
                args.append(Argument(frame.eval(arg), arg))
    kwargs: dict[str, Argument] = {}
    for keyword in node.keywords:
        value = frame.eval(keyword.value)
        if keyword.arg is not None:
            kwargs[keyword.arg] = Argument(value, keyword.value)
            continue
        content = mapping_of(frame, value)
        if content is not None and content.items is not None:
            kwargs.update({str(key): Argument(item) for key, item in content.items.items()})
        else:
            more_kwargs = complete or more_args
            complete = False
    lone = len(node.args) == 1 and not node.keywords
    spread = spread if lone else NOTHING
    return Arguments(tuple(args), kwargs, complete, spread, more_args, more_kwargs)


def _label(frame: Frame, node: ast.expr) -> str:
    """Return how an op is called in messages: a method by its name, what is a path in full."""
    if type(node) is ast.Name:
        return node.id
    parts: list[str] = []
    owner = node
    while isinstance(owner, ast.Attribute):
        parts.append(owner.attr)
        owner = owner.value
    name = name_of(owner)
    if name is not None and not (parts and isinstance(frame.state.vars.get(name), Tensor)):
        return ".".join([name, *reversed(parts)])
    return parts[0] if parts else frame.segment(node)


def invoke(frame: Frame, target: Value, arguments: Arguments, node: ast.Call, label: str) -> Value:
    """Call a value."""
    given = arguments if arguments.complete else _filled(target, arguments)
    if given is not None:
        held = held_by(frame, target)
        found = kind_of(held).call(frame, target, held, given, node, label)
        if found is not NOTHING:
            return found
    elif arguments.spread is not NOTHING and isinstance(target, Dotted):
        handler = registry.SPREADS.get(target.name)
        if handler is not None:
            return handler(frame, arguments.spread)
    let_go(frame, arguments)
    if given is None and isinstance(target, Bound) and isinstance(target.receiver, Ref):
        held = held_by(frame, target.receiver)
        if isinstance(held, (ListContent, DictContent)) and held.kind in _CHANGING:
            frame.state.put(target.receiver, None)  # `found.append(*more)`
    return UNKNOWN


def _filled(target: Value, arguments: Arguments) -> Arguments | None:
    """Return arguments of which some aren't known, with all that may be given as not known.

    None where no function of the program takes them, or one that takes any number of them.
    """
    if not (arguments.more_args or arguments.more_kwargs):
        return None
    is_bound = True
    match target:
        case Function() as function:
            is_bound = False
        case Bound(function=Function() as function):
            pass
        case Class() if (made_by := constructor(target)) is not None:
            function = made_by
        case _:
            return None
    params = declaration(function).params[is_bound:]
    kinds = {param.kind for param in params}
    if (arguments.more_args and "star" in kinds) or (
        arguments.more_kwargs and kinds & {"double-star", "options"}
    ):
        return None
    named = dict(arguments.kwargs)
    rest = [one for one in params if one.kind == "positional"][len(arguments.args) :]
    if arguments.more_kwargs:
        rest += [one for one in params if one.kind == "keyword"]
    for param in rest:
        named.setdefault(param.name, Argument(UNKNOWN))
    return Arguments(arguments.args, named)


def let_go(frame: Frame, arguments: Arguments) -> None:
    """Give up on lists and dicts that go where they may be changed, and on empty tensors."""
    given = [*arguments.args, *arguments.kwargs.values()]
    first_class.let_go(frame, given)
    escaping.let_go(frame, [argument.value for argument in given])
    for argument in given:
        match argument:
            case Argument(Tensor(shape=shape) as empty, ast.expr() as node) if 0 in shape.dims:
                frame.renew(node, empty.with_shape(Shape.unknown()), node)


def call_back(frame: Frame, function: Value, args: Iterable[Value]) -> Value:
    """Return what a function that was handed over gives."""
    return call_at(frame, function, ast.Name("callback", ast.Load()), "callback", args)


def call_at(
    frame: Frame,
    function: Value,
    node: ast.expr,
    label: str,
    args: Iterable[Value] = (),
    named: Mapping[str, Value] = _NOTHING_NAMED,
) -> Value:
    """Return what a function gives that is called where an expression stands, not written there."""
    call = ast.copy_location(ast.Call(node, [], []), node)
    kwargs = {name: Argument(value) for name, value in named.items()}
    return invoke(frame, function, Arguments(tuple(map(Argument, args)), kwargs), call, label)
