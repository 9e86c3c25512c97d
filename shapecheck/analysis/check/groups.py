"""Checks a function again with its group of dimensions spelled out: `*batch` as one axis, as two.

An annotation with `*batch` promises any number of axes, and ops on such a shape soon lead to one of
which nothing is known. With a definite number everything is. A function that fails for one axis
and for two is reported, where it fails for both if there is such a line; one that either admits
isn't, nor one that three admit, or that an argument admits whose `*#batch` stands for no axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import shapecheck.dims as dims
from shapecheck import spec
from shapecheck.analysis.annotations import declarations
from shapecheck.analysis.annotations.declarations import Parameter
from shapecheck.analysis.findings import Group
from shapecheck.analysis.interpreter import body
from shapecheck.analysis.program.model import Function, Value
from shapecheck.analysis.values.state import State
from shapecheck.dims import Size
from shapecheck.dims.origins import Arbitrary
from shapecheck.ops.call import only

Start: TypeAlias = Callable[[], tuple[State, Mapping[str, Value]]]

_LENGTHS: Final = (1, 2)


def check(function: Function, start: Start) -> None:
    """Check a function whose parameters have one group; `start` makes what its body begins with."""
    group, broadcasting = _only_group(function)
    if group is None:
        return
    # decisions.md, "A group of dimensions is checked with one axis and with two"
    lines: set[int] = set()
    ways = [(length, "") for length in _LENGTHS] + [(1, bare) for bare in broadcasting]
    shown: list[Group] = []
    is_shared = False
    for length, bare in ways:
        found = _errors(function, start, group, length, bare)
        if not found:
            return
        if not bare:
            shared = [one for one in found if one[0].span.line in lines]
            lines = {one[0].span.line for one in found}
            shown = shared or found[:1]
            is_shared = bool(shared)
    longer = {one[0].span.line for one in _errors(function, start, group, _LENGTHS[-1] + 1)}
    if is_shared:
        shown = [one for one in shown if one[0].span.line in longer]
    if longer:
        _report(function, group, shown)


def _report(function: Function, group: spec.Group, errors: Sequence[Group]) -> None:
    reporter = function.module.reporter
    assert reporter is not None
    shown = "..." if group.name is None else f"*{group.name}"
    axes = " and ".join(map(str, _axes(group, _LENGTHS[-1])))
    note = f'"{shown}" is taken for two axes here, {axes}; with one axis it fails too'
    for error in errors:
        reporter.add(error, note)


def _errors(
    function: Function, start: Start, group: spec.Group, length: int, bare: str = ""
) -> list[Group]:
    """Return what is said of a function whose group has so many axes, none in parameter `bare`."""
    runs = {_key(group): _axes(group, length)}
    with function.module.reporting_apart() as reporter:
        body.check_body(function, *start(), runs=runs, bare=bare)
    return reporter.failing()


def _axes(group: spec.Group, length: int) -> tuple[Size, ...]:
    """Return axes for a group; those of one without a name may be equal to other names."""
    names = [f"{_key(group) or '*'}[{axis}]" for axis in range(length)]
    if group.anonymous:
        return tuple(map(dims.own, names))
    return tuple(dims.name(name, Arbitrary()) for name in names)


def _key(group: spec.Group) -> str:
    return "..." if group.name is None else group.name


def _has_many(param: Parameter) -> bool:
    """Whether a parameter holds any number of tensors, each of which has its own `...`."""
    return param.kind in ("star", "double-star", "options") or param.declared.has_many


def _only_group(function: Function) -> tuple[spec.Group | None, list[str]]:
    """Return the one group of a function's parameters, and those that may do without it.

    These are the ones in which it stands first, where broadcasting puts axes in, if there is
    another parameter to broadcast with.
    """
    found: dict[str, spec.Group] = {}
    unnamed = 0
    holders = 0
    broadcasting: dict[str, None] = {}
    for param in declarations.declaration(function).params:
        for text in param.declared.texts():
            for entry in only(text.entries, spec.Group):
                found[_key(entry)] = entry
                unnamed += entry.anonymous * (2 if _has_many(param) else 1)
                holders += 1
                if entry.broadcast and entry is text.entries[0]:
                    broadcasting[param.name] = None
    if len(found) != 1 or unnamed > 1:
        return None, []
    return next(iter(found.values())), list(broadcasting) if holders > 1 else []
