"""Dimensions as objects, with an algebra, after the `Dim` of RETURNN.

    Batch, Time = dims("batch time")
    Vocab = Dim("vocab", size=50257)
    (2 * Time + 1).size

Source: RETURNN (https://github.com/rwth-i6/returnn), `returnn/tensor/dim.py` and `_dim_extra.py`:
a dimension is an object, its identity is the object's and not its name's, and the order in which
dimensions are merged or concatenated is part of the identity of the result.
"""

from __future__ import annotations

import dis
import operator
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce, total_ordering
from typing import Any, Final, Literal, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

from shapecheck.dims import layouts
from shapecheck.dims.algebra import IntSize, Size
from shapecheck.dims.composites import Composite, DimExpr, symbol_of, symbols
from shapecheck.dims.functions import substitute
from shapecheck.dims.layouts import Terms
from shapecheck.dims.origins import OfKind, OfObject, Padded
from shapecheck.dims.symbols import HERE, Kind, Origin, Sym, in_order

DimKind: TypeAlias = Literal["batch", "spatial", "feature"]

_Pieces: TypeAlias = "tuple[Dim | int, ...] | None"
# What of a dimension with lengths stands one behind the other; None where each sequence is in
# front, empty where it isn't clear.

_KINDS: Final = ("batch", "spatial", "feature")


class _Standing(NamedTuple):
    """What a dimension is once `declared` many others were declared to be the same."""

    declared: int
    terms: Terms
    name: str
    dim: DimExpr
    layout: Terms


@total_ordering
class Dim:
    """A dimension: an object that annotations hold, or refer to by the variable that holds it.

    Two dimensions that are made separately are different, whatever their names; those that come
    of the same algebra are equal. Sums and products are ordered, for that is how a tensor is laid
    out: `a + b` is `a` and behind it `b`, `a * b` is einops' `(a b)`. So `a * b != b * a`, while
    their sizes are equal. What is the same layout is the same dimension: `2*a == a+a`,
    `(a+b)*c == a*c + b*c`, `a*b//b == a`. Batches that are called alike are the same, unless they
    have a size of their own. Dimensions are sorted in the order in which they were made.

    Args:
        name: what messages call it; an identifier. Without it, what the variable is called that it
            is assigned to.
        size: the number of elements, where it is always the same.
        kind: what it runs over. An operation by name finds the only dimension of a kind by "B",
            "S" or "T", and "F", where none is called so.
        labels: a vocabulary, one label for each element; its length is the size.
        lengths: how many elements each sequence has, an integer tensor such as `(batch)`; they are
            padded to one length. `mask()` says what isn't padding, and operations by name that
            are given this dimension leave out what is.
        ragged: the sequences are padded, and each batch has lengths of its own: `with_lengths`.

    Raises:
        ValueError: if the name isn't an identifier or the size is negative.
    """

    __slots__ = ("__weakref__", "_given", "_pieces", "_standing", "kind", "labels", "lengths")

    _given: Terms
    _pieces: _Pieces
    _standing: _Standing | None
    kind: DimKind | None
    labels: tuple[str, ...] | None
    lengths: Any

    def __init__(
        self,
        name: str | None = None,
        size: int | None = None,
        kind: DimKind | None = None,
        *,
        labels: Sequence[str] | None = None,
        lengths: Any = None,
        ragged: bool = False,
    ) -> None:
        origin: Origin = OfObject(os.urandom(16))
        if ragged or lengths is not None:
            origin = Padded(origin)
        self._begin(_assigned_to() if name is None else name, size, kind, labels, lengths, origin)

    @classmethod
    def at(
        cls,
        origin: Origin,
        name: str,
        size: int | None = None,
        kind: DimKind | None = None,
        labels: Sequence[str] | None = None,
    ) -> Dim:
        """Return the dimension that an object made at some place is; equal for an equal place.

        For an analysis, which may come by a place more than once.
        """
        made = object.__new__(cls)
        made._begin(name, size, kind, labels, None, origin)
        return made

    def _begin(
        self,
        name: str,
        size: int | None,
        kind: DimKind | None,
        labels: Sequence[str] | None,
        lengths: Any,
        origin: Origin,
    ) -> None:
        if not name.isidentifier() or name.startswith("_"):
            raise ValueError(f'a dimension\'s name is an identifier such as "time", not "{name}"')
        if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 0):
            raise ValueError(f'the size of "{name}" is a number from 0 on, not {size!r}')
        if kind is not None and kind not in _KINDS:
            raise ValueError(f'the kind of "{name}" is one of {", ".join(_KINDS)}, not {kind!r}')
        told = None if labels is None else tuple(labels)
        if told is not None:
            if len(set(told)) < len(told):
                raise ValueError(f'"{name}" has a label twice')
            if size is not None and size != len(told):
                raise ValueError(f'"{name}" has {len(told)} labels, and size={size}')
            size = len(told)
        if kind is not None:
            is_any = kind == "batch" and size is None and not origin.is_padded
            origin = OfKind(HERE if is_any else origin, kind)
        symbol = Sym(name, Kind.NAME, origin, size)
        self._set(((1, (Size.of(symbol),)),), kind, told, lengths)
        _made_as.setdefault(symbol, self)

    def _set(
        self,
        terms: Terms,
        kind: DimKind | None,
        labels: tuple[str, ...] | None = None,
        lengths: Any = None,
        pieces: _Pieces = None,
    ) -> None:
        object.__setattr__(self, "_given", terms)
        object.__setattr__(self, "_standing", None)
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "lengths", lengths)
        object.__setattr__(self, "_pieces", pieces)

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"a dimension can't change: {attribute}")

    @property
    def _now(self) -> _Standing:
        found = self._standing
        if found is None or found.declared != len(layouts.SAME_AS):
            terms = layouts.as_declared(self._given)
            layout = layouts.layout(terms)
            name, dim = layouts.text(terms), layouts.held(layout)
            found = _Standing(len(layouts.SAME_AS), terms, name, dim, layout)
            object.__setattr__(self, "_standing", found)
        return found

    @property
    def terms(self) -> Terms:
        """The ordered sum that the dimension is, see above."""
        return self._now.terms

    @property
    def name(self) -> str:
        """The text of the dimension in the notation of annotations."""
        return self._now.name

    @property
    def size(self) -> IntSize:
        """The number of elements: an int where all sizes are known, otherwise a symbolic size."""
        size = layouts.size(self.terms)
        return substitute(size, {s: s.size for s in symbols(size) if s.size is not None})

    @property
    def dim(self) -> DimExpr:
        """What an axis of this dimension holds: for an ordered product, an ordered composite."""
        return self._now.dim

    @property
    def bases(self) -> tuple[Dim, ...]:
        """The dimensions that this one is computed from; of one that was made as it is, itself."""
        found = in_order(symbols(layouts.size(self.terms)))
        return tuple([alone(symbol) for symbol in sorted(found, key=lambda one: one.serial)])

    @property
    def parts(self) -> tuple[Dim | int, ...]:
        """What stands one behind the other where sequences have their places in each of it."""
        return self._pieces or ()

    def declare_same_as(self, other: Dim) -> None:
        """Let this dimension, and what is computed from it, be another one from now on.

        It is said before the annotations that have it. Raises ValueError where the sizes differ.
        """
        mine, its = self.size, other.size
        if isinstance(mine, int) and isinstance(its, int) and mine != its:
            raise ValueError(f'"{self.name}" is {mine}, and "{other.name}" is {its}')
        if self == other:
            return
        if symbols(layouts.size(self.terms)) & symbols(layouts.size(other.terms)) and symbol_of(
            self.dim
        ):
            raise ValueError(f'"{other.name}" is computed from "{self.name}"')
        layouts.SAME_AS[self._now.layout] = other.terms

    @property
    def ragged(self) -> bool:
        """Whether sequences of several lengths are padded to this dimension."""
        return any(symbol.padded for symbol in symbols(self.dim))

    def with_lengths(self, lengths: Any) -> Dim:
        """Return this dimension with the lengths that the sequences of one batch have."""
        return _made(self.terms, self.kind, self.labels, lengths)

    def mask(self, size: int | None = None) -> Any:
        """Return what is no padding: true for as many elements as each sequence has.

        The mask has this dimension behind those of the lengths, `(batch time)`. `size` is how
        many elements there are with the padding; without it, as many as the longest sequence has.
        Of a sum of dimensions each has its own, and its padding behind it.
        Raises ValueError for a dimension without lengths.
        """
        return self.frames(size, {})

    def frames(self, size: int | None, sizes: Mapping[Sym, int], joined: bool = True) -> Any:
        """Return the mask where it is known how long others are with their padding.

        `joined`: where this is a sum or a multiple, the sequences of each stand in their places.
        Without it, all that there is of a sequence stands in front. Raises ValueError.
        """
        if self.lengths is None:
            raise ValueError(f'"{self.name}" has no lengths; with_lengths(...) gives them')
        pieces = self._pieces if joined else None
        if pieces == ():
            raise ValueError(
                f'it isn\'t clear where the sequences of "{self.name}" are; with_lengths(...) says '
                "how much of it, from its beginning, each of them has"
            )
        if pieces is None:
            if size is None:
                known = self.size
                size = known if isinstance(known, int) else int(self.lengths.max())
            return self.lengths.new_ones(size).cumsum(-1) <= self.lengths.unsqueeze(-1)
        wide = [_width(piece, sizes) for piece in pieces]
        total = sum(wide)
        if size is not None and size != total:
            raise ValueError(f'"{self.name}" is {size} long, and its parts are {wide}')
        steps = self.lengths.new_ones(total).cumsum(-1)
        start, found = 0, steps < 0
        for piece, width in zip(pieces, wide, strict=True):
            own = _lengths(piece)
            ends = own + start if isinstance(own, int) else (own + start).unsqueeze(-1)
            found = found | ((steps > start) & (steps <= ends))
            start += width
        return found

    def index(self, label: str) -> int:
        """Return the place of a label in the vocabulary. Raises ValueError for one not in it."""
        if self.labels is None or label not in self.labels:
            raise ValueError(f'"{self.name}" has no label "{label}"')
        return self.labels.index(label)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dim):
            return False
        return self._given == other._given or self._now.layout == other._now.layout

    def __hash__(self) -> int:
        return hash(self._now.layout)

    def __lt__(self, other: Dim) -> bool:
        return _place(self) < _place(other) if isinstance(other, Dim) else NotImplemented

    def __repr__(self) -> str:
        size, kind = self.size, "" if self.kind is None else f", kind={self.kind!r}"
        return f"Dim({self.name!r}{f', size={size}' if isinstance(size, int) else ''}{kind})"

    def __str__(self) -> str:
        """Return its name, which a pattern such as f"{Batch} {Heads * Key}" is made of."""
        return self.name

    def __index__(self) -> int:
        """Return its size as a length in a pattern. Raises TypeError where it isn't a number."""
        size = self.size
        if not isinstance(size, int):
            raise TypeError(f'"{self.name}" has no size that is a number: Dim("...", size=...)')
        return size

    def __reduce__(self) -> tuple[Callable[..., Dim], tuple[object, ...]]:
        return _made, (self.terms, self.kind, self.labels, self.lengths, self._pieces)

    def __copy__(self) -> Dim:
        return self

    def __deepcopy__(self, memo: object) -> Dim:
        return self

    def __add__(self, other: Dim | int) -> Dim:
        return self._with(
            other, lambda a, b: layouts.sum_of((*a, *b)), operator.add, _one_behind_the_other
        )

    def __radd__(self, other: int) -> Dim:
        laid = _reversed(_one_behind_the_other)
        return self._with(other, lambda a, b: layouts.sum_of((*b, *a)), operator.add, laid)

    def __sub__(self, other: Dim | int) -> Dim:
        return self._with(
            other, lambda a, b: layouts.sum_of((*a, *layouts.negative(b))), operator.sub
        )

    def __rsub__(self, other: int) -> Dim:
        return self._with(
            other, lambda a, b: layouts.sum_of((*b, *layouts.negative(a))), lambda a, b: b - a
        )

    def __neg__(self) -> Dim:
        return self._with(-1, lambda a, _: layouts.negative(a), operator.mul)

    def __mul__(self, other: Dim | int) -> Dim:
        return self._with(other, layouts.product_of, operator.mul, _one_in_the_other)

    def __rmul__(self, other: int) -> Dim:
        laid = _reversed(_one_in_the_other)
        return self._with(other, lambda a, b: layouts.product_of(b, a), operator.mul, laid)

    def __floordiv__(self, other: Dim | int) -> Dim:
        return self._with(other, layouts.quotient, lambda a, b: a // b)

    def __rfloordiv__(self, other: int) -> Dim:
        return self._with(other, lambda a, b: layouts.quotient(b, a), lambda a, b: b // a)

    def div_left(self, other: Dim | int) -> Dim:
        """Return what is left of a product whose left factor is taken away.

        `(a * b).div_left(a) == b`, where `(a * b) // b == a` takes the right one away.
        """
        return self._with(other, layouts.left_quotient, lambda a, b: a // b)

    def __mod__(self, other: Dim | int) -> Dim:
        return self._with(
            other, lambda a, b: layouts.plain(layouts.size(a) % layouts.size(b)), operator.mod
        )

    def __rmod__(self, other: int) -> Dim:
        return self._with(
            other, lambda a, b: layouts.plain(layouts.size(b) % layouts.size(a)), lambda a, b: b % a
        )

    def _with(
        self,
        other: Dim | int,
        op: Callable[[Terms, Terms], Terms],
        on_lengths: Callable[[Any, Any], Any],
        laid: Callable[[Dim | int, Dim | int], _Pieces] | None = None,
    ) -> Dim:
        """Return the dimension that an operator gives; what it does to sizes it does to lengths."""
        if isinstance(other, Dim):
            kind = self.kind if self.kind == other.kind else None
            terms = op(self.terms, other.terms)
        elif isinstance(other, int):
            kind, terms = self.kind, op(self.terms, layouts.plain(other))
        else:
            return NotImplemented
        lengths, pieces = None, None
        if self.lengths is not None or (isinstance(other, Dim) and other.lengths is not None):
            one, two = _lengths(self), _lengths(other)
            lengths = None if one is None or two is None else on_lengths(one, two)
            if lengths is not None and symbol_of(layouts.held(terms)) is None:
                pieces = (laid or _unclear)(self, other)
        return _made(terms, kind, None, lengths, pieces)


def dims(names: str) -> Any:
    """Return a tuple of dimensions, one for each name; of a single name, just the dimension.

        Batch, Time = dims("batch time")

    Typed as Any, since how many there are stands in the text. Raises ValueError for a name that
    isn't an identifier.
    """
    made = tuple(Dim(name) for name in names.split())
    if not made:
        raise ValueError('write the names of dimensions, such as dims("batch time")')
    return made[0] if len(made) == 1 else made


def _made(
    terms: Terms,
    kind: DimKind | None,
    labels: tuple[str, ...] | None = None,
    lengths: Any = None,
    pieces: _Pieces = None,
) -> Dim:
    dim = object.__new__(Dim)
    dim._set(terms, kind, labels, lengths, pieces)
    return dim


def _assigned_to() -> str:
    """Return what the variable is called that what is being made is assigned to, or `dim`."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    after = (one for one in dis.get_instructions(frame.f_code) if one.offset > frame.f_lasti)
    stored = next((one for one in after if one.opname != "CACHE"), None)
    if stored is None or not stored.opname.startswith("STORE_") or stored.argval is None:
        return "dim"
    name = stored.argval[0] if isinstance(stored.argval, tuple) else str(stored.argval)
    return name.strip("_") if name.strip("_").isidentifier() else "dim"


def _place(dim: Dim) -> tuple[list[int], bool, str]:
    """Return where a dimension is in the order of being made; what is computed stands behind."""
    serials = sorted(symbol.serial for symbol in symbols(layouts.size(dim.terms)))
    return serials, symbol_of(dim.dim) is None, dim.name


# Where the sequences of several lengths are -------------------------------------------------------


def _width(piece: Dim | int, sizes: Mapping[Sym, int]) -> int:
    """Return how long a piece is with its padding."""
    if isinstance(piece, int):
        return piece
    size = piece.size
    found = size if isinstance(size, int) else substitute(size, dict(sizes.items()))
    return found if isinstance(found, int) else int(piece.lengths.max())


def _has_lengths(operand: Dim | int) -> bool:
    return isinstance(operand, Dim) and operand.lengths is not None


def _in_pieces(operand: Dim | int) -> tuple[Dim | int, ...]:
    if isinstance(operand, int) or operand._pieces is None:
        return (operand,)
    return operand._pieces


def _unclear(*operands: Dim | int) -> _Pieces:
    """Return that a sequence is in front, where only one dimension has any; else it isn't clear."""
    pieces = [piece for operand in operands for piece in _in_pieces(operand)]
    is_clear = all(map(_in_pieces, operands)) and sum(map(_has_lengths, pieces)) < 2
    return None if is_clear else ()


def _one_behind_the_other(*operands: Dim | int) -> _Pieces:
    """Return what stands one behind the other in a sum.

    A number beside what is computed is part of a formula for sizes, `(time - 3) // 2 + 1`.
    """
    numbers = [one for one in operands if isinstance(one, int)]
    others = [one for one in operands if isinstance(one, Dim)]
    laid = all(one._pieces or symbol_of(one.dim) is not None for one in others)
    if min(numbers, default=0) < 0 or (numbers and not laid):
        return _unclear(*operands)
    pieces = [_in_pieces(operand) for operand in operands]
    return tuple([piece for several in pieces for piece in several]) if all(pieces) else ()


def _one_in_the_other(outer: Dim | int, inner: Dim | int) -> _Pieces:
    """Return what stands one behind the other where each element of one has all of the other."""
    if not _has_lengths(inner):
        pieces = None if isinstance(outer, int) else outer._pieces
        return None if pieces is None else tuple([piece * inner for piece in pieces])
    count = outer if isinstance(outer, int) else outer.size
    known = isinstance(count, int) and not _has_lengths(outer)
    return _in_pieces(inner) * count if known and isinstance(count, int) else ()


def _lengths(operand: Dim | int) -> Any:
    """Return what an operand has for each sequence: its lengths, or the size that all have."""
    if isinstance(operand, int) or operand.lengths is not None:
        return operand if isinstance(operand, int) else operand.lengths
    return operand.size if isinstance(operand.size, int) else None


_made_as: WeakValueDictionary[Sym, Dim] = WeakValueDictionary()


def alone(symbol: Sym) -> Dim:
    """Return the dimension that is just a symbol: the object that was made as it, if it lives."""
    found = _made_as.get(symbol)
    return _made(((1, (Size.of(symbol),)),), None) if found is None else found


def object_of(dim: DimExpr) -> Dim | None:
    """Return the dimension that an axis holds, None where objects don't say all of it.

    Of a sum it may not be known what of it stands in front.
    """
    found = _object_or_number(dim)
    return found if isinstance(found, Dim) else None


def _object_or_number(dim: DimExpr) -> Dim | int | None:
    if isinstance(dim, int):
        return dim
    if isinstance(dim, Composite):
        return _combined(dim.parts, operator.mul)
    if dim.layout:
        return _combined(dim.layout, operator.add)
    origin = None if dim.symbol is None else dim.symbol.origin.of_object
    if dim.symbol is None or origin is None:
        return None
    return alone(Sym(dim.symbol.name, dim.symbol.kind, origin, dim.symbol.size))


def _combined(parts: Iterable[IntSize], op: Callable[[Any, Any], Any]) -> Dim | int | None:
    found = [_object_or_number(part) for part in parts]
    return reduce(op, found) if all(one is not None for one in found) else None


def _reversed(
    laid: Callable[[Dim | int, Dim | int], _Pieces],
) -> Callable[[Dim | int, Dim | int], _Pieces]:
    return lambda a, b: laid(b, a)
