"""Ordered composites against each other: which of their parts correspond, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import shapecheck.dims as dims
from shapecheck.dims import Atom, Composite, DimExpr, IntSize, Kind, Size, Sym, symbol_of


def numbered(parts: Sequence[IntSize]) -> Sequence[IntSize]:
    """Return sizes with the numbers that dimension objects are promised to be."""
    sized: dict[Atom, IntSize] = {
        s: s.size for part in parts for s in dims.symbols(part) if s.size is not None
    }
    return [dims.substitute(part, sized) for part in parts] if sized else parts


def disordered(a: Sequence[IntSize], b: Sequence[IntSize]) -> bool:
    """Whether two ordered composites of equal size merge different dimensions, or in other order.

    A part that is a plain product matches the parts that it is the product of.
    """
    for left, right in groups(a, b):
        if len(left) > 1 and len(right) > 1:
            parts = (*left, *right)
            known = all(s.kind is not Kind.UNKNOWN for part in parts for s in dims.symbols(part))
            if known and not all(isinstance(part, int) for part in parts):
                return True
    return False


def otherwise_laid_out(a: DimExpr, b: DimExpr) -> bool:
    """Whether two dimensions of equal size are the same objects, behind each other otherwise.

    As `a+b` and `b+a`, or `2*a`, which stands behind itself, and `(a 2)`, each of which is twice.
    """
    if isinstance(a, Size) and isinstance(b, Size):
        one, other = a.layout, b.layout
        return bool(one and other) and one != other and Counter(one) == Counter(other)
    return _is_each_repeated(a, b) or _is_each_repeated(b, a)


def _is_each_repeated(a: DimExpr, b: DimExpr) -> bool:
    """Whether each of a dimension is repeated as often as it stands behind itself in another."""
    if not isinstance(a, Composite) or not isinstance(b, Size) or not isinstance(a.parts[0], Size):
        return False
    return b.layout == (dims.product(a.parts[:-1]),) * len(b.layout) and a.parts[-1] == len(
        b.layout
    )


def crosswise(
    one: IntSize, other: IntSize, beside: Sequence[IntSize], against: Sequence[IntSize]
) -> bool:
    """Whether a part of a composite meets one of another that is called like its neighbour.

    Sizes of two objects of a class are called alike, and one may be called like a name.
    """
    mine, theirs = _called(one), _called(other)
    if mine == theirs:
        return False
    return mine in map(_called, against) or theirs in map(_called, beside)


def _called(part: IntSize) -> str:
    symbol = symbol_of(part)
    return str(part) if symbol is None else symbol.name


def ordering(a: Sequence[IntSize], b: Sequence[IntSize]) -> tuple[Sym, IntSize] | None:
    """Return the equation for one of the program's own sizes under which composites agree in order.

    `(c*g//<k> <k>)` is `(c g)` where `<k>` is `g`.
    """
    for left, right in groups(a, b):
        if len(left) != len(right):
            continue
        pairs = [(*pair, a, b) for pair in zip(left, right, strict=True)]
        for one, other, beside, against in (*pairs, *((y, x, b, a) for x, y, *_ in pairs)):
            symbol = symbol_of(one)
            if symbol is None or symbol.kind is not Kind.OWN or symbol_of(other) is None:
                continue
            if (one in a and one in b) or crosswise(one, other, beside, against):
                continue
            parts = ([dims.substitute(part, {symbol: other}) for part in side] for side in (a, b))
            if not disordered(*parts):
                return symbol, other
    return None


def groups(
    a: Sequence[IntSize],
    b: Sequence[IntSize],
    same: Callable[[IntSize, IntSize], bool] | None = None,
) -> Iterator[tuple[Sequence[IntSize], Sequence[IntSize]]]:
    """Cut two factorisations of one product into the shortest groups of equal product.

    This is how a row-major reshape relates the dimensions of its input to those of its result:
    `b (t c)` against `(b t) c` gives `[b t c] [b t c]`, and `b t c` against `b t h d` with
    `c == h*d` gives `[b] [b]`, `[t] [t]`, `[c] [h d]`.

    `same` says whether two products are equal where they aren't as polynomials.
    """
    i = j = 0
    while i < len(a) or j < len(b):
        cut = _next_cut(a, b, i, j, same)
        yield a[i : cut[0]], b[j : cut[1]]
        i, j = cut


def _next_cut(
    a: Sequence[IntSize],
    b: Sequence[IntSize],
    i: int,
    j: int,
    same: Callable[[IntSize, IntSize], bool] | None,
) -> tuple[int, int]:
    seen: dict[IntSize, int] = {}
    product: IntSize = 1
    for end in range(i, len(a)):
        product = product * a[end]
        seen.setdefault(product, end + 1)
    product = 1
    for end in range(j, len(b)):
        product = product * b[end]
        if product in seen:
            return seen[product], end + 1
        if same is not None:
            for other, cut in seen.items():
                if same(other, product):
                    return cut, end + 1
    return len(a), len(b)
