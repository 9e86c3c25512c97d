"""Distributions of named parameters: what is drawn from them, and what they score."""

from __future__ import annotations

from collections.abc import Mapping

from shapecheck.ops.agree import listed
from shapecheck.ops.call import UNKNOWN, Call, Value, as_size, as_tensor, rule
from shapecheck.ops.distributions import drawn, form, scored
from shapecheck.ops.named_joins import onto, unsure
from shapecheck.ops.naming import called, fresh, is_named
from shapecheck.shapes import Shape, Tensor, mismatch


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
    target = target_of(shape, Shape((*found.batch.dims, *found.event.dims)))
    plan = None if target is None else onto(call, shape, target)
    if plan is None or target is None:
        return UNKNOWN
    items = (1 if at is None else shape.dims[at] for at in plan)
    return scored(call, self, Tensor(Shape(tuple(items)), tensor.dtype))


def unused(call: Call, whole: Shape, names: tuple[str, ...]) -> bool:
    """Refuse names for new dimensions that a distribution has already."""
    for name in names:
        fresh(call, whole, name)
    return True


def target_of(shape: Shape, whole: Shape) -> Shape | None:
    """Return the order of a value's dimensions: those that a distribution hasn't, then its own.

    Raises `Mismatch` where the value lacks one, unless it is a single number.
    """
    if unsure(shape) or unsure(whole):
        return None
    lost = [f'"{item}"' for item in whole.dims if is_named(item) and item not in shape.dims]
    if shape.dims and lost:
        headline = f"can't score {shape} by a distribution of {whole}"
        raise mismatch(f"it has no {listed(lost)}", headline)
    more = (item for item in shape.dims if item not in whole.dims)
    return Shape((*more, *whole.dims))
