"""What constructing an instance of a class of the program gives."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import shapecheck.dims as dims
from shapecheck.analysis.annotations import declarations
from shapecheck.analysis.annotations.class_fields import HOOKS, Field
from shapecheck.analysis.annotations.classes import (
    constructor,
    find_method,
    instance_fields,
    is_dataclass,
    is_tensor_dict,
)
from shapecheck.analysis.annotations.construction import (
    declared_fields,
    fields,
    given_by_class,
    hook,
    tensor_fields,
)
from shapecheck.analysis.annotations.reader import reader
from shapecheck.analysis.interpreter import body, fitting, functions, registry
from shapecheck.analysis.interpreter.braces import sizes_over
from shapecheck.analysis.interpreter.calls import call_back
from shapecheck.analysis.interpreter.escaping import stored_attributes
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.kinds import attribute
from shapecheck.analysis.interpreter.registry import MethodCall
from shapecheck.analysis.program.declared import Declared, FieldsDecl, TensorDecl
from shapecheck.analysis.program.model import Class, Function, Value
from shapecheck.analysis.program.syntax import nodes_of
from shapecheck.analysis.values.model import (
    Argument,
    Arguments,
    DictContent,
    Instance,
    Ref,
    names_of,
    opened,
)
from shapecheck.blame import Blame
from shapecheck.dims import Sym
from shapecheck.explain import Message
from shapecheck.ops import UNKNOWN
from shapecheck.shapes import Matcher, Run, Tensor, is_vague


def construct(
    frame: Frame,
    cls: Class,
    args: list[Argument],
    kwargs: Mapping[str, Argument],
    node: ast.expr,
    label: str,
) -> Value:
    """Return a new instance of an analysed class, its `__init__` run on the arguments."""
    if registry.is_unseen(cls.module.name, cls.module.source.path, cls.name):
        stands = registry.STANDS.get(cls.module.name, ())
        has_some = any(name.startswith(f"{cls.name}.") for name in stands)
        return frame.state.new(Instance(cls, {}, whole=False)) if has_some else UNKNOWN
    typed = reader(cls.module).fields(cls)
    if typed is not None:
        return _typed_dict(frame, FieldsDecl(tuple(typed.items())), kwargs, node, label)
    made = frame.state.new(Instance(cls, {}, whole=True, defaults=given_by_class(cls)))
    init = constructor(cls)
    if init is not None:
        functions.invoke(frame, init, [Argument(made), *args], kwargs, node, label)
        tell(frame, made)
        return made
    if is_dataclass(cls):
        rest = _fill_fields(frame, made, cls, args, kwargs, node, label)
        after = hook(cls)
        if after is not None:
            run_hook(frame, after, made, rest, node)
        return made
    held = frame.state.instance_of(made)
    handler = registry.method(held, "__init__")
    if handler is not None and held is not None and isinstance(node, ast.Call):
        given = Arguments(tuple(args), kwargs)
        handler(frame, MethodCall("__init__", given, node, label, made, held))
    return made


def _typed_dict(
    frame: Frame,
    declared: FieldsDecl,
    kwargs: Mapping[str, Argument],
    node: ast.expr,
    label: str,
) -> Value:
    made = frame.state.new(DictContent({name: one.value for name, one in kwargs.items()}))
    matcher = Matcher(frame.state.facts)
    found = fitting.check(frame, declared, made, matcher)
    if found[0] is not None:
        blame = Blame("unfit", "field", label)
        message = fitting.message(frame, f'a field of "{label}"', found, matcher, None, blame)
        frame.error(node, message)
    return made


def replaced(frame: Frame, value: Value, changes: Mapping[str, Argument], node: ast.expr) -> Value:
    """Return what `dataclasses.replace(value, name=...)` makes."""
    content = frame.state.instance_of(value)
    if content is None or not is_dataclass(content.cls):
        return UNKNOWN
    kept = {
        name: Argument(attribute(frame, value, name, node))
        for name, _, _ in instance_fields(content.cls)
    }
    return construct(frame, content.cls, [], {**kept, **changes}, node, content.cls.name)


def _fill_fields(
    frame: Frame,
    made: Ref,
    cls: Class,
    args: list[Argument],
    kwargs: Mapping[str, Argument],
    node: ast.expr,
    label: str,
) -> list[Argument]:
    """Give the fields what a generated constructor is given; return what goes to its hook."""
    left = list(args)
    given: dict[str, Argument] = {}
    held: dict[str, Argument] = {}
    for field in fields(cls):
        argument = None
        if field.is_given:
            argument = left.pop(0) if left else kwargs.get(field.name)
        if argument is not None:
            given[field.name] = argument
        held[field.name] = argument or Argument(_default(frame, field))
    attrs: dict[str, Value] = {}
    rest: list[Argument] = []
    matcher = Matcher(frame.state.facts)
    for field in fields(cls):
        argument = held[field.name]
        if field.name in given:
            matcher.evaluate = sizes_over(frame, field.owner.module, held)
            _check_field(frame, field, argument, matcher, node, label)
            if field.is_converted:
                argument = replace(argument, value=UNKNOWN)
        if field.is_kept:
            attrs[field.name] = argument.value
        else:
            rest.append(argument)
    frame.state.put(made, Instance(cls, {} if is_tensor_dict(cls) else attrs))
    return rest


def _default(frame: Frame, field: Field) -> Value:
    """Return what a field holds that the constructor isn't given."""
    match field.default:
        case ast.Constant() as given:
            return body.default(frame, field.owner.module, given)
    if field.factory is None:
        return UNKNOWN
    factory = body.default(frame, field.owner.module, field.factory)
    return frame.hush(call_back, factory, [])


def _check_field(
    frame: Frame, field: Field, argument: Argument, matcher: Matcher, node: ast.expr, label: str
) -> None:
    declared = reader(field.owner.module).read(field.annotation)
    found = fitting.check(frame, declared, argument.value, matcher)
    if found[0] is None or field.is_converted:
        return
    text = None if argument.node is None else frame.segment(argument.node)
    message = _unfit(frame, label, field.name, argument.value, found, matcher, text)
    frame.error(argument.node or node, message)


def check_assigned(frame: Frame, cls: Class, name: str, value: Value, node: ast.expr) -> None:
    """Fit what is assigned to an attribute to what its class declares that to be."""
    declared = declared_fields(cls).get(name)
    if declared is None:
        return
    matcher = Matcher(frame.state.facts)
    found = fitting.check(frame, declared, value, matcher)
    if found[0] is not None and _is_settled(frame, cls, name, node):
        frame.error(node, _unfit(frame, cls.name, name, value, found, matcher, None))


def _unfit(
    frame: Frame,
    owner: str,
    name: str,
    value: Value,
    found: fitting.Found,
    matcher: Matcher,
    text: str | None,
) -> Message:
    """Say that a field isn't what it is declared to be; `text` is the value's source."""
    subject, text = fitting.spoken(frame, value, f'field "{name}" of "{owner}"', text)
    blame = Blame("unfit", "field", owner, name)
    return fitting.message(frame, subject, found, matcher, text, blame)


_MAKING: Final = frozenset(("__init__", "__new__", "__setstate__", "setup", *HOOKS))


def _is_settled(frame: Frame, cls: Class, name: str, node: ast.expr) -> bool:
    """Whether an attribute stays what it is assigned: what makes an object may go on to change it.

    So may another assignment in the function, a method that it calls after this one, or who calls.
    """
    if frame.function is None:
        return True
    if frame.depth or frame.function.name in _MAKING:
        return False
    for one in nodes_of(ast.Attribute, frame.function.node):
        if one.lineno > node.lineno:
            if one.attr == name and isinstance(one.ctx, ast.Store):
                return False
            method = find_method(cls, one.attr)
            if method is not None and name in stored_attributes(method):
                return False
    return True


def run_hook(
    frame: Frame, hook: Function, made: Ref, given: list[Argument], node: ast.expr
) -> Value:
    """Call what a generated constructor calls at its end; what else it is given isn't known."""
    missing = len(declarations.declaration(hook).params) - 1 - len(given)
    args = [Argument(made), *given, *(Argument(UNKNOWN) for _ in range(missing))]
    return functions.invoke(frame, hook, args, {}, node, hook.name)


def tell(frame: Frame, made: Ref) -> None:
    """Believe declarations of fields that say more than what a constructor assigned to them."""
    content = frame.state.instance_of(made)
    if content is None:
        return
    for name, declared in tensor_fields(content.cls):
        match content.attrs.get(name):
            case Tensor() as value if _says_more(frame, declared, value):
                told = declared_as(frame, made, content, name, declared)
                if isinstance(told, Tensor):
                    told = replace(told, dtype=told.dtype & value.dtype or value.dtype)
                frame.state.find_attribute(made, name, told)


def _says_more(frame: Frame, declared: TensorDecl, value: Tensor) -> bool:
    """Whether a declaration fits a tensor, and says more of its shape than is known."""
    if declared.text is None or not is_vague(frame.state.facts.shape(value.shape).dims):
        return False
    return Matcher(frame.state.facts.copy()).match(declared.text, value.shape) is None


def declared_as(
    frame: Frame, owner: Ref, content: Instance, name: str, declared: Declared
) -> Value:
    """Return what a field is declared to be, in terms of the instance's own names.

    A tensor of which no axis is told may be any, as a parameter may.
    """
    origin = names_of(content.path or str(owner.serial), "fields")
    path = content.path + f".{name}" if content.path else name
    value = fitting.declare(
        frame,
        declared,
        path,
        Matcher(frame.state.facts),
        lambda text: dims.own(text, origin),
        lambda text: Run(Sym(text, dims.Kind.UNKNOWN, origin)),
    )
    return opened(value, lambda: Sym.untold(str(path)))
