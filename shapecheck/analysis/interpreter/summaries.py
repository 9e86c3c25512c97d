"""What a call sees, so that calls which see the same are recognised."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import shapecheck.dims as dims
from shapecheck.analysis.program.model import Class, Function, Value
from shapecheck.analysis.program.syntax import kept_by_node, nodes_of
from shapecheck.analysis.values.heap import Renewing, unknowns
from shapecheck.analysis.values.model import (
    Content,
    Instance,
    OpInstance,
    Path,
    Ref,
)
from shapecheck.analysis.values.parts import FORMS, lasting
from shapecheck.analysis.values.paths import renumbered
from shapecheck.dims import Atom, Composite, DimExpr, IntSize, Kind, Size, Sym
from shapecheck.dims.origins import Met
from shapecheck.shapes import Facts, Item, Run, Shape, Tensor, symbols_of

_MOST: Final = 256
"""As many things on the heap, and as many closures, may a call see that is to be recognised."""


_NOTHING: Final = frozenset[Hashable]()


class Unrecognisable(Exception):
    """A value whose meaning can't be told from its parts: a closure, or too much of it."""


class Key:
    """What tells one call from others: its hash, which takes long to work out, is kept."""

    __slots__ = ("_hash", "_parts")

    def __init__(self, parts: tuple[Hashable, ...]) -> None:
        self._parts, self._hash = parts, hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Key):
            return False
        return self is other or (self._hash == other._hash and self._parts == other._parts)


@dataclass(frozen=True, slots=True)
class View:
    """What a call sees: two calls with equal keys give the same, but for what stands in for what.

    `refs` are the things on the heap that it can reach, `closures` the functions that see variables
    around them, `unknowns` the symbols of which nothing is known, and `ones` the numbers of those
    that are one among several alike, each in the order in which they are met. Those of the one call
    stand where those of the other do.
    """

    key: Key
    refs: tuple[Ref, ...]
    closures: tuple[Function, ...]
    unknowns: tuple[Sym, ...]
    ones: tuple[int, ...]

    def names(self) -> tuple[str, ...]:
        """Return what the unknowns are called by now; nothing where none has a name."""
        found = tuple(symbol.name for symbol in self.unknowns)
        return found if any(name != "_" for name in found) else ()

    def label(self, names: Iterable[str]) -> None:
        """Call the unknowns as those of a call were called that saw the same, in the end."""
        for symbol, name in zip(self.unknowns, names, strict=False):
            symbol.label(name)

    def stands_for_itself(self, seen: View) -> bool:
        """Whether all symbols and numbers that were seen are those that are seen there."""
        return self.unknowns == seen.unknowns and self.ones == seen.ones

    def renewing(self, seen: View, places: Mapping[Ref, Ref]) -> Renewing:
        """Return what brings an outcome of what was seen here to what is seen there.

        Unknowns, and one among several, that came into being with the outcome are new ones there.
        """
        same = dict(zip(self.closures, seen.closures, strict=True))
        made = zip(self.unknowns, seen.unknowns, strict=True)
        moved = dict[Value, Value]((*places.items(), *same.items()))
        ones = dict(zip(self.ones, seen.ones, strict=True))
        return Renewing(moved, _never, made, ones)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a call teaches of sizes and runs, and which pairs of own sizes it doubts.

    These pairs have no unknowns: they are the same ones wherever a call is made again.
    """

    atoms: tuple[tuple[Size, IntSize], ...]
    runs: tuple[tuple[Run, tuple[Item, ...]], ...]
    doubted: frozenset[frozenset[DimExpr]] = frozenset()

    @staticmethod
    def of(before: Facts, after: Facts, met: Iterable[Sym]) -> Lesson:
        """Return what is known after a call that wasn't before.

        `met` are the unknowns that the program still has: of others nobody asks any more.
        """
        told, spelled, asked = before.atoms, before.runs, {*met}
        doubted = after.doubted
        if after.atoms is told and after.runs is spelled and doubted is before.doubted:
            return NOTHING_NEW
        atoms: dict[Atom, IntSize] = {}
        runs: dict[Sym, tuple[Item, ...]] = {}
        found = -1
        while len(atoms) + len(runs) > found:
            found = len(atoms) + len(runs)
            for atom, size in after.atoms.items():
                if atom not in atoms and told.get(atom) != size and _asked(atom, asked):
                    atoms[atom] = size
                    asked |= dims.symbols(size)
            for symbol, items in after.runs.items():
                if symbol not in runs and spelled.get(symbol) != items and _asked(symbol, asked):
                    runs[symbol] = items
                    asked.update(*map(symbols_of, items))
        return Lesson(
            tuple((Size.of(atom), size) for atom, size in atoms.items()),
            tuple((Run(symbol), items) for symbol, items in runs.items()),
            frozenset(pair for pair in doubted - before.doubted if not any(map(unknowns, pair))),
        )

    @property
    def values(self) -> tuple[Value, ...]:
        """The sizes and runs in it."""
        return (self.atoms, self.runs)

    def moved(self, moving: Renewing) -> Lesson:
        """Return what the same call teaches of other symbols."""
        if not self.atoms and not self.runs:
            return self
        return Lesson(
            tuple((moving.symbolic(atom), moving.size(size)) for atom, size in self.atoms),
            tuple((moving.replaced(run), moving.items(items)) for run, items in self.runs),
            self.doubted,
        )

    def teach(self, facts: Facts) -> None:
        """Add it to what is known."""
        if self.atoms:
            told = ((size.atom, value) for size, value in self.atoms)
            facts.atoms = {**facts.atoms, **{a: value for a, value in told if a is not None}}
        if self.runs:
            facts.runs = {**facts.runs, **{run.symbol: items for run, items in self.runs}}
        facts.doubted |= self.doubted


NOTHING_NEW: Final = Lesson((), ())


def _asked(atom: Atom, asked: Set[Sym]) -> bool:
    found = dims.concerned((atom,))
    return any(symbol in asked or symbol.kind is not Kind.UNKNOWN for symbol in found)


def _never(symbol: Sym) -> bool:
    return False


def view(
    values: Iterable[Value], heap: Mapping[Ref, Content], facts: Facts, *about: Hashable
) -> View | None:
    """Return what a call with these arguments sees; None where that can't be told.

    `about` is what else the call depends on.
    """
    looking = _Looking()
    try:
        given = [looking.value(value) for value in values]
        held = []
        for ref in looking.refs:
            # While they are gone through, there come to be more.
            held.append(looking.content(heap.get(ref, ref.origin)))  # noqa: PERF401
        known = tuple(looking.known(facts)) if facts.atoms or facts.runs else ()
        beside = looking.beside(facts.declared) if facts.declared else _NOTHING
        key = Key((about, *given, *held, known, beside, *looking.told))
    except (Unrecognisable, TypeError):
        return None
    met = (tuple(looking.numbers), tuple(looking.closures), tuple(looking.unknowns))
    return View(key, *met, tuple(looking.ones))


class _Looking:
    """Makes values comparable.

    What they refer to on the heap, and the unknowns in them, go by the order in which they are met.
    """

    def __init__(self) -> None:
        self.refs: list[Ref] = []
        self.numbers: dict[Ref, int] = {}
        self.closures: dict[Function, int] = {}
        self.unknowns: dict[Sym, Sym] = {}
        """What stands in for the unknowns that were met."""
        self.ones: dict[int, int] = {}
        """What stands in for the numbers of which one of several alike something is."""
        self.placed: dict[Sym, Sym] = {}
        """What stands in for all symbols for which others do."""
        self.told: list[Hashable] = []
        """What is said of these unknowns, one by one."""
        self.symbols: set[Sym] = set()
        self.names_sizes = False
        """Whether sizes may come into being here that are known by a name."""

    def value(self, value: Value) -> Hashable:
        kind = type(value)
        of_its_kind = _OF_KIND.get(kind)
        if of_its_kind is not None:
            return of_its_kind(self, value)
        return self._by_parts(value) if kind in FORMS else (kind, value)

    def _layer(self, value: OpInstance) -> Hashable:
        symbols = lasting(value)
        if symbols is None:
            return self._by_parts(value)
        if value.key is None:
            value.key = _Looking()._by_parts(value)
        self.symbols |= symbols
        return value.key

    def _by_parts(self, value: Value) -> Hashable:
        kind = type(value)
        form = FORMS[kind]
        return (kind.__name__, form.rest(value), *map(self.value, form.parts(value)))

    def _itself(self, value: str | None) -> Hashable:
        return value

    def _with_kind(self, value: bool | int | float) -> Hashable:
        return (type(value), value)

    def _tensor(self, value: Tensor) -> Hashable:
        placed, items = self.placed, list[Hashable]()
        for item in value.shape.dims:
            symbol = item.symbol if type(item) is Size else None
            if symbol is not None:
                items.append(placed.get(symbol) or self._symbol(symbol))
            else:
                items.append(item if type(item) is int else self._dim(item))
        if value.free or value.more:
            items += [*map(self.value, value.free), value.more]
        return (*items, value.dtype, value.inserted, value.blank, value.called)

    def _ref(self, value: Ref) -> Hashable:
        return ("at", self._number(value))

    def _function(self, value: Function) -> Hashable:
        if value.home is not None:
            return self._closure(value)
        return ("function", value.node, value.manages, self.value(value.defaults))

    def _class(self, value: Class) -> Hashable:
        if value.home is not None:
            raise Unrecognisable
        return ("class", value.node)

    def _path(self, value: Path) -> Hashable:
        self.names_sizes = True
        return (Path, self._at(value.text))

    def content(self, content: Content) -> Hashable:
        if isinstance(content, Instance):
            self.names_sizes |= content.path is not None
        return None if content is None else content.key(self.value)

    def known(self, facts: Facts) -> Iterator[Hashable]:
        """Yield what is known of the sizes that were met, and may come to be met."""
        atoms, runs = facts.atoms, facts.runs
        if not self.names_sizes and self.symbols.isdisjoint(facts.concerned):
            return
        told: set[Atom] = set()
        spelled: set[Sym] = set()
        before = -1
        while len(self.symbols) > before:
            before = len(self.symbols)
            for atom, size in atoms.items():
                if atom not in told and self._concerns(atom):
                    told.add(atom)
                    yield (self._dim(Size.of(atom)), self.value(size))
            for symbol, items in runs.items():
                if symbol not in spelled and self._concerns(symbol):
                    spelled.add(symbol)
                    yield (self._dim(Run(symbol)), self.value(items))

    def beside(self, declared: tuple[Shape, ...]) -> Hashable:
        """Return which sizes stand beside one another in what annotations give to parameters.

        An unknown that the call doesn't meet can't be asked about in it.
        """
        found: set[Hashable] = set()
        for fixed, vague, has_size in _together(declared):
            met = [dims.renamed(size, self.placed) for size in vague if self._has_met(size)]
            if met or has_size:
                found.add(fixed.union(met))
        return frozenset(found)

    def _has_met(self, size: Size) -> bool:
        return all(symbol in self.placed for symbol in dims.symbols(size) if _is_vague(symbol))

    def _concerns(self, atom: Atom) -> bool:
        """Whether what is known of an atom is of something met, or that may be met by its name."""
        found = dims.concerned((atom,))
        if self.names_sizes and any(symbol.kind is not Kind.UNKNOWN for symbol in found):
            return True
        return not self.symbols.isdisjoint(found)

    def _dim(self, dim: Item) -> Hashable:
        if isinstance(dim, Size):
            if dim.symbol is not None:
                return self._symbol(dim.symbol)
        elif isinstance(dim, Run):
            return ("run", self._symbol(dim.symbol))
        elif isinstance(dim, int):
            return dim
        found = dims.symbols(dim)
        if not found <= self.symbols:
            for symbol in dims.in_order(found):
                self._symbol(symbol)
        if self.placed.keys().isdisjoint(found):
            return dim
        if isinstance(dim, Composite):
            return ("merged", *map(self._dim, dim.parts))
        terms = self._terms(dim)
        return dims.renamed(dim, self.placed) if terms is None else terms

    def _terms(self, size: Size) -> frozenset[Hashable] | None:
        """Return what tells a size of symbols alone from others; None for another one."""
        placed, terms = self.placed, []
        for monomial, coefficient in size.terms.items():
            powers = []
            for atom, exponent in monomial:
                if not isinstance(atom, Sym):
                    return None
                powers.append((placed.get(atom, atom), exponent))
            terms.append((frozenset(powers), coefficient))
        return frozenset(terms)

    def _symbol(self, symbol: Sym) -> Sym:
        """Return what stands in for a symbol: itself, for names and sizes of the one thing."""
        found = self.placed.get(symbol)
        if found is not None:
            return found
        if symbol in self.symbols:
            return symbol
        self.symbols.add(symbol)
        if symbol.kind is not Kind.UNKNOWN:
            if not symbol.moves:
                return symbol
            found = symbol.following(self._symbol) if symbol.is_derived else symbol.at(self._at)
            if found is not symbol:
                self.placed[symbol] = found
            return found
        found = self.placed[symbol] = self.unknowns[symbol] = _place(len(self.unknowns))
        if not symbol.moves:
            options = symbol.origin.options
            said: Hashable = self.value(options) if options else symbol.origin
        elif symbol.is_derived:
            said = symbol.following(self._symbol).origin
        else:
            said = symbol.origin.at(self._at)
        self.told.append((symbol.name, said))
        return found

    def _at(self, path: Hashable) -> Hashable:
        """Return the path to what stands in for what is at one."""
        return renumbered(path, lambda number: self.ones.setdefault(number, -1 - len(self.ones)))

    def _closure(self, function: Function) -> Hashable:
        """Return what is seen by a function that sees variables around it: these, too."""
        number = self.closures.get(function)
        if number is not None:
            return ("closure", number)
        if _changes_outer(function.node):
            raise Unrecognisable
        if len(self.closures) == _MOST:
            raise Unrecognisable
        self.closures[function] = len(self.closures)
        given = self.value((function.module.name, function.owner, function.defaults))
        around = (self.value(value) for value in function.around())
        return ("closure", function.node, function.manages, given, *around)

    def _number(self, ref: Ref) -> int:
        number = self.numbers.get(ref)
        if number is None:
            number = self.numbers[ref] = len(self.refs)
            self.refs.append(ref)
            if number == _MOST:
                raise Unrecognisable
        return number


@lru_cache(maxsize=256)
def _together(
    declared: tuple[Shape, ...],
) -> tuple[tuple[frozenset[Hashable], tuple[Size, ...], bool], ...]:
    """Return what `Facts.stand_together` may ask of each of several shapes.

    That is the numbers and sizes in it that are the same for every call, the other sizes, and
    whether there are any of the first kind.
    """
    found = []
    for shape in declared:
        sizes = [dim for dim in shape.dims if isinstance(dim, Size)]
        vague = [size for size in sizes if any(map(_is_vague, dims.symbols(size)))]
        fixed = [size for size in sizes if size not in vague]
        numbers = [dim for dim in shape.dims if isinstance(dim, int) and dim != 1]
        if sizes:
            found.append((frozenset[Hashable]((*numbers, *fixed)), tuple(vague), bool(fixed)))
    return tuple(found)


def _is_vague(symbol: Sym) -> bool:
    """Whether another symbol stands in for one where calls are compared."""
    if symbol.kind is Kind.UNKNOWN or not symbol.moves:
        return symbol.kind is Kind.UNKNOWN
    if symbol.is_derived:
        return any(map(_is_vague, symbol.origin.symbols))
    return symbol.at(_elsewhere) is not symbol


def _elsewhere(path: Hashable) -> Hashable:
    return renumbered(path, lambda number: -1)


@kept_by_node(4096)
def _changes_outer(node: ast.AST) -> bool:
    """Whether there is a `nonlocal` in a function."""
    return any(nodes_of(ast.Nonlocal, node))


@lru_cache(maxsize=1024)
def _place(number: int) -> Sym:
    return Sym("_", Kind.UNKNOWN, Met(number))


_OF_KIND: Final[dict[type, Callable[..., Hashable]]] = {
    str: _Looking._itself,
    type(None): _Looking._itself,
    int: _Looking._with_kind,
    bool: _Looking._with_kind,
    float: _Looking._with_kind,
    Size: _Looking._dim,
    Composite: _Looking._dim,
    Run: _Looking._dim,
    Tensor: _Looking._tensor,
    Ref: _Looking._ref,
    Function: _Looking._function,
    Class: _Looking._class,
    Path: _Looking._path,
    OpInstance: _Looking._layer,
}
"""How values are made comparable that aren't only by their parts, which `FORMS` has."""
