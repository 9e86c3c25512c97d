"""What holds a tensor together with its names, and how operations by name take one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias, TypeVar

import torch

from shapecheck.runtime.internals import DisableTorchFunction
from shapecheck.runtime.naming.call_names import CallNames, state
from shapecheck.runtime.naming.records import Record, Table, apart, sizes_of
from shapecheck.runtime.naming.transforms import known

T = TypeVar("T")
_compiling: Final = torch.compiler.is_dynamo_compiling


class Holder:
    """A tensor, and the names that it had when it was put in.

    Names beside a plain tensor are those of one call; what holds it takes them into others.
    """

    __slots__ = ("_held", "_tensor")

    _held: Record | None
    _tensor: torch.Tensor

    @property
    def tensor(self) -> torch.Tensor:
        """The plain tensor, which has its names here."""
        tensor, held = self._tensor, self._held
        if held is not None:
            mode = state.mode
            frame = (None if mode is None else mode.frame) or state.root
            found = frame.table.get(id(tensor))
            if found is None or found[0]() is not tensor:
                _enter(frame, tensor, held)
        return tensor


Operand: TypeAlias = torch.Tensor | Holder
"""A tensor, by itself or held together with its names."""


def hold(holder: Holder, tensor: torch.Tensor) -> None:
    """Put a tensor into what holds it."""
    holder._tensor, holder._held = tensor, None
    if not _compiling():
        mode = state.mode
        frame = (None if mode is None else mode.frame) or state.root
        found = frame.table.get(id(tensor))
        if found is not None and found[0]() is tensor:
            holder._held = found[1]


def each_held(
    cls: type[Holder], given: Iterable[object], other: Callable[[type[Holder], object], object]
) -> tuple[object, ...]:
    """Return several tensors, each in what holds one; `other` says what comes of anything else."""
    table: Table = {}  # while torch.compile traces, names are found otherwise
    if not _compiling():
        mode = state.mode
        table = ((None if mode is None else mode.frame) or state.root).table
    each: list[object] = []
    for one in given:
        if one.__class__ is torch.Tensor:
            holder = object.__new__(cls)
            found = table.get(id(one))
            holder._tensor = one
            holder._held = found[1] if found is not None and found[0]() is one else None
            each.append(holder)
        else:
            each.append(other(cls, one))
    return tuple(each)


def _enter(frame: CallNames, tensor: torch.Tensor, held: Record) -> None:
    """Give a tensor its names in another call, where one of them may have another size."""
    with DisableTorchFunction():
        if known(tensor, frame.table) is not None or sizes_of(tensor) != held.sizes:
            return
        if frame is state.root:
            frame.name(tensor, held)
            return
        if frame.plan is None:
            frame.name(tensor, frame.settled(held))
            return
        own = apart(held, {frame.plan.symbol(n): size for n, size in frame.names.items()})
        own = apart(own, frame.symbols)
        for symbol, size in own.values.items():
            frame.symbols.setdefault(symbol, size)
        frame.name(tensor, own)


def plain(given: T | Holder) -> T | torch.Tensor:
    """Return the tensor that an operand is; what holds none as it is."""
    return given.tensor if isinstance(given, Holder) else given


def all_plain(given: Iterable[T | Holder]) -> list[T | torch.Tensor]:
    """Return the tensors that operands are."""
    return [one.tensor if isinstance(one, Holder) else one for one in given]
