"""Checks a method again on an instance that is made with its constructor's defaults.

A flag that no annotation tells of, `bilinear=True`, leaves open which layers there are. What fails
where nobody passes another one is an error in the program as it is written.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from shapecheck.analysis.annotations.classes import find_method, is_module, members, own_ancestry
from shapecheck.analysis.annotations.declarations import arguments_of
from shapecheck.analysis.check import symbolic
from shapecheck.analysis.interpreter.frame import Frame, observing
from shapecheck.analysis.program.model import Class, Function, Value
from shapecheck.analysis.program.syntax import is_def, nodes_of
from shapecheck.analysis.values.model import Argument

_MOST_TOLD: Final = 3

_Run: TypeAlias = Callable[[Function, Class], object]


def check(function: Function, owner: Class, run: _Run) -> None:
    """Check a method of a module whose constructor has flags.

    `run` checks a body once more, on an instance that is made with the defaults.
    """
    flags, module = symbolic.flags(owner) if is_module(owner) else {}, function.module
    if not flags or module.reporter is None or not _depends_on_flags(function, owner):
        return
    with module.reporting_apart() as found:
        run(function, owner)
    if not found.count or not _is_reached(function, owner, run, {function.name}):
        return
    note = f'with the defaults of "{owner.name}": {_told(flags)}'
    module.reporter.include(found, note)


def _is_reached(function: Function, owner: Class, run: _Run, seen: set[str]) -> bool:
    """Whether an instance with the defaults may get to a method.

    One that others of its class call is theirs: it may be for other flags. `seen` are the methods
    that are on the way.
    """
    callers = [*_callers(function.name, owner)]
    if function.name == "forward" or not callers:
        return True
    for caller in callers:
        if caller.name == "__init__":
            return True
        if caller.name in seen:
            continue
        seen.add(caller.name)
        watch = _Watch(function.name)
        with caller.module.reporting_apart(), observing(caller.module.program, watch):
            run(caller, owner)
        if watch.is_met and _is_reached(caller, owner, run, seen):
            return True
    return False


def _callers(name: str, owner: Class) -> Iterator[Function]:
    """Yield the methods that an instance has which mention another one."""
    names = {name: None for cls in own_ancestry(owner) for name in members(cls)}
    for other in names:
        method = find_method(owner, other)
        if method is not None and other != name and is_def(method.node):
            if name in method.module.syntax.mentioned(method.node):
                yield method


class _Watch:
    """Sees whether a body gets to where it mentions a method."""

    sees_all = False

    def __init__(self, name: str) -> None:
        self._name, self.is_met = name, False

    def evaluated(self, frame: Frame, node: ast.expr, value: Value) -> None:
        """Compare what is mentioned."""
        self.is_met |= isinstance(node, ast.Attribute) and node.attr == self._name

    def called(self, frame: Frame, function: Function, bound: Mapping[str, Argument]) -> None:
        """It has been mentioned."""


def _depends_on_flags(function: Function, owner: Class) -> bool:
    """Whether a method, or another that it calls, reads what the flags have a say in."""
    changed = symbolic.changed_by_flags(owner)
    waiting, read = [function], set[str]()
    while waiting:
        method = waiting.pop()
        if not changed.isdisjoint(method.module.syntax.mentioned(method.node)):
            return True
        if _hands_itself_on(method):
            return bool(changed)
        for name in sorted(method.module.syntax.mentioned(method.node) - read):
            read.add(name)
            called = find_method(owner, name)
            waiting += [] if called is None else [called]
    return False


def _hands_itself_on(method: Function) -> bool:
    """Whether a method does anything with its instance but to read and call what is in it."""
    itself = {one.arg for one in arguments_of(method.node)[:1]} | {"super"}
    read = {id(one.value) for one in nodes_of(ast.Attribute, method.node)}
    names = nodes_of(ast.Name, method.node)
    return any(one.id in itself and id(one) not in read for one in names)


def _told(flags: Mapping[str, ast.expr]) -> str:
    parts = [f"{name}={ast.unparse(default)}" for name, default in flags.items()]
    return ", ".join(parts[:_MOST_TOLD]) + (", ..." if len(parts) > _MOST_TOLD else "")
