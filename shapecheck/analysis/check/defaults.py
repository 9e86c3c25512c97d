"""Checks a method again on an instance that is made with its constructor's defaults.

A flag that no annotation tells of, `bilinear=True`, leaves open which layers there are. What fails
where nobody passes another one is an error in the program as it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from shapecheck.analysis.check import symbolic
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Class, Function, Value

_MOST_TOLD: Final = 3


def check(function: Function, owner: Class, run: Callable[[], Frame]) -> None:
    """Check a method of a class whose constructor has flags; `run` checks the body once more."""
    flags, module = symbolic.flags(owner), function.module
    if not flags or module.reporter is None:
        return
    with module.reporting_apart() as found:
        run()
    note = f'with the defaults of "{owner.name}": {_told(flags)}'
    for error in found.errors():
        module.reporter.add(error, note)


def _told(flags: Mapping[str, Value]) -> str:
    parts = [f"{name}={value!r}" for name, value in flags.items()]
    return ", ".join(parts[:_MOST_TOLD]) + (", ..." if len(parts) > _MOST_TOLD else "")
