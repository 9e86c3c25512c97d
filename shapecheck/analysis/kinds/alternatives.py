"""What may be one of several values, or anything."""

from __future__ import annotations

import ast
from typing import TypeVar

from shapecheck.analysis.interpreter.calls import invoke, let_go
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import another
from shapecheck.analysis.interpreter.kinds import Kind, Spelling, register
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
        some = [option for option in held.options if option is not None]
        if len(some) == 1:
            return invoke(frame, some[0], arguments, node, label)
        if len(some) > _MOST:
            let_go(frame, arguments)
            return UNKNOWN
        found: list[tuple[Value, State]] = []
        before = frame.state
        for option in some:
            frame.resume(before.copy())
            result = frame.hush(invoke, option, arguments, node, label)
            found.append((result, frame.state))
        return frame.merged(found)

    def plain(self, spelling: Spelling, value: Value, held: OneOf) -> Value:
        some = [option for option in held.options if option is not None]
        return spelling.spell(some[0]) if len(some) == 1 else UNKNOWN


register(OneOf, OneOfKind())
