"""What may be one of several values, or anything."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

from shapecheck.analysis.interpreter.calls import invoke, let_go
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import another
from shapecheck.analysis.interpreter.kinds import Kind, Spelling, assign_attribute, register
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.values.model import Arguments, OneOf, Ref
from shapecheck.analysis.values.state import State
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import Unknown

_A_contra = TypeVar("_A_contra", contravariant=True)


class _Anything(Kind[_A_contra]):
    """What may be anything."""

    def may_be_none(self, frame: Frame, held: _A_contra) -> bool:
        return True

    def attribute(
        self, frame: Frame, value: Value, held: _A_contra, name: str, node: ast.expr
    ) -> Value:
        return UNKNOWN

    def plain(self, spelling: Spelling, value: Value, held: _A_contra) -> Value:
        return UNKNOWN


class UnknownKind(_Anything[Unknown]):
    """What isn't known."""


register(Unknown, UnknownKind())


class ForgottenKind(_Anything[Ref]):
    """What lies on the heap, and isn't known any more."""


register(Ref, ForgottenKind())


_MOST = 3
"""As many are called of those that may be called."""


class OneOfKind(Kind[OneOf]):
    """One of several values."""

    def may_be_none(self, frame: Frame, held: OneOf) -> bool:
        return True

    def another(self, frame: Frame, value: Value, held: OneOf) -> Value:
        return OneOf(tuple(another(frame, option) for option in held.options))

    def call(
        self,
        frame: Frame,
        value: Value,
        held: OneOf,
        arguments: Arguments,
        node: ast.Call,
        label: str,
    ) -> Value:
        """Call each of them, and join the results."""
        some = _but_none(held)
        if len(some) > _MOST:
            let_go(frame, arguments)
        return _with_each(
            frame, some, lambda frame, one: invoke(frame, one, arguments, node, label)
        )

    def set_attribute(
        self, frame: Frame, value: Value, held: OneOf, name: str, new: Value, node: ast.expr
    ) -> None:
        """Put something into one of them, it isn't known which."""

        def put(frame: Frame, one: Value) -> None:
            assign_attribute(frame, one, name, new, node)

        _with_each(frame, _but_none(held), put)

    def plain(self, spelling: Spelling, value: Value, held: OneOf) -> Value:
        some = _but_none(held)
        return spelling.spell(some[0]) if len(some) == 1 else UNKNOWN


register(OneOf, OneOfKind())


def _but_none(held: OneOf) -> list[Value]:
    return [option for option in held.options if option is not None]


def _with_each(frame: Frame, some: list[Value], do: Callable[[Frame, Value], Value]) -> Value:
    """Do something with one of a few values, and return what either gives."""
    if len(some) == 1:
        return do(frame, some[0])
    if len(some) > _MOST:
        return UNKNOWN
    found: list[tuple[Value, State]] = []
    before = frame.state
    for option in some:
        frame.resume(before.copy())
        result = frame.hush(do, option)
        found.append((result, frame.state))
    return frame.merged(found)
