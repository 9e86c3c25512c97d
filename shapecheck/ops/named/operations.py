"""By-name operations, `shapecheck.named`: each is what a positional op does to the named axes.

Where a signature says it, it names the positional op and finds the axes by `named.axis`. The
others are here: what both sides need to know (an order, an equation) is a function of the shapes,
and the rule puts the rules of the positional ops together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import shapecheck.dims as dims
from shapecheck.dims import Composite, IntSize, Size, symbol_of
from shapecheck.ops.agree import listed
from shapecheck.ops.call import (
    UNKNOWN,
    Call,
    Unknown,
    Value,
    as_size,
    as_tensor,
    replace,
    resolved,
    rule,
)
from shapecheck.ops.named import subscripts
from shapecheck.ops.named.naming import (
    Order,
    another,
    called,
    fresh,
    matches,
    order,
    positions,
    wanted,
)
from shapecheck.ops.shape.axes import permute
from shapecheck.ops.shape.indexing import getitem
from shapecheck.ops.shape.reshape import flatten, unflatten
from shapecheck.shapes import Shape, Tensor, mismatch

_Beside = TypeVar("_Beside")


@rule("named.axis")
def axis(call: Call, x: Value, dim: Value, **rest: Value) -> Value:
    """Return the index of the one axis that a name means."""
    return only(call, as_tensor(x).shape, dim)


@rule("named.axes")
def axes(call: Call, x: Value, dim: Value, **rest: Value) -> Value:
    """Return the indices of all axes that names mean; None for None, which is all of them."""
    return None if dim is None else every(call, as_tensor(x).shape, dim)


def only(call: Call, shape: Shape, dim: Value) -> int | Unknown:
    """Return the index of the one axis that a name means."""
    many = wanted(dim)
    if many is None:
        return UNKNOWN
    if len(many) != 1:
        raise mismatch(f"{len(many)} are given", "takes one dimension")
    found = positions(call, shape, dim)
    return UNKNOWN if found is None else found[0]


def every(call: Call, shape: Shape, dim: Value) -> tuple[int, ...] | Unknown:
    """Return the indices of all axes that names mean."""
    found = positions(call, shape, dim)
    return UNKNOWN if found is None else found


def located(
    call: Call, shape: Shape, given: Iterable[tuple[Value, _Beside]]
) -> list[tuple[int, _Beside]] | None:
    """Return which axes names mean, each with what is given beside its name; None if not known."""
    found = [(only(call, shape, name), beside) for name, beside in given]
    known = [(at, beside) for at, beside in found if not isinstance(at, Unknown)]
    return known if len(known) == len(found) else None


# Orders -----------------------------------------------------------------------------------------


@rule("named.order")
def ordered(call: Call, x: Value, dims: Value, **rest: Value) -> Value:
    """Bring the axes into an order; `(h w)` in it merges."""
    missing = call.word()
    tensor, shape = resolved(call, x)
    plan = order(call, shape, dims, missing)
    return Tensor(Shape.unknown(), tensor.dtype) if plan is None else _in_order(call, tensor, plan)


def _in_order(call: Call, tensor: Tensor, plan: Order) -> Tensor:
    found = permute(call, tensor, plan.axes)
    for first, last in plan.merged:
        found = flatten(call, found, first, last)
    return found


class Merge(NamedTuple):
    """How neighbours are merged: the order that makes them neighbours, where, and the new name."""

    axes: tuple[int, ...]
    first: int
    last: int
    name: str | Size | None


def merge(call: Call, shape: Shape, dim: Value, name: Value) -> Merge | None:
    """Return how to merge dimensions where the first of them is, in the order in which given."""
    found = positions(call, shape, _spelled(call, shape, dim))
    if found is None or shape.rank is None:
        return None
    if not found:
        raise mismatch("no dimension is given", f"can't merge dimensions of {shape}")
    taken = [at % shape.rank for at in found]
    others = [at for at in range(shape.rank) if at not in taken]
    first = sum(at < min(taken) for at in others)
    kept = Shape(tuple(shape.dims[at] for at in others))
    new = None if name is None else fresh(call, kept, name)
    return Merge((*others[:first], *taken, *others[first:]), first, first + len(taken) - 1, new)


def _spelled(call: Call, shape: Shape, dim: Value) -> Value:
    """Return the parts of an ordered product, `Heads * Features`, which is what is merged."""
    if isinstance(dim, Composite) and not matches(call.facts, shape, dim):
        return tuple(str(part) if isinstance(part, int) else part for part in dim.parts)
    return dim


@rule("named.stack")
def stack(call: Call, x: Value, dim: Value, kwargs: Mapping[str, Value]) -> Value:
    """Merge dimensions into one: `stack(x, fc="c h w")`, or `stack(x, "c h w")` for `(c h w)`."""
    todo: list[tuple[Value, Value]] = [] if dim is None else [(dim, None)]
    todo += [(given, name) for name, given in kwargs.items()]
    return merged(call, x, todo)


def merged(call: Call, x: Value, todo: Sequence[tuple[Value, Value]]) -> Value:
    """Merge dimensions under new names; None for the name that says what was merged."""
    result = as_tensor(x)
    for given, name in todo:
        plan = merge(call, call.facts.shape(result.shape), given, name)
        if plan is None:
            return Tensor(Shape.unknown(), result.dtype)
        result = flatten(call, permute(call, result, plan.axes), plan.first, plan.last)
        if plan.name is not None:
            item = called(call, result.shape.dims[plan.first], plan.name)
            result = Tensor(replace(result.shape, plan.first, item), result.dtype)
    return result


class Split(NamedTuple):
    """How a dimension is taken apart: its index, the sizes (-1 for what is left), the names."""

    at: int
    sizes: tuple[Value, ...]
    names: tuple[str, ...]


def split(
    call: Call, shape: Shape, dim: Value, into: Value, given: Mapping[str, Value]
) -> Split | None:
    """Return how to take a dimension apart: `"c h w"` with the sizes of all of them but one.

    Without `into`, a composite is taken apart into what was merged.
    """
    found = only(call, shape, dim)
    if isinstance(found, Unknown):
        return None
    headline = f'can\'t split "{wanted(dim)[0]}" of {shape}'  # type: ignore[index]  # it is known
    item = shape.dims[found]
    if into is None:
        if not isinstance(item, Composite):
            raise mismatch(
                f"{item} isn't merged from others; name the parts", headline, about=(item,)
            )
        names = tuple(map(str, item.parts))
    else:
        many = wanted(into)
        if many is None:
            return None
        names = tuple(map(str, many))
    rest = Shape((*shape.dims[:found], *shape.dims[found + 1 :]) if found >= 0 else ())
    sizes: list[Value] = []
    for index, name in enumerate(names):
        if into is not None:
            fresh(call, rest, name)
        part = _parts(item, names)
        sizes.append(given.get(name, part[index] if part else -1))
    if sizes.count(-1) > 1:
        left = listed([f'"{n}"' for n, size in zip(names, sizes, strict=True) if size == -1])
        raise mismatch(f"the sizes of {left} aren't given", headline)
    return Split(found, tuple(sizes), names)


def _parts(item: object, names: Sequence[str]) -> tuple[IntSize, ...]:
    """Return what a dimension was merged from, if that has these names."""
    same = isinstance(item, Composite) and tuple(map(str, item.parts)) == tuple(names)
    return item.parts if same and isinstance(item, Composite) else ()


def _listed(value: Value) -> bool:
    return isinstance(value, (str, tuple, list))


@rule("named.split")
def parted(call: Call, x: Value, dim: Value, kwargs: Mapping[str, Value]) -> Value:
    """Take a dimension apart: `split(x, fc="c h w", h=4, w=4)`."""
    tensor, shape = resolved(call, x)
    jobs: list[tuple[Value, Value]] = [(old, into) for old, into in kwargs.items() if _listed(into)]
    sizes = {name: size for name, size in kwargs.items() if not _listed(size)}
    if dim is not None:
        jobs = [(dim, jobs[0][1] if jobs else None)]
    if len(jobs) != 1:
        raise mismatch('write split(x, fc="c h w", h=4, w=4)', f"can't split {shape}")
    ((old, into),) = jobs
    plan = split(call, shape, old, into, sizes)
    if plan is None:
        return Tensor(Shape.unknown(), tensor.dtype)
    return taken_apart(call, tensor, plan)


def taken_apart(call: Call, tensor: Tensor, plan: Split) -> Value:
    """Return a tensor with a dimension taken apart as planned."""
    shape = call.facts.shape(tensor.shape)
    at = plan.at if plan.at >= 0 else plan.at + len(shape.dims)
    result = unflatten(call, tensor, plan.at, plan.sizes)
    if not isinstance(result, Tensor) or _parts(shape.dims[at], plan.names):
        return result
    items = list(result.shape.dims)
    whole = call.facts.dim(shape.dims[at])  # type: ignore[arg-type]  # no run, since it is known
    for index, name in enumerate(plan.names, at):
        item = items[index]
        if dims.name(name) == whole:
            items[index] = another(call, item, name)
            continue
        rest = dims.symbols(item) & dims.symbols(whole)  # type: ignore[arg-type]  # nor here
        items[index] = dims.name(name) if rest else called(call, item, name)
    symbol = symbol_of(whole)
    if symbol is not None:
        product = call.facts.size(dims.product(map(as_size, items[at : at + len(plan.names)])))
        if symbol not in dims.symbols(product):
            call.facts.learn(symbol, product)
    return Tensor(Shape(tuple(items)), tensor.dtype)


# Indexing ---------------------------------------------------------------------------------------


def indices(
    call: Call,
    shape: Shape,
    given: Iterable[tuple[Value, Value]],
    sizes: Sequence[int] | None = None,
) -> tuple[Value, ...] | None:
    """Return the subscript that takes an index from each of the named dimensions.

    `sizes` are those of the axes, where a program runs. Raises `Mismatch` where something is no
    index, or beyond its dimension.
    """
    pairs = list(given)
    found = located(call, shape, pairs)
    if shape.rank is None or found is None:
        return None
    found = [(at % shape.rank, index) for at, index in found]
    subscripts.check(call, shape, found, [str(name) for name, _ in pairs], sizes)
    subscript: list[Value] = [slice(None)] * shape.rank
    for at, index in found:
        subscript[at] = index
    return tuple(subscript)


@rule("named.index")
def index(call: Call, x: Value, dim: Value, index: Value, kwargs: Mapping[str, Value]) -> Value:
    """Take what stands at an index: of one dimension, or of several by keywords."""
    tensor, shape = resolved(call, x)
    given = [*kwargs.items(), *([] if dim is None else [(dim, index)])]
    subscript = indices(call, shape, given)
    if subscript is None:
        return Tensor(Shape.unknown(), tensor.dtype)
    return getitem(call, Tensor(shape, tensor.dtype), subscript)
