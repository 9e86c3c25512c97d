"""Calls: of ops, modules, analysed functions and classes, methods and builtins."""

from __future__ import annotations

import ast
from collections.abc import Hashable
from dataclasses import replace

from shapecheck.analysis.annotations import classes
from shapecheck.analysis.interpreter import (
    decorators,
    dict_contents,
    escaping,
    first_class,
    functions,
    instances,
    methods,
    op_calls,
    overrides,
    registry,
)
from shapecheck.analysis.interpreter.frame import PARTS, Frame
from shapecheck.analysis.interpreter.iteration import iterate, length
from shapecheck.analysis.interpreter.op_calls import Site, apply, plain
from shapecheck.analysis.interpreter.operators import certain
from shapecheck.analysis.interpreter.size_labels import name_sizes
from shapecheck.analysis.interpreter.writes import write_into
from shapecheck.analysis.program.model import Class, Dotted, Function, Value
from shapecheck.analysis.values.model import (
    Argument,
    Arguments,
    Bound,
    Callback,
    DictContent,
    Instance,
    ListContent,
    OneOf,
    OpInstance,
    Partial,
    Ref,
    Super,
)
from shapecheck.analysis.values.state import State
from shapecheck.ops import UNKNOWN
from shapecheck.shapes import Free, Tensor
from shapecheck.signatures import OpClass

_CONTAINERS = {
    "torch.nn.ModuleList": "nn.ModuleList",
    "torch.nn.Sequential": "nn.Sequential",
    "torch.nn.ParameterList": "nn.ModuleList",
    "torch.nn.ModuleDict": "nn.ModuleDict",
    "torch.nn.ParameterDict": "nn.ModuleDict",
}


def follows(name: str) -> bool:
    """Whether calling something of a library gives what follows from what it is given."""
    return name in registry.CALLERS or name in registry.FUNCTIONS or name in _CONTAINERS


def call(frame: Frame, node: ast.Call) -> Value:
    """Return the value of a call."""
    func = node.func
    if type(func) is ast.Name and func.id == "super" and frame.function is not None:
        return _super(frame, frame.function)
    target = frame.eval(func)
    arguments = evaluate_arguments(frame, node)
    return invoke(frame, target, arguments, node, _label(frame, func))


def _super(frame: Frame, function: Function) -> Value:
    first = function.node.args.args
    if function.owner is None or not first:
        return UNKNOWN
    return Super(function.owner, frame.lookup(first[0].arg))


def evaluate_arguments(frame: Frame, node: ast.Call) -> Arguments:
    """Evaluate the arguments of a call, starred ones spelled out."""
    args: list[Argument] = []
    complete = True
    for arg in node.args:
        if isinstance(arg, ast.Starred):
            value = frame.eval(arg.value)
            items = value if isinstance(value, tuple) else iterate(frame, value)[0]
            complete = complete and items is not None
            args.extend(Argument(item) for item in items or ())
        else:
            args.append(Argument(frame.eval(arg), arg))
    kwargs: dict[str, Argument] = {}
    for keyword in node.keywords:
        value = frame.eval(keyword.value)
        if keyword.arg is not None:
            kwargs[keyword.arg] = Argument(value, keyword.value)
            continue
        content = frame.state.content(value)
        if isinstance(content, DictContent) and content.items is not None:
            kwargs.update({str(key): Argument(item) for key, item in content.items.items()})
        else:
            complete = False
    return Arguments(tuple(args), kwargs, complete)


def _label(frame: Frame, node: ast.expr) -> str:
    """Return how an op is called in messages: a method by its name, what is a path in full."""
    parts: list[str] = []
    owner = node
    while isinstance(owner, ast.Attribute):
        parts.append(owner.attr)
        owner = owner.value
    if isinstance(owner, ast.Name) and not (
        parts and isinstance(frame.state.vars.get(owner.id), Tensor)
    ):
        return ".".join([owner.id, *reversed(parts)])
    return parts[0] if parts else frame.segment(node)


def invoke(frame: Frame, target: Value, arguments: Arguments, node: ast.Call, label: str) -> Value:
    """Call a value."""
    if not arguments.complete:
        _escape(frame, arguments)
        return UNKNOWN
    match target:
        case Dotted(name=name):
            return _library(frame, name, arguments, node, label)
        case Function():
            return functions.invoke(frame, target, arguments.args, arguments.kwargs, node, label)
        case Class():
            return instances.construct(
                frame, target, list(arguments.args), arguments.kwargs, node, label
            )
        case Bound():
            return _method(frame, target, arguments, node, label)
        case OpInstance():
            return _module(frame, target, arguments, node, label)
        case Partial(function=function, args=args, kwargs=kwargs):
            merged = Arguments(
                (*map(Argument, args), *arguments.args),
                {**{k: Argument(v) for k, v in kwargs}, **arguments.kwargs},
            )
            return invoke(frame, function, merged, node, label)
        case Ref():
            return _instance(frame, target, arguments, node, label)
        case OneOf(options=options):
            return _any_of(frame, options, arguments, node, label)
        case Callback():
            _escape(frame, arguments)
            return overrides.called(frame, target, arguments.args, node, label)
    _escape(frame, arguments)
    return UNKNOWN


def _escape(frame: Frame, arguments: Arguments) -> None:
    """Give up on lists and dicts that go where they may be changed."""
    given = [*arguments.args, *arguments.kwargs.values()]
    first_class.let_go(frame, given)
    escaping.let_go(frame, [argument.value for argument in given])


def _any_of(
    frame: Frame, options: tuple[Value, ...], arguments: Arguments, node: ast.Call, label: str
) -> Value:
    """Call one of several callables: the joined result of all."""
    some = [option for option in options if option is not None]
    if len(some) == 1:
        return invoke(frame, some[0], arguments, node, label)
    if len(some) > 3:
        _escape(frame, arguments)
        return UNKNOWN
    found: list[tuple[Value, State]] = []
    before = frame.state
    for option in some:
        frame.resume(before.copy())
        value = frame.hush(invoke, option, arguments, node, label)
        found.append((value, frame.state))
    return frame.merged(found)


def _site(
    arguments: Arguments, node: ast.expr, label: str, receiver: ast.expr | None = None
) -> Site:
    return Site(node, label, args=arguments.args, receiver=receiver)


def _library(frame: Frame, name: str, arguments: Arguments, node: ast.Call, label: str) -> Value:
    if name in _CONTAINERS:
        return _container(frame, _CONTAINERS[name], arguments)
    if name in registry.CALLERS:
        return registry.CALLERS[name](frame, arguments, node, label)
    handler = registry.FUNCTIONS.get(name)
    if handler is not None:
        return handler(frame, arguments.values, arguments.named, node)
    table = frame.program.table
    signature = table.signature(name)
    if name.startswith(op_calls.PREFIX) and not op_calls.takes_names(frame, arguments.kwargs):
        return UNKNOWN
    if signature is not None:
        site = _site(arguments, node, label)
        escaping.hand_over(frame, [*arguments.values, *arguments.named.values()])
        result = apply(frame, signature, arguments.values, arguments.named, site)
        name_sizes(frame, arguments.sizes, result)
        return result
    cls = table.lookup_class(name)
    if cls is not None:
        return _op_instance(frame, cls, arguments)
    _escape(frame, arguments)
    return UNKNOWN


def _op_instance(frame: Frame, cls: OpClass, arguments: Arguments) -> Value:
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


def _container(frame: Frame, kind: str, arguments: Arguments) -> Value:
    values = arguments.values
    if kind == "nn.ModuleList":
        if not values:
            return frame.state.new(ListContent((), kind=kind))
        items, element = iterate(frame, values[0])
        count = None if items is not None else length(frame, values[0])
        return frame.state.new(ListContent(items, element, kind, count))
    if kind == "nn.ModuleDict":
        held = frame.state.content(dict_contents.as_dict(frame, values, {}))
        return (
            frame.state.new(replace(held, kind=kind)) if isinstance(held, DictContent) else UNKNOWN
        )
    if len(values) == 1 and isinstance(frame.state.content(values[0]), DictContent):
        content = frame.state.content(values[0])
        named = content.items if isinstance(content, DictContent) and content.items else None
        items = None if named is None else tuple(named.values())
        return frame.state.new(ListContent(items, kind=kind, names=tuple(map(str, named or ()))))
    return frame.state.new(ListContent(tuple(values), kind=kind))


def _method(frame: Frame, target: Bound, arguments: Arguments, node: ast.Call, label: str) -> Value:
    receiver = target.receiver
    if target.function is not None:
        args = (Argument(receiver), *arguments.args)
        return functions.invoke(frame, target.function, args, arguments.kwargs, node, label)
    source = node.func.value if isinstance(node.func, ast.Attribute) else None
    found = first_class.method(frame, receiver, target.name, arguments.args, arguments.named, node)
    if found is not None:
        return found
    if isinstance(receiver, (Tensor, Free)):
        signature = frame.program.table.signature(f"torch.Tensor.{target.name}")
        if signature is None:
            _escape(frame, arguments)
            return UNKNOWN
        values = [receiver, *arguments.values]
        escaping.hand_over(frame, [*arguments.values, *arguments.named.values()])
        site = _site(arguments, node, target.name, source or node)
        result = apply(frame, signature, values, arguments.named, site)
        name_sizes(frame, arguments.sizes, result, receiver)
        if target.name.endswith("_") and isinstance(result, Tensor):
            if isinstance(source, ast.Name):
                frame.assign(source.id, result, frame.state.since.get(source.id, node.lineno))
            elif source is not None and not result.blank:
                write_into(frame, source)
        return result
    if isinstance(receiver, OpInstance):
        if target.name in ("forward", "__call__"):
            return _module(frame, receiver, arguments, node, label)
        signature = receiver.cls.method(target.name)
        if signature is None:
            _escape(frame, arguments)
            return receiver if target.name in methods.ITSELF else UNKNOWN
        return apply(
            frame,
            signature,
            arguments.values,
            arguments.named,
            _site(arguments, node, label),
            receiver.attrs,
        )
    handler = methods.method(frame, receiver, target.name)
    if handler is not None:
        return handler(frame, receiver, arguments.values, arguments.named, node)
    _escape(frame, arguments)
    return UNKNOWN


def _module(
    frame: Frame, module: OpInstance, arguments: Arguments, node: ast.expr, label: str
) -> Value:
    """Call a module of a library: its forward."""
    forward = module.cls.method("forward")
    if forward is None:
        return UNKNOWN
    return apply(
        frame,
        forward,
        arguments.values,
        arguments.named,
        _site(arguments, node, label),
        module.attrs,
    )


def _instance(frame: Frame, target: Ref, arguments: Arguments, node: ast.Call, label: str) -> Value:
    content = frame.state.content(target)
    if isinstance(content, ListContent) and content.kind == "nn.Sequential":
        return _sequential(frame, content, arguments, node, label)
    if not isinstance(content, Instance):
        _escape(frame, arguments)
        return UNKNOWN
    names = ["__call__", "forward"] if classes.is_module(content.cls) else ["__call__"]
    for name in names:
        function = classes.find_method(content.cls, name)
        if function is not None:
            made = decorators.decorated(function)
            if not isinstance(made, Function):
                return UNKNOWN
            args = (Argument(target), *arguments.args)
            return functions.invoke(frame, made, args, arguments.kwargs, node, label)
    return UNKNOWN


def _sequential(
    frame: Frame, content: ListContent, arguments: Arguments, node: ast.Call, label: str
) -> Value:
    """Pass the input through the modules in order; the failing one is named by its index."""
    if content.items is None or len(arguments.args) != 1:
        return UNKNOWN
    value = arguments.args[0]
    for index, module in enumerate(content.items):
        frame.spend(1)
        inner = Arguments((value,), {})
        value = Argument(
            invoke(frame, certain(module, None), inner, node, f"{label}[{index}]"),
            value.node if index < 0 else None,
        )
        if value.value is UNKNOWN:
            return UNKNOWN
    return value.value


PARTS.invoke = invoke
