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
from shapecheck.runtime.naming.records import Record, Sizes, record, sizes_of

_SWEEP: Final = 1024
_NEW: Final = object()


@dataclass(eq=False, slots=True)
class Left:
    """What a tensor is called in a call that it outlives, that call's names, and its entry."""

    known: Record
    names: Mapping[str, int]
    entry: Any


lasting: Final[dict[int, tuple[weakref.ref[torch.Tensor], dict[Any, Left]]]] = {}
"""The tensors that outlived a call, by their identity; what they are called, by the function."""

_limit = _SWEEP


def outlive(frame: CallNames) -> None:
    """Note what the tensors are called that are left of a call, here and at its caller."""
    plan, names, entry, receiver = frame.plan, frame.names, frame.entry, frame.parent
    if receiver is None:
        return
    there = receiver.table
    for key, (reference, known) in [*frame.table.items()]:
        tensor = reference()
        if tensor is None:
            continue
        noted = lasting.get(key)
        if noted is None or noted[0]() is not tensor:
            noted = lasting[key] = reference, {}
        noted[1][plan] = Left(known, names, entry)
        before = there.get(key)
        if before is None or before[0]() is not tensor:
            outer = entry.left.get(known, _NEW)
            if outer is _NEW:
                outer = outwards(known, entry.outer, entry.outer_runs, receiver.symbols)
                entry.left.keep(known, outer)
            receiver.name(tensor, outer)
    if len(lasting) > _limit:
        _sweep()


def _sweep() -> None:
    """Drop what is known of tensors that are gone."""
    global _limit  # noqa: PLW0603
    for key in [key for key, (reference, _) in [*lasting.items()] if reference() is None]:
        lasting.pop(key, None)
    _limit = max(_SWEEP, 2 * len(lasting))


def met(frame: CallNames, tensor: torch.Tensor) -> Record | None:
    """Return what a tensor that outlived a call is called in this one, and note that."""
    noted = lasting.get(id(tensor))
    plan, entry, around = frame.plan, frame.entry, frame.parent
    if noted is None or noted[0]() is not tensor or around is None or plan is None:
        return None
    above, left = known_in(around, tensor), noted[1].get(plan)
    sizes = sizes_of(tensor)
    key = None
    if frame.names == entry.sizes and (left is None or left.names == left.entry.sizes):
        key = sizes, above, left and (left.known, left.entry)
    found: Any = _NEW if key is None else entry.met.get(key, _NEW)
    if found is _NEW:
        found = None if sizes is None else _met(frame, sizes, above, left)
        if key is not None:
            entry.met.keep(key, found)
    frame.name(tensor, found)
    return found  # type: ignore[no-any-return]


def _met(frame: CallNames, sizes: Sizes, above: Record | None, left: Left | None) -> Record | None:
    """Return what a tensor is called in a call, by its caller's names and another call's."""
    plan, entry = frame.plan, frame.entry
    found: tuple[DimExpr, ...] = sizes
    if above is not None and above.sizes == sizes:
        found = inwards(above, entry.outer, entry.outer_runs, frame.symbols)
    if left is not None and left.known.sizes == sizes:
        again = [plan.symbol(name) for name in _meant_again(frame, left)]
        own = translated(left.known, [(one, Size.of(one)) for one in again], frame.symbols)
        found = tuple(b if isinstance(a, int) else a for a, b in zip(found, own, strict=True))
    return record(found, sizes, frame.symbols)


def known_in(frame: CallNames, tensor: torch.Tensor) -> Record | None:
    """Return what a call knows of a tensor, which may have outlived another call."""
    return frame.of(tensor) or (met(frame, tensor) if lasting else None)


def meet(frame: CallNames, args: Iterable[Any]) -> bool:
    """Name what among an op's arguments outlived another call; return whether anything did."""
    named = False
    for arg in args:
        if isinstance(arg, (tuple, list)):
            named = meet(frame, arg) or named
        elif id(arg) in lasting and isinstance(arg, torch.Tensor) and frame.of(arg) is None:
            named = met(frame, arg) is not None or named
    return named


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
        and isinstance(left.entry.outer.get(name, 0), int)
        and isinstance(frame.entry.outer.get(name, 0), int)
    ]
