"""Dimensions as objects, with an algebra, after the `Dim` of RETURNN.

    Batch, Time = dims("batch time")
    Vocab = Dim("vocab", size=50257)
    (2 * Time + 1).size

Source: RETURNN (https://github.com/rwth-i6/returnn), `returnn/tensor/dim.py` and `_dim_extra.py`:
a dimension is an object, its identity is the object's and not its name's, and the order in which
dimensions are merged or concatenated is part of the identity of the result.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal, TypeAlias

from shapecheck.dims.algebra import IntSize, Size, product
from shapecheck.dims.composites import DimExpr, merge, symbols
from shapecheck.dims.division import divide, floordiv
from shapecheck.dims.functions import substitute
from shapecheck.dims.origins import OfObject, Padded
from shapecheck.dims.symbols import Kind, Origin, Sym

DimKind: TypeAlias = Literal["batch", "spatial", "feature"]

# A dimension is an ordered sum of terms, each a number times an ordered product of factors; a
# factor is a size, or such a sum again. `2*a` and `a+a` are both ((2, (a,)),): 2 blocks of `a`,
# one behind the other. `a*2`, every element of `a` twice, is ((1, (a, 2)),).
_Term: TypeAlias = "tuple[int, tuple[IntSize | _Terms, ...]]"
_Terms: TypeAlias = tuple[_Term, ...]

_KINDS: Final = ("batch", "spatial", "feature")
_BLOCKS: Final = 16  # up to which `n*(a+b)` is spelled out as `a+b+a+b+...`


class Dim:
    """A dimension: an object that annotations hold, or refer to by the variable that holds it.

    Two dimensions that are made separately are different, whatever their names; those that come
    of the same algebra are equal. Sums and products are ordered, for that is how a tensor is laid
    out: `a + b` is `a` and behind it `b`, `a * b` is einops' `(a b)`. So `a * b != b * a`, while
    their sizes are equal. What is the same layout is the same dimension: `2*a == a+a`,
    `(a+b)*c == a*c + b*c`, `a*b//b == a`.

    Args:
        name: what messages call it; an identifier.
        size: the number of elements, where it is always the same.
        kind: what it runs over, for the reader and for ops that ask.
        labels: a vocabulary, one label for each element; its length is the size.
        lengths: how many elements each sequence has, an integer tensor such as `(batch)`; they are
            padded to one length. `mask()` says what isn't padding, and operations by name that
            are given this dimension leave out what is.
        ragged: the sequences are padded, and each batch has lengths of its own: `with_lengths`.

    Raises:
        ValueError: if the name isn't an identifier or the size is negative.
    """

    __slots__ = ("_terms", "kind", "labels", "lengths", "name")

    _terms: _Terms
    name: str
    """The text of the dimension in the notation of annotations."""
    kind: DimKind | None
    labels: tuple[str, ...] | None
    lengths: Any

    def __init__(
        self,
        name: str,
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
        self._begin(name, size, kind, labels, lengths, origin)

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
        symbol = Size.of(Sym(name, Kind.NAME, origin, size))
        self._set(((1, (symbol,)),), kind, told, lengths)

    def _set(
        self,
        terms: _Terms,
        kind: DimKind | None,
        labels: tuple[str, ...] | None = None,
        lengths: Any = None,
    ) -> None:
        object.__setattr__(self, "_terms", terms)
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "lengths", lengths)
        object.__setattr__(self, "name", _text(terms))

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"a dimension can't change: {attribute}")

    @property
    def size(self) -> IntSize:
        """The number of elements: an int where all sizes are known, otherwise a symbolic size."""
        size = _size(self._terms)
        return substitute(size, {s: s.size for s in symbols(size) if s.size is not None})

    @property
    def dim(self) -> DimExpr:
        """What an axis of this dimension holds: for an ordered product, an ordered composite."""
        if len(self._terms) == 1 and self._terms[0][0] == 1:
            (_, factors) = self._terms[0]
            return merge(f if isinstance(f, (int, Size)) else _size(f) for f in factors)
        return _size(self._terms)

    @property
    def ragged(self) -> bool:
        """Whether sequences of several lengths are padded to this dimension."""
        return any(symbol.padded for symbol in symbols(self.dim))

    def with_lengths(self, lengths: Any) -> Dim:
        """Return this dimension with the lengths that the sequences of one batch have."""
        return _made(self._terms, self.kind, self.labels, lengths)

    def mask(self, size: int | None = None) -> Any:
        """Return what is no padding: true for as many elements as each sequence has.

        The mask has this dimension behind those of the lengths, `(batch time)`. `size` is how
        many elements there are with the padding; without it, as many as the longest sequence has.
        Raises ValueError for a dimension without lengths.
        """
        if self.lengths is None:
            raise ValueError(f'"{self.name}" has no lengths; with_lengths(...) gives them')
        if size is None:
            known = self.size
            size = known if isinstance(known, int) else int(self.lengths.max())
        return self.lengths.new_ones(size).cumsum(-1) <= self.lengths.unsqueeze(-1)

    def index(self, label: str) -> int:
        """Return the place of a label in the vocabulary. Raises ValueError for one not in it."""
        if self.labels is None or label not in self.labels:
            raise ValueError(f'"{self.name}" has no label "{label}"')
        return self.labels.index(label)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and self._terms == other._terms

    def __hash__(self) -> int:
        return hash(self._terms)

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
        return _made, (self._terms, self.kind, self.labels, self.lengths)

    def __copy__(self) -> Dim:
        return self

    def __deepcopy__(self, memo: object) -> Dim:
        return self

    def __add__(self, other: Dim | int) -> Dim:
        return self._with(other, lambda a, b: _sum((*a, *b)), operator.add)

    def __radd__(self, other: int) -> Dim:
        return self._with(other, lambda a, b: _sum((*b, *a)), operator.add)

    def __sub__(self, other: Dim | int) -> Dim:
        return self._with(other, lambda a, b: _sum((*a, *_negative(b))), operator.sub)

    def __rsub__(self, other: int) -> Dim:
        return self._with(other, lambda a, b: _sum((*b, *_negative(a))), lambda a, b: b - a)

    def __neg__(self) -> Dim:
        return _made(_negative(self._terms), self.kind)

    def __mul__(self, other: Dim | int) -> Dim:
        return self._with(other, _product, operator.mul)

    def __rmul__(self, other: int) -> Dim:
        return self._with(other, lambda a, b: _product(b, a), operator.mul)

    def __floordiv__(self, other: Dim | int) -> Dim:
        return self._with(other, _quotient, lambda a, b: a // b)

    def __rfloordiv__(self, other: int) -> Dim:
        return self._with(other, lambda a, b: _quotient(b, a), lambda a, b: b // a)

    def div_left(self, other: Dim | int) -> Dim:
        """Return what is left of a product whose left factor is taken away.

        `(a * b).div_left(a) == b`, where `(a * b) // b == a` takes the right one away.
        """
        return self._with(other, _left_quotient, lambda a, b: a // b)

    def __mod__(self, other: Dim | int) -> Dim:
        return self._with(other, lambda a, b: _plain(_size(a) % _size(b)), operator.mod)

    def __rmod__(self, other: int) -> Dim:
        return self._with(other, lambda a, b: _plain(_size(b) % _size(a)), lambda a, b: b % a)

    def _with(
        self,
        other: Dim | int,
        op: Callable[[_Terms, _Terms], _Terms],
        on_lengths: Callable[[Any, Any], Any],
    ) -> Dim:
        """Return the dimension that an operator gives; what it does to sizes it does to lengths."""
        if isinstance(other, Dim):
            kind = self.kind if self.kind == other.kind else None
            terms = op(self._terms, other._terms)
        elif isinstance(other, int):
            kind, terms = self.kind, op(self._terms, _plain(other))
        else:
            return NotImplemented
        lengths = None
        if self.lengths is not None or (isinstance(other, Dim) and other.lengths is not None):
            one, two = _lengths(self), _lengths(other)
            lengths = None if one is None or two is None else on_lengths(one, two)
        return _made(terms, kind, None, lengths)


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
    terms: _Terms,
    kind: DimKind | None,
    labels: tuple[str, ...] | None = None,
    lengths: Any = None,
) -> Dim:
    dim = object.__new__(Dim)
    dim._set(terms, kind, labels, lengths)
    return dim


def _lengths(operand: Dim | int) -> Any:
    """Return what an operand has for each sequence: its lengths, or the size that all have."""
    if isinstance(operand, int) or operand.lengths is not None:
        return operand if isinstance(operand, int) else operand.lengths
    return operand.size if isinstance(operand.size, int) else None


def alone(symbol: Sym) -> Dim:
    """Return the dimension that is just a symbol."""
    return _made(((1, (Size.of(symbol),)),), None)


def _plain(size: IntSize) -> _Terms:
    """Return a size as a sum of one term: its layout isn't known to be anything more."""
    if isinstance(size, int):
        return ((size, ()),) if size else ()
    return ((1, (size,)),)


def _size(terms: _Terms) -> IntSize:
    total: IntSize = 0
    for count, factors in terms:
        sizes = [f if isinstance(f, (int, Size)) else _size(f) for f in factors]
        total = total + count * product(sizes)
    return total


def _sum(terms: Iterable[_Term]) -> _Terms:
    """Join neighbours that are blocks of the same; what cancels vanishes."""
    found: list[_Term] = []
    for count, factors in terms:
        if found and found[-1][1] == factors:
            count += found.pop()[0]
        if count:
            found.append((count, factors))
    return tuple(found)


def _negative(terms: _Terms) -> _Terms:
    return tuple((-count, factors) for count, factors in reversed(terms))


def _product(a: _Terms, b: _Terms) -> _Terms:
    """Merge: each block of `a` holds a whole `b`, so that a sum on the left distributes."""
    if len(b) > 1:
        ((count, factors),) = a if len(a) == 1 else ((0, ()),)
        if not factors and 0 < count * len(b) <= _BLOCKS:
            return _sum(b * count)
        b = ((1, (b,)),)
    if not a or not b:
        return ()
    ((count, factors),) = b
    found: list[_Term] = []
    for blocks, outer in a:
        if count == 1 or not outer:
            found.append((blocks * count, (*outer, *factors)))
        else:
            found.append((blocks, (*outer, count, *factors)))
    return _sum(found)


def _quotient(a: _Terms, b: _Terms) -> _Terms:
    """Undo a merge from the right, or a sum of equal blocks; else the size's own quotient."""
    if len(b) == 1:
        ((count, factors),) = b
        if not factors and all(blocks % count == 0 for blocks, _ in a):
            return tuple((blocks // count, outer) for blocks, outer in a)
        inner = factors if count == 1 else (count, *factors)
        if inner and all(outer[-len(inner) :] == inner for _, outer in a):
            return _sum((blocks, outer[: -len(inner)]) for blocks, outer in a)
        if all(blocks % count == 0 and outer == factors for blocks, outer in a):
            return _sum((blocks // count, ()) for blocks, _ in a)
    exact = _rest(a, b)
    from_left = len(a) == len(b) == 1 and a[0][0] == b[0][0] and _begins(a[0][1], b[0][1])
    return ((1, (exact,)),) if from_left else exact  # of the size of what stands right, but not it


def _left_quotient(a: _Terms, b: _Terms) -> _Terms:
    """Undo a merge from the left; else the size's own quotient.

    See decisions.md, "What divides a product on the left isn't undone on the right".
    """
    if len(a) == len(b) == 1:
        ((blocks, outer),), ((count, inner),) = a, b
        if blocks % count == 0 and _begins(outer, inner):
            return ((blocks // count, outer[len(inner) :]),)
    return _rest(a, b)


def _begins(outer: Sequence[object], inner: Sequence[object]) -> bool:
    return bool(inner) and outer[: len(inner)] == inner


def _rest(a: _Terms, b: _Terms) -> _Terms:
    """Return the quotient of sizes."""
    num, den = _size(a), _size(b)
    exact = divide(num, den)
    return _plain(floordiv(num, den) if exact is None else exact)


def _text(terms: _Terms) -> str:
    if not terms:
        return "0"
    text = ""
    for count, factors in terms:
        sign = "-" if count < 0 else "+" if text else ""
        text += sign + _term_text(abs(count), factors, alone=len(terms) == 1 and count == 1)
    return text


def _term_text(count: int, factors: tuple[IntSize | _Terms, ...], alone: bool) -> str:
    texts = [str(f) if isinstance(f, (int, Size)) else f"({_text(f)})" for f in factors]
    if alone and len(texts) > 1:
        return f"({' '.join(texts)})"
    if count != 1 or not texts:
        texts.insert(0, str(count))
    if len(texts) == 1:
        return texts[0]
    simple = [
        text if text.isalnum() or text[0] == "(" or "_" in text else f"({text})" for text in texts
    ]
    return "*".join(simple)
