"""What can be called: functions of the program, methods, partial applications, callbacks."""

from __future__ import annotations

import ast
from typing import TypeVar

from shapecheck.analysis.interpreter import functions, overrides
from shapecheck.analysis.interpreter.calls import invoke, let_go
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.kinds import Kind, held_by, kind_of, register
from shapecheck.analysis.interpreter.registry import MethodCall
from shapecheck.analysis.interpreter.truth import FUNCTION, PARTIAL
from shapecheck.analysis.program.model import Function, Value
from shapecheck.analysis.values.model import Argument, Arguments, Bound, Callback, Partial

_F_contra = TypeVar("_F_contra", contravariant=True)


class _Callable(Kind[_F_contra]):
    """Something that can be called, and is therefore true."""

    family = "object"

    def is_callable(self, frame: Frame, held: _F_contra) -> bool | None:
        return True

    def truth(self, frame: Frame, held: _F_contra) -> bool | None:
        return True


class FunctionKind(_Callable[Function]):
    """A function or lambda of the program."""

    def types(self, frame: Frame, held: Function) -> frozenset[str] | None:
        return FUNCTION

    def attribute(
        self, frame: Frame, value: Value, held: Function, name: str, node: ast.expr
    ) -> Value:
        return held.name if name in ("__name__", "__qualname__") else Bound(value, name)

    def call(
        self,
        frame: Frame,
        value: Value,
        held: Function,
        arguments: Arguments,
        node: ast.Call,
        label: str,
    ) -> Value:
        return functions.invoke(frame, held, arguments.args, arguments.kwargs, node, label)


register(Function, FunctionKind())


class BoundKind(_Callable[Bound]):
    """A method bound to its receiver."""

    family = ""

    def call(
        self,
        frame: Frame,
        value: Value,
        held: Bound,
        arguments: Arguments,
        node: ast.Call,
        label: str,
    ) -> Value:
        """Call the function of the program that it is, else ask the kind of its receiver."""
        receiver = held.receiver
        if held.function is not None:
            args = (Argument(receiver), *arguments.args)
            return functions.invoke(frame, held.function, args, arguments.kwargs, node, label)
        owner = held_by(frame, receiver)
        call = MethodCall(held.name, arguments, node, label, receiver, owner)
        return kind_of(owner).call_method(frame, call)


register(Bound, BoundKind())


class PartialKind(_Callable[Partial]):
    """`functools.partial(function, ...)`."""

    def types(self, frame: Frame, held: Partial) -> frozenset[str] | None:
        return PARTIAL

    def call(
        self,
        frame: Frame,
        value: Value,
        held: Partial,
        arguments: Arguments,
        node: ast.Call,
        label: str,
    ) -> Value:
        named = {name: Argument(given) for name, given in held.kwargs}
        args = (*map(Argument, held.args), *arguments.args)
        merged = Arguments(args, {**named, **arguments.kwargs})
        return invoke(frame, held.function, merged, node, label)


register(Partial, PartialKind())


class CallbackKind(_Callable[Callback]):
    """A function of which only the annotation is known."""

    def call(
        self,
        frame: Frame,
        value: Value,
        held: Callback,
        arguments: Arguments,
        node: ast.Call,
        label: str,
    ) -> Value:
        let_go(frame, arguments)
        return overrides.called(frame, held, arguments.args, node, label)


register(Callback, CallbackKind())
