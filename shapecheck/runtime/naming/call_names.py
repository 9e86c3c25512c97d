"""Where names live: beside the tensors, in the decorated call that they belong to.

A `CallNames` is one decorated call; it maps tensors to records, weakly. `state` is the thread's.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any, Final

import torch
from torch.overrides import TorchFunctionMode

from shapecheck.dims import DimExpr, Sym
from shapecheck.runtime.naming.lookup import keep
from shapecheck.runtime.naming.outcomes import Outcomes
from shapecheck.runtime.naming.records import Record, Table, apart
from shapecheck.shapes import Item

Bound = dict[int, tuple["weakref.ref[Any]", Record]]

_SWEEP: Final = 256


class CallNames:
    """One decorated call: the values of its names, and the names of the tensors in it.

    `names` maps dimension names to sizes, `symbols` what they are inside of shapes. `aliases` and
    `runs` are what names and groups stand for that only variables have. `outer` maps the names to
    the caller's dimensions, for the way back. `plan` and `entry` belong to the decorator; both are
    None in a thread's root, the frame outside of all calls. `alone`: the mode calls no other one,
    which would see what is asked of tensors. `read`: a shape was read, or an argument may be a
    size. `bound` is the axis that each first-class dimension is bound to, by the identity of the
    dimension, and `born` how many of them there were before the call. `packed` are the shapes that
    einops has packed in it, by identity.
    """

    __slots__ = (
        *("aliases", "alone", "born", "bound", "entry", "limit", "names", "parent"),
        *("packed", "plan", "pushed", "read", "runs", "symbols", "table"),
    )

    def __init__(
        self,
        names: dict[str, int],
        symbols: dict[Sym, int],
        parent: CallNames | None,
        plan: Any = None,
        entry: Any = None,
    ) -> None:
        self.names = names
        self.symbols = symbols
        self.parent = parent
        self.plan = plan
        self.entry = entry
        self.table: Table = {}
        self.limit = _SWEEP
        self.pushed = False
        self.alone = False
        self.read = plan is not None and plan.numbers
        self.aliases: dict[str, DimExpr] = {}
        self.runs: dict[str, tuple[Item, ...]] = {}
        self.bound: Bound = {}
        self.born = 0
        self.packed: Outcomes[int, tuple[torch.Size, Record]] | None = None

    def of(self, tensor: torch.Tensor) -> Record | None:
        """Return what this call knows of a tensor's dimensions."""
        found = self.table.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else None

    def name(self, tensor: torch.Tensor, known: Record | None) -> None:
        """Record what a tensor's dimensions are; None takes its names away."""
        if known is None:
            self.table.pop(id(tensor), None)
        else:
            keep(self.table, tensor, known)

    def forget(self, tensor: torch.Tensor) -> None:
        """Take a tensor's names away in this call and in all around it."""
        frame: CallNames | None = self
        while frame is not None:
            frame.table.pop(id(tensor), None)
            frame = frame.parent

    def sweep(self) -> None:
        """Drop what is known of tensors that are gone, once it is much."""
        if len(self.table) > self.limit:
            self.table = {key: item for key, item in self.table.items() if item[0]() is not None}
            self.limit = max(_SWEEP, 2 * len(self.table))

    def settled(self, known: Record) -> Record:
        """Return a record as it is called here, where a name of another size is another one."""
        own = apart(known, self.symbols)
        self.symbols.update(own.values)
        return own


class CallMode(TorchFunctionMode):
    """A mode that knows the decorated call that is running (see `mode.NamesMode`)."""

    frame: CallNames | None = None


class State(threading.local):
    """What one thread is doing: its mode object, and the frame outside of all decorated calls.

    `root` has the names that tensors have outside, each by the function that returned it; `given`
    those of `named`, which belong together: they go on inside of models that are watched, and
    through all ops while names are carried outside of calls too, `carrying`. `minding`: what runs
    leaves padding out itself.
    """

    mode: CallMode | None = None
    minding: bool = False
    carrying: bool = False

    def __init__(self) -> None:
        self.root = CallNames({}, {}, None)
        self.given = CallNames({}, {}, None)

    @property
    def here(self) -> CallNames:
        """The decorated call that is running, or the frame outside of all."""
        return self.frame or self.root

    def is_outside(self, frame: CallNames) -> bool:
        """Whether a frame is none of a decorated call."""
        return frame is self.root or frame is self.given

    @property
    def frame(self) -> CallNames | None:
        """The frame whose names are carried: that of the call that is running, or `given`."""
        return None if self.mode is None else self.mode.frame


state: Final = State()
