"""Symbols: what the sizes of the algebra are made of."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Collection, Hashable, Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, ClassVar, Final
from weakref import WeakValueDictionary

from mypy_extensions import mypyc_attr


class Kind(IntEnum):
    """What a symbol stands for, which decides what it may be equal to.

    NAME: a dimension name; an arbitrary fixed integer, distinct from every other name.
    OWN: a size that the program computes with (`self.d_model`, an int parameter).
    UNKNOWN: nothing is known of it; it may be equal to anything.
    """

    NAME = 0
    OWN = 1
    UNKNOWN = 2


@mypyc_attr(allow_interpreted_subclasses=True)  # what derives from it says what is equal
class Origin:
    """Where a symbol comes from, which tells apart symbols that are spelled alike.

    There is one class for each meaning, which nobody changes: what `Sym` itself makes is here, all
    others are in `origins`. Equal origins mean the same thing, so that a symbol of the same name is
    the same. What is asked of a symbol and depends on its origin is answered here for all that say
    nothing of it.
    """

    __slots__ = ()

    def __reduce__(self) -> str | tuple[type[Origin], tuple[Any, ...]]:
        names: tuple[str, ...] = getattr(self, "__match_args__", ())
        return type(self), tuple(getattr(self, name) for name in names)

    @property
    def is_supposed(self) -> bool:
        """Whether the symbol is as the program needs it."""
        return False

    @property
    def stretches(self) -> bool:
        """Whether a row of dimensions has those that are used of it."""
        return self.is_supposed

    @property
    def is_left_open(self) -> bool:
        """Whether an annotation leaves open what the symbol stands for."""
        return False

    @property
    def is_counted(self) -> bool:
        """Whether the symbol is how many items a mask takes."""
        return False

    @property
    def is_of_mask(self) -> bool:
        """Whether the symbol is a dimension of a mask, or a row of them."""
        return False

    @property
    def is_one_of_several(self) -> bool:
        """Whether the symbol belongs to one thing among several alike: each has another."""
        return False

    @property
    def owner(self) -> Origin:
        """What the symbol belongs to; the sizes of one owner are different sizes."""
        return self

    @property
    def is_padded(self) -> bool:
        """Whether the symbol is a dimension to which sequences of several lengths are padded."""
        return False

    @property
    def of_object(self) -> Origin | None:
        """Where the dimension object comes from that the symbol is, if it is one."""
        return None

    @property
    def kind_of_object(self) -> str | None:
        """What the dimension object runs over that the symbol is, if that is known."""
        return None

    @property
    def options(self) -> tuple[Any, ...]:
        """The sizes of which the symbol is one; none where that isn't known."""
        return ()

    @property
    def default(self) -> int | None:
        """What the size is where the program chooses no other, if that is known."""
        return None

    @property
    def symbols(self) -> tuple[Sym, ...]:
        """The other symbols of which this says something."""
        return ()

    @property
    def spanned(self) -> tuple[Sym, ...]:
        """The rows of dimensions that broadcast to the symbol, where it is made from some."""
        return ()

    @property
    def called_after(self) -> Sym | None:
        """The symbol by whose name this one is printed, if that isn't its own."""
        return None

    @property
    def moves(self) -> bool:
        """Whether `following` or `at` may give anything else."""
        return bool(self.symbols)

    def following(self, renamed: Callable[[Sym], Sym]) -> Origin:
        """Return what says the same of other symbols."""
        return self

    def at(self, path: Callable[[Hashable], Hashable]) -> Origin:
        """Return what says the same of what is at another path, if this is of what is at one."""
        return self

    def again(self) -> Origin:
        """Return the origin of a new unknown of which as much is said."""
        return FRESH


@dataclass(frozen=True, slots=True, eq=False)
class Here(Origin):
    """A name, or a size of its own, of the function at hand. Most symbols are from here."""

    def __reduce__(self) -> str:
        return "HERE"  # there is one, which compares and hashes faster than by its fields


HERE: Final = Here()


@dataclass(slots=True, unsafe_hash=True)
class Unknown(Origin):
    """A new unknown of `Sym.fresh`: nothing is said of it, and no other symbol is it.

    `key` is empty until the symbol is pickled: by it, it is found again.
    """

    key: bytes = b""

    def again(self) -> Origin:
        """Return the same without a key."""
        return type(self)() if self.key else self

    def found_by_key(self) -> Unknown:
        """Return the same with a key that no other symbol has."""
        return type(self)(os.urandom(16))


@dataclass(slots=True, unsafe_hash=True)
class LeftOpen(Unknown):
    """An unknown that an annotation leaves open, by `_` or `...`."""

    @property
    def is_left_open(self) -> bool:
        """Whether an annotation leaves open what the symbol stands for."""
        return True


@dataclass(frozen=True, slots=True)
class Untold(Origin):
    """A dimension, or a row of them, of a tensor of which no annotation says any.

    It has those that are used. What the program calls one of them is a size of this `tensor`, which
    is a symbol where it is the result of an op and may have other dimensions than its operands.
    `is_batch`: it is there because layers are most often given batches. `counts_items`: it is then
    the number of items, and not that of steps, which some layers take first. `of_item`: the tensor
    is one item of several that a loop goes through, and the next one has other dimensions.
    """

    tensor: Hashable
    is_batch: bool = False
    counts_items: bool = False
    of_item: bool = False

    @property
    def owner(self) -> Origin:
        """The tensor, whichever of its dimensions this is."""
        return Untold(self.tensor, of_item=self.of_item)

    @property
    def is_one_of_several(self) -> bool:
        """Whether the symbol belongs to one thing among several alike: each has another."""
        return self.of_item

    @property
    def stretches(self) -> bool:
        """Whether a row of dimensions has those that are used of it."""
        return True

    @property
    def symbols(self) -> tuple[Sym, ...]:
        """What the tensor goes by, where that is a symbol."""
        return (self.tensor,) if isinstance(self.tensor, Sym) else ()

    def following(self, renamed: Callable[[Sym], Sym]) -> Origin:
        """Return the same of what the tensor goes by there."""
        tensor = self.tensor
        return replace(self, tensor=renamed(tensor)) if isinstance(tensor, Sym) else self

    def again(self) -> Origin:
        """Return the same."""
        return self


@dataclass(slots=True, unsafe_hash=True)
class Counted(Unknown):
    """How many items a mask takes: what is beside it is another size."""

    @property
    def is_counted(self) -> bool:
        """Whether the symbol is how many items a mask takes."""
        return True


@dataclass(slots=True, unsafe_hash=True)
class Batched(Unknown):
    """How many items are put together in a batch."""


@dataclass(slots=True, unsafe_hash=True)
class Supposed(Unknown):
    """An unknown that is as the program needs it: what uses it says what it is."""

    @property
    def is_supposed(self) -> bool:
        """Whether the symbol is as the program needs it."""
        return True


@dataclass(slots=True, unsafe_hash=True)
class SupposedMask(Supposed):
    """The same of a mask, which is made to be broadcast: what it meets tells none of its sizes."""

    @property
    def is_of_mask(self) -> bool:
        """Whether the symbol is a dimension of a mask, or a row of them."""
        return True


FRESH: Final = Unknown()
LEFT_OPEN: Final = LeftOpen()
COUNTED: Final = Counted()
BATCHED: Final = Batched()
SUPPOSED: Final = Supposed()
SUPPOSED_MASK: Final = SupposedMask()


@dataclass(frozen=True, slots=True, eq=False)
class OneOf(Origin):
    """What is one of several sizes, or rows of dimensions, as where paths meet."""

    choices: tuple[Any, ...]

    @property
    def options(self) -> tuple[Any, ...]:
        """The sizes, or rows of dimensions."""
        return self.choices

    def again(self) -> Origin:
        """Return the origin of what is another one of the same sizes."""
        return OneOf(self.choices)


@mypyc_attr(native_class=False)  # its `__new__` gives what there is already
class Sym:
    """A symbol: one object for each name, kind, origin and size, as long as it lives.

    `size` is the number that a dimension object promises, where it does. `serial` grows with each
    symbol made: an order that is the same in every run. `moves`: its origin says something of other
    symbols, or of what is at a path that another may take the place of.
    """

    __slots__ = (
        "__weakref__",
        "kind",
        "moves",
        "name",
        "origin",
        "serial",
        "size",
    )

    name: str
    kind: Kind
    origin: Origin
    size: int | None
    serial: int
    moves: bool

    _interned: ClassVar[WeakValueDictionary[tuple[str, Kind, Origin, int | None], Sym]] = (
        WeakValueDictionary()
    )
    _serials: ClassVar[Iterator[int]] = itertools.count(1)

    def __new__(
        cls,
        name: str,
        kind: Kind = Kind.NAME,
        origin: Origin = HERE,
        size: int | None = None,
    ) -> Sym:
        """Return the symbol of this name, kind, origin and size."""
        key = (name, kind, origin, size)
        found = cls._interned.get(key)
        if found is None:
            found = cls._interned[key] = cls.distinct(*key)
        return found

    @classmethod
    def distinct(cls, name: str, kind: Kind, origin: Origin, size: int | None = None) -> Sym:
        """Return a new symbol, distinct from every other, those of its name and origin included."""
        made = super().__new__(cls)
        made.name, made.kind, made.origin, made.size = name, kind, origin, size
        made.serial = next(cls._serials)
        made.moves = origin.moves
        return made

    @classmethod
    def fresh(cls, name: str = "_", left_open: bool = False) -> Sym:
        """Return a new unknown, distinct from every other symbol.

        `left_open`: nothing is known of it because an annotation says so, by `_` or `...`.
        """
        return cls.distinct(name, Kind.UNKNOWN, LEFT_OPEN if left_open else FRESH)

    @classmethod
    def one_of(cls, name: str, options: tuple[Any, ...]) -> Sym:
        """Return a new symbol for what is one of several sizes."""
        return cls.distinct(name, Kind.UNKNOWN, OneOf(options))

    @classmethod
    def count(cls, name: str) -> Sym:
        """Return a new unknown for how many items a mask takes: what is beside it is another."""
        return cls.distinct(name, Kind.UNKNOWN, COUNTED)

    @classmethod
    def batch(cls) -> Sym:
        """Return a new unknown for how many items are put together in a batch."""
        return cls.distinct("_", Kind.UNKNOWN, BATCHED)

    @classmethod
    def suppose(cls, name: str, of_mask: bool = False) -> Sym:
        """Return a new unknown that is as the program needs it: what uses it says what it is."""
        return cls.distinct(name, Kind.UNKNOWN, SUPPOSED_MASK if of_mask else SUPPOSED)

    @classmethod
    def untold(cls, tensor: Hashable, of_item: bool = False) -> Sym:
        """Return a new row of dimensions of a tensor of which no annotation says any."""
        return cls.distinct("...", Kind.UNKNOWN, Untold(tensor, of_item=of_item))

    def of_result(self) -> Sym:
        """Return a new row of which as much is said as of this one, of another tensor's."""
        if isinstance(self.origin, Untold):
            return Sym.untold(Sym.fresh(), self.origin.of_item)
        return self.again()

    def again(self, name: str = "") -> Sym:
        """Return a new unknown of which as much is said as of this one, by another name perhaps."""
        return Sym.distinct(name or self.name, Kind.UNKNOWN, self.origin.again())

    def label(self, name: str) -> None:
        """Give an unknown that has no name yet the one that it is printed by."""
        if self.is_anonymous:
            self.name = name

    @property
    def is_distinct(self) -> bool:
        """Whether another symbol may be made of the same name, kind, origin and size."""
        return self._interned.get((self.name, self.kind, self.origin, self.size)) is not self

    @property
    def is_anonymous(self) -> bool:
        """Whether this is an unknown that has no name yet."""
        if self.name != "_":
            return False
        return self.origin in (FRESH, BATCHED, COUNTED) or self.origin.stretches

    @property
    def has_name(self) -> bool:
        """Whether there is a name for it, or an annotation leaves open what it is."""
        if self.kind is not Kind.UNKNOWN:
            return True
        other = self.origin.called_after
        if other is not None:
            return other.has_name
        return self.left_open or self.name not in ("_", "...")

    @property
    def varies(self) -> bool:
        """Whether it is another size for the next one of several things that are alike.

        What a function is given is one thing: its rows are all alike.
        """
        is_any = self.kind is Kind.UNKNOWN and not self.stretches
        return is_any or self.owner.is_one_of_several

    @property
    def supposed(self) -> bool:
        """Whether this is as the program needs it."""
        return self.origin.is_supposed

    @property
    def of_mask(self) -> bool:
        """Whether this is supposed of a mask, which is made to be broadcast."""
        return self.origin.is_of_mask

    @property
    def is_untold(self) -> bool:
        """Whether no annotation says what this is: it is as the program uses or needs it."""
        return self.supposed or isinstance(self.origin, Untold)

    @property
    def stretches(self) -> bool:
        """Whether this is a row of dimensions that has those that are used of it."""
        return self.origin.stretches

    @property
    def counted(self) -> bool:
        """Whether this is how many items a mask takes."""
        return self.origin.is_counted

    @property
    def left_open(self) -> bool:
        """Whether an annotation leaves open what this stands for."""
        return self.origin.is_left_open

    @property
    def padded(self) -> bool:
        """Whether it is a dimension to which sequences of several lengths are padded."""
        return self.origin.is_padded

    @property
    def owner(self) -> Origin:
        """What the symbol, or the one that it stands in for, belongs to."""
        return self.origin.owner

    @property
    def options(self) -> tuple[Any, ...]:
        """The sizes of which this is one; none where that isn't known."""
        return self.origin.options

    @property
    def default(self) -> int | None:
        """What the size is where the program chooses no other, if that is known."""
        return self.origin.default

    @property
    def spanned(self) -> tuple[Sym, ...]:
        """The rows of dimensions that broadcast to this one, where it is made from some."""
        return self.origin.spanned

    @property
    def is_derived(self) -> bool:
        """Whether its origin says something of other symbols."""
        return bool(self.origin.symbols)

    def following(self, renamed: Callable[[Sym], Sym]) -> Sym:
        """Return the symbol that says the same of other symbols."""
        return self._from(self.origin.following(renamed))

    def at(self, path: Callable[[Hashable], Hashable]) -> Sym:
        """Return the symbol that belongs to what is at another path, if this belongs to one."""
        return self._from(self.origin.at(path)) if self.moves else self

    def _from(self, origin: Origin) -> Sym:
        if origin == self.origin:
            return self
        if self.kind is Kind.UNKNOWN and origin.stretches:  # one of several of a tensor
            return Sym.distinct(self.name, self.kind, origin, self.size)
        return Sym(self.name, self.kind, origin, self.size)

    def __reduce__(self) -> tuple[type[Sym], tuple[str, Kind, Origin, int | None]]:
        if isinstance(self.origin, Unknown) and not self.origin.key:
            self.origin = self.origin.found_by_key()
            self._interned[self.name, self.kind, self.origin, self.size] = self
        return Sym, (self.name, self.kind, self.origin, self.size)

    def __copy__(self) -> Sym:
        return self

    def __deepcopy__(self, memo: object) -> Sym:
        return self

    def __repr__(self) -> str:
        is_computed = self.kind is Kind.OWN and not isinstance(self.origin, Untold)
        return f"<{self.name}>" if is_computed else self.name


def in_order(symbols: Collection[Sym]) -> Collection[Sym]:
    """Return symbols in an order that is the same in every run, as that of a set isn't.

    Of those that are found by their name, the name decides: others may have made them before.
    """
    return symbols if len(symbols) < 2 else sorted(symbols, key=_place)


def _place(symbol: Sym) -> tuple[Kind, str, int]:
    return symbol.kind, "" if symbol.kind is Kind.UNKNOWN else symbol.name, symbol.serial
