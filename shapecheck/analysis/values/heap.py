"""What can be reached from values through the heap, and values with something put in its place."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import shapecheck.dims as dims
from shapecheck.analysis.program.model import Class, Function, Value
from shapecheck.analysis.values.model import Content, OpInstance, Path, Ref
from shapecheck.analysis.values.parts import FORMS, Form, lasting, parts
from shapecheck.analysis.values.paths import NUMBERS, renumbered
from shapecheck.dims import Composite, DimExpr, IntSize, Kind, Size, Sym
from shapecheck.shapes import Item, Run, Shape, Tensor


def inside(content: Content) -> Sequence[Value]:
    """Return the values in content, none where nothing is known of it."""
    return () if content is None else content.values


def reachable(
    values: Iterable[Value], heap: Mapping[Ref, Content], but: Iterable[Ref] = ()
) -> Iterator[Ref]:
    """Yield what can be reached from values and is on a heap, each once; nothing through `but`."""
    seen: set[Ref | Function] = {*but}
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        form = FORMS.get(type(value))
        if form is not None:
            is_closed = isinstance(value, OpInstance) and lasting(value) is not None
            if not is_closed and not isinstance(value, Tensor):
                waiting += form.parts(value)
        elif isinstance(value, Ref):
            if value in heap and value not in seen:
                seen.add(value)
                yield value
                waiting += inside(heap[value])
        elif isinstance(value, Function) and value not in seen:
            seen.add(value)
            waiting += value.captured()


class Moving:
    """Puts other things on the heap, closures and symbols in the place of those in a value."""

    def __init__(self, places: Mapping[Value, Value]) -> None:
        self.places = places

    def symbol(self, symbol: Sym) -> Sym:
        """Return the symbol of a size that stands for another one."""
        return symbol

    def run(self, symbol: Sym) -> Sym:
        """Return the symbol that stands for that of a run."""
        return self.symbol(symbol)

    def number(self, number: int) -> int:
        """Return the number of the one of several alike that stands for another of them."""
        return number

    def at(self, path: Hashable) -> Hashable:
        """Return the path to what stands for what another leads to."""
        return renumbered(path, self.number)

    def value(self, value: Value) -> Value:
        """Return a value with all in it replaced; the same object where nothing is."""
        kind = type(value)
        of_its_kind = _OF_KIND.get(kind)
        if of_its_kind is not None:
            return of_its_kind(self, value)
        form = FORMS.get(kind)
        return value if form is None else self._by_parts(value, form)

    def _by_parts(self, value: Value, form: Form) -> Value:
        old = form.parts(value)
        new = [self.value(part) for part in old]
        for one, other in zip(old, new, strict=True):
            if one is not other:
                return form.made(value, new)
        return value

    def layer(self, layer: OpInstance) -> Value:
        """Return a layer with all in it replaced."""
        return self._by_parts(layer, FORMS[OpInstance])

    def size(self, size: IntSize) -> IntSize:
        """Return a size with its symbols replaced."""
        return size if isinstance(size, int) else dims.size_of(self._dim(size))

    def symbolic(self, size: Size) -> Size:
        """Return a size that is one atom with that replaced, which is one again."""
        found = self.size(size)
        return size if isinstance(found, int) else found

    def items(self, items: Iterable[Item]) -> tuple[Item, ...]:
        """Return the dimensions of a shape with their symbols replaced."""
        found: list[Item] = []
        for item in items:
            if isinstance(item, int):
                found.append(item)
            else:
                found.append(self.replaced(item) if isinstance(item, Run) else self._dim(item))
        return tuple(found)

    def tensor(self, tensor: Tensor) -> Tensor:
        """Return a tensor with the symbols in it replaced."""
        if tensor.free:
            found = self._by_parts(tensor, FORMS[Tensor])
            assert isinstance(found, Tensor)
            return found
        before = tensor.shape.dims
        after = self.items(before)
        for one, other in zip(before, after, strict=True):
            if one is not other:
                return tensor.with_shape(Shape(after))
        return tensor

    def _placed(self, value: Ref | Function) -> Value:
        return self.places.get(value, value)

    def replaced(self, run: Run) -> Run:
        """Return a run with its symbol replaced."""
        symbol = self.run(run.symbol)
        return run if symbol is run.symbol else Run(symbol)

    def _path(self, path: Path) -> Path:
        moved = renumbered(path.text, self.number)
        return path if moved is path.text else path.at(moved)

    def _dim(self, dim: Size | Composite) -> DimExpr:
        symbol = dim.symbol if isinstance(dim, Size) else None
        if symbol is not None:
            new = self.symbol(symbol)
            return dim if new is symbol else Size.of(new)
        moved = {symbol: self.symbol(symbol) for symbol in dims.in_order(dims.symbols(dim))}
        others = {old: new for old, new in moved.items() if old is not new}
        return dims.renamed(dim, others) if others else dim

    def content(self, content: Content) -> Content:
        """Return content with all in it replaced."""
        return None if content is None else content.changed(self.value)


_OF_KIND: Final[dict[type, Callable[..., Value]]] = {
    Ref: Moving._placed,
    Function: Moving._placed,
    Size: Moving._dim,
    Composite: Moving._dim,
    Run: Moving.replaced,
    Tensor: lambda moving, tensor: moving.tensor(tensor),
    Path: Moving._path,
    OpInstance: lambda moving, layer: moving.layer(layer),
}
"""What is put in the place of values that aren't by their parts, which `FORMS` has."""


class Renewing(Moving):
    """Puts new unknowns in the place of those that `keeps` doesn't say to keep.

    `made` says what is put in the place of some, and `ones` which of several alike stands where
    another one stood; without it each is itself.
    """

    def __init__(
        self,
        places: Mapping[Value, Value],
        keeps: Callable[[Sym], bool],
        made: Iterable[tuple[Sym, Sym]] = (),
        ones: Mapping[int, int] | None = None,
    ) -> None:
        super().__init__(places)
        self._keeps = keeps
        self._made = dict(made)
        self._ones = None if ones is None else dict(ones)

    def layer(self, layer: OpInstance) -> Value:
        """Return a layer with all in it replaced: itself where it is the same elsewhere."""
        return super().layer(layer) if lasting(layer) is None else layer

    def number(self, number: int) -> int:
        """Return the number of what stands where this one of several stood, a new one each."""
        if self._ones is None:
            return number
        found = self._ones.get(number)
        if found is None:
            found = self._ones[number] = NUMBERS.another()
        return found

    def symbol(self, symbol: Sym) -> Sym:
        """Return the same new unknown for the same one; what is derived from it follows."""
        if symbol.kind is not Kind.UNKNOWN and not symbol.moves:
            return symbol
        made = self._made.get(symbol)
        if made is None:
            made = self._made[symbol] = self._renewed(symbol)
        return made

    def _renewed(self, symbol: Sym) -> Sym:
        if symbol.is_derived:
            return symbol.following(self.symbol)
        placed = symbol.at(self.at) if symbol.moves else symbol
        if placed is not symbol or symbol.kind is not Kind.UNKNOWN or self._keeps(symbol):
            return placed
        options = symbol.options
        if options:
            return Sym.one_of(symbol.name, tuple(map(self.value, options)))
        return symbol.again()


def enclosing(value: Value) -> Iterator[Function | Class]:
    """Yield the functions and classes in a value that see variables around them."""
    for part in parts(value):
        if isinstance(part, (Function, Class)) and part.home is not None:
            yield part


def unknowns(value: Value) -> list[Sym]:
    """Return the symbols in a value of which nothing is known."""
    found: list[Sym] = []
    waiting = [value]
    while waiting:
        part = waiting.pop()
        form = FORMS.get(type(part))
        symbol = part.symbol if isinstance(part, (Run, Size)) else None
        if form is not None:
            if not isinstance(part, OpInstance) or lasting(part) is None:
                waiting += reversed(form.parts(part))
        elif symbol is not None:
            if symbol.kind is Kind.UNKNOWN:
                found.append(symbol)
        elif isinstance(part, (Size, Composite)):
            every = dims.in_order(dims.symbols(part))
            found += [symbol for symbol in every if symbol.kind is Kind.UNKNOWN]
    return found
