"""Giving names to dimensions, and asserting sizes by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import EllipsisType
from typing import TypeAlias

import shapecheck.dims as dims
from shapecheck import spec
from shapecheck.dims import Composite, Dim, Kind, Size, Sym
from shapecheck.ops.call import Call, Repeated, Scalar, Unknown, Value, as_dim, resolved, rule
from shapecheck.ops.named.naming import called, fresh, is_named
from shapecheck.ops.named.operations import located, merged, only, split, taken_apart
from shapecheck.ops.saying import said, written
from shapecheck.shapes import Item, Matcher, Run, Shape, Tensor, has_run, mismatch
from shapecheck.spec.objects import ObjectName, in_objects


@rule("named.rename")
def rename(
    call: Call, x: Value, old: Value, new: Value, kwargs: Mapping[str, Value], **rest: Value
) -> Value:
    """Call dimensions by new names: `rename(x, query="t")`, `rename(x, Time, Query)`."""
    tensor, shape = resolved(call, x)
    known = not isinstance(new, Unknown)
    given: list[tuple[Value, Value]] = list(kwargs.items())
    if known and (old is not None or new is not None):
        given.append((new, old))
    pairs = renamed(call, shape, given) if known else None
    if pairs is None:
        return Tensor(Shape.unknown(), tensor.dtype)
    items = list(shape.dims)
    for at, name in pairs:
        items[at] = called(call, items[at], name)
    return Tensor(Shape(tuple(items)), tensor.dtype)


def renamed(
    call: Call, shape: Shape, new: Iterable[tuple[Value, Value]]
) -> tuple[tuple[int, str | Size], ...] | None:
    """Return which axis is called what from now on, of pairs of a new name and an old one."""
    found = located(call, shape, ((old, name) for name, old in new))
    if found is None:
        return None
    places = [at % len(shape.dims) for at, _ in found]
    kept = Shape(shape.without(places))
    names = [fresh(call, kept, name) for _, name in found]
    return tuple(zip(places, names, strict=True))


@rule("named.named")
def name_all(call: Call, x: Value, dims: Value, **rest: Value) -> Value:
    """Call the dimensions of a tensor by names, whatever they were called before."""
    tensor, shape = resolved(call, x)
    known = entries_of(dims)
    if known is None:
        return tensor
    entries, objects = known
    open_ = [at for at, entry in enumerate(entries) if isinstance(entry, spec.Group)]
    if len(open_) > 1:
        return tensor
    at = open_[0] if open_ else len(entries)
    before, after = entries[:at], entries[at + 1 :]
    items = list(shape.dims)
    if shape.rank is None and not open_ and shape.least_rank <= len(entries):
        items = list(Shape.of_rank(len(entries)).dims)
    if len(items) < len(before) + len(after) or (len(items) > len(entries) and not open_):
        if shape.rank is None:
            return tensor
        raise _other_rank(shape, len(entries))
    seen: dict[str, Item] = {}
    for index, entry in [*enumerate(before), *enumerate(after, len(items) - len(after))]:
        item, again = items[index], seen.setdefault(str(entry), items[index])
        if str(entry).isidentifier() and not isinstance(item, Run) and not isinstance(again, Run):
            if call.facts.differ(item, again):
                raise mismatch(
                    f'"{entry}" is both {again} and {item}',
                    f"can't name {shape}",
                    about=(again, item),
                )
        if not has_run(items[: index + 1]) or not has_run(items[index:]):
            items[index] = _renamed(call, shape, items[index], entry, objects)
    return Tensor(Shape(tuple(items)), tensor.dtype)


def entries_of(given: Value) -> tuple[tuple[spec.Entry, ...], Mapping[str, Sym]] | None:
    """Return the annotation that texts and dimensions make, and which names are dimensions.

    None where it isn't known.
    """
    parts = given if isinstance(given, (tuple, list)) else (given,)
    if any(isinstance(part, (Unknown, Scalar)) or _is_some_size(part) for part in parts):
        return None
    objects: dict[str, Sym] = {}
    entries: list[spec.Entry] = []
    for part in parts:
        if isinstance(part, bool) or not isinstance(
            part, (str, int, Size, Composite, EllipsisType)
        ):
            raise mismatch(f"{said(part)} isn't a name", "takes the names of dimensions")
        try:
            read = (spec.Group(None),) if part is ... else spec.parse(str(part)).entries
        except spec.SpecError as error:
            raise mismatch(str(error), f'can\'t read "{part}"', "shape-annotation") from None
        if isinstance(part, (Size, Composite)):
            names = [ObjectName(symbol) for symbol in dims.in_order(dims.symbols(part))]
            objects |= {name: name.symbol for name in names}
            read = in_objects(read, {str(name): name for name in names})
        entries += read
    return tuple(entries), objects


def _is_some_size(part: Value) -> bool:
    """Whether this is a size that isn't written in names, such as that of an `int` parameter."""
    if not isinstance(part, (Size, Composite)):
        return False
    return any(symbol.kind in (Kind.OWN, Kind.UNKNOWN) for symbol in dims.symbols(part))


def _renamed(
    call: Call, shape: Shape, item: Item, entry: spec.Entry, objects: Mapping[str, Sym]
) -> Item:
    """Return what a dimension is by an entry of an annotation."""
    expr = entry.expr if isinstance(entry, spec.Axis) else None
    if expr is None or isinstance(item, Run) or isinstance(expr, (spec.Wild, spec.Braces)):
        return item
    if isinstance(expr, spec.Name):
        if expr.id in objects:
            return called(call, item, Size.of(objects[expr.id]))
        return called(call, item, expr.id)
    names = {
        name: Size.of(objects[name]) if name in objects else dims.name(name)
        for name in spec.expr_names(expr)
    }
    found = Matcher(call.facts, names=dict(names)).value(expr)
    if found is None:
        return item
    if not isinstance(found, int):
        return found
    if not call.unify(item, found):
        raise mismatch(f'{item} isn\'t "{entry}"', f"can't name {shape}", about=(item,))
    return item


def _other_rank(shape: Shape, count: int) -> Exception:
    has = f"{len(shape.dims)} {'axis' if len(shape.dims) == 1 else 'axes'}"
    return mismatch(
        f"it has {has}, and {count} {'name is' if count == 1 else 'names are'} given",
        f"can't name {shape}",
    )


@rule("named.assert_size")
def assert_size(call: Call, x: Value, kwargs: Mapping[str, Value], **rest: Value) -> Value:
    """Check the sizes of named dimensions: `assert_size(x, c=20)`."""
    tensor, shape = resolved(call, x)
    for name, size in kwargs.items():
        at = only(call, shape, name)
        if isinstance(at, Unknown) or isinstance(size, Unknown):
            continue
        item = shape.dims[at]
        if not isinstance(item, Run) and not call.unify(item, as_dim(size)):
            raise wrong_size(shape, name, call.facts.dim(item), size)
    return tensor


def wrong_size(shape: Shape, name: str, found: Item, size: object) -> Exception:
    """Return what to say of a dimension that isn't of the size that is asserted."""
    return mismatch(
        f'"{name}" is {found}, not {written(size)}',
        f"doesn't hold for {shape}",
        about=(dims.name(name), found),
    )


# What torch had under these names -----------------------------------------------------------------


@rule("named.flatten")
def flatten_named(call: Call, x: Value, dims: Value, name: Value, **rest: Value) -> Value:
    """Merge dimensions under a new name."""
    return Tensor.unknown() if isinstance(name, Unknown) else merged(call, x, [(dims, name)])


@rule("named.unflatten")
def unflatten_named(call: Call, x: Value, dim: Value, sizes: Value, **rest: Value) -> Value:
    """Take a dimension apart into (name, size) pairs."""
    tensor, shape = resolved(call, x)
    pairs = named_sizes(sizes)
    plan = None if pairs is None else split(call, shape, dim, tuple(pairs), pairs)
    return (
        Tensor(Shape.unknown(), tensor.dtype) if plan is None else taken_apart(call, tensor, plan)
    )


def named_sizes(pairs: Value) -> dict[str, Value] | None:
    """Return the sizes of `(("c", 2), ("h", 3))` by name, None where they aren't known."""
    if isinstance(pairs, (Unknown, Repeated)):
        return None
    found: dict[str, Value] = {}
    for pair in pairs if isinstance(pairs, (tuple, list)) else (pairs,):
        if isinstance(pair, (Unknown, Run, Repeated)):
            return None
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise mismatch(f"{said(pair)} isn't one", "takes pairs of a name and a size")
        name, size = pair
        if isinstance(name, Unknown):
            return None
        if not isinstance(name, str):
            raise mismatch(f"{said(name)} isn't a name", "takes pairs of a name and a size")
        found[name] = size
    return found


_Name: TypeAlias = str | Size | Dim


@rule("named.refine")
def refine(call: Call, x: Value, dims: Value, **rest: Value) -> Value:
    """Give names to dimensions that have none; those that have one keep it."""
    tensor, shape = resolved(call, x)
    pairs = refined(call, shape, dims)
    if pairs is None:
        return tensor
    items = list(shape.dims)
    for at, name in pairs:
        if not isinstance(name, Dim):  # at run time only, and there no rule is asked
            items[at] = called(call, items[at], name)
    return Tensor(Shape(tuple(items)), tensor.dtype)


def refined(call: Call, shape: Shape, given: Value) -> tuple[tuple[int, _Name], ...] | None:
    """Return which axes get which names: `("b", ..., "c")`, None for one that stays as it is."""
    if not isinstance(given, (tuple, list)) or shape.rank is None:
        return None
    names = [part for one in given for part in (one.split() if isinstance(one, str) else (one,))]
    names = [... if one == "..." else one for one in names]
    meant: list[_Name | EllipsisType | None] = []
    for name in names:
        if isinstance(name, Unknown):
            return None
        if name is not None and not isinstance(name, (str, Size, Dim, EllipsisType)):
            raise mismatch(f"{said(name)} isn't a name", "takes the names of dimensions")
        meant.append(name)
    if meant.count(...) > 1:
        return None
    if ... in meant:
        cut = meant.index(...)
        meant[cut : cut + 1] = [None] * (shape.rank - len(meant) + 1)
    if len(meant) != shape.rank:
        raise _other_rank(shape, len(meant))
    found: list[tuple[int, _Name]] = []
    for at, (item, new) in enumerate(zip(shape.dims, meant, strict=True)):
        if new is None or isinstance(new, EllipsisType):
            continue
        if is_named(item) and str(item) != new:
            raise mismatch(
                f'axis {at} is "{item}" already, not "{new}"',
                f"can't name {shape}",
                about=(item,),
            )
        found.append((at, new))
    return tuple(found)
