"""Where names live: beside the tensors, in the frame of the decorated call that they belong to.

A `Record` is what is known of one tensor's dimensions, with the sizes of all symbols in it. Equal
records are one object, so that an op's outcome is found by the identity of its operands' records.
A `Frame` is one decorated call; it maps tensors to records, weakly. `state` is the thread's own.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import torch
from torch._C import DisableTorchFunction, _len_torch_function_stack

import shapecheck.dims as dims
from shapecheck.dims import Atom, Composite, DimExpr, IntSize, Size, Sym
from shapecheck.dims.origins import OfAnotherSize
from shapecheck.runtime.naming.batched import batched_sizes, is_batched
from shapecheck.runtime.naming.facts import value_of
from shapecheck.runtime.naming.lookup import keep
from shapecheck.shapes import Item, Shape

if TYPE_CHECKING:
    from shapecheck.runtime.naming.mode import NamesMode

Sizes = tuple[int, ...]
Bound = dict[int, tuple["weakref.ref[Any]", "Record"]]
Table = dict[int, tuple[weakref.ref[torch.Tensor], "Record"]]

_RECORDS: Final = 1 << 15
_SWEEP: Final = 256
_PLAIN: Final[frozenset[type]] = frozenset((torch.Tensor, torch.nn.Parameter))
_INT: Final = frozenset((int,))


class Record:
    """The dimensions of a tensor, its sizes, and the value of every symbol in the dimensions.

    `inserted`: an axis of size 1 was just put in on purpose, `blank`: no data is in it as yet
    (see `shapes.Tensor`).
    """

    __slots__ = ("blank", "dims", "inserted", "sizes", "values")

    dims: tuple[DimExpr, ...]
    sizes: Sizes
    values: dict[Sym, int]
    inserted: bool
    blank: bool

    def written(self) -> Record:
        """Return the record of the tensor with data in it."""
        return record(self.dims, self.sizes, self.values, self.inserted) or self

    def __repr__(self) -> str:
        return repr(Shape(self.dims))


_interned: dict[object, Record] = {}


def sizes_of(tensor: torch.Tensor) -> Sizes | None:
    """Return a tensor's sizes; None for a nested tensor, which has none that are numbers.

    Subclasses and other modes see each function that a tensor is given to, but not this one.
    """
    try:
        if tensor.__class__ in _PLAIN and not _len_torch_function_stack():
            return tuple(tensor.shape)
        if is_batched(tensor):
            return batched_sizes(tensor)
        with DisableTorchFunction():
            sizes = tuple(tensor.shape)
    except RuntimeError:
        return None
    return sizes if _INT.issuperset(map(type, sizes)) else None


def dtype_of(tensor: torch.Tensor) -> torch.dtype:
    """Return a tensor's dtype; subclasses and other modes don't see that either."""
    if tensor.__class__ in _PLAIN and not _len_torch_function_stack():
        return tensor.dtype
    with DisableTorchFunction():
        return tensor.dtype


def record(
    dimensions: tuple[DimExpr, ...],
    sizes: Sizes,
    values: Mapping[Sym, int],
    inserted: bool = False,
    blank: bool = False,
) -> Record | None:
    """Return the record of a tensor; None if nothing has a name, or names and sizes disagree."""
    if len(dimensions) != len(sizes) or all(isinstance(dim, int) for dim in dimensions):
        return None
    own: dict[Sym, int] = {}
    for dim, size in zip(dimensions, sizes, strict=True):
        for symbol in dims.symbols(dim):
            if symbol not in values:
                return None
            own[symbol] = values[symbol]
        if value_of(dim, own) != size:
            return None
    key = (dimensions, sizes, inserted, blank, frozenset(own.items()))
    found = _interned.get(key)
    if found is None:
        if len(_interned) >= _RECORDS:
            _interned.clear()
        found = Record()
        found.dims, found.sizes, found.values = dimensions, sizes, own
        found.inserted, found.blank = inserted, blank
        _interned[key] = found
    return found


def apart(known: Record, values: Mapping[Sym, int]) -> Record:
    """Return a record whose symbols have no other value than in `values`.

    Outside of decorated calls, two tensors may have a dimension of one name and different sizes.
    """
    swap: dict[Atom, IntSize] = {}
    own = dict(known.values)
    for symbol, size in known.values.items():
        if values.get(symbol, size) != size:
            other = Sym(symbol.name, symbol.kind, OfAnotherSize(symbol.origin, size))
            swap[symbol], own[other] = Size.of(other), size
    if not swap:
        return known
    found = tuple(
        dims.merge(dims.substitute(part, swap) for part in dim.parts)
        if isinstance(dim, Composite)
        else dims.substitute(dim, swap)
        for dim in known.dims
    )
    return record(found, known.sizes, own, known.inserted, known.blank) or known


def agreed(one: Record | None, other: Record | None) -> Record | None:
    """Return what two records of one tensor agree on; in `attend(x, x)` it has two."""
    if one is None or other is None or one is other:
        return one if one is other else None
    dimensions = tuple(
        a if a == b else size for a, b, size in zip(one.dims, other.dims, one.sizes, strict=True)
    )
    return record(dimensions, one.sizes, {**one.values, **other.values})


class Frame:
    """One decorated call: the values of its names, and the names of the tensors in it.

    `names` maps dimension names to sizes, `symbols` what they are inside of shapes. `aliases` and
    `runs` are what names and groups stand for that only variables have. `outer` maps the names to
    the caller's dimensions, for the way back. `plan` and `entry` belong to the decorator; both are
    None in a thread's root, the frame outside of all calls. `alone`: the mode calls no other one,
    which would see what is asked of tensors. `read`: a shape was read, or an argument may be a
    size. `bound` is the axis that each first-class dimension is bound to, by the identity of the
    dimension, and `born` how many of them there were before the call.
    """

    __slots__ = (
        *("aliases", "alone", "born", "bound", "entry", "limit", "names", "parent"),
        *("plan", "pushed", "read", "runs", "symbols", "table"),
    )

    def __init__(
        self,
        names: dict[str, int],
        symbols: dict[Sym, int],
        parent: Frame | None,
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
        frame: Frame | None = self
        while frame is not None:
            frame.table.pop(id(tensor), None)
            frame = frame.parent

    def sweep(self) -> None:
        """Drop what is known of tensors that are gone, once it is much."""
        if len(self.table) > self.limit:
            self.table = {key: item for key, item in self.table.items() if item[0]() is not None}
            self.limit = max(_SWEEP, 2 * len(self.table))


class State(threading.local):
    """What one thread is doing: its mode object, and the frame outside of all decorated calls.

    `root` has the names that tensors have outside, each by the function that returned it; `given`
    those of `named`, which belong together: they go on inside of models that are watched.
    `minding`: what runs leaves padding out itself.
    """

    mode: NamesMode | None = None
    minding: bool = False

    def __init__(self) -> None:
        self.root = Frame({}, {}, None)
        self.given = Frame({}, {}, None)

    @property
    def frame(self) -> Frame | None:
        """The decorated call that is running, None outside of all."""
        return None if self.mode is None else self.mode.frame


state: Final = State()
