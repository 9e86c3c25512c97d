"""From what the analysis knows of a function to the annotations that a person would write.

The dimensions that the analysis met get the names that the code has for them: `b, t, c = x.shape`,
`{self.n_head}`; what has none gets the name that is common at its place.
"""

from __future__ import annotations

import functools
import operator
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from string import digits
from typing import Any, Final

import shapecheck.dims as dims
from shapecheck import dtypes, spec
from shapecheck.analysis.study.model import ListOf, Study
from shapecheck.analysis.values.model import OneOf
from shapecheck.codemod.write.annotation_types import (
    KEPT,
    NONE,
    ListType,
    TensorType,
    TupleType,
    Type,
    either,
    keeps,
)
from shapecheck.dims import DimExpr, IntSize, Kind, Size, Sym, size_of, symbol_of
from shapecheck.dims.origins import ChosenToFit
from shapecheck.ops import UNKNOWN, Value
from shapecheck.shapes import Run, Shape, Tensor, has_run

USUAL: Final[Mapping[int, Sequence[str]]] = {
    1: ("n",),
    2: ("b", "d"),
    3: ("b", "t", "d"),
    4: ("b", "c", "h", "w"),
    5: ("b", "c", "t", "h", "w"),
}
"""What people call the axes of a tensor of so many where the code has no names for them."""

_OF_TOKENS: Final = ("b", "t")
"""What they call those of two axes of whole numbers."""

_OF_ATTENTION: Final = ("b", "h", "t", "d")
"""What they call four axes in a function that is given queries."""

_QUERIES: Final = frozenset({"q", "query", "queries"})


FRONT: Final = "batch"
REST: Final = "rest"
"""What a row of axes is called that a tensor begins with, and one that stands behind others."""


_SIDES: Final = ("", *"hwxy")
"""What the names of an image's sides begin with."""


_ANY: Final = spec.Group(None)

_MOST_OFTEN: Final = 3
"""What has so many axes is seldom combined with what has more."""

_OPERATOR: Final = re.compile(r"\*\*|//|[-+*]|\b(?:min|max)\(")
_READABLE: Final = 4
"""What is computed with more operators says nothing to a reader."""


class Names:
    """The names of the dimensions of one function, given out as they are met.

    `sizes` are expressions by the sizes that they have, `hints` names by symbols. Where `known`
    isn't None, a dimension without a name that isn't among these symbols stays without one. `whole`
    is the group that others broadcast to. `code` are the identifiers of the module: what is called
    otherwise has its name from an op's signature. `own` are the variables of the function that are
    bound once, and `taken` the names that its annotations have already. `apart`: what other
    functions call the same is two dimensions. The function `attends` where it is given queries.
    """

    def __init__(
        self,
        sizes: Mapping[IntSize, str],
        hints: Mapping[Sym, str] | None = None,
        code: Collection[str] | None = None,
        own: Collection[str] = (),
        taken: Collection[str] = (),
        apart: bool = False,
    ) -> None:
        self.sizes = {dims.whole(size): text for size, text in sizes.items()}
        self.code, self.own, self.apart = code, own, apart
        self.hints = dict(hints or {})
        self.given: dict[Sym, str] = {}
        self.known: set[Sym] | None = None
        self.whole: Sym | None = None
        self.attends = False
        self._often: Counter[Sym] = Counter()
        self._labels: set[str] = set()
        self._beside: dict[Sym, set[Sym]] = {}
        self._taken = set(taken)
        self._shared: set[str] = set()

    def afresh(self) -> Names:
        """Return names of the same function of which none is given yet."""
        found = Names(self.sizes, self.hints, self.code, self.own, self._taken, self.apart)
        found.whole, found.attends, found._beside = self.whole, self.attends, self._beside
        return found

    def count(self, values: Iterable[Value]) -> None:
        """Take note of how often each symbol is in the annotations of a function."""
        for value in values:
            occurring = _occurrences(value)
            self._often += occurring
            self._labels |= {label for one in occurring if (label := self._label(one))}

    def tell_apart(self, values: Iterable[Value]) -> None:
        """Take note of which symbols stand beside which in a tensor: these are different ones."""
        for value in values:
            for tensor in _tensors(value):
                beside = {*_symbols(tensor)}
                for symbol in beside:
                    self._beside.setdefault(symbol, set()).update(beside - {symbol})

    def shape(self, tensor: Tensor) -> str | None:
        """Return a tensor's shape in the annotation language; None if it isn't sayable."""
        items = tensor.shape.dims
        usual = self._usual(items, tensor.dtype)
        runs = {
            item: self._run(item.symbol, REST if at else FRONT)
            for at, item in enumerate(items)
            if isinstance(item, Run)
        }
        words = []
        for at, item in enumerate(items):
            last = "d" if at == len(items) - 1 else "n"
            if isinstance(item, Run):
                words.append(runs[item])
            elif "..." in runs.values() and self._is_bare(item):
                words.append("_")
            else:
                words.append(self._dim(item, usual[at] if at < len(usual) else last, not at))
        text = " ".join(_without_padding(words))
        try:
            spec.parse(text)
        except spec.SpecError:
            return None
        return text

    def grouped(self, text: spec.Spec, value: Value) -> spec.Spec:
        """Return a text with the name that the group of this value has in other annotations."""
        options = value.options if isinstance(value, OneOf) else (value,)
        items = [item for one in options if isinstance(one, Tensor) for item in one.shape.dims]
        given = [self.given.get(item.symbol) for item in items if isinstance(item, Run)]
        if len(given) != 1 or given[0] is None:
            return text
        return spec.parse(" ".join(f"*{given[0]}" if e == _ANY else str(e) for e in text.entries))

    def _usual(self, items: Sequence[DimExpr | Run], dtype: dtypes.DTypes) -> Sequence[str]:
        """Return what to call axes without a name: as in images only where that fits the others."""
        run = next((at for at, item in enumerate(items) if isinstance(item, Run)), 0)
        if run:
            return ("b", *("n" for _ in items[1:run])) if run > 1 else ()
        usual = USUAL.get(len(items), ())
        if len(items) == len(_OF_TOKENS) and not dtype & ~dtypes.INTEGER:
            usual = _OF_TOKENS
        if len(items) == len(_OF_ATTENTION) and self.attends:
            return _OF_ATTENTION
        if len(items) == _MOST_OFTEN and self._is_own(items[1]):
            return ("b", "c", "n")  # the features are in the middle: what is behind are places
        if items and isinstance(items[0], Run) and len(items) != 4:
            return ()
        told = ["" if isinstance(item, Run) else self._told(item) or "" for item in items]
        is_image = all(name[:1].lower() in _SIDES for name in told[-2:]) and not any(
            name in usual[-2:] for name in told[:-2] if name
        )
        return usual if len(items) < 4 or is_image else ("b", *("n" for _ in items[2:]), "d")

    def _is_own(self, item: DimExpr | Run) -> bool:
        """Whether an axis has a size that the program chooses, as a module its features."""
        if isinstance(item, Run):
            return False
        size = dims.whole(size_of(item))
        return size in self.sizes or any(one.kind is Kind.OWN for one in dims.symbols(size))

    def _told(self, dim: DimExpr) -> str | None:
        """Return what the code calls a dimension; None where it has no name, or is a number."""
        size = dims.whole(size_of(dim))
        if isinstance(size, int):
            return None
        symbol = size.symbol
        if symbol is None or size in self.sizes:
            return str(size)
        return self.given.get(symbol) or self._label(symbol)

    def _label(self, symbol: Sym) -> str | None:
        """Return the name that the code has for a dimension."""
        if symbol in self.hints:
            return self.hints[symbol]
        label = symbol.name.rpartition(".")[2].strip("_")
        is_told = symbol.has_name and (
            self.code is None or label in self.code or symbol.kind is not Kind.UNKNOWN
        )
        return label if is_told and re.fullmatch(r"[A-Za-z]\w*", label) else None

    def _may_share(self, symbol: Sym, name: str, leads: bool) -> bool:
        """Whether a dimension has this name, be there another that has it, too.

        A caller's `t` needn't be that of the function, or of another that it calls. Two axes of one
        tensor are different dimensions.
        """
        if any(self.given.get(other) == name for other in self._beside.get(symbol, ())):
            return False
        if symbol.kind is not Kind.UNKNOWN or symbol in self.hints or name in self.own:
            return True
        is_callers = symbol.name.startswith("caller.")
        is_shared = leads and name in self._shared and not self.apart
        return name not in self._taken or (is_shared and not is_callers)

    def _run(self, symbol: Sym, usual: str) -> str:
        if self.whole is not None and symbol is not self.whole:
            parts = {*self.whole.spanned}
            if {*(symbol.spanned or (symbol,))} <= parts:
                others = sum(self._often[one] for one in (*parts, self.whole))
                return f"*#{self._run(self.whole, usual)[1:]}" if others > 1 else "..."
        if symbol is self.whole:
            pass
        elif symbol.options or (symbol.kind is Kind.UNKNOWN and self._often[symbol] < 2):
            return "..."
        name = self.given.get(symbol)
        if name is None:
            label = self.hints.get(symbol, symbol.name)
            label = label if label.isidentifier() and label != "_" else usual
            name = label if symbol.kind is Kind.NAME else unused(label, self._taken)
            self.given[symbol] = name
        return f"*{name}"

    def _dim(self, dim: DimExpr, usual: str, leads: bool) -> str:
        size = dims.whole(size_of(dim))
        if isinstance(size, int):
            return str(size) if size >= 0 else "_"
        if any(isinstance(symbol.origin, ChosenToFit) for symbol in size.symbols()):
            return "_"  # where it is left out it is None
        if size in self.sizes:
            return "{" + self.sizes[size] + "}"
        if any(s.options or s.left_open or self._is_loose(s) for s in size.symbols()):
            return "_"
        named = {symbol: self._symbol(symbol, usual, leads) for symbol in _in_order(size)}
        replaced = dims.substitute(size, {s: Size.of(Sym(n, Kind.NAME)) for s, n in named.items()})
        text = re.sub(r"\s", "", str(replaced))
        return text if len(_OPERATOR.findall(text)) <= _READABLE else "_"

    def _is_bare(self, dim: DimExpr) -> bool:
        """Whether nothing is known of a dimension but that it is there."""
        symbol = symbol_of(dim)
        return (
            symbol is not None
            and dim not in self.sizes
            and not symbol.has_name
            and symbol not in self.hints
            and self._often[symbol] < 2
        )

    def _is_loose(self, symbol: Sym) -> bool:
        """Whether nothing is known of a dimension, and only what a function returns has it."""
        if self.known is None or symbol in self.known or symbol in self.given:
            return False
        return self._label(symbol) is None

    def _symbol(self, symbol: Sym, usual: str, leads: bool) -> str:
        name = self.given.get(symbol)
        if name is None:
            known = self.sizes.get(Size.of(symbol))
            if known is not None:
                name = "{" + known + "}"
            else:
                # Two dimensions that the function itself calls the same are taken for one, and two
                # that begin a shape: verification finds out where they aren't.
                name = self._label(symbol)
                if name is None or not self._may_share(symbol, name, leads):
                    label = name.rstrip(digits) if name else usual
                    name = unused(label, self._taken, () if name else self._labels)
                elif leads and not symbol.name.startswith("caller."):
                    self._shared.add(name)
                self._taken.add(name)
            self.given[symbol] = name
        return name


def _without_padding(words: Sequence[str]) -> list[str]:
    """Return the words of a shape without what says nothing beside a `...`: `_`, another `...`."""
    kept: list[str] = []
    for word in words:
        if word == "...":
            while kept and kept[-1] == "_":
                kept.pop()
        if word not in ("_", "...") or kept[-1:] != ["..."]:
            kept.append(word)
    return kept


def _in_order(size: Size) -> list[Sym]:
    return [*dims.in_order(size.symbols())]


def category(tensor: Tensor) -> str:
    """Return the annotation type for what is known of a tensor's elements.

    What an op leaves open between floats and complex numbers is floats unless something says more.
    """
    if tensor.dtype == dtypes.CATEGORIES["Inexact"]:
        return "Float"
    for name in ("Bool", "Float", "Int", "Integer", "Complex", "Num"):
        if not tensor.dtype & ~dtypes.CATEGORIES[name]:
            return name
    return "Shaped"


def describe(value: Value, names: Names) -> Type | None:
    """Return the annotation for a value; None where there is nothing to say of its shape."""
    said = _DESCRIBED.get(type(value))
    return None if said is None else said(value, names)


def _tensor(value: Tensor, names: Names) -> Type | None:
    text = names.shape(value)
    return None if text is None else TensorType(category(value), text)


def _one_of(value: OneOf, names: Names) -> Type | None:
    found = _described(value.options, names)
    return None if found is None else either(*found)


def _list(value: ListOf, names: Names) -> Type | None:
    inner = describe(value.element, names)
    return None if inner is None or inner == NONE else ListType(inner)


def _tuple(value: tuple[Value, ...], names: Names) -> Type | None:
    """Return the annotation of a tuple, which may be a shape that an op is given.

    What there is nothing to say of stays as it is, where it is annotated.
    """
    found = [describe(item, names) for item in value]
    is_told = any(kind is not None and any(True for _ in kind.tensors()) for kind in found)
    return TupleType(tuple(kind or KEPT for kind in found)) if is_told else None


def _described(values: Iterable[Value], names: Names) -> tuple[Type, ...] | None:
    """Return the annotations for all of some values, None where there is none for one."""
    found = [describe(value, names) for value in values]
    known = tuple(kind for kind in found if kind is not None)
    return known if len(known) == len(found) else None


_DESCRIBED: Final[Mapping[type[object], Callable[[Any, Names], Type | None]]] = {
    Tensor: _tensor,
    type(None): lambda value, names: NONE,
    OneOf: _one_of,
    ListOf: _list,
    tuple: _tuple,
}


def proposals(study: Study, names: Names, wanted: Collection[str]) -> dict[str, Type]:
    """Return annotations for the parameters that are `wanted`, and for the result (`return`).

    What says nothing of a shape is left out: a group alone, that no other annotation has.
    """
    values = {name: study.params[name] for name in study.params if name in wanted}
    if "return" in wanted and study.result is not UNKNOWN and study.result is not None:
        values["return"] = _as_given(study.result, study)
    names.whole = _whole(study, values)
    names.attends = not _QUERIES.isdisjoint(study.params)
    names.tell_apart((*values.values(), *study.values.values()))
    trial = names.afresh()
    trial.count(values.values())
    kept = {
        slot: value
        for slot, value in values.items()
        if (kind := describe(value, trial)) is not None and _says_something(kind)
    }
    names.count(kept.values())
    names.known = {s for slot, value in kept.items() if slot != "return" for s in _symbols(value)}
    found = ((slot, describe(value, names)) for slot, value in kept.items())
    is_bare = getattr(study.function.node, "returns", None) is None
    return {
        slot: kind
        for slot, kind in found
        if kind is not None and _says_something(kind) and not (is_bare and keeps(kind))
    }


def _as_given(value: Value, study: Study) -> Value:
    """Return what a function makes without axes in front of all those of its first parameter.

    In `x + self.drop(x)` what isn't known of the second has no more axes than `x`, if that has
    three or more; nor has `scale` in `self.conv(x) * scale`.
    """
    if isinstance(value, tuple):
        return tuple(_as_given(item, study) for item in value)
    given = next((one for name, one in study.params.items() if name not in ("self", "cls")), None)
    if isinstance(value, Tensor) and isinstance(given, Tensor):
        first = given.shape.dims
        lead, *rest = value.shape.dims or (None,)
        is_all = len(first) >= _MOST_OFTEN and not has_run(first)
        if is_all and isinstance(lead, Run) and len(rest) == len(first):
            return value.with_shape(Shape(tuple(rest)))
    return value


def named(study: Study) -> set[str]:
    """Return the names that annotations of a function have already."""
    return {
        symbol.name
        for value in (*study.params.values(), *study.values.values())
        for symbol in _symbols(value)
        if symbol.kind is Kind.NAME
    }


def _whole(study: Study, values: Mapping[str, Value]) -> Sym | None:
    """Return the group that most groups of parameters broadcast to somewhere in a function."""
    given = {
        symbol for slot, value in values.items() if slot != "return" for symbol in _symbols(value)
    }
    tensors = [value for value in study.values.values() if isinstance(value, Tensor)]
    spanning = {
        item.symbol: None
        for tensor in tensors
        for item in tensor.shape.dims
        if isinstance(item, Run) and item.symbol.spanned and given.issuperset(item.symbol.spanned)
    }
    return max(spanning, key=lambda symbol: len(symbol.spanned), default=None)


def _says_something(kind: Type) -> bool:
    """Whether an annotation says more of a shape than that there is one, or of how many axes."""
    return any(_says_more(spec.parse(one.text).entries) for one in kind.tensors())


def _says_more(entries: Collection[spec.Axis | spec.Group]) -> bool:
    groups = [entry for entry in entries if isinstance(entry, spec.Group)]
    axes = [entry for entry in entries if isinstance(entry, spec.Axis)]
    named = any(group.name is not None for group in groups)
    return not groups or named or any(not isinstance(axis.expr, spec.Wild) for axis in axes)


def _symbols(value: Value) -> Iterator[Sym]:
    """Yield the symbols of the dimensions and runs in a value, each as often as it is there."""
    for tensor in _tensors(value):
        for item in tensor.shape.dims:
            yield from (item.symbol,) if isinstance(item, Run) else dims.symbols(item)


def _tensors(value: Value) -> Iterator[Tensor]:
    """Yield the tensors in a value."""
    match value:
        case Tensor():
            yield value
        case OneOf(options=parts):
            for part in parts:
                yield from _tensors(part)
        case ListOf(element=element):
            yield from _tensors(element)
        case tuple():
            for part in value:
                yield from _tensors(part)


def _occurrences(value: Value) -> Counter[Sym]:
    """Return how often each symbol is in a value; of what it may be, in any one of that."""
    match value:
        case OneOf(options=parts):
            return functools.reduce(operator.or_, map(_occurrences, parts), Counter())
        case tuple():
            return sum(map(_occurrences, value), Counter())
    return Counter(_symbols(value))


def unused(label: str, taken: set[str], others: Collection[str] = ()) -> str:
    """Return a name like this one that isn't taken yet, `d`, `d2`, ...; it is from then on.

    Nor is it one of the `others`.
    """
    name, number = label, 2
    while name in taken or name in others:
        name, number = f"{label}{number}", number + 1
    taken.add(name)
    return name
