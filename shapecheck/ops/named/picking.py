"""Elements that are taken by an index, a mask or their value, and planes of two dimensions."""

from __future__ import annotations

from typing import NamedTuple

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import DimExpr, Size
from shapecheck.ops.call import Call, Unknown, Value, as_tensor, replace, resolved, rule
from shapecheck.ops.named.joins import onto, unsure
from shapecheck.ops.named.naming import called, fresh
from shapecheck.ops.named.operations import every, only
from shapecheck.shapes import Run, Shape, Tensor, mismatch


class Aim(NamedTuple):
    """Where an index points: the axis, and how each operand is brought onto the other axes.

    `kept` are the axes of the tensor, None for the one that the index has another dimension for.
    """

    at: int
    kept: tuple[int | None, ...]
    plans: tuple[tuple[int | None, ...], ...]


def aim(call: Call, shape: Shape, given: tuple[Shape, ...], dim: Value, name: Value) -> Aim | None:
    """Return how operands with a dimension `name` are laid on a shape that has `dim` there.

    They may lack any of the other dimensions, and are the same along those then.
    """
    at = only(call, shape, dim)
    items = [_along(call, one, name) for one in given]
    if isinstance(at, Unknown) or shape.rank is None:
        return None
    at %= shape.rank
    fresh(call, Shape(shape.without([at])), name)
    plans = []
    for one, item in zip(given, items, strict=True):
        if item is None or items[0] is None:
            return None
        if not call.unify(item, items[0]):
            headline = f"can't put {one} where {given[0]} says"
            raise mismatch(f"{item} has another size in the index", headline)
        plan = onto(call, one, replace(shape, at, item))
        if plan is None:
            return None
        plans.append(plan)
    kept = tuple(None if axis == at else axis for axis in range(shape.rank))
    return Aim(at, kept, tuple(plans))


def rows(call: Call, shape: Shape, given: tuple[Shape, ...], dim: Value) -> Aim | None:
    """Return how an index of one dimension, and rows that have it too, are laid on a shape.

    The index's dimension stands for `dim`; rows may lack any of the others.
    """
    at = only(call, shape, dim)
    index, *others = given
    if isinstance(at, Unknown) or shape.rank is None or index.rank is None:
        return None
    if index.rank != 1:
        raise mismatch(f"{index} has {index.rank}", "takes an index of one dimension")
    at %= shape.rank
    kept = tuple(None if axis == at else axis for axis in range(shape.rank))
    (item,) = index.known or (None,)
    if item is None or any(map(unsure, given)):
        return None
    plans: list[tuple[int | None, ...]] = [(0,)]
    if others:
        if isinstance(item, int):
            raise mismatch("it has no name", f"can't tell which dimension of rows {index} is")
        fresh(call, Shape(shape.without([at])), item if isinstance(item, Size) else str(item))
    for one in others:
        own = _along(call, one, str(item))
        if own is None:
            return None
        if not call.unify(own, item):
            headline = f"can't put {one} where {index} says"
            raise mismatch(f"{own} has another size in the index", headline)
        plan = onto(call, one, replace(shape, at, own))
        if plan is None:
            return None
        plans.append(plan)
    return Aim(at, kept, tuple(plans))


@rule("named.rows")
def with_rows(
    call: Call, x: Value, dim: Value, index: Value, source: Value = None, **rest: Value
) -> Value:
    """Put rows in at indices along a dimension: the shape stays."""
    tensor, shape = resolved(call, x)
    operands = [index, source] if isinstance(source, Tensor) else [index]
    given = tuple(call.facts.shape(as_tensor(one).shape) for one in operands)
    rows(call, shape, given, dim)
    return Tensor(shape, tensor.dtype)


def _along(call: Call, shape: Shape, name: Value) -> DimExpr | None:
    """Return the dimension of a shape that a name means, None where it isn't known."""
    at = only(call, shape, name)
    item = None if isinstance(at, Unknown) else shape.dims[at]
    return None if isinstance(item, Run) else item


@rule("named.gather")
def gather(call: Call, x: Value, dim: Value, index: Value, name: Value, **rest: Value) -> Value:
    """Take elements along a dimension by an index that has another dimension in its place."""
    tensor, shape = resolved(call, x)
    pointed = call.facts.shape(as_tensor(index).shape)
    found = None if isinstance(name, Unknown) else aim(call, shape, (pointed,), dim, name)
    if found is None or not isinstance(name, (str, dims.Size)):
        return Tensor(Shape.unknown(), tensor.dtype)
    (plan,) = found.plans
    place = plan[found.at]
    assert place is not None
    item = called(call, pointed.dims[place], name)
    return Tensor(replace(shape, found.at, item), tensor.dtype)


@rule("named.scatter")
def scatter(
    call: Call, x: Value, dim: Value, index: Value, source: Value, name: Value, **rest: Value
) -> Value:
    """Put elements where an index says; index and source have another dimension in one's place."""
    tensor, shape = resolved(call, x)
    operands = [index, source] if isinstance(source, Tensor) else [index]
    if not isinstance(name, Unknown):
        given = tuple(call.facts.shape(as_tensor(one).shape) for one in operands)
        aim(call, shape, given, dim, name)
    return Tensor(shape, tensor.dtype)


@rule("named.called")
def all_called(call: Call, x: Value, names: Value, **rest: Value) -> Value:
    """Call the dimensions that an op makes anew by names."""
    tensor, shape = resolved(call, x)
    if shape.rank is None or not isinstance(names, tuple) or len(names) != shape.rank:
        return tensor
    items = list(shape.dims)
    for at, name in enumerate(names):
        if not isinstance(name, Unknown):
            items[at] = called(call, items[at], fresh(call, Shape(tuple(items[:at])), name))
    return Tensor(Shape(tuple(items)), tensor.dtype)


def told_apart(call: Call, shape: Shape, dim: Value, name: Value) -> int | Unknown | None:
    """Return the axis along which elements are told apart, None for all; check the new name."""
    at = None if dim is None else only(call, shape, dim)
    if not isinstance(at, Unknown):
        rest = () if at is None else shape.without([at % len(shape.dims)])
        fresh(call, Shape(tuple(rest)), name)
    return at


@rule("named.unique")
def unique(call: Call, x: Value, name: Value, dim: Value, **rest: Value) -> Value:
    """Return the different elements under a new name, and where each element is among them."""
    tensor, shape = resolved(call, x)
    if isinstance(name, Unknown):
        return Tensor(Shape.unknown(), tensor.dtype), Tensor(Shape.unknown(), dtypes.INT64)
    at = told_apart(call, shape, dim, name)
    if isinstance(at, Unknown) or not isinstance(name, (str, dims.Size)):
        return Tensor(Shape.unknown(), tensor.dtype), Tensor(Shape.unknown(), dtypes.INT64)
    new = called(call, dims.unknown(), name)
    if at is None:
        return Tensor(Shape((new,)), tensor.dtype), Tensor(shape, dtypes.INT64)
    found = Tensor(replace(shape, at, new), tensor.dtype)
    return found, Tensor(Shape((shape.dims[at],)), dtypes.INT64)


@rule("named.triangle")
def triangle(call: Call, x: Value, dims: Value, **rest: Value) -> Value:
    """Keep the triangle of a plane: the shape stays."""
    tensor, shape = resolved(call, x)
    plane(call, shape, dims)
    return Tensor(shape, tensor.dtype)


def plane(call: Call, shape: Shape, dims: Value) -> tuple[int, int] | Unknown:
    """Return the axes of rows and columns."""
    found = every(call, shape, dims)
    if isinstance(found, Unknown):
        return found
    if len(found) != 2:
        given = f"{len(found)} {'is' if len(found) == 1 else 'are'} given"
        raise mismatch(given, "takes two dimensions, of rows and of columns")
    rows, columns = found
    return rows, columns
