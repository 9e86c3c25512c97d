"""Broadcasting of shapes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import shapecheck.dims as dims
from shapecheck.dims import Composite, DimExpr, Kind, Relation, Size, Sym
from shapecheck.dims.origins import spanning
from shapecheck.shapes.facts import COORDINATES, Facts, is_clamped
from shapecheck.shapes.model import Item, Run, Shape, behind_runs, either, has_run


def broadcast(
    facts: Facts, left: Sequence[Item], right: Sequence[Item], beside: Sequence[Shape] = ()
) -> tuple[Item, ...]:
    """Broadcast two shapes against each other.

    Raises `Clash` with the axis, counted from the right, whose dimensions can't meet.
    """
    result: list[Item] = []
    a, b = list(left), list(right)
    axis = 0
    while a and b:
        axis -= 1
        x, y = a[-1], b[-1]
        if isinstance(x, Run) or isinstance(y, Run):
            open_ = next(
                (i.symbol for i in (*a, *b) if isinstance(i, Run) and i.symbol.options), None
            )
            if a != b and open_ is not None:
                return (*_each(facts, a, b, open_, beside, axis), *reversed(result))
            if _reaches(facts, a, b) or _reaches(facts, b, a):
                a, b = ([*facts.items(tuple(side))] for side in (a, b))
                axis += 1
                continue
            if x == y:
                with suppress(Clash):  # its axis can't be counted from the right
                    return (*broadcast(facts, a[:-1], b[:-1], beside), x, *reversed(result))
            return (*_broadcast_runs(a, b), *reversed(result))
        a.pop()
        b.pop()
        result.append(broadcast_dim(facts, x, y, beside, axis))
    result.extend(reversed(a or b))
    return tuple(reversed(result))


class Clash(Exception):
    """Two dimensions that can't meet, at an axis counted from the right."""

    def __init__(self, axis: int, left: DimExpr, right: DimExpr) -> None:
        self.axis, self.left, self.right = axis, left, right
        super().__init__(axis, left, right)


def broadcast_dim(
    facts: Facts, x: DimExpr, y: DimExpr, beside: Sequence[Shape] = (), axis: int = -1
) -> DimExpr:
    """Broadcast two dimensions; raises `Clash`."""
    if x is y or x == y:
        return x
    p, q = facts.dim(x), facts.dim(y)
    if p == 1:
        return y
    if q == 1:
        return x
    verdict = facts.compare(x, y)
    if verdict.relation is Relation.SAME:
        if facts.of_running_program() and dims.symbol_of(y) is not None and not _is_ordered(x):
            return y  # a name, before what is equal to it by value
        return x if isinstance(x, Composite) or not isinstance(y, Composite) else y
    if verdict.relation is Relation.DIFFERENT:
        return _if_one(facts, x, y, axis)
    left, right = _loose(p), _loose(q)
    sure = (not left or _supposed(p)) and (not right or _supposed(q))
    if left and right:
        if facts.are_shifted(p, q, beside):
            raise Clash(axis, x, y)
        if not sure or verdict.learn is None:
            return _of_either(p, q)
    elif facts.stand_together(p, q, beside):
        raise Clash(axis, x, y)
    if sure and verdict.learn is not None:
        facts.learn(*verdict.learn)
    if left is not right:
        return y if left else x
    is_one = facts.same(p, 1) and not facts.same(q, 1)
    return y if is_one or isinstance(x, int) else x


def _is_ordered(dim: DimExpr) -> bool:
    """Whether a dimension is a merge of dimensions alone, whose order says more than a name."""
    return isinstance(dim, Composite) and not any(isinstance(part, int) for part in dim.parts)


def _if_one(facts: Facts, x: DimExpr, y: DimExpr, axis: int) -> DimExpr:
    """Broadcast two dimensions that differ: one is a 1, of which nothing else is known, or a bound.

    `min(n,3)-2`, as of `x[:, :3][:, 2:]`, is 1 where `n` is 3 or more.
    """
    found = [*map(facts.dim, (x, y))]
    ones = [(_loose(one) or is_clamped(one)) and not facts.differ(one, 1) for one in found]
    if not any(ones):
        raise Clash(axis, x, y)
    return dims.unknown() if all(ones) else y if ones[0] else x


def _reaches(facts: Facts, supposed: Sequence[Item], fixed: Sequence[Item]) -> bool:
    """Learn how many axes a program needs what is supposed to have; return whether that is new.

    A 1 aligns with an axis that is there. Coordinates, and the sizes that a module has, are those
    of what they are combined with, but for a mask.
    """
    shape = facts.shape(Shape(tuple(supposed)))
    runs = [item for item in supposed if isinstance(item, Run)]
    if has_run(fixed):
        behind = behind_runs(fixed)
        if len(supposed) > 1 or not runs or not runs[0].symbol.supposed or 1 not in behind:
            return False
        return facts.stretched(shape, back=len(behind)) != shape
    missing = len(fixed) - shape.least_rank
    if len(runs) != 1 or not runs[0].symbol.supposed or runs[0].symbol.options:
        return False
    if len(fixed) > 1 and fixed[0] == 1 and missing >= 0:
        return facts.stretched(shape, count=len(fixed)) != shape
    if runs[0].symbol.of_mask:
        return False
    if supposed[-1] is runs[0] and fixed[0] != 1 and all(map(_is_meant, fixed)):
        return facts.stretched(shape, back=len(fixed)) != shape
    return False


def _is_meant(item: Item) -> bool:
    """Whether a size is that of what it is combined with: a 1 beside others is for any."""
    if isinstance(item, int):
        return 1 <= item <= COORDINATES
    return not isinstance(item, Run) and all(s.kind is Kind.OWN for s in dims.symbols(item))


def _loose(dim: DimExpr) -> bool:
    return any(symbol.kind is Kind.UNKNOWN for symbol in dims.symbols(dim))


def _supposed(dim: DimExpr) -> bool:
    return all(symbol.supposed and not symbol.of_mask for symbol in dims.symbols(dim))


def _of_either(p: DimExpr, q: DimExpr) -> DimExpr:
    """Return what two unknown dimensions broadcast to: as much is said of it as of both."""
    both = dims.symbols(p) | dims.symbols(q)
    names = {dim.symbol.name for dim in (p, q) if isinstance(dim, Size) and dim.symbol is not None}
    alike = len(both) == 2 and len(names) == 1 and all(symbol.has_name for symbol in both)
    open_ = all(symbol.left_open for symbol in both)
    return Size.of(Sym.fresh(names.pop() if alike else "_", open_))


def _each(
    facts: Facts, a: list[Item], b: list[Item], open_: Sym, beside: Sequence[Shape], axis: int
) -> tuple[Item, ...]:
    """Broadcast two rows for each of the dimensions that a run in them may stand for."""
    results: list[tuple[Item, ...]] = []
    clashes: list[Clash] = []
    for option in open_.options:
        known = Facts(
            facts.atoms,
            {**facts.runs, open_: option},
            facts.under_unknown_condition,
            facts.declared,
        )
        left, right = (known.shape(Shape(tuple(side))).dims for side in (a, b))
        try:
            results.append(broadcast(known, left, right, beside))
        except Clash as clash:
            clashes.append(clash)
    if not results:
        raise Clash(clashes[0].axis + axis + 1, clashes[0].left, clashes[0].right)
    return either(*results)


def _broadcast_runs(a: list[Item], b: list[Item]) -> tuple[Item, ...]:
    """Broadcast what is left when a run is met from the right."""
    if a == b:
        return tuple(a)
    for longer, shorter in ((a, b), (b, a)):
        if all(item == 1 for item in shorter):
            needed = sum(not isinstance(item, Run) for item in longer)
            if len(shorter) <= needed:
                return tuple(longer)
    runs = [item.symbol for item in (*a, *b) if isinstance(item, Run)]
    alike = len({(symbol.name, symbol.left_open) for symbol in runs}) == 1
    if len(a) == len(b) == 1 and all(symbol.supposed for symbol in runs):
        return (Run(spanning(runs)),)
    made = Run(runs[0].of_result() if alike else Sym.fresh("..."))
    for longer, shorter in ((a, b), (b, a)):
        if longer[len(longer) - len(shorter) :] == shorter:
            return tuple(longer)
        if isinstance(shorter[-1], Run):
            return (made, *_stays(longer))
    return (made,)


def _stays(items: list[Item]) -> list[DimExpr]:
    """Return the dims behind the last run as they are when broadcast against who knows what."""
    return [dims.unknown() if one == 1 or _loose(one) else one for one in behind_runs(items)]
