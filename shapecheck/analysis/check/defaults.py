"""Checks a method again on an instance that is made with its constructor's defaults.

A flag that no annotation tells of, `bilinear=True`, leaves open which layers there are. What fails
where nobody passes another one is an error in the program as it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shapecheck.analysis.check import symbolic
from shapecheck.analysis.host import Diagnostic
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Class, Function, Value
from shapecheck.analysis.program.report import Reporter
from shapecheck.analysis.values.state import State

Start = Callable[[], tuple[State, Mapping[str, Value]]]

_MOST_TOLD = 3


def check(function: Function, owner: Class, run: Callable[[], Frame]) -> None:
    """Check a method of a class whose constructor has flags; `run` checks the body once more."""
    flags = symbolic.flags(owner)
    reporter = function.module.reporter
    if not flags or reporter is None:
        return
    note = f'with the defaults of "{owner.name}": {_told(flags)}'
    for error in _errors(function, run):
        reporter.add(error, note)


def _told(flags: Mapping[str, Value]) -> str:
    parts = [f"{name}={value!r}" for name, value in flags.items()]
    return ", ".join(parts[:_MOST_TOLD]) + (", ..." if len(parts) > _MOST_TOLD else "")


def _errors(function: Function, run: Callable[[], Frame]) -> list[Diagnostic]:
    module = function.module
    reporter, module.reporter = module.reporter, Reporter(module.lines)
    try:
        run()
        found = module.reporter.diagnostics()
    finally:
        module.reporter = reporter
    return [one for one in found if one.severity == "error"]
