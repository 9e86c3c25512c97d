"""All that a symbol can come from, beside the origins that `Sym` itself makes (see `symbols`).

Each is made by its name and asked for by `isinstance`, or by what every origin answers. One that
says something of other symbols names them in `symbols`, and follows when these are renamed. What
is of a higher layer, such as a node of a program's syntax, is a `Hashable` here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from shapecheck.dims.algebra import IntSize
from shapecheck.dims.composites import DimExpr
from shapecheck.dims.symbols import SUPPOSED, Kind, Origin, Sym

# Of a program's own sizes and names ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OfInstance(Origin):
    """The sizes of an instance, such as those of `self` or `config`.

    The analysis makes it of the path by which the program gets to the instance.
    """

    path: Hashable

    @property
    def moves(self) -> bool:
        """Whether `at` may give anything else: of a path that is a text there is no other."""
        return not isinstance(self.path, str)

    def at(self, path: Callable[[Hashable], Hashable]) -> Origin:
        """Return the same of another path."""
        new = path(self.path)
        return self if new is self.path else replace(self, path=new)


@dataclass(frozen=True, slots=True)
class NamesOf(Origin):
    """The dimension names in the annotations of an instance's fields, or of a TypedDict's keys.

    The analysis makes it of the path by which the program gets there: the names are sizes of this
    one object.
    """

    path: Hashable
    of: Literal["fields", "keys"]

    @property
    def moves(self) -> bool:
        """Whether `at` may give anything else: of a path that is a text there is no other."""
        return not isinstance(self.path, str)

    def at(self, path: Callable[[Hashable], Hashable]) -> Origin:
        """Return the same of another path."""
        new = path(self.path)
        return self if new is self.path else replace(self, path=new)


@dataclass(frozen=True, slots=True)
class Each(Origin):
    """The sizes or names of one object among several alike, as of one block of many.

    The analysis makes it of a path where the next object has other sizes.
    """

    one: Origin

    @property
    def is_one_of_several(self) -> bool:
        """Whether the symbol belongs to one thing among several alike: each has another."""
        return True

    @property
    def moves(self) -> bool:
        """Whether `at` may give anything else."""
        return self.one.moves

    def at(self, path: Callable[[Hashable], Hashable]) -> Origin:
        """Return the same of another path."""
        new = self.one.at(path)
        return self if new is self.one else Each(new)


@dataclass(frozen=True, slots=True)
class Default(Origin):
    """A size that a program may choose, `n: int = 4`, and what it is where nobody chooses."""

    of: Origin
    value: int

    @property
    def owner(self) -> Origin:
        """What the size belongs to."""
        return self.of

    @property
    def default(self) -> int | None:
        """The size where nobody chooses another."""
        return self.value

    @property
    def moves(self) -> bool:
        """Whether `at` may give anything else."""
        return self.of.moves

    def at(self, path: Callable[[Hashable], Hashable]) -> Origin:
        """Return the same of another path."""
        new = self.of.at(path)
        return self if new is self.of else replace(self, of=new)


@dataclass(frozen=True, slots=True)
class ChosenToFit(Origin):
    """A size that is None where nobody chooses it, `n: int | None = None`, and then what fits.

    It may be any of its owner's other sizes, so that it belongs to the path by which it is reached.
    """

    among: Origin
    path: Hashable

    @property
    def moves(self) -> bool:
        """Whether `at` may give anything else: of a path that is a text there is no other."""
        return self.among.moves or not isinstance(self.path, str)

    def at(self, path: Callable[[Hashable], Hashable]) -> Origin:
        """Return the same of another path."""
        among, new = self.among.at(path), path(self.path)
        is_same = among is self.among and new is self.path
        return self if is_same else ChosenToFit(among, new)


@dataclass(frozen=True, slots=True)
class CountAt(Origin):
    """How many items the list at a path has: whoever makes the list may make it fit a number."""

    path: Hashable

    @property
    def moves(self) -> bool:
        """Whether `at` may give anything else: of a path that is a text there is no other."""
        return not isinstance(self.path, str)

    def at(self, path: Callable[[Hashable], Hashable]) -> Origin:
        """Return the same of another path."""
        new = path(self.path)
        return self if new is self.path else replace(self, path=new)


@dataclass(frozen=True, slots=True)
class Arbitrary(Origin):
    """A name for any number of axes that stands for one number of them in a trial.

    A check of a function makes it for each axis of `*names`; such a name is no number.
    """


@dataclass(frozen=True, slots=True)
class Wanted(Origin):
    """The name for which a matcher solves an equation."""


@dataclass(frozen=True, slots=True)
class NamedAlike(Origin):
    """A name of an inner function that the function around it has, too.

    It may be `outer`, what the name stands for there, or another dimension: chunks of rows are
    called as the rows are.
    """

    outer: IntSize


@dataclass(frozen=True, slots=True)
class OfCallback(Origin):
    """A name in the annotation of a function that is passed: whoever calls it may mean any size."""


# Of dimension objects -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OfObject(Origin):
    """A dimension object of a running program, `Dim("time")`: each has a token of its own."""

    token: bytes

    @property
    def of_object(self) -> Origin | None:
        """Where the object comes from: here."""
        return self


@dataclass(frozen=True, slots=True)
class MadeAt(Origin):
    """A dimension object that the analysis meets: the call that makes it, and which one of many."""

    module: str
    line: int
    column: int
    index: int | None = None

    @property
    def of_object(self) -> Origin | None:
        """Where the object comes from: here."""
        return self


@dataclass(frozen=True, slots=True)
class Padded(Origin):
    """A dimension object to which sequences of several lengths are padded."""

    of: Origin

    @property
    def is_padded(self) -> bool:
        """It is."""
        return True

    @property
    def of_object(self) -> Origin | None:
        """Where the object comes from: here."""
        return self


@dataclass(frozen=True, slots=True)
class OfKind(Origin):
    """A dimension object of a kind, such as a batch."""

    of: Origin
    kind: str

    @property
    def is_padded(self) -> bool:
        """Whether sequences of several lengths are padded to it."""
        return self.of.is_padded

    @property
    def kind_of_object(self) -> str | None:
        """The kind of it."""
        return self.kind

    @property
    def of_object(self) -> Origin | None:
        """Where the object comes from: here."""
        return self


@dataclass(frozen=True, slots=True)
class FirstClass(Origin):
    """A first-class dimension of functorch in a running program, by its number within one op."""

    number: int


# Of names that are met again ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OfAnotherSize(Origin):
    """A name in a running program that has another size elsewhere: it is another one of this name.

    Outside of decorated calls, and where the call's annotations don't have the name, there may be
    several sizes under it.
    """

    of: Origin
    size: int

    @property
    def is_padded(self) -> bool:
        """Whether sequences of several lengths are padded to it."""
        return self.of.is_padded

    @property
    def of_object(self) -> Origin | None:
        """Where the object comes from that has another size elsewhere."""
        return self.of.of_object

    @property
    def kind_of_object(self) -> str | None:
        """The kind of the object that has another size elsewhere."""
        return self.of.kind_of_object


@dataclass(frozen=True, slots=True)
class Renamed(Origin):
    """The name that `named.rename` and its like give to a dimension that is another one of it.

    The op rule makes it where the name stands for another size than this one.
    """

    size: IntSize


@dataclass(frozen=True, slots=True)
class OfResult(Origin):
    """The name that the function which gave a tensor has for an axis of this size.

    Operations by name find the axis by it; to all others it is its size.
    """

    size: IntSize


@dataclass(frozen=True, slots=True)
class NamedAgain(Origin):
    """The second dimension of one name that an operation by name gives, in a running program."""

    size: int


@dataclass(frozen=True, slots=True)
class OfSize(Origin):
    """A name that only variables have, where it first met a bare size in a running program.

    It is called so, and may be any dimension of this size.
    """

    size: int


@dataclass(frozen=True, slots=True)
class OfRecord(Origin):
    """A name in the fields of a TypedDict or NamedTuple, in a running program.

    `number` is which one it is of those that a call is given. The name is this one's own: outside
    of it, it may be any dimension of its size.
    """

    number: int


@dataclass(frozen=True, slots=True)
class AnyNumber(Origin):
    """A number of a running program of which nothing else is known: another one next time."""

    value: int


@dataclass(frozen=True, slots=True)
class Expression(Origin):
    """What `{self.d}` stands for in a running program: a dimension of its own.

    `beside` are the names and the sources of other expressions that the call's annotations have in
    a row with it: these are other dimensions.
    """

    source: str
    beside: frozenset[str]


@dataclass(frozen=True, slots=True)
class Mixed(Origin):
    """An axis that cuts across dimensions, in a running program.

    `whole` are the dimensions with their sizes, of which `count` axes hold pieces; this is the one
    of this `index`. `values` are the symbols in them.
    """

    whole: tuple[tuple[DimExpr, int], ...]
    index: int
    count: int
    values: Mapping[Sym, int] = field(compare=False)


# Of the analysis' own bookkeeping -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LoopHead(Origin):
    """What differs from one round of a loop to the next: the same symbol each time round.

    Joining two states makes it. `place` is which loop, `key` where in its variables and its heap.
    """

    place: Hashable
    key: Hashable


@dataclass(frozen=True, slots=True)
class Met(Origin):
    """What stands for an unknown where calls are compared: its number, in the order of meeting."""

    number: int


# Of other symbols ---------------------------------------------------------------------------------


@dataclass(slots=True, unsafe_hash=True)
class OfSymbol(Origin):
    """What is said of one other symbol."""

    symbol: Sym

    @property
    def symbols(self) -> tuple[Sym, ...]:
        """What this is about."""
        return (self.symbol,)

    def following(self, renamed: Callable[[Sym], Sym]) -> Origin:
        """Return the same of what stands for the others."""
        return replace(self, symbol=renamed(self.symbol))


@dataclass(slots=True, unsafe_hash=True)
class StandIn(OfSymbol):
    """What stands in for a symbol in part of a calculation: what it is beside its remainder."""

    @property
    def owner(self) -> Origin:
        """What the other symbol belongs to."""
        return self.symbol.owner


@dataclass(slots=True, unsafe_hash=True)
class EqualPart(StandIn):
    """One of `count` equal parts of a symbol, which `count` divides."""

    count: int

    @property
    def default(self) -> int | None:
        """What the part is where the program chooses no other size for the whole."""
        whole = self.symbol.default
        return None if whole is None else whole // self.count


@dataclass(slots=True, unsafe_hash=True)
class ElementsOf(OfSymbol):
    """How many elements a run of dimensions spans."""

    @property
    def called_after(self) -> Sym | None:
        """The run, whose name is printed."""
        return self.symbol


@dataclass(slots=True, unsafe_hash=True)
class LengthOf(OfSymbol):
    """How many dimensions a run has."""


Which: TypeAlias = Literal["first", "last", "after", "before"]


@dataclass(slots=True, unsafe_hash=True)
class PartOf(OfSymbol):
    """A part of a run: its `first` or `last` dimensions, `count` of them.

    Or what is left `after` so many, or `before` the last so many.
    """

    which: Which
    count: int


@dataclass(slots=True, unsafe_hash=True)
class IsBound(OfSymbol):
    """Whether a first-class dimension has a size as yet, 1 or 0."""


@dataclass(slots=True, unsafe_hash=True)
class LoopAxis(OfSymbol):
    """The axis that stands for a first-class dimension while an op works on it."""


@dataclass(frozen=True, slots=True)
class Spanning(Origin):
    """What several rows of dimensions, all supposed, broadcast to."""

    rows: tuple[Sym, ...]

    @property
    def is_supposed(self) -> bool:
        """Whether the symbol is as the program needs it."""
        return True

    @property
    def symbols(self) -> tuple[Sym, ...]:
        """What this is about."""
        return self.rows

    @property
    def spanned(self) -> tuple[Sym, ...]:
        """The rows."""
        return self.rows

    def following(self, renamed: Callable[[Sym], Sym]) -> Origin:
        """Return the same of what stands for the others."""
        return Spanning(tuple(map(renamed, self.rows)))

    def again(self) -> Origin:
        """Return the origin of another row of dimensions, supposed as well."""
        return SUPPOSED


def spanning(symbols: Iterable[Sym]) -> Sym:
    """Return the symbol for what several rows of dimensions, all supposed, broadcast to."""
    rows = {row for symbol in symbols for row in (symbol.spanned or (symbol,))}
    ordered = tuple(sorted(rows, key=lambda row: row.serial))
    return Sym("...", Kind.UNKNOWN, Spanning(ordered))
