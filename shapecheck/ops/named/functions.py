"""What any function makes of a named tensor, by what is said of it."""

from __future__ import annotations

from collections.abc import Mapping

import shapecheck.dims as dims
from shapecheck.dims import Size
from shapecheck.ops.agree import counted
from shapecheck.ops.call import Call, Unknown, Value, rule
from shapecheck.ops.named.naming import (
    called,
    fresh,
)
from shapecheck.ops.named.operations import every, located
from shapecheck.ops.shape.axes import of_rank
from shapecheck.shapes import Run, Shape, Tensor, mismatch


@rule("named.op")
def applied(
    call: Call, x: Value, result: Value, kwargs: Mapping[str, Value], **rest: Value
) -> Value:
    """Name what a function of a tensor gives: `op(x, conv, c2="c")`."""
    if not isinstance(x, Tensor) or not isinstance(result, Tensor):
        return result
    before, after = (call.facts.shape(one.shape) for one in (x, result))
    pairs = moved(call, before, after, kwargs)
    if pairs is None:
        return Tensor(of_rank(after), result.dtype)
    items = list(after.dims)
    for at, name in pairs:
        items[at] = called(call, items[at], name)
    return Tensor(Shape(tuple(items)), result.dtype)


def moved(
    call: Call, before: Shape, after: Shape, new: Mapping[str, Value]
) -> tuple[tuple[int, str], ...] | None:
    """Return which axis of a function's result is called what, by its name before.

    It is the same axis, or where there are more or fewer, the one of this name.
    """
    if after.rank is None:
        return None
    same = before.rank == after.rank
    given = ((old, name) for name, old in new.items())
    found = located(call, before if same else after, given)
    if found is None:
        return None
    kept = Shape(after.without(dict(found)))
    for _, name in found:
        fresh(call, kept, name)
    return tuple(found)


@rule("named.reduce")
def reduced(call: Call, x: Value, result: Value, dims: Value, **rest: Value) -> Value:
    """Name what a function makes of a tensor by taking dimensions away."""
    if not isinstance(x, Tensor) or not isinstance(result, Tensor):
        return result
    before, after = (call.facts.shape(one.shape) for one in (x, result))
    kept = less(call, before, after, dims)
    if kept is None:
        return result
    return Tensor(Shape(tuple(before.dims[at] for at in kept)), result.dtype)


def less(call: Call, before: Shape, after: Shape, dim: Value) -> tuple[int, ...] | None:
    """Return which axes are left of a shape without some dimensions, which is what `after` is."""
    gone = every(call, before, dim)
    if isinstance(gone, Unknown) or before.rank is None:
        return None
    places = [at % before.rank for at in gone]
    kept = tuple(at for at in range(before.rank) if at not in places)
    _claimed(call, Shape(tuple(before.dims[at] for at in kept)), after)
    return kept


def _claimed(call: Call, claimed: Shape, found: Shape) -> None:
    """Check what a function gives against what it should."""
    headline = f"gives {found}, where {claimed} is expected"
    if found.rank is not None and claimed.rank is not None and found.rank != claimed.rank:
        raise mismatch(f"it has {counted(found.rank, 'dimension')}", headline)
    for one, other in zip(claimed.dims, found.dims, strict=False):
        if isinstance(one, Run) or isinstance(other, Run):
            break
        if not call.unify(one, other):
            raise mismatch(f"{other} isn't {one}", headline, about=(other, one))


@rule("named.augment")
def augmented(call: Call, x: Value, result: Value, name: Value, **rest: Value) -> Value:
    """Name what a function makes of a tensor by adding a dimension behind the others."""
    if not isinstance(x, Tensor) or not isinstance(result, Tensor):
        return result
    if isinstance(name, Unknown):
        return result
    before, after = (call.facts.shape(one.shape) for one in (x, result))
    more(call, before, after, name)
    last = after.at(-1)
    if last is None or before.rank is None or not isinstance(name, (str, Size)):
        return result
    return Tensor(Shape((*before.dims, called(call, last, name))), result.dtype)


def more(call: Call, before: Shape, after: Shape, name: Value) -> bool | None:
    """Check that a function's result is a shape with one more dimension behind it."""
    fresh(call, before, name)
    if before.rank is None or after.rank is None:
        return None
    last = Shape(after.dims[-1:]) if after.rank > before.rank else Shape((dims.name(str(name)),))
    _claimed(call, Shape((*before.dims, *last.dims)), after)
    return True
