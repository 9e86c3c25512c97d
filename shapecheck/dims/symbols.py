"""Symbols: what the sizes of the algebra are made of."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, Final
from weakref import WeakValueDictionary


class Kind(IntEnum):
    """What a symbol stands for, which decides what it may be equal to.

    NAME: a dimension name; an arbitrary fixed integer, distinct from every other name.
    OWN: a size that the program computes with (`self.d_model`, an int parameter).
    UNKNOWN: nothing is known of it; it may be equal to anything.
    """

    NAME = 0
    OWN = 1
    UNKNOWN = 2


ARBITRARY: Final = "arbitrary"
"""The scope of names that stand for any number, and so for no number in particular."""

_LEFT_OPEN: Final = "left open"
_COUNTED: Final = "counted"
_SUPPOSED: Final = "supposed"
_SPANNED: Final = "spanned"


class StandIn:
    """The scope of a symbol that stands in for another one in part of a calculation.

    `count`: it is one of so many equal parts of that; 0 where it is something else.
    """

    __slots__ = ("count", "symbol")

    def __init__(self, symbol: Sym, count: int = 0) -> None:
        self.symbol, self.count = symbol, count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StandIn) and other.symbol is self.symbol

    def __hash__(self) -> int:
        return hash(self.symbol)


class OneOf:
    """The scope of a symbol for what is one of several sizes, as where paths meet."""

    __slots__ = ("options",)

    def __init__(self, options: tuple[Any, ...]) -> None:
        self.options = options


@dataclass(frozen=True, slots=True)
class Default:
    """The scope of a size that a program may choose, and what it is where nobody chooses."""

    owner: object
    value: int


@dataclass(frozen=True, slots=True)
class Each:
    """The scope of the sizes of one thing among several alike: each has others."""

    owner: object


@dataclass(frozen=True, slots=True)
class Padded:
    """The scope of a dimension object to which sequences of several lengths are padded."""

    identity: object


class Sym:
    """A symbol. Symbols of the same name, kind, scope and size are the same object, while it lives.

    `scope` tells apart names that are spelled alike: 0 for the function at hand, otherwise any
    hashable value but None. `size` is the number that a dimension object promises, where it does.
    `serial` grows with each symbol made: an order that is the same in every run. `as_size` is the
    size that is just this symbol, once there is one.
    """

    __slots__ = ("__weakref__", "as_size", "kind", "name", "scope", "serial", "size")

    name: str
    kind: Kind
    scope: object
    size: int | None
    serial: int
    as_size: Any

    _interned: ClassVar[WeakValueDictionary[tuple[str, Kind, object, int | None], Sym]] = (
        WeakValueDictionary()
    )
    _serials = itertools.count(1)

    def __new__(
        cls,
        name: str,
        kind: Kind = Kind.NAME,
        scope: object = 0,
        size: int | None = None,
    ) -> Sym:
        """Return the symbol of this name, kind, scope and size."""
        key = (name, kind, scope, size)
        found = cls._interned.get(key)
        if found is None:
            found = cls._interned[key] = cls._make(*key)
        return found

    @classmethod
    def _make(cls, name: str, kind: Kind, scope: object, size: int | None) -> Sym:
        made = super().__new__(cls)
        made.name, made.kind, made.scope, made.size = name, kind, scope, size
        made.serial = next(cls._serials)
        made.as_size = None
        return made

    @classmethod
    def fresh(cls, name: str = "_", left_open: bool = False) -> Sym:
        """Return a new unknown, distinct from every other symbol.

        `left_open`: nothing is known of it because an annotation says so, by `_` or `...`.
        """
        return cls._make(name, Kind.UNKNOWN, _LEFT_OPEN if left_open else None, None)

    @classmethod
    def one_of(cls, name: str, options: tuple[Any, ...]) -> Sym:
        """Return a new symbol for what is one of several sizes."""
        return cls._make(name, Kind.UNKNOWN, OneOf(options), None)

    @classmethod
    def count(cls, name: str) -> Sym:
        """Return a new unknown for how many items a mask takes: what is beside it is another."""
        return cls._make(name, Kind.UNKNOWN, _COUNTED, None)

    @classmethod
    def suppose(cls, name: str) -> Sym:
        """Return a new unknown that is as the program needs it: what uses it says what it is."""
        return cls._make(name, Kind.UNKNOWN, _SUPPOSED, None)

    @classmethod
    def spanning(cls, symbols: Iterable[Sym]) -> Sym:
        """Return the symbol for what several rows of dimensions, all supposed, broadcast to."""
        parts = {part for symbol in symbols for part in (symbol.spanned or (symbol,))}
        ordered = tuple(sorted(parts, key=lambda part: part.serial))
        return cls("...", Kind.UNKNOWN, (_SUPPOSED, _SPANNED, *ordered))

    @property
    def spanned(self) -> tuple[Sym, ...]:
        """The rows of dimensions that broadcast to this one, where it is made from some."""
        match self.scope:
            case (_, mark, *parts) if mark is _SPANNED:
                return tuple(part for part in parts if isinstance(part, Sym))
        return ()

    @property
    def supposed(self) -> bool:
        """Whether this is as the program needs it."""
        return self._about(_SUPPOSED)

    @property
    def counted(self) -> bool:
        """Whether this is how many items a mask takes."""
        return self._about(_COUNTED)

    @property
    def options(self) -> tuple[Any, ...]:
        """The sizes of which this is one; none where that isn't known."""
        return self.scope.options if isinstance(self.scope, OneOf) else ()

    def label(self, name: str) -> None:
        """Give an unknown that has no name yet the one that it is printed by."""
        if self.is_anonymous:
            self.name = name

    @property
    def is_anonymous(self) -> bool:
        """Whether this is an unknown that has no name yet."""
        return (self.scope is None or self.supposed) and self.name == "_"

    def again(self) -> Sym:
        """Return a new unknown of which as much is said as of this one."""
        if self.options:
            return Sym.one_of(self.name, self.options)
        if self.counted:
            return Sym.count(self.name)
        if self.supposed:
            return Sym.suppose(self.name)
        return Sym.fresh(self.name, self.left_open)

    @property
    def is_derived(self) -> bool:
        """Whether other symbols are in its scope, so that it says something of them."""
        return any(True for _ in _symbols_of(self.scope))

    def following(self, renamed: Callable[[Sym], Sym]) -> Sym:
        """Return the symbol that says the same of other symbols."""
        scope = _following(self.scope, renamed)
        return self if scope == self.scope else Sym(self.name, self.kind, scope, self.size)

    @property
    def left_open(self) -> bool:
        """Whether an annotation leaves open what this stands for."""
        return self._about(_LEFT_OPEN)

    def _about(self, what: str) -> bool:
        """Whether the scope says this, and perhaps which of several symbols it is."""
        return self.scope is what or (type(self.scope) is tuple and self.scope[:1] == (what,))

    @property
    def padded(self) -> bool:
        """Whether it is a dimension to which sequences of several lengths are padded."""
        scope = self.scope[0] if type(self.scope) is tuple and self.scope else self.scope
        return type(scope) is Padded

    @property
    def telling(self) -> bool:
        """Whether there is a name for it, or an annotation leaves open what it is."""
        match self.scope:
            case ("run", Sym() as spanned):
                return spanned.telling
        return self.kind is not Kind.UNKNOWN or self.left_open or self.name not in ("_", "...")

    @property
    def owner(self) -> object:
        """What the symbol, or the one that it stands in for, belongs to."""
        if isinstance(self.scope, StandIn):
            return self.scope.symbol.owner
        return self.scope.owner if isinstance(self.scope, Default) else self.scope

    @property
    def varies(self) -> bool:
        """Whether it is another size for the next one of several things that are alike."""
        return self.kind is Kind.UNKNOWN or type(self.owner) is Each

    @property
    def default(self) -> int | None:
        """What the size is where the program chooses no other, if that is known."""
        return self.scope.value if isinstance(self.scope, Default) else None

    def __reduce__(self) -> tuple[type[Sym], tuple[str, Kind, object, int | None]]:
        if self.scope in (None, _LEFT_OPEN, _COUNTED, _SUPPOSED):  # findable once it is pickled
            self.scope = os.urandom(16) if self.scope is None else (self.scope, os.urandom(16))
            self._interned[self.name, self.kind, self.scope, self.size] = self
        return Sym, (self.name, self.kind, self.scope, self.size)

    def __copy__(self) -> Sym:
        return self

    def __deepcopy__(self, memo: object) -> Sym:
        return self

    def __repr__(self) -> str:
        return f"<{self.name}>" if self.kind is Kind.OWN else self.name


def in_order(symbols: Collection[Sym]) -> Collection[Sym]:
    """Return symbols in an order that is the same in every run, as that of a set isn't.

    Of those that are found by their name, the name decides: others may have made them before.
    """
    return symbols if len(symbols) < 2 else sorted(symbols, key=_place)


def _place(symbol: Sym) -> tuple[Kind, str, int]:
    return symbol.kind, "" if symbol.kind is Kind.UNKNOWN else symbol.name, symbol.serial


def _symbols_of(scope: object) -> Iterator[Sym]:
    if isinstance(scope, Sym):
        yield scope
    elif isinstance(scope, StandIn):
        yield scope.symbol
    elif isinstance(scope, tuple):
        for part in scope:
            yield from _symbols_of(part)


def _following(scope: object, renamed: Callable[[Sym], Sym]) -> object:
    if isinstance(scope, Sym):
        return renamed(scope)
    if isinstance(scope, StandIn):
        return StandIn(renamed(scope.symbol), scope.count)
    if isinstance(scope, tuple):
        return tuple(_following(part, renamed) for part in scope)
    return scope
