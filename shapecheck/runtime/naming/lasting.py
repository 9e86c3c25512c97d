"""What tensors are called that outlive the call in which they were named.

A state, a cache or a buffer that a function leaves behind is met again by its next call. What that
calls it goes by what it is called outside, and where nothing there is named, by the function's own
names, as long as their sizes are the same. So it is only while names are carried outside of calls.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch

import shapecheck.dims as dims
from shapecheck.dims import DimExpr, Size
from shapecheck.runtime.naming.between_calls import inwards, outwards, translated
from shapecheck.runtime.naming.call_names import CallNames
from shapecheck.runtime.naming.records import Record, record, sizes_of

_SWEEP: Final = 1024


@dataclass(frozen=True, slots=True)
class Left:
    """What a tensor is called in a call that it outlives, and what that call's names are."""

    known: Record
    names: Mapping[str, int]
    outer: Mapping[str, DimExpr]


lasting: Final[dict[int, tuple[weakref.ref[torch.Tensor], dict[Any, Left]]]] = {}
"""The tensors that outlived a call, by their identity; what they are called, by the function."""

_limit = _SWEEP


def outlive(frame: CallNames) -> None:
    """Note what the tensors are called that are left of a call, here and at its caller."""
    entry, receiver = frame.entry, frame.parent
    if receiver is None:
        return
    values = dict(receiver.symbols)
    for key, (reference, known) in [*frame.table.items()]:
        tensor = reference()
        if tensor is None:
            continue
        noted = lasting.get(key)
        if noted is None or noted[0]() is not tensor:
            noted = lasting[key] = reference, {}
        noted[1][frame.plan] = Left(known, frame.names, entry.outer)
        if receiver.of(tensor) is None:
            receiver.name(tensor, outwards(known, entry.outer, entry.outer_runs, values))
    _sweep()


def _sweep() -> None:
    global _limit  # noqa: PLW0603
    if len(lasting) > _limit:
        for key in [key for key, (reference, _) in [*lasting.items()] if reference() is None]:
            lasting.pop(key, None)
        _limit = max(_SWEEP, 2 * len(lasting))


def met(frame: CallNames, tensor: torch.Tensor) -> Record | None:
    """Return what a tensor that outlived a call is called in this one, and note that."""
    noted = lasting.get(id(tensor))
    sizes = sizes_of(tensor)
    plan, entry, around = frame.plan, frame.entry, frame.parent
    if noted is None or noted[0]() is not tensor or sizes is None or around is None or not plan:
        return None
    found: tuple[DimExpr, ...] = sizes
    above = known_in(around, tensor)
    if above is not None and above.sizes == sizes:
        found = inwards(above, entry.outer, entry.outer_runs, frame.symbols)
    left = noted[1].get(plan)
    if left is not None and left.known.sizes == sizes:
        again = [plan.symbol(name) for name in _meant_again(frame, left)]
        own = translated(left.known, [(one, Size.of(one)) for one in again], frame.symbols)
        found = tuple(b if isinstance(a, int) else a for a, b in zip(found, own, strict=True))
    known = record(found, sizes, frame.symbols)
    frame.name(tensor, known)
    return known


def known_in(frame: CallNames, tensor: torch.Tensor) -> Record | None:
    """Return what a call knows of a tensor, which may have outlived another call."""
    return frame.of(tensor) or (met(frame, tensor) if lasting else None)


def meet(frame: CallNames, args: Iterable[Any]) -> None:
    """Name what among an op's arguments outlived another call."""
    for arg in args:
        if isinstance(arg, (tuple, list)):
            meet(frame, arg)
        elif id(arg) in lasting and isinstance(arg, torch.Tensor):
            known_in(frame, arg)


def _meant_again(frame: CallNames, left: Left) -> list[str]:
    """Return the names that mean what they meant in another call of the same function.

    They have the size that they had, and are unknown at the caller, then as now. Nor may another
    one be meant, which the tensor hasn't and that has this size: what was `t` is the `m` of the
    next call where that attends to the segment before.
    """
    own = {symbol.name for dim in left.known.dims for symbol in dims.symbols(dim)}
    others = {size for name, size in frame.names.items() if name not in own}
    return [
        name
        for name, size in frame.names.items()
        if left.names.get(name) == size
        and size not in others
        and isinstance(left.outer.get(name, 0), int)
        and isinstance(frame.entry.outer.get(name, 0), int)
    ]
