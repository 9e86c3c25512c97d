"""What a name says of a tensor: which of its axes is meant, and in which order axes go.

A dimension is meant by its text in the notation of annotations, `"c"`, `"h//2"`, `"(h d)"`, or by
itself, as a `Dim` object is. A plain name also means the one dimension that is computed from it:
after a convolution over `t`, `"t"` is `t-2`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

import shapecheck.dims as dims
from shapecheck import spec
from shapecheck.dims import Composite, Dim, DimExpr, Kind, Size, Sym, size_of, symbol_of
from shapecheck.dims.origins import Renamed
from shapecheck.ops.agree import listed
from shapecheck.ops.call import Call, Unknown, Value
from shapecheck.ops.saying import said
from shapecheck.shapes import Facts, Item, Matcher, Mismatch, Run, Shape, has_run, mismatch
from shapecheck.spec.objects import Part

Wanted: TypeAlias = spec.Axis | spec.Group | Size | Composite
"""A dimension that is meant: as the text of one, or itself. A `Group` is `...`."""

REST: Final = spec.Group(None)


@lru_cache(maxsize=4096)
def _read(text: str) -> tuple[spec.Entry, ...]:
    try:
        entries = spec.parse(text).entries
    except spec.SpecError as error:
        raise mismatch(str(error), f'can\'t read "{text}"', "shape-annotation") from None
    for entry in entries:
        if entry.broadcast or entry.leaf or entry.label is not None:
            raise mismatch(f'"{entry}" is for annotations', f'finds no dimension by "{text}"')
        if entry != REST and not isinstance(entry, spec.Axis):
            raise mismatch(f'"{entry}" may be any number', f'finds no dimension by "{text}"')
    return entries


def wanted(given: Value | Wanted) -> list[Wanted] | None:
    """Return the dimensions that an argument lists, None where they aren't known."""
    if isinstance(given, str):
        return list(_read(given))
    if isinstance(given, (tuple, list)):
        parts = [wanted(one) for one in given]
        known = [part for part in parts if part is not None]
        return [one for part in known for one in part] if len(known) == len(parts) else None
    if isinstance(given, (Size, Composite, spec.Axis)):
        return [given]
    if given is ...:
        return [REST]
    if isinstance(given, Unknown):
        return None
    raise mismatch(f"{said(given)} isn't a name", "takes the names of dimensions")


def by_dimension(given: Mapping[str, Value]) -> list[tuple[Value, Value]]:
    """Return a program's dict from dimensions, by name or themselves, as rules know those."""
    keys: Iterable[object] = given
    each = [one.dim if isinstance(one, Dim) else one for one in keys]
    return list(zip(each, given.values(), strict=True))  # type: ignore[arg-type]  # rules refuse others


def as_wanted(part: DimExpr) -> Wanted:
    """Return one part of a merged dimension as what is meant: a number by its text."""
    return part if isinstance(part, (Size, Composite)) else spec.Axis(spec.Number(part))


def position(call: Call, shape: Shape, one: Wanted, whole: str = "") -> int | None:
    """Return the index of the axis that is meant, from the right where it is known only from there.

    None where it isn't known. Raises `Mismatch` where there is no such dimension, or two.
    `whole` is the operand in words, where it isn't the only one.
    """
    shape = call.facts.shape(shape)
    found = matches(call.facts, shape, one)
    if len(found) == 1:
        (at,) = found
        if not has_run(shape.dims[:at]):
            return at
        if not has_run(shape.dims[at:]):
            return at - len(shape.dims)
        return None
    of = f"{whole} {shape}".strip()
    if found:
        reason = f"{len(found)} dimensions are called that; rename one of them before"
        raise mismatch(reason, f'can\'t tell which "{one}" of {of} is meant')
    if _may_have(call.facts, shape, one):
        return None
    headline = f'has no dimension "{one}" in {of}'
    if isinstance(one, (Size, Composite)) and str(one) in map(str, shape.dims):
        reason = f'"{one}" is a name there, and not this dimension object; give the name'
        raise mismatch(reason, headline, about=(one,))
    raise _instead(shape, str(one), headline)


def positions(call: Call, shape: Shape, given: Value, whole: str = "") -> tuple[int, ...] | None:
    """Return the indices of all axes that an argument lists, None where one isn't known."""
    many = wanted(given)
    if many is None:
        return None
    if REST in many:
        raise mismatch("it may be any dimensions", "takes no '...' here")
    found = [position(call, shape, one, whole) for one in many]
    known = [at for at in found if at is not None]
    rank = call.facts.shape(shape).rank
    if len({at if rank is None else at % rank for at in known}) < len(known):
        raise mismatch("a dimension is named twice", f'can\'t take "{_said(many)}" of {shape}')
    return tuple(known) if len(known) == len(found) else None


def _said(many: Sequence[Wanted]) -> str:
    return " ".join(map(str, many))


def matches(facts: Facts, shape: Shape, one: Wanted) -> list[int]:
    """Return where in `shape.dims` the dimensions are that are meant: exactly, or at all."""
    known = [(at, item) for at, item in enumerate(shape.dims) if not isinstance(item, Run)]
    meant: Wanted | int = one
    if isinstance(one, spec.Axis):
        for called in (_plain_name, _text):
            exact = [at for at, item in known if called(item) == str(one)]
            if exact:
                return exact
        meant = _built(one, known)
    if not isinstance(meant, spec.Axis):
        exact = [at for at, item in known if item == meant]
        if exact:
            return exact
    names = _names(one)
    if not names:
        return []
    computed = [at for at, item in known if _is_computed_from(item, names)]
    learned = [
        at
        for at, item in known
        if _plain_name(item) is None
        and any(facts.same(item, Size.of(n)) for n in _learned(facts, one))
    ]
    return computed or learned or [at for at, item in known if _kind(item) == _KINDS.get(str(one))]


_KINDS: Final = {"B": "batch", "T": "spatial", "S": "spatial", "F": "feature"}
"""What a letter means where no dimension is called so: the one of a kind, as in RETURNN."""


def _kind(item: DimExpr) -> str | tuple[()]:
    """Return what a dimension runs over that is made of objects, nothing where that isn't known."""
    kinds = {symbol.origin.kind_of_object for symbol in dims.symbols(item)}
    return kinds.pop() or () if len(kinds) == 1 else ()


def _plain_name(item: DimExpr) -> str | None:
    symbol = symbol_of(item)
    return None if symbol is None else symbol.name


def _text(item: DimExpr) -> str | None:
    """Return what a dimension is called that has more than a number for a name."""
    return None if isinstance(item, int) else str(item)


def _built(one: spec.Axis, known: Sequence[tuple[int, DimExpr]]) -> Wanted | int:
    """Return the dimension that a text describes, in the symbols that the shape has."""
    names = {s.name: Size.of(s) for _, item in known for s in dims.in_order(dims.symbols(item))}
    found = Matcher(Facts(), names=dict(names)).value(one.expr)
    return one if found is None else found


def _names(one: Wanted) -> frozenset[object]:
    """Return what is the name or the symbol of a dimension that is meant by nothing else."""
    if isinstance(one, spec.Axis):
        return frozenset((one.expr.id,)) if isinstance(one.expr, spec.Name) else frozenset()
    symbol = symbol_of(one)
    return frozenset() if symbol is None else frozenset((symbol,))


def _is_computed_from(item: DimExpr, names: frozenset[object]) -> bool:
    if isinstance(item, Composite):
        return False
    return any(symbol in names or symbol.name in names for symbol in dims.symbols(item))


def _learned(facts: Facts, one: Wanted) -> Iterator[Sym]:
    """Yield the symbols of a name for which a size has been learned."""
    names = _names(one)
    for atom in facts.atoms:
        if isinstance(atom, Sym) and (atom in names or atom.name in names):
            yield atom


def _may_have(facts: Facts, shape: Shape, one: Wanted) -> bool:
    """Whether a dimension of this name may be among those that aren't known."""
    for item in shape.dims:
        if isinstance(item, Run):
            if item.symbol.kind is Kind.UNKNOWN:
                return True
        elif any(symbol.kind is Kind.UNKNOWN for symbol in dims.symbols(item)):
            return True
    plain = [item for item in shape.dims if not isinstance(item, Run) and not is_named(item)]
    return any(
        not facts.differ(item, Size.of(symbol)) for symbol in _learned(facts, one) for item in plain
    )


def is_named(item: Item) -> bool:
    """Whether a dimension has a name, or is computed from one that has."""
    return not isinstance(item, Run) and any(s.kind is Kind.NAME for s in dims.symbols(item))


def _instead(shape: Shape, name: str, headline: str) -> Mismatch:
    """Return what refuses a name, and says what the dimensions of a shape are called."""
    named = {str(item): item for item in shape.dims if not isinstance(item, int)}
    if not shape.dims:
        return mismatch("it is a scalar", headline)
    if not named:
        reason = 'none of its dimensions has a name; named(x, "...") gives names'
        return mismatch(reason, headline)
    if near := get_close_matches(name, named, 1):
        return mismatch(f'the nearest is "{near[0]}"', headline, about=(named[near[0]],))
    said = listed([f'"{one}"' for one in shape.dims if not isinstance(one, int)])
    return mismatch(f"it has {said}", headline, about=(shape,))


def arranged(facts: Facts, shape: Shape, parts: Iterable[Part]) -> list[Part] | None:
    """Return dimensions that are listed in any order in that of a shape, None where not known.

    Those that it hasn't stand in the places that are left; where any of them may be any of these,
    these are `_`.
    """
    if has_run(shape.dims):
        return None
    left = sorted(parts, key=str)
    places: list[Part | None] = [None] * len(shape.dims)
    for part in [*left]:
        there = [at for at in _places_of(facts, shape, part) if places[at] is None]
        if len(there) == 1:
            places[there[0]] = part
            left.remove(part)
    free = [at for at, part in enumerate(places) if part is None]
    if len(left) > 1 and not any(is_named(shape.dims[at]) for at in free):
        left = ["_"] * len(left)
    for at, part in zip(free, left, strict=False):
        places[at] = part
    return [*(part for part in places if part is not None), *left[len(free) :]]


def _places_of(facts: Facts, shape: Shape, part: Part) -> list[int]:
    """Return which axes of a shape may be one of some dimensions."""
    if isinstance(part, Dim):
        size = part.size
        same_size = [at for at, item in enumerate(shape.dims) if item == size]
        return matches(facts, shape, as_wanted(part.dim)) or same_size
    if isinstance(part, str):
        [one] = _read(part) if len(_read(part)) == 1 else [REST]
        return [] if isinstance(one, spec.Group) else matches(facts, shape, one)
    return [at for at, item in enumerate(shape.dims) if item == part]


# Orders -----------------------------------------------------------------------------------------


class Order(NamedTuple):
    """How axes are put in order: a permutation, then the first and last axis of each merge.

    The last merge comes first, so that the others stay where they are.
    """

    axes: tuple[int, ...]
    merged: tuple[tuple[int, int], ...]

    @staticmethod
    def of(groups: Sequence[Sequence[int]]) -> Order:
        """Return the order in which each new axis merges some of the old."""
        merged, at = [], 0
        for group in groups:
            if len(group) > 1:
                merged.append((at, at + len(group) - 1))
            at += len(group)
        return Order(tuple(at for group in groups for at in group), tuple(reversed(merged)))


def order(call: Call, shape: Shape, given: Value, missing: str = "refuse") -> Order | None:
    """Return how to bring a shape into an order, `"b (h w) c"` or `"... c"`; None if not known.

    `missing` says what becomes of dimensions that aren't listed where there is no `...`: `refuse`
    them, or let them stay in `front`.
    """
    many = wanted(given)
    shape = call.facts.shape(shape)
    if many is None:
        return None
    if many.count(REST) > 1:
        raise mismatch("there is more than one '...'", f'can\'t order {shape} by "{_said(many)}"')
    groups = [_group(call, shape, one) for one in many]
    if shape.rank is None or any(None in group for group in groups):
        return None
    known = [[at % shape.rank for at in group if at is not None] for group in groups]
    used = [at for group in known for at in group]
    if len(set(used)) < len(used):
        raise mismatch("a dimension is named twice", f'can\'t order {shape} by "{_said(many)}"')
    left = [[at] for at in range(shape.rank) if at not in used]
    if REST in many:
        at = many.index(REST)
        known = [*known[:at], *left, *known[at + 1 :]]
    elif left and missing == "front":
        known = [*left, *known]
    elif left:
        lost = listed([f'"{shape.dims[at]}"' for (at,) in left])
        raise mismatch(
            f"{lost} {'is' if len(left) == 1 else 'are'} left out",
            f'can\'t order {shape} by "{_said(many)}"',
            about=tuple(shape.dims[at] for (at,) in left),
        )
    return Order.of(known)


def _group(call: Call, shape: Shape, one: Wanted) -> list[int | None]:
    """Return the axes that one entry of an order stands for: `(h d)` may be one, or merge two."""
    if one == REST:
        return []
    if isinstance(one, spec.Axis) and isinstance(one.expr, spec.Merge):
        if not matches(call.facts, shape, one):
            return [position(call, shape, part) for part in one.expr.parts]
    if isinstance(one, Composite) and not matches(call.facts, shape, one):
        return [position(call, shape, as_wanted(part)) for part in one.parts]
    return [position(call, shape, one)]


# Names that are given --------------------------------------------------------------------------


def fresh(call: Call, shape: Shape, name: Value) -> str | Size:
    """Return a new name; refuse one that another dimension of a shape has, or that isn't one."""
    if isinstance(name, Size):
        if name.symbol is None:
            raise mismatch("it is computed from others", f'can\'t call a dimension "{name}"')
        if name in shape.dims:
            raise mismatch("it is there already", f'can\'t call another one "{name}"')
        return name
    if not isinstance(name, str) or not name.isidentifier():
        raise mismatch('a name is an identifier such as "channels"', f"can't call it {said(name)}")
    if any(_plain_name(item) == name for item in shape.dims if not isinstance(item, Run)):
        raise mismatch("a dimension is called that already", f'can\'t call another one "{name}"')
    return name


def _as_object(call: Call, item: Item, dim: Size) -> Size:
    """Return a dimension object in the place of another dimension of its size."""
    symbol = dim.symbol
    promised = None if symbol is None else symbol.size
    if promised is not None and not isinstance(item, Run) and call.facts.differ(item, promised):
        raise mismatch(
            f'"{dim}" is {promised}, not {item}',
            "can't call a dimension by it",
            about=(dim, promised, item),
        )
    return dim


def called(call: Call, item: Item, name: str | Size) -> Size:
    """Return the dimension that another one is from now on, under a new name.

    A name that is given another name is another dimension. A number, or what is computed, stays
    what it is: that is learned of the new name. Under one name there may be several sizes, as in a
    loop; they are different dimensions then. A dimension object is itself, whatever was there.
    """
    if isinstance(name, Size):
        return _as_object(call, item, name)
    plain = dims.name(name)
    if isinstance(item, Run) or item == plain:
        return plain
    size = call.facts.size(size_of(item))
    inside = dims.symbols(size)
    if isinstance(size, Size) and (alone := size.symbol) is not None:
        if alone.kind is Kind.UNKNOWN:
            call.facts.learn(alone, plain)
        if alone.kind is not Kind.OWN:
            return plain
    if any(symbol.kind is Kind.UNKNOWN for symbol in inside):
        return plain
    known = call.facts.size(plain)
    if known == plain and Sym(name) not in inside:
        if not any(plain in operand.dims for operand in call.operands):
            call.facts.learn(Sym(name), size)
            call.facts.tell_apart(Sym(name))
            return plain
    return plain if call.facts.same(known, size) else another(call, item, name)


def another(call: Call, item: Item, name: str) -> Size:
    """Return a dimension under a name that is another one of this name."""
    assert not isinstance(item, Run)
    size = call.facts.size(size_of(item))
    other = Sym(name, Kind.NAME, Renamed(size))
    call.facts.learn(other, size)
    call.facts.tell_apart(other)
    return Size.of(other)
