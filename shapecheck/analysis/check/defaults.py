"""Checks a method again on an instance that is made with its constructor's defaults.

A flag that no annotation tells of, `bilinear=True`, leaves open which layers there are. What fails
where nobody passes another one is an error in the program as it is written.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Final

from shapecheck.analysis.annotations.classes import find_method, is_module
from shapecheck.analysis.annotations.declarations import arguments_of
from shapecheck.analysis.check import symbolic
from shapecheck.analysis.program.model import Class, Function
from shapecheck.analysis.program.syntax import nodes_of

_MOST_TOLD: Final = 3


def check(function: Function, owner: Class, run: Callable[[], object]) -> None:
    """Check a method of a module whose constructor has flags; `run` checks the body once more."""
    flags, module = symbolic.flags(owner) if is_module(owner) else {}, function.module
    if not flags or module.reporter is None or not _depends_on_flags(function, owner):
        return
    with module.reporting_apart() as found:
        run()
    note = f'with the defaults of "{owner.name}": {_told(flags)}'
    module.reporter.include(found, note)


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
