"""Functions where others are declared: callbacks, and methods that override those of a base class.

Annotations are compared as a call would meet them, so that the names in them don't matter.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from shapecheck.analysis.annotations import classes, declarations
from shapecheck.analysis.interpreter import fitting
from shapecheck.analysis.interpreter.calls import call_back
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.declared import CallableDecl, ClassDecl, Declared
from shapecheck.analysis.program.model import Class, Function, Value
from shapecheck.analysis.program.syntax import is_def
from shapecheck.analysis.values.model import Argument, Callback
from shapecheck.analysis.values.state import State
from shapecheck.blame import Blame
from shapecheck.dims import Kind, Size, Sym
from shapecheck.dims.origins import OfCallback
from shapecheck.explain import Message
from shapecheck.ops import UNKNOWN
from shapecheck.shapes import Matcher, Run, Tensor


def wanted(declared: Declared) -> CallableDecl | None:
    """Return what a callable has to be: as a `Callable` says, or a protocol's `__call__`."""
    match declared:
        case CallableDecl():
            return declared if declarations.speaks_of_calls(declared) else None
        case ClassDecl(cls=cls) if classes.is_protocol(cls):
            method = classes.find_method(cls, "__call__")
            if method is not None:
                says = declarations.declaration(method)
                params = tuple(param.declared for param in says.params[1:])
                return CallableDecl(params, says.result) if says.shaped else None
    return None


def called(
    frame: Frame, callback: Callback, args: Sequence[Argument], node: ast.expr, label: str
) -> Value:
    """Call what is only known by its `Callable` annotation; its names are instantiated anew."""
    declared = callback.declared
    assert isinstance(declared, CallableDecl)
    matcher = Matcher(frame.state.facts)
    given = list(zip(declared.params or (), args, strict=False))
    for index, (param, argument) in enumerate(given):
        found = fitting.check(frame, param, argument.value, matcher)
        if found[0] is not None:
            text = None if argument.node is None else frame.segment(argument.node)
            subject = f'argument {index + 1} of "{label}"'
            subject, text = fitting.spoken(frame, argument.value, subject, text)
            message = fitting.message(frame, subject, found, matcher, text)
            frame.error(argument.node or node, message)
            return UNKNOWN
    values = [(param, argument.value) for param, argument in given]
    return fitting.given_back(frame, declared.result, values, label, matcher)


def check_arguments(
    frame: Frame,
    says: declarations.Declaration,
    bound: Mapping[str, Argument],
    names: Matcher,
    node: ast.expr,
    label: str,
) -> None:
    """Check the functions among a call's arguments against what is declared of them."""
    for param in says.params:
        declared, argument = wanted(param.declared), bound[param.name]
        if declared is None or declared.params is None or argument.value is UNKNOWN:
            continue
        passed = f'passed as "{param.name}" to "{label}",'
        message = _misfit(frame, declared, argument.value, names, passed)
        if message is not None:
            frame.error(argument.node or node, message)


def check_override(frame: Frame, owner: Class, function: Function) -> None:
    """Check that a method can stand for the one that it overrides."""
    node = function.node
    if not is_def(node) or (node.name.startswith("__") and node.name != "__call__"):
        return
    found = classes.find_member(owner, node.name, after=owner)
    if found is None or not is_def(found[1]):
        return
    base = declarations.declaration(Function(found[1], found[0].module, found[0]))
    says = declarations.declaration(function)
    if not base.shaped or not says.shaped:
        return
    if [p.name for p in base.params] != [p.name for p in says.params][: len(base.params)]:
        return
    declared = CallableDecl(tuple(p.declared for p in base.params), base.result)
    overrides = f'which overrides that of "{found[0].name}",'
    message = _misfit(frame, declared, function, Matcher(frame.state.facts), overrides)
    if message is not None:
        frame.error(node, message)


def _misfit(
    frame: Frame, declared: CallableDecl, value: Value, names: Matcher, passed: str
) -> Message | None:
    """Return why a function can't be called as declared, or gives another result; else None."""
    state = State(heap=dict(frame.state.heap), facts=frame.state.facts.copy())
    inner = Frame(frame.module, state, quiet=True, depth=frame.depth + 1, budget=frame.budget)
    caller = Matcher(state.facts, names=dict(names.names), runs=dict(names.runs))
    given = [
        fitting.declare(inner, param, f"argument {index}", caller, _any, _any_run)
        for index, param in enumerate(declared.params or ())
    ]
    result, message = _result(inner, value, given, passed)
    if message is not None or not isinstance(result, (Tensor, tuple)):
        return message
    found = fitting.check(inner, declared.result, result, caller)
    if found[0] is None:
        return None
    subject = f'the result of "{_name(value)}", {passed}'
    # Which of the two annotations of a result is wrong can't be said.
    return fitting.message(inner, subject, found, caller, None)


def _result(
    frame: Frame, value: Value, given: list[Value], passed: str
) -> tuple[Value, Message | None]:
    if not isinstance(value, Function) or not declarations.declaration(value).shaped:
        return call_back(frame, value, given), None
    says = declarations.declaration(value)
    matcher = Matcher(frame.state.facts)
    for param, one in zip(says.params, given, strict=False):
        if param.kind != "positional":
            break
        shapes = (one.shape,) if isinstance(one, Tensor) else ()
        matcher.beside = shapes
        found = fitting.check(frame, param.declared, one, matcher)
        if found[0] is not None:
            subject = f'argument "{param.name}" of "{_name(value)}", {passed}'
            blame = Blame("unfit", "parameter", _name(value), param.name)
            return UNKNOWN, fitting.message(frame, subject, found, matcher, None, blame)
    return fitting.declare(frame, says.result, "result", matcher, None), None


def _any(text: str) -> Size:
    return Size.of(Sym(text, Kind.NAME, OfCallback()))


def _any_run(text: str) -> Run:
    return Run(Sym(text, Kind.NAME, OfCallback()))


def _name(value: Value) -> str:
    return str(getattr(value, "name", "") or getattr(getattr(value, "cls", None), "name", "it"))
