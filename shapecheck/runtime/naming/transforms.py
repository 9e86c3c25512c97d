"""Names inside of `torch.vmap`, `torch.func.grad` and the like, which wrap what they are given.

What a function sees there has the names of the tensor underneath, but for the axis that is mapped
over; and what is underneath of a result is named for when the transform hands it out.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from typing import Any, Final

import torch

from shapecheck.runtime.internals import is_wrapped, level_of, mapped_axis, unwrapped
from shapecheck.runtime.naming.records import Record, Table, record

levels: Final[set[int]] = set()
"""At which depths names have been inherited so far: before any, results needn't be looked at."""


def known(tensor: torch.Tensor, table: Table) -> Record | None:
    """Return what is known of a tensor, or of what is underneath of it."""
    return _of(tensor, table) or inherited(tensor, table)


def inherited(tensor: torch.Tensor, table: Table) -> Record | None:
    """Return what the tensor underneath of one tells of it, and take note of it."""
    if not isinstance(tensor, torch.Tensor) or not is_wrapped(tensor):
        return None
    base = unwrapped(tensor)
    found = known(base, table)
    if found is None:
        return None
    axis = mapped_axis(tensor)
    if axis >= 0:
        found = record(_without(found.dims, axis), _without(found.sizes, axis), found.values)
    if found is None or found.sizes != tuple(tensor.shape):
        return None
    levels.add(level_of(tensor))
    table[id(tensor)] = (weakref.ref(tensor), found)
    return found


def hand_down(result: Any, operands: Sequence[Any], table: Table) -> None:
    """Name what is underneath of a result: the axis that is mapped over is the operands'."""
    if isinstance(result, (tuple, list)):
        for item in result:
            hand_down(item, operands, table)
        return
    if not isinstance(result, torch.Tensor) or not is_wrapped(result):
        return
    found, base = _of(result, table), unwrapped(result)
    if found is None:
        return
    axis = mapped_axis(result)
    if axis >= 0:
        level = level_of(result)
        mapped = next(_mapped(operands, level, table), None)
        if mapped is None:
            return
        whole = (*found.dims[:axis], mapped[0], *found.dims[axis:])
        found = record(whole, tuple(base.shape), {**found.values, **mapped[1]})
    if found is not None:
        table[id(base)] = (weakref.ref(base), found)
        hand_down(base, [unwrapped(one) for one in _wrapped(operands)], table)


def _mapped(operands: Sequence[Any], level: int, table: Table) -> Iterator[tuple[Any, Any]]:
    """Yield the dimensions that operands are mapped over, with the values of their names."""
    for operand in _wrapped(operands):
        axis = mapped_axis(operand)
        if axis < 0 or level_of(operand) != level:
            continue
        base = unwrapped(operand)
        found = _of(base, table)
        if found is not None:
            yield found.dims[axis], found.values


def _wrapped(operands: Sequence[Any]) -> Iterator[torch.Tensor]:
    for operand in operands:
        if isinstance(operand, (tuple, list)):
            yield from _wrapped(operand)
        elif isinstance(operand, torch.Tensor):
            if is_wrapped(operand):
                yield operand


def _of(tensor: torch.Tensor, table: Table) -> Record | None:
    found = table.get(id(tensor))
    return found[1] if found is not None and found[0]() is tensor else None


def _without(items: tuple[Any, ...], axis: int) -> tuple[Any, ...]:
    return (*items[:axis], *items[axis + 1 :])
