"""What can be reached from values through the heap, and values with something put in its place."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import shapecheck.dims as dims
from shapecheck.analysis.values import (
    Bound,
    Class,
    Content,
    Context,
    Dict,
    Function,
    Items,
    Object,
    OpInstance,
    Partial,
    Path,
    Ref,
    Sequence,
    Super,
    Union,
)
from shapecheck.dims import Atom, Composite, IntSize, Kind, Size, Sym
from shapecheck.ops import Value
from shapecheck.shapes import Facts, Run, Shape, Tensor

_MOST: Final = 64
"""As many things on the heap may a call see that is to be recognised."""


def inside(content: Content) -> tuple[Value, ...]:
    """Return the values in content."""
    if isinstance(content, Object):
        return (*content.attrs.values(), content.like)
    if isinstance(content, Dict):
        held = content.known if content.items is None else content.items
        return (*held.values(), content.element, content.default)
    if isinstance(content, Sequence):
        return (content.element,) if content.items is None else content.items
    return ()


def changed(content: Content, change: Callable[[Value], Value]) -> Content:
    """Return content with something else in the place of each value in it."""
    if isinstance(content, Object):
        attrs = {name: change(v) for name, v in content.attrs.items()}
        return replace(content, attrs=attrs, like=change(content.like))
    if isinstance(content, Sequence):
        items = None if content.items is None else tuple(map(change, content.items))
        count = None if content.count is None else change(content.count)
        return replace(content, items=items, element=change(content.element), count=count)
    if isinstance(content, Dict):
        held = content.items
        return replace(
            content,
            items=None if held is None else {key: change(value) for key, value in held.items()},
            element=change(content.element),
            known={key: change(value) for key, value in content.known.items()},
            default=change(content.default),
        )
    return content


def reachable(values: Iterable[Value], heap: Mapping[Ref, Content]) -> Iterator[Ref]:
    """Yield what can be reached from values and is on a heap, each once."""
    seen: set[Ref | Function] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if kind is Ref:
            if value in heap and value not in seen:
                seen.add(value)
                yield value
                waiting += inside(heap[value])
        elif kind is Function and value not in seen:
            seen.add(value)
            waiting += value.captured()
        else:
            waiting += _held(value) or ()


def _held(value: Value) -> Iterable[Value] | None:
    """Return the values that a value holds by itself, without the heap; None if it has no parts."""
    kind = type(value)
    if kind is tuple or kind is list:
        held: Iterable[Value] = value
    elif kind is Union:
        held = value.options
    elif kind is Bound or kind is Super:
        held = (value.receiver,)
    elif kind is Partial:
        held = (value.function, *value.args, *(given for _, given in value.kwargs))
    elif kind is Items:
        held = (*(value.items or ()), value.element, value.count, value.first)
    elif kind is Context:
        held = (value.value,)
    elif kind is OpInstance:
        held = value.attrs.values()
    else:
        return None
    return held


class Moving:
    """Puts other things on the heap, and other symbols, in the place of those in a value."""

    def __init__(self, places: Mapping[Ref, Ref]) -> None:
        self.places = places

    def symbol(self, symbol: Sym) -> Sym:
        """Return the symbol of a size that stands for another one."""
        return symbol

    def run(self, symbol: Sym) -> Sym:
        """Return the symbol that stands for that of a run."""
        return self.symbol(symbol)

    def value(self, value: Value) -> Value:
        """Return a value with all in it replaced."""
        kind = type(value)
        if kind is Ref:
            return self.places.get(value, value)
        if kind is Size:
            moved = {symbol: self.symbol(symbol) for symbol in dims.symbols(value)}
            other: dict[Atom, IntSize] = {
                old: Size.of(new) for old, new in moved.items() if old is not new
            }
            return dims.substitute(value, other) if other else value
        if kind is Composite:
            return dims.merge(map(self.value, value.parts))
        if kind is Run:
            symbol = self.run(value.symbol)
            return value if symbol is value.symbol else Run(symbol)
        if kind is Tensor:
            items = self.value(value.shape.dims)
            return value if items == value.shape.dims else replace(value, shape=Shape(items))
        if kind is tuple or kind is list:
            return kind(map(self.value, value))
        if kind is Union:
            return Union(self.value(value.options))
        if kind is Bound or kind is Super:
            return replace(value, receiver=self.value(value.receiver))
        if kind is Partial:
            kwargs = tuple((name, self.value(given)) for name, given in value.kwargs)
            return Partial(self.value(value.function), self.value(value.args), kwargs)
        if kind is Items:
            shown = (value.items, value.element, value.count, value.first)
            return Items(*map(self.value, shown))
        if kind is Context:
            return Context(self.value(value.value), value.swallows)
        if kind is OpInstance:
            made = OpInstance(value.cls, {n: self.value(v) for n, v in value.attrs.items()})
            return value if made == value else made  # results are remembered by identity
        return value

    def content(self, content: Content) -> Content:
        """Return content with all in it replaced."""
        return changed(content, self.value)


class Renewing(Moving):
    """Puts new unknowns in the place of those that `keeps` doesn't say to keep."""

    def __init__(self, places: Mapping[Ref, Ref], keeps: Callable[[Sym], bool]) -> None:
        super().__init__(places)
        self._keeps = keeps
        self._made: dict[Sym, Sym] = {}

    def symbol(self, symbol: Sym) -> Sym:
        """Return the same new unknown for the same one; what is derived from it follows."""
        if symbol.kind is not Kind.UNKNOWN:
            return symbol
        made = self._made.get(symbol)
        if made is None:
            if symbol.is_derived:
                made = symbol.following(self.symbol)
            else:
                made = symbol if self._keeps(symbol) else symbol.again()
            self._made[symbol] = made
        return made


def parts(value: Value) -> Iterator[Value]:
    """Yield what a value is made of, down to what has no parts; the heap isn't looked at."""
    held = value.shape.dims if type(value) is Tensor else _held(value)
    if held is None:
        yield value
    else:
        for one in held:
            yield from parts(one)


def encloses(value: Value) -> bool:
    """Whether there is a function or class in a value that sees variables around it."""
    return any(
        isinstance(part, (Function, Class)) and part.home is not None for part in parts(value)
    )


def unknowns(value: Value) -> Iterator[Sym]:
    """Yield the symbols in a value of which nothing is known."""
    for part in parts(value):
        kind = type(part)
        if kind is Run:
            found: Iterable[Sym] = (part.symbol,)
        elif kind is Size or kind is Composite:
            found = dims.symbols(part)
        else:
            continue
        yield from (symbol for symbol in found if symbol.kind is Kind.UNKNOWN)


class Unrecognisable(Exception):
    """A value whose meaning can't be told from its parts: a closure, or too much of it."""


@dataclass(frozen=True, slots=True)
class View:
    """What a call sees: two calls with equal keys give the same.

    `refs` are the things on the heap that it can reach, in the order in which they are met;
    `symbols` are in what it sees.
    """

    key: Hashable
    refs: tuple[Ref, ...]
    symbols: frozenset[Sym]


def view(values: Mapping[str, Value], heap: Mapping[Ref, Content], facts: Facts) -> View | None:
    """Return what a call with these arguments sees; None where that can't be told."""
    looking = _Looking()
    try:
        given = [(name, looking.value(value)) for name, value in values.items()]
        # While they are gone through, there come to be more.
        held = [looking.content(heap.get(ref, ref.origin)) for ref in looking.refs]
        key = (*given, *held, *looking.known(facts))
        hash(key)
    except (Unrecognisable, TypeError):
        return None
    return View(key, tuple(looking.refs), frozenset(looking.symbols))


class _Looking:
    """Makes values comparable, what they refer to on the heap by the order in which it is met."""

    def __init__(self) -> None:
        self.refs: list[Ref] = []
        self.numbers: dict[Ref, int] = {}
        self.symbols: set[Sym] = set()
        self.names_sizes = False
        """Whether sizes may come into being here that are known by a name."""

    def value(self, value: Value) -> Hashable:
        kind = type(value)
        if kind is int or kind is str or value is None:
            return (kind, value) if kind is int else value
        if kind is bool or kind is float:
            return (kind, value)
        if kind is tuple or kind is list:
            return (kind, *map(self.value, value))
        if kind is Ref:
            return (kind, self._number(value))
        if kind is Size or kind is Composite:
            self.symbols |= dims.symbols(value)
        elif kind is Tensor:
            self._items(value.shape.dims)
        elif kind is Union:
            return ("one of", *map(self.value, value.options))
        elif kind is Bound:
            return (kind, self.value(value.receiver), value.name, self.value(value.function))
        elif kind is Super:
            return (kind, self.value(value.owner), self.value(value.receiver))
        elif kind is Function or kind is Class:
            if value.home is not None:
                raise Unrecognisable
            manages = getattr(value, "manages", False)
            return ("defined", value.node, manages, self.value(getattr(value, "defaults", ())))
        elif kind is Partial:
            named = [(name, self.value(given)) for name, given in value.kwargs]
            return ("partial", self.value(value.function), self.value(value.args), *named)
        elif kind is OpInstance:
            attrs = [(name, self.value(given)) for name, given in value.attrs.items()]
            return (value.cls.name, *attrs)
        elif kind is slice:
            return (kind, *map(self.value, (value.start, value.stop, value.step)))
        elif kind is Items:
            shown = (value.items, value.element, value.count, value.first)
            return (kind, *map(self.value, shown))
        elif kind is Context:
            return (kind, self.value(value.value), value.swallows)
        elif kind is Path:
            self.names_sizes = True
        hashable: Hashable = value
        return (kind, hashable)

    def content(self, content: Content) -> Hashable:
        if isinstance(content, Object):
            self.names_sizes |= content.path is not None
            attrs = [(name, self.value(value)) for name, value in content.attrs.items()]
            return (self.value(content.cls), content.path, self.value(content.like), *attrs)
        if isinstance(content, Sequence):
            items = self.value(content.items)
            about = (content.element, content.kind, content.count, content.names, content.blank)
            return (items, *map(self.value, about))
        if isinstance(content, Dict):
            held = None if content.items is None else tuple(content.items.items())
            rest = (content.element, tuple(content.known.items()), content.default)
            return (content.kind, content.blank, self.value(held), *map(self.value, rest))
        return None

    def known(self, facts: Facts) -> Iterator[Hashable]:
        """Yield what is known of the sizes that were met."""
        if self.names_sizes:
            yield frozenset(facts.atoms.items())
            yield frozenset(facts.runs.items())
            yield facts.declared
            return
        if not self.symbols:
            return
        told: set[tuple[Atom | Sym, Hashable]] = set()
        before = -1
        while len(told) > before:
            before = len(told)
            for atom, size in facts.atoms.items():
                if not self.symbols.isdisjoint(dims.symbols(Size.of(atom))):
                    self.symbols |= dims.symbols(size)
                    told.add((atom, size))
            for symbol, items in facts.runs.items():
                if symbol in self.symbols:
                    self._items(items)
                    told.add((symbol, items))
        yield frozenset(told)
        yield facts.declared

    def _number(self, ref: Ref) -> int:
        number = self.numbers.get(ref)
        if number is None:
            number = self.numbers[ref] = len(self.refs)
            self.refs.append(ref)
            if number == _MOST:
                raise Unrecognisable
        return number

    def _items(self, items: tuple[object, ...]) -> None:
        for item in items:
            if isinstance(item, Run):
                self.symbols.add(item.symbol)
            elif not isinstance(item, int):
                self.symbols |= dims.symbols(item)  # type: ignore[arg-type]  # no run
