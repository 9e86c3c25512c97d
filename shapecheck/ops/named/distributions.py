"""Distributions of named parameters: what is drawn from them, and what they score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from shapecheck.ops.agree import counted, listed
from shapecheck.ops.call import UNKNOWN, Call, Value, as_size, as_tensor, rule
from shapecheck.ops.math.distributions import drawn, events, form, parameters, parted, scored
from shapecheck.ops.named.joins import onto, unsure, within
from shapecheck.ops.named.naming import called, fresh, is_named
from shapecheck.shapes import Item, Shape, Tensor, mismatch


@rule("named.drawn")
def draw(
    call: Call, self: Mapping[str, Value], kwargs: Mapping[str, Value], **rest: Value
) -> Value:
    """Judge `dist.sample(samples=20)`: a new dimension in front for each keyword."""
    found = form(call, self)
    unused(call, Shape((*found.batch.dims, *found.event.dims)), tuple(kwargs))
    sizes = tuple(as_size(size) for size in kwargs.values())
    result = drawn(call, self, sizes)
    items = list(result.shape.dims)
    for at, name in enumerate(kwargs):
        items[at] = called(call, items[at], name)
    return Tensor(Shape(tuple(items)), result.dtype)


@rule("named.scored")
def score(call: Call, self: Mapping[str, Value], value: Value, **rest: Value) -> Value:
    """Judge `dist.log_prob(x)`: the value is brought into order by its names."""
    tensor = as_tensor(value)
    found, shape = form(call, self), call.facts.shape(tensor.shape)
    how = scoring(call, shape, found.batch, found.event)
    if how is None:
        return UNKNOWN
    items = (1 if at is None else shape.dims[at] for at in how.plan)
    return scored(call, self, Tensor(Shape(tuple(items)), tensor.dtype))


def unused(call: Call, whole: Shape, names: tuple[str, ...]) -> bool:
    """Refuse names for new dimensions that a distribution has already."""
    for name in names:
        fresh(call, whole, name)
    return True


def laid(call: Call, owner: Mapping[str, Value]) -> dict[str, tuple[int | None, ...]]:
    """Return how parameters are laid so that their batches meet by name; those that stay aren't in.

    The axes of an event stay behind the batch.
    """
    shapes: dict[str, tuple[Shape, Shape]] = {}
    for key, value in parameters(owner).items():
        if isinstance(value, Tensor) and value.shape.dims:
            parts = parted(call.facts.shape(value.shape), events(owner, key))
            if parts is None:
                return {}
            shapes[key] = parts
    plans = within(call, [batch for batch, _ in shapes.values()]) if len(shapes) > 1 else None
    return {
        key: (*plan, *range(len(batch.dims), len(batch.dims) + len(end.dims)))
        for (key, (batch, end)), plan in zip(shapes.items(), plans or (), strict=False)
        if plan is not None
    }


class Scoring(NamedTuple):
    """The batch of what a value is scored with, and where each of its dimensions comes from."""

    batch: Shape
    plan: tuple[int | None, ...]


def scoring(call: Call, shape: Shape, batch: Shape, event: Shape) -> Scoring | None:
    """Return how a value is scored: its dimensions come in order by their names.

    An event's that have no name, such as those of a matrix, are the last ones as they stand.
    """
    ends = len(event.dims)
    loose = ends > 0 and not any(map(is_named, event.dims))
    if loose and not unsure(shape) and 0 < len(shape.dims) < ends:
        headline = f"can't score {shape} by a distribution of {Shape((*batch.dims, *event.dims))}"
        raise mismatch(f"an event has {counted(ends, 'axis')}", headline)
    cut = len(shape.dims) - ends if loose and shape.dims else len(shape.dims)
    given = Shape(shape.dims[:cut])
    whole = batch if loose else Shape((*batch.dims, *event.dims))
    inner = () if loose else event.dims
    target = _target(shape, given, whole, inner, Shape((*batch.dims, *event.dims)))
    plan = None if target is None else onto(call, given, target)
    if plan is None or target is None:
        return None
    outer = target.dims if loose else target.dims[: len(target.dims) - ends]
    return Scoring(Shape(outer), (*plan, *range(cut, len(shape.dims))))


def _target(
    shape: Shape, given: Shape, whole: Shape, event: Sequence[Item], distribution: Shape
) -> Shape | None:
    """Return the order of a value's dimensions: those that a distribution hasn't, then its own.

    A value that has no others may lack some of the batch, as one observation does beside many
    samples. Raises `Mismatch` where it lacks others, unless it is a single number.
    """
    if unsure(given) or unsure(whole):
        return None
    more = [item for item in given.dims if item not in whole.dims]
    needed = whole.dims if more else event
    lost = [f'"{item}"' for item in needed if is_named(item) and item not in given.dims]
    if shape.dims and lost:
        headline = f"can't score {shape} by a distribution of {distribution}"
        raise mismatch(f"it has no {listed(lost)}", headline)
    return Shape((*more, *whole.dims))
