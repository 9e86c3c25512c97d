"""Writes values down, so that another process has the same ones when it reads them.

What is written is of JSON's kinds. Functions and classes are told by their names in their modules,
unknowns and what lies on the heap by the order in which they are met: so two values that are alike
are written alike, whatever else a process has met. What can't be told so isn't written.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, Final, TypeAlias

import shapecheck.dims as dims
from shapecheck.analysis.program.model import NOTHING, Class, Dotted, Function, ModuleRef, Value
from shapecheck.analysis.program.modules import Module, Program
from shapecheck.analysis.program.reading import name_in_module
from shapecheck.analysis.values.model import (
    FILES,
    Array,
    Attributes,
    Bound,
    ByName,
    Content,
    Context,
    DictContent,
    Instance,
    Items,
    ListContent,
    Namespace,
    OneOf,
    OpInstance,
    Partial,
    Path,
    Range,
    Ref,
    Shaped,
    Super,
    Table,
)
from shapecheck.analysis.values.paths import NUMBERS, AmongSeveral
from shapecheck.dims import HERE, Composite, Extreme, FloorDiv, Kind, Origin, Power, Size, Sym
from shapecheck.dims.algebra import canonical, joined
from shapecheck.dims.origins import LoopHead, NamesOf
from shapecheck.ops import UNKNOWN, DType, Fields, Packed, Repeated, Scalar, Sizes
from shapecheck.shapes import Facts, Free, Run, Shape, Tensor, symbols_of

Written: TypeAlias = Any
"""What JSON has: a list that begins with a tag, or a text, a number, True, False or None."""

_PLAIN: Final = frozenset((str, int, bool, type(None)))
_DEPTH: Final = 64
"""So deep may values be nested that are written."""
_MOST: Final = 1 << 9
"""Of so many parts may be what is written by one writer: it is to cost little."""


class Unwritable(Exception):
    """A value that another process can't be told of."""


def _origins(above: type[Origin]) -> Iterable[type]:
    for one in above.__subclasses__():
        if _is_in_its_module(one):
            yield one
            yield from _origins(one)


def _is_in_its_module(one: Any) -> bool:
    """Whether a class isn't what a dataclass with slots was made of, and isn't collected yet."""
    return getattr(sys.modules[one.__module__], one.__name__, None) is one


_BY_FIELDS: Final[dict[str, Callable[..., Any]]] = {
    f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}": kind
    for kind in (
        *(Array, Attributes, Bound, ByName, Context, DictContent, Instance, Items, ListContent),
        *(Namespace, OneOf, Partial, Path, Range, Shaped, Super, Table),
        *(Dotted, ModuleRef, DType, Packed, Repeated, Scalar),
        *(Composite, Extreme, FloorDiv, Power, Free, Run, Shape),
        *_origins(Origin),
    )
}
"""What is made of its fields alone, by the names under which it is written."""

_NAMES: Final = {kind: name for name, kind in _BY_FIELDS.items()}
_THE_ONLY: Final[dict[str, object]] = {
    "unknown": UNKNOWN,
    "nothing": NOTHING,
    "files": FILES,
    "here": HERE,
    "...": ...,
}
_NAMES_OF_ONLY: Final = {id(value): name for name, value in _THE_ONLY.items()}


class Writer:
    """Writes values one after the other; what was met in one is known in the next."""

    def __init__(self) -> None:
        self._symbols: dict[Sym, int] = {}
        self._refs: dict[Ref, int] = {}
        self._ones: dict[object, int] = {}
        self._met: list[Ref] = []
        self._held = 0
        self._depth, self._left = 0, _MOST

    def value(self, value: object) -> Written:
        """Write a value, or what is in one; raises `Unwritable`."""
        kind = type(value)
        if kind in _PLAIN:
            return value
        write = _WRITES.get(kind)
        if write is None:
            only = _NAMES_OF_ONLY.get(id(value))
            if only is not None:
                return [only]
            if kind not in _NAMES:
                raise Unwritable(kind.__name__)
            write = Writer._by_fields
        self._depth += 1
        self._left -= 1
        if self._depth > _DEPTH or not self._left:
            raise Unwritable("too much")
        found = write(self, value)
        self._depth -= 1
        return found

    def heap(self, heap: Mapping[Ref, Content]) -> Written:
        """Write what lies on the heap of all that was met so far, and of what is met in that."""
        found: list[Written] = []
        for ref in self._met:  # while they are gone through, there come to be more
            if ref not in heap and ref.origin is not None:
                raise Unwritable("what a module has made")
            found.append(self.value(heap.get(ref)))
        self._held = len(found)
        return found

    def changes(self, before: Mapping[Ref, Content], after: Mapping[Ref, Content]) -> Written:
        """Write what has changed on the heap, of all that was met so far and is met in that.

        What was met since the heap was written, and lies on neither, has no content there.
        """
        found: list[Written] = []
        for at, ref in enumerate(self._met):
            if ref in after:
                new, old = after[ref], before.get(ref)
                written = self.value(new)
                # To Python 1 and True are equal.
                is_new = at >= self._held or new != old
                if is_new or repr(written) != repr(self.value(old)):
                    found.append([at, written])
            elif at >= self._held:
                found.append([at])
        return found

    def facts(self, facts: Facts) -> Written:
        """Write what is known of sizes."""
        return [
            [[self.value(atom), self.value(size)] for atom, size in facts.atoms.items()],
            [[self.value(symbol), self.value(items)] for symbol, items in facts.runs.items()],
            facts.under_unknown_condition,
            self.value(facts.declared),
            facts.autocast,
            self.value(facts.told_apart),
            self.value(facts.around),
        ]

    def _by_fields(self, value: Any) -> Written:
        fields = [self.value(getattr(value, name)) for name in value.__match_args__]
        return [_NAMES[type(value)], *fields]

    def _tensor(self, value: Tensor) -> Written:
        items = [self.value(item) for item in value.shape.dims]
        about = (value.inserted, value.free, value.more, value.blank, value.called)
        if about == _PLAIN_TENSOR:
            return ["tensor", value.dtype, items]
        return ["tensor", value.dtype, items, *map(self.value, about)]

    def _several(self, value: Iterable[object]) -> Written:
        return [_SEVERAL[type(value)], *map(self.value, value)]

    def _fields(self, value: Fields) -> Written:
        return ["fields", [*value.names], *map(self.value, value)]

    def _set(self, value: frozenset[object]) -> Written:
        new = self._new(_symbols_in(value))
        return ["set", new, *sorted(map(self.value, value), key=repr)]

    def _new(self, symbols: Iterable[Sym]) -> Written:
        """Meet symbols in what has no order, in one that is the same in every process."""
        return [self._symbol(one) for one in dims.in_order({*symbols} - self._symbols.keys())]

    def _dict(self, value: dict[object, object]) -> Written:
        return ["dict", *([self.value(key), self.value(held)] for key, held in value.items())]

    def _slice(self, value: slice) -> Written:
        return ["slice", *map(self.value, (value.start, value.stop, value.step))]

    def _number(self, value: float | complex | Fraction) -> Written:
        return [type(value).__name__, str(value)]

    def _bytes(self, value: bytes) -> Written:
        return ["bytes", value.hex()]

    def _symbol(self, value: Sym) -> Written:
        number = self._symbols.get(value)
        if number is not None:
            return ["s", number]
        parts = (value.name, int(value.kind), self.value(value.origin), value.size)
        self._symbols[value] = len(self._symbols)
        return ["symbol", value.is_distinct, *parts]

    def _size(self, value: Size) -> Written:
        if value.symbol is not None:
            return ["size", self._symbol(value.symbol)]
        new = self._new(dims.symbols(value))
        if value.layout:
            return ["joined", new, *map(self.value, value.layout)]
        terms = []
        for monomial, coefficient in value.terms.items():
            powers = [[self.value(atom), exponent] for atom, exponent in monomial]
            terms.append([self.value(coefficient), *sorted(powers, key=repr)])
        return ["sum", new, *sorted(terms, key=repr)]

    def _ref(self, value: Ref) -> Written:
        if value is FILES:
            return ["files"]
        number = self._refs.get(value)
        if number is None:
            number = self._refs[value] = len(self._met)
            self._met.append(value)
        return ["at", number]

    def _one(self, value: object) -> int:
        """Return what stands for something that has its number in one process alone."""
        return self._ones.setdefault(value, len(self._ones))

    def _among(self, value: AmongSeveral) -> Written:
        return ["one", value.path, self._one(value.number), value.rest]

    def _names(self, value: NamesOf) -> Written:
        path = value.path
        if isinstance(path, str) and path.isdecimal():
            return ["names", self._one(path), value.of]
        return self._by_fields(value)

    def _head(self, value: LoopHead) -> Written:
        return ["head", self._one(value)]

    def _function(self, value: Function) -> Written:
        name = None if value.home is not None else name_in_module(value.node)
        if name is None:
            raise Unwritable("a function that sees variables, or has no name")
        owner = self.value(value.owner)
        return [
            "function",
            value.module.name,
            name,
            owner,
            self.value(value.defaults),
            value.manages,
        ]

    def _class(self, value: Class) -> Written:
        name = None if value.home is not None else name_in_module(value.node)
        if name is None:
            raise Unwritable("a class that sees variables")
        return ["class", value.module.name, name]

    def _layer(self, value: OpInstance) -> Written:
        return ["layer", value.cls.name, self.value({**value.attrs})]


def _symbols_in(values: Iterable[object]) -> set[Sym]:
    """Return the symbols in names, sizes, rows of dimensions, and sets of these."""
    found: set[Sym] = set()
    for one in values:
        match one:
            case Sym():
                found.add(one)
            case int() | Size() | Composite() | Run():
                found |= symbols_of(one)
            case frozenset():
                found |= _symbols_in(one)
            case str():
                pass
            case _:
                raise Unwritable(f"a set of {type(one).__name__}")
    return found


_PLAIN_TENSOR: Final = (False, (), False, False, ())
_SEVERAL: Final[dict[type, str]] = {tuple: "tuple", list: "list", Sizes: "sizes"}
_WRITES: Final[dict[type, Callable[[Writer, Any], Written]]] = {
    tuple: Writer._several,
    list: Writer._several,
    Sizes: Writer._several,
    Fields: Writer._fields,
    Tensor: Writer._tensor,
    frozenset: Writer._set,
    dict: Writer._dict,
    slice: Writer._slice,
    float: Writer._number,
    complex: Writer._number,
    Fraction: Writer._number,
    bytes: Writer._bytes,
    Sym: Writer._symbol,
    Size: Writer._size,
    Ref: Writer._ref,
    AmongSeveral: Writer._among,
    NamesOf: Writer._names,
    LoopHead: Writer._head,
    Function: Writer._function,
    Class: Writer._class,
    OpInstance: Writer._layer,
}


class Reader:
    """Reads what was written, in the order in which it was; raises ValueError for anything else.

    What was written behind what a writer `has_written` is of the same things as that is.
    """

    def __init__(self, program: Program, has_written: Writer | None = None) -> None:
        self._program = program
        self._symbols: list[Sym] = []
        self._refs: list[Ref] = []
        self._ones: dict[int, object] = {}
        if has_written is not None:
            self._symbols += has_written._symbols
            self._refs += has_written._met
            self._ones.update((number, one) for one, number in has_written._ones.items())

    def value(self, written: Written) -> Any:
        """Read a value, or what is in one."""
        if not isinstance(written, list):
            if type(written) not in _PLAIN:
                raise ValueError("not a value")
            return written
        try:
            tag, *parts = written
            if tag in _THE_ONLY:
                return _THE_ONLY[tag]
            read = _READS.get(tag)
            if read is not None:
                return read(self, *parts)
            return _BY_FIELDS[tag](*map(self.value, parts))
        except (TypeError, LookupError, AttributeError) as error:
            raise ValueError(f"not a value: {error}") from error

    def heap(self, written: list[Written]) -> dict[Ref, Content]:
        """Read what lies on the heap."""
        contents = [self.value(one) for one in written]
        return dict(zip(self._refs, contents, strict=True))

    def changes(self, written: list[Written]) -> dict[Ref, Content]:
        """Read what has changed on the heap; raises ValueError for what lies on none, too."""
        found: dict[Ref, Content] = {}
        for at, *contents in written:
            if len(contents) != 1:
                raise ValueError("nothing is told of something")
            found[self._refs[at]] = self.value(contents[0])
        return found

    def facts(self, written: list[Written]) -> Facts:
        """Read what is known of sizes."""
        atoms, runs, under, declared, autocast, told_apart, around = written
        known = {self.value(atom): self.value(size) for atom, size in atoms}
        spelled = {self.value(symbol): self.value(items) for symbol, items in runs}
        facts = Facts(known, spelled, bool(under), self.value(declared), int(autocast))
        facts.told_apart, facts.around = self.value(told_apart), self.value(around)
        return facts

    def module(self, name: str) -> Module:
        """Return a module of the program."""
        found = self._program.module(name)
        if found is None:
            raise ValueError(f"no module {name}")
        return found

    def _tuple(self, *items: Written) -> Value:
        return tuple(map(self.value, items))

    def _list(self, *items: Written) -> Value:
        return [*map(self.value, items)]

    def _sizes(self, *items: Written) -> Value:
        return Sizes(map(self.value, items))

    def _fields(self, names: list[str], *items: Written) -> Value:
        return Fields.of((*names,), map(self.value, items))

    def _tensor(self, dtype: int, items: list[Written], *about: Written) -> Tensor:
        shape = Shape(tuple(map(self.value, items)))
        inserted, free, more, blank, called = map(self.value, about) if about else _PLAIN_TENSOR
        return Tensor(shape, dtype, inserted, free, more, blank, called)

    def _set(self, new: list[Written], *items: Written) -> frozenset[Any]:
        self._meet(new)
        return frozenset(map(self.value, items))

    def _dict(self, *items: Written) -> Any:
        return {self.value(key): self.value(held) for key, held in items}

    def _slice(self, *items: Written) -> Value:
        return slice(*map(self.value, items))

    def _symbol(self, is_distinct: bool, name: str, kind: int, origin: Written, size: Any) -> Sym:
        make = Sym.distinct if is_distinct else Sym
        found = make(str(name), Kind(kind), self.value(origin), size)
        self._symbols.append(found)
        return found

    def _size(self, symbol: Written) -> Size:
        return Size.of(self.value(symbol))

    def _meet(self, new: list[Written]) -> None:
        """Read symbols that are referred to by their numbers from now on."""
        for one in new:
            self.value(one)

    def _sum(self, new: list[Written], *terms: Written) -> Value:
        self._meet(new)
        found = {
            frozenset((self.value(atom), int(exponent)) for atom, exponent in powers): self.value(
                by
            )
            for by, *powers in terms
        }
        return canonical(found)

    def _joined(self, new: list[Written], *layout: Written) -> Value:
        self._meet(new)
        return joined(tuple(map(self.value, layout)))

    def _ref(self, number: int) -> Ref:
        if number == len(self._refs):
            self._refs.append(Ref())
        return self._refs[number]

    def _one(self, number: int, make: Callable[[], Any]) -> Any:
        """Return what stands in this process for what was another one."""
        if number not in self._ones:
            self._ones[number] = make()
        return self._ones[number]

    def _among(self, path: str, number: int, rest: str) -> AmongSeveral:
        return AmongSeveral(path, self._one(number, NUMBERS.another), rest)

    def _names(self, number: int, of: Any) -> NamesOf:
        return NamesOf(self._one(number, lambda: str(Ref().serial)), of)

    def _head(self, number: int) -> LoopHead:
        found: LoopHead = self._one(number, lambda: LoopHead("written", NUMBERS.another()))
        return found

    def _function(
        self, module: str, name: str, owner: Written, defaults: Written, manages: bool
    ) -> Function:
        home = self.module(module)
        node: Any = home.syntax.definition(name)
        cls = self.value(owner)
        return Function(node, home, cls, None, self.value(defaults), bool(manages))

    def _class(self, module: str, name: str) -> Class:
        home = self.module(module)
        node: Any = home.syntax.definition(name)
        return Class(node, home)

    def _layer(self, name: str, attrs: Written) -> OpInstance:
        cls = self._program.table.lookup_class(name)
        if cls is None:
            raise ValueError(f"no class {name}")
        return OpInstance(cls, self.value(attrs))


_READS: Final[dict[str, Callable[..., Any]]] = {
    "tuple": Reader._tuple,
    "list": Reader._list,
    "sizes": Reader._sizes,
    "fields": Reader._fields,
    "tensor": Reader._tensor,
    "set": Reader._set,
    "dict": Reader._dict,
    "slice": Reader._slice,
    "float": lambda reader, text: float(text),
    "complex": lambda reader, text: complex(text),
    "Fraction": lambda reader, text: Fraction(text),
    "bytes": lambda reader, text: bytes.fromhex(text),
    "s": lambda reader, number: reader._symbols[number],
    "symbol": Reader._symbol,
    "size": Reader._size,
    "sum": Reader._sum,
    "joined": Reader._joined,
    "at": Reader._ref,
    "one": Reader._among,
    "names": Reader._names,
    "head": Reader._head,
    "function": Reader._function,
    "class": Reader._class,
    "layer": Reader._layer,
}
