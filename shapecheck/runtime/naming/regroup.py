"""What a `view` with plain sizes does to names where its boundaries cut across dimensions.

`(b h t d).view(b, t, h*d)` doesn't give `b t (h d)`: each row of the result holds pieces of several
heads and positions. Sizes alone can't tell; so such axes get a name of their own, which is no other
name's equal. A view back to the sizes that were there restores the names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, Final

import torch

import shapecheck.dims as dims
from shapecheck.dims import Composite, DimExpr, Kind, Size, Sym
from shapecheck.dims.origins import Mixed, OfSize
from shapecheck.ops import Value
from shapecheck.runtime.naming.facts import mixed, value_of
from shapecheck.runtime.naming.int_origins import Cut, Share, any_number, numbers
from shapecheck.shapes import Shape, Tensor

REGROUPING: Final[frozenset[Any]] = frozenset(
    (
        torch.reshape,
        torch.unflatten,
        torch.Tensor.reshape,
        torch.Tensor.unflatten,
        torch.Tensor.view,
    )
)
Factor = tuple[DimExpr, int, bool]
"""A dimension that an axis is made of, its size, and whether it was merged with others."""


def regrouped(
    source: Sequence[DimExpr],
    values: Mapping[Sym, int],
    targets: Sequence[DimExpr],
    sizes: Sequence[int],
) -> tuple[tuple[DimExpr, ...], dict[Sym, int], frozenset[int]]:
    """Return a regrouping's dimensions with mixed axes marked, and the symbols' values.

    Third, which axes cut across dimensions, marked or not. `targets` are the dimensions that the
    op's rule gives the result, `sizes` its sizes.
    """
    known = dict(values)
    if 0 in sizes:
        return tuple(targets), known, frozenset()
    found = _ones(source, known, targets, sizes)
    cutting: set[int] = set()
    factors, restored = _restored(_factors(source, known), known)
    for whole, group in _groups(factors, sizes):
        _name(whole, group, found, sizes, known, restored)
        cutting |= set(group) if len(whole) > 1 and len(group) > 1 else set()
    return tuple(found), known, frozenset(cutting)


def _groups(
    factors: Sequence[Factor], sizes: Sequence[int]
) -> Iterator[tuple[Sequence[Factor], list[int]]]:
    """Yield the fewest neighbours that have one product before and after: factors, and places."""
    places = [index for index, size in enumerate(sizes) if size != 1]
    i = j = 0
    while i < len(factors) and j < len(places):
        first, start = i, j
        left, right = factors[i][1], sizes[places[j]]
        i, j = i + 1, j + 1
        while left != right:
            if left < right and i < len(factors):
                left *= factors[i][1]
                i += 1
            elif left > right and j < len(places):
                right *= sizes[places[j]]
                j += 1
            else:
                return
        yield factors[first:i], places[start:j]


def _name(
    group: Sequence[Factor],
    places: Sequence[int],
    found: list[DimExpr],
    sizes: Sequence[int],
    known: dict[Sym, int],
    restored: bool,
) -> None:
    """Name the axes of one group of equal product."""
    if len(places) == 1:
        if restored:
            found[places[0]] = dims.merge(dim for dim, _, _ in group)
        return
    merging = len(places) < len(group) or all(merged for _, _, merged in group)
    plain = all(_is_bare(dim) for dim, _, _ in group)
    if len(group) < 2 or plain or not merging:
        return
    _mark(tuple((dim, size) for dim, size, _ in group), places, found, sizes, known)


def solved(known: Value, operands: Sequence[Tensor], given: Sequence[Value] = ()) -> Value:
    """Return an op's result without names for the sizes that were solved from plain numbers.

    A number may be the size of a dimension: with 4 for `h`, `-1` isn't `b*h*w//4` but `b*w`. What
    is told (`given`) or was there (`operands`) keeps its name.
    """
    if not isinstance(known, Tensor):
        return known
    there: set[object] = {item for one in operands for item in one.shape.dims}
    there.update(part for item in [*there] if isinstance(item, Composite) for part in item.parts)
    there.update(_told(given))
    items = (
        dims.unknown() if isinstance(item, Size) and not item.symbol and item not in there else item
        for item in known.shape.dims
    )
    return replace(known, shape=Shape(tuple(items)))


def in_place(
    known: Sequence[DimExpr],
    source: Sequence[DimExpr],
    sizes: Sequence[int],
    values: Mapping[Sym, int],
    given: Sequence[Value] = (),
) -> tuple[DimExpr, ...]:
    """Return a regrouping's dimensions without the names that stand where their dimension didn't.

    What is left once numbers have cancelled may be called like one of them: of `(32 h) 64`, seen as
    `32, 4, -1, 16`, a `h` of 4 isn't the `-1`. What the user told by name (`given`) keeps it.
    """
    there: set[object] = set(_told(given))
    product = 1
    for dim, value, _ in _factors(source, values):
        there.add((product, dim))
        product *= value
    found: list[DimExpr] = []
    product = 1
    for dim, size in zip(known, sizes, strict=True):
        moved = size != 1 and _is_name(dim) and dim not in there and (product, dim) not in there
        found.append(size if moved else dim)
        product *= size
    return tuple(found)


def split_by_numbers(
    source: Sequence[DimExpr],
    found: Sequence[DimExpr],
    sizes: Sequence[int],
    values: Mapping[Sym, int],
    given: Sequence[Value],
    computed: frozenset[int],
) -> tuple[DimExpr, ...]:
    """Return a regrouping's dimensions without the names of what a number has cut off whole.

    With 4 for `h`, `(h//4, 4)` of `h` is `(1, 4)`; the 4 isn't `h` for that. `computed` are the
    sizes, counted from the end, that the program computes.
    """
    wanted = [*_told(given)]
    kept = list(found)
    before = sum(value_of(dim, values) == 1 for dim in source)
    if len(wanted) != len(kept) or sizes.count(1) <= before:
        return tuple(kept)
    for axis, size in enumerate(sizes):
        if size == 1 and axis - len(sizes) in computed:
            for beside in (axis - 1, axis + 1):
                if 0 <= beside < len(kept) and isinstance(wanted[beside], int):
                    kept[beside] = kept[beside] if wanted[beside] == -1 else sizes[beside]
    return tuple(kept)


def shared_out(
    source: Sequence[DimExpr],
    found: Sequence[DimExpr],
    sizes: Sequence[int],
    known: dict[Sym, int],
    shares: Mapping[int, Share],
) -> tuple[DimExpr, ...]:
    """Return a regrouping's dimensions with what numbers of which nothing is known leave of some.

    `h` as `(h // self.patch, self.patch)` is `h//<8>` and 8, whatever these numbers are, and
    `b c h` as `(b * c * self.rows, self.patch)` is `(b c h//<8>)`. `shares` are what is known of
    such sizes, by their place from the end.
    """
    kept = list(found)
    for whole, places in _groups(_factors(source, known), sizes) if shares else ():
        mine = [place for place in places if place - len(sizes) in shares]
        *ahead, (dim, size, _) = whole
        others = prod(sizes[place] for place in places if place not in mine)
        if len(mine) != 1 or len(places) < 2 or size % others or isinstance(dim, int):
            continue
        share = shares[mine[0] - len(sizes)]
        if not ahead:
            is_that = share.of == {dim} and isinstance(kept[mine[0]], int)
        else:
            product = dims.product(dims.size_of(part) for part, _, _ in ahead)
            is_that = mine[0] == places[0] and share.factor == product
        if is_that:
            number = any_number(others)
            known.update(numbers([number]))
            left = dims.floordiv(dims.size_of(dim), number)
            for place in places:
                kept[place] = sizes[place] if mixed(kept[place]) is not None else kept[place]
            kept[mine[0]] = dims.merge([*(part for part, _, _ in ahead), left])
    return tuple(kept)


def cut_by_numbers(
    found: Sequence[DimExpr], sizes: Sequence[int], known: dict[Sym, int], cuts: Sequence[Cut]
) -> tuple[DimExpr, ...]:
    """Return a regrouping's dimensions with what einops cuts marked where sizes say another thing.

    `(h//4 4)` as `(w h)`, where 4 is given for `w`, holds pieces of both. If `h//4` is 4 as well,
    its parts seem to be there again.
    """
    kept = list(found)
    for whole, axes, unnamed in cuts:
        places = [axis for axis in axes if sizes[axis] != 1]
        if len(places) > 1 and any(_is_computed(kept[axis]) for axis in unnamed):
            parts = [(dim, size) for dim, size, _ in _factors([whole], known)]
            _mark(tuple(parts), places, kept, sizes, known)
    return tuple(kept)


def _is_computed(dim: DimExpr) -> bool:
    return isinstance(dim, Size) and dim.symbol is None


def _told(given: Sequence[Value]) -> Iterator[Value]:
    """Yield the sizes in an op's arguments, but for tensors."""
    for arg in given:
        if not isinstance(arg, Tensor):
            yield from arg if isinstance(arg, tuple | list) else (arg,)


def crossed(
    made: Sequence[DimExpr],
    told: Sequence[DimExpr],
    sizes: Sequence[int],
    known: dict[Sym, int],
    cutting: frozenset[int],
) -> tuple[DimExpr, ...]:
    """Return a regrouping's dimensions where the user told the sizes of some axes by name.

    `told` names what has no name, unless it cuts across dimensions, and says with which dimensions
    of size 1 others were merged. Names that trade places, `(h w)` as `(w, h)`, are mixed up, but
    for those of size 1: there is nothing to mix.
    """
    both = [
        (name if _is_but_for_ones(name, dim, known) else dim, name)
        for dim, name in zip(made, told, strict=True)
    ]
    found = [
        name if sizes[axis] == 1 or (isinstance(dim, int) and axis not in cutting) else dim
        for axis, (dim, name) in enumerate(both)
    ]
    places = [i for i, (a, b) in enumerate(both) if a != b and _is_name(a) and _is_name(b)]
    places = [i for i in places if sizes[i] != 1]
    split = any(size == 1 and isinstance(dim, Size) for size, dim in zip(sizes, told, strict=True))
    if split and len(places) == 1:  # n as (n//m, m), where m is n
        found[places[0]] = told[places[0]]
    elif places:
        _mark(tuple((made[i], sizes[i]) for i in places), places, found, sizes, known)
    return tuple(found)


def _is_but_for_ones(name: DimExpr, dim: DimExpr, known: Mapping[Sym, int]) -> bool:
    """Whether a merged dimension is another one where its parts of size 1 are left out."""
    if not isinstance(name, Composite):
        return False
    longer = tuple(part for part in name.parts if value_of(part, known) != 1)
    return longer == (dim.parts if isinstance(dim, Composite) else (dim,))


def _is_bare(dim: DimExpr) -> bool:
    """Whether a dimension is no more than a size, whatever it is called."""
    symbol = dim.symbol if isinstance(dim, Size) else None
    return isinstance(dim, int) or (symbol is not None and isinstance(symbol.origin, OfSize))


def _is_name(dim: DimExpr) -> bool:
    symbol = dim.symbol if isinstance(dim, Size) else None
    named = symbol is not None and symbol.kind is Kind.NAME
    return named and mixed(dim) is None and not _is_bare(dim)


def _mark(
    whole: tuple[tuple[DimExpr, int], ...],
    places: Sequence[int],
    found: list[DimExpr],
    sizes: Sequence[int],
    known: dict[Sym, int],
) -> None:
    """Give axes that hold pieces of several dimensions a name of their own."""
    label = f"mixed({' '.join(str(dim) for dim, _ in whole)})"
    for index, place in enumerate(places):
        origin = Mixed(whole, index, len(places), _original(whole, known))
        symbol = Sym.distinct(label, Kind.NAME, origin)
        known[symbol] = sizes[place]
        found[place] = Size.of(symbol)


def _original(whole: Sequence[tuple[DimExpr, int]], known: Mapping[Sym, int]) -> dict[Sym, int]:
    return {symbol: known[symbol] for dim, _ in whole for symbol in dims.symbols(dim)}


def _ones(
    source: Sequence[DimExpr],
    known: Mapping[Sym, int],
    targets: Sequence[DimExpr],
    sizes: Sequence[int],
) -> list[DimExpr]:
    """Return a result's dimensions without the names that ones may have or not.

    Between two dimensions that are longer, the ones are the same before and after where there are
    as many. Else one was put in, or left out, and no size tells which.
    """
    before: dict[int, int] = {}
    product = 1
    for dim in source:
        value = value_of(dim, known)
        if value is None:
            return list(targets)
        before[product] = before.get(product, 0) + (value == 1)
        product *= value
    found, product = list(targets), 1
    after: dict[int, list[int]] = {}
    for axis, size in enumerate(sizes):
        after.setdefault(product, []).extend([axis] if size == 1 else [])
        product *= size
    for place, axes in after.items():
        if before.get(place, 0) != len(axes):
            for axis in axes:
                found[axis] = 1
    return found


def _factors(source: Sequence[DimExpr], known: Mapping[Sym, int]) -> list[Factor]:
    factors: list[Factor] = []
    for dim in source:
        parts = dim.parts if isinstance(dim, Composite) else (dim,)
        for part in parts:
            value = value_of(part, known)
            if value is not None and value != 1:
                factors.append((part, value, len(parts) > 1))
    return factors


def _restored(factors: list[Factor], known: dict[Sym, int]) -> tuple[list[Factor], bool]:
    """Put what was mixed in the place of all the axes that it was mixed into, in their order."""
    result: list[Factor] = []
    restored = False
    at = 0
    while at < len(factors):
        first = mixed(factors[at][0])
        if first is not None and first.index == 0:
            parts = factors[at : at + first.count]
            if prod(size for _, size, _ in parts) == prod(size for _, size in first.whole):
                if [_place(part[0], first) for part in parts] == list(range(first.count)):
                    known.update(first.values)
                    result += [(dim, size, False) for dim, size in first.whole]
                    restored = True
                    at += first.count
                    continue
        result.append(factors[at])
        at += 1
    return result, restored


def _place(dim: DimExpr, first: Mixed) -> int | None:
    """Return the index of an axis among those that cut across the same dimensions."""
    origin = mixed(dim)
    return origin.index if origin is not None and origin.whole == first.whole else None
