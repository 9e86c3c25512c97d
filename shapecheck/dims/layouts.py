"""The algebra of dimension objects: ordered sums of multiples of ordered products."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from shapecheck.dims.algebra import MOST_COPIES, IntSize, Size, copies, joined, product
from shapecheck.dims.composites import DimExpr, merge, symbols
from shapecheck.dims.division import divide, floordiv
from shapecheck.dims.functions import substitute

# A dimension is an ordered sum of terms, each a number times an ordered product of factors; a
# factor is a size, or such a sum again. `2*a` and `a+a` are both ((2, (a,)),): 2 blocks of `a`,
# one behind the other. `a*2`, every element of `a` twice, is ((1, (a, 2)),).
_Term: TypeAlias = "tuple[int, tuple[IntSize | Terms, ...]]"
Terms: TypeAlias = tuple[_Term, ...]


SAME_AS: dict[Terms, Terms] = {}
"""What dimensions were declared to be, by their layout."""


def as_declared(terms: Terms) -> Terms:
    """Return a dimension with what others were declared to be in their place."""
    if not SAME_AS:
        return terms
    whole = terms
    if any(((1, (Size.of(one),)),) in SAME_AS for one in symbols(size(terms))):
        found: list[_Term] = []
        for count, factors in terms:
            made: Terms = ((count, ()),)
            for factor in factors:
                made = product_of(made, _declared(factor))
            found += made
        whole = sum_of(found)
    other = SAME_AS.get(layout(whole))
    return whole if other is None else as_declared(other)


def _declared(factor: IntSize | Terms) -> Terms:
    if isinstance(factor, tuple):
        return as_declared(factor)
    if isinstance(factor, int):
        return ((factor, ()),)
    alone = {one: ((1, (Size.of(one),)),) for one in factor.symbols()}
    others = {one: as_declared(SAME_AS[at]) for one, at in alone.items() if at in SAME_AS}
    if factor.symbol in others:
        return others[factor.symbol]
    return plain(substitute(factor, {one: size(terms) for one, terms in others.items()}))


def layout(terms: Terms) -> Terms:
    """Return the form that all dimensions of one layout have: sums stand in no product's front."""
    return _around(terms, ((1, ()),))


def _around(terms: Terms, inner: Terms) -> Terms:
    """Return the layout of a dimension each element of which holds a whole `inner`, a layout."""
    found: list[_Term] = []
    for count, factors in terms:
        made = inner
        for factor in reversed(factors):
            if not isinstance(factor, tuple):
                made = product_of(plain(factor), made)
            elif len(factor) > 1:
                made = _around(factor, made)
            else:  # see `quotient`
                made = product_of(((1, (factor,)),), made)
        found += made if count == 1 else product_of(((count, ()),), made)
    return sum_of(found)


def held(terms: Terms) -> DimExpr:
    """Return what an axis of a dimension holds."""
    if len(terms) == 1 and terms[0][0] == 1:
        (_, factors) = terms[0]
        return merge(f if isinstance(f, (int, Size)) else _joined(f) for f in factors)
    return _joined(terms)


def _joined(terms: Terms) -> IntSize:
    """Return the size of a sum with the order in which it stands, where nothing is taken away."""
    if any(count < 0 for count, _ in terms):
        return size(terms)
    return joined(
        copies(size(((1, factors),)), count) if factors else count for count, factors in terms
    )


def plain(size: IntSize) -> Terms:
    """Return a size as a sum of one term: its layout isn't known to be anything more."""
    if isinstance(size, int):
        return ((size, ()),) if size else ()
    return ((1, (size,)),)


def size(terms: Terms) -> IntSize:
    """Return the number of elements, of which the order says nothing."""
    total: IntSize = 0
    for count, factors in terms:
        sizes = [f if isinstance(f, (int, Size)) else size(f) for f in factors]
        total = total + count * product(sizes)
    return total


def sum_of(terms: Iterable[_Term]) -> Terms:
    """Join neighbours that are blocks of the same; what cancels vanishes."""
    found: list[_Term] = []
    for count, factors in terms:
        if found and found[-1][1] == factors:
            count += found.pop()[0]
        if count:
            found.append((count, factors))
    return tuple(found)


def negative(terms: Terms) -> Terms:
    """Return what is taken away, from the right."""
    return tuple((-count, factors) for count, factors in reversed(terms))


def product_of(a: Terms, b: Terms) -> Terms:
    """Merge: each block of `a` holds a whole `b`, so that a sum on the left distributes."""
    if len(b) > 1:
        ((count, factors),) = a if len(a) == 1 else ((0, ()),)
        if not factors and 0 < count * len(b) <= MOST_COPIES:
            return sum_of(b * count)
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
    return sum_of(found)


def quotient(a: Terms, b: Terms) -> Terms:
    """Undo a merge from the right, or a sum of equal blocks; else the size's own quotient."""
    if len(b) == 1:
        ((count, factors),) = b
        if not factors and all(blocks % count == 0 for blocks, _ in a):
            return tuple((blocks // count, outer) for blocks, outer in a)
        inner = factors if count == 1 else (count, *factors)
        if inner and all(outer[-len(inner) :] == inner for _, outer in a):
            return sum_of((blocks, outer[: -len(inner)]) for blocks, outer in a)
        if all(blocks % count == 0 and outer == factors for blocks, outer in a):
            return sum_of((blocks // count, ()) for blocks, _ in a)
    exact = _rest(a, b)
    from_left = len(a) == len(b) == 1 and a[0][0] == b[0][0] and _begins(a[0][1], b[0][1])
    return ((1, (exact,)),) if from_left else exact  # of the size of what stands right, but not it


def left_quotient(a: Terms, b: Terms) -> Terms:
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


def _rest(a: Terms, b: Terms) -> Terms:
    """Return the quotient of sizes."""
    num, den = size(a), size(b)
    exact = divide(num, den)
    return plain(floordiv(num, den) if exact is None else exact)


def text(terms: Terms) -> str:
    """Return a dimension in the notation of annotations."""
    if not terms:
        return "0"
    text = ""
    for count, factors in terms:
        sign = "-" if count < 0 else "+" if text else ""
        text += sign + _term_text(abs(count), factors, alone=len(terms) == 1 and count == 1)
    return text


def _term_text(count: int, factors: tuple[IntSize | Terms, ...], alone: bool) -> str:
    texts = [str(f) if isinstance(f, (int, Size)) else f"({text(f)})" for f in factors]
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
