"""What certainly goes wrong inside of a function that is called, and the calls that lead there.

A function without annotations is looked into with what its caller passes. An error in it is true of
that call: it is told at the failing operation where that stands in the module under analysis, else
at the call that leaves the module.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from mypy_extensions import mypyc_attr

from shapecheck.analysis.program.model import Function, Value
from shapecheck.blame import Blame
from shapecheck.explain import Message
from shapecheck.shapes import Facts, Tensor

if TYPE_CHECKING:
    from shapecheck.analysis.program.modules import Module

_SHOWN: Final = 3
"""As many arguments of a call are shown."""


class Step(NamedTuple):
    """A call: where it stands, in which function (None: the module's body), and what it passes."""

    module: "Module"
    node: ast.AST
    function: Function | None
    given: str


class Fault(NamedTuple):
    """An error inside of a function that was looked into; `calls` lead there, innermost first."""

    module: "Module"
    node: ast.AST
    function: Function | None
    message: Message
    calls: tuple[Step, ...] = ()

    def through(self, step: Step) -> Fault:
        """Return the fault as the caller sees it."""
        return self._replace(calls=(*self.calls, step))

    def noting(self, note: str) -> Fault:
        """Return the fault with one more note."""
        notes = (*self.message.notes, note)
        return self._replace(message=replace(self.message, notes=notes))


class Found(Exception):
    """Something goes wrong, and that is all that is asked for."""


@mypyc_attr(native_class=False)  # a list
class FirstOnly(list[Fault]):
    """Faults of which the first ends the run, by `Found`."""

    def append(self, fault: Fault) -> None:
        """Take the fault."""
        super().append(fault)
        raise Found


def given(values: Mapping[str, Value], facts: Facts) -> str:
    """Return how a message says which tensors a call passes: `x (1 3 32 32)`."""
    parts = [
        f"{name} {facts.shape(value.shape)}"
        for name, value in values.items()
        if isinstance(value, Tensor)
    ]
    more = ", ..." if len(parts) > _SHOWN else ""
    return ", ".join(parts[:_SHOWN]) + more


def located(fault: Fault, module: Module) -> tuple[ast.AST, Message]:
    """Return where in a module a fault is told, and how."""
    if fault.module is module:
        for step in fault.calls:
            if step.module is not module:
                step.module.syntax.quoted()
        notes = [_called(step, module) for step in fault.calls]
        notes = [*fault.message.notes, *notes]
        blame = _through(fault, 0, module)
        return fault.node, replace(fault.message, notes=tuple(notes), blame=blame)
    for other in (fault.module, *(step.module for step in fault.calls)):
        if other is not module:
            other.syntax.quoted()
    at = next(index for index, step in enumerate(fault.calls) if step.module is module)
    call = fault.calls[at]
    passed = f" with {call.given}" if call.given else ""
    text = f'"{_callee(call)}"{passed} fails{_within(fault.function)}: {fault.message.text}'
    inner = [_called(step, module) for step in fault.calls[:at]]
    outer = [_called(step, module) for step in fault.calls[at + 1 :]]
    where = f"{fault.module.source.path}:{_line(fault.node)}"
    notes = [f"the failing line is {where}: {_source(fault)}", *inner, *outer]
    blame = _through(fault, at + 1, module)
    return call.node, Message(text, fault.message.code, tuple(notes), blame)


def _through(fault: Fault, first: int, module: Module) -> Blame:
    """Return the blame of an error to which calls lead, of which a module has some.

    It is told in front of the call of this number.
    """
    lines = (_line(step.node) for step in fault.calls[first:] if step.module is module)
    functions = (fault.function, *(step.function for step in fault.calls))
    inside = (_place(function) for function in functions if function is not None)
    return replace(fault.message.blame, through=tuple(lines), inside=tuple(inside))


def _place(function: Function) -> tuple[str, int]:
    return function.module.source.path, _line(function.node)


def _called(step: Step, module: Module) -> str:
    line = _line(step.node)
    place = f"line {line}" if step.module is module else f"{step.module.source.path}:{line}"
    caller = f' from "{_name(step.function)}"' if step.function is not None else ""
    passed = f" with {step.given}" if step.given else ""
    return f"called{caller} at {place}{passed}"


def _callee(call: Step) -> str:
    node = call.node
    return ast.unparse(node.func if isinstance(node, ast.Call) else node)


def _within(function: Function | None) -> str:
    return "" if function is None else f' in "{_name(function)}"'


def _name(function: Function) -> str:
    owner = "" if function.owner is None else f"{function.owner.name}."
    return f"{owner}{function.name}"


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 1)


def _source(fault: Fault) -> str:
    return fault.module.lines[_line(fault.node)].strip()
