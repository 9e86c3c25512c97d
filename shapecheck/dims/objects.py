"""Dimensions as objects, with an algebra, after the `Dim` of RETURNN.

    Batch, Time = dims("batch time")
    Vocab = Dim("vocab", size=50257)
    (2 * Time + 1).size

Source: RETURNN (https://github.com/rwth-i6/returnn), `returnn/tensor/dim.py` and `_dim_extra.py`:
a dimension is an object, its identity is the object's and not its name's, and the order in which
dimensions are merged or concatenated is part of the identity of the result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from math import prod
from typing import Any, Final, Literal, TypeAlias

from shapecheck.dims.algebra import IntSize, Size
from shapecheck.dims.composites import DimExpr, merge, symbols
from shapecheck.dims.division import divide, floordiv
from shapecheck.dims.functions import substitute
from shapecheck.dims.symbols import Kind, Sym

DimKind: TypeAlias = Literal["batch", "spatial", "feature"]

# A dimension is an ordered sum of terms, each a number times an ordered product of factors; a
# factor is a size, or such a sum again. `2*a` and `a+a` are both ((2, (a,)),): 2 blocks of `a`,
# one behind the other. `a*2`, every element of `a` twice, is ((1, (a, 2)),).
_Term: TypeAlias = "tuple[int, tuple[IntSize | _Terms, ...]]"
_Terms: TypeAlias = tuple[_Term, ...]

_KINDS: Final = ("batch", "spatial", "feature")
_BLOCKS: Final = 16  # up to which `n*(a+b)` is spelled out as `a+b+a+b+...`


class Dim:
    """A dimension: an object that annotations refer to by the variable that holds it.

    Two dimensions that are made separately are different, whatever their names; those that come
    of the same algebra are equal. Sums and products are ordered, for that is how a tensor is laid
    out: `a + b` is `a` and behind it `b`, `a * b` is einops' `(a b)`. So `a * b != b * a`, while
    their sizes are equal. What is the same layout is the same dimension: `2*a == a+a`,
    `(a+b)*c == a*c + b*c`, `a*b//b == a`.

    Args:
        name: what messages call it; an identifier.
        size: the number of elements, where it is always the same.
        kind: what it runs over, for the reader and for ops that ask.

    Raises:
        ValueError: if the name isn't an identifier or the size is negative.
    """

    __slots__ = ("_terms", "kind")

    _terms: _Terms
    kind: DimKind | None

    def __init__(self, name: str, size: int | None = None, kind: DimKind | None = None) -> None:
        if not name.isidentifier() or name.startswith("_"):
            raise ValueError(f'a dimension\'s name is an identifier such as "time", not "{name}"')
        if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 0):
            raise ValueError(f'the size of "{name}" is a number from 0 on, not {size!r}')
        if kind is not None and kind not in _KINDS:
            raise ValueError(f'the kind of "{name}" is one of {", ".join(_KINDS)}, not {kind!r}')
        symbol = Size.of(Sym(name, Kind.NAME, os.urandom(16), size))
        self._set(((1, (symbol,)),), kind)

    def _set(self, terms: _Terms, kind: DimKind | None) -> None:
        object.__setattr__(self, "_terms", terms)
        object.__setattr__(self, "kind", kind)

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"a dimension can't change: {attribute}")

    @property
    def name(self) -> str:
        """The text of the dimension in the notation of annotations."""
        return _text(self._terms)

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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and self._terms == other._terms

    def __hash__(self) -> int:
        return hash(self._terms)

    def __repr__(self) -> str:
        size, kind = self.size, "" if self.kind is None else f", kind={self.kind!r}"
        return f"Dim({self.name!r}{f', size={size}' if isinstance(size, int) else ''}{kind})"

    def __reduce__(self) -> tuple[Callable[..., Dim], tuple[_Terms, DimKind | None]]:
        return _made, (self._terms, self.kind)

    def __copy__(self) -> Dim:
        return self

    def __deepcopy__(self, memo: object) -> Dim:
        return self

    def __add__(self, other: Dim | int) -> Dim:
        return self._with(other, lambda a, b: _sum((*a, *b)))

    def __radd__(self, other: int) -> Dim:
        return self._with(other, lambda a, b: _sum((*b, *a)))

    def __sub__(self, other: Dim | int) -> Dim:
        return self._with(other, lambda a, b: _sum((*a, *_negative(b))))

    def __rsub__(self, other: int) -> Dim:
        return self._with(other, lambda a, b: _sum((*b, *_negative(a))))

    def __neg__(self) -> Dim:
        return _made(_negative(self._terms), self.kind)

    def __mul__(self, other: Dim | int) -> Dim:
        return self._with(other, _product)

    def __rmul__(self, other: int) -> Dim:
        return self._with(other, lambda a, b: _product(b, a))

    def __floordiv__(self, other: Dim | int) -> Dim:
        return self._with(other, _quotient)

    def __rfloordiv__(self, other: int) -> Dim:
        return self._with(other, lambda a, b: _quotient(b, a))

    def __mod__(self, other: Dim | int) -> Dim:
        return self._with(other, lambda a, b: _plain(_size(a) % _size(b)))

    def __rmod__(self, other: int) -> Dim:
        return self._with(other, lambda a, b: _plain(_size(b) % _size(a)))

    def _with(self, other: Dim | int, op: Callable[[_Terms, _Terms], _Terms]) -> Dim:
        if isinstance(other, Dim):
            kind = self.kind if self.kind == other.kind else None
            return _made(op(self._terms, other._terms), kind)
        if isinstance(other, int):
            return _made(op(self._terms, _plain(other)), self.kind)
        return NotImplemented


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


def _made(terms: _Terms, kind: DimKind | None) -> Dim:
    dim = object.__new__(Dim)
    dim._set(terms, kind)
    return dim


def _plain(size: IntSize) -> _Terms:
    """Return a size as a sum of one term: its layout isn't known to be anything more."""
    if isinstance(size, int):
        return ((size, ()),) if size else ()
    return ((1, (size,)),)


def _size(terms: _Terms) -> IntSize:
    total: IntSize = 0
    for count, factors in terms:
        sizes = [f if isinstance(f, (int, Size)) else _size(f) for f in factors]
        total = total + count * prod(sizes, start=1)
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
