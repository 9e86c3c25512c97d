"""The order of dimensions, merging and splitting them, and taking a part of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import torch
from torch import Tensor

from shapecheck.dims import Size
from shapecheck.named.core import (
    Name,
    Names,
    apart_from,
    called,
    carry,
    given_as,
    meant,
    name_of,
    new_name,
    planned,
    record_of,
    refuse,
    refuse_as,
    settled,
)
from shapecheck.named.holding import Operand, plain
from shapecheck.ops.call import UNKNOWN, Other, as_dim
from shapecheck.ops.named import naming
from shapecheck.ops.named import operations as rules
from shapecheck.ops.named.joins import fitting
from shapecheck.ops.named.views import not_by_name
from shapecheck.runtime.annotations.hints import dtype_mask
from shapecheck.runtime.errors import ShapeError, error_like
from shapecheck.runtime.naming.facts import value_of
from shapecheck.shapes import Shape
from shapecheck.shapes import Tensor as Known

Index: TypeAlias = "int | slice | Sequence[int] | Operand"
"""What is taken of a dimension."""


def order(x: Tensor, *dims: Names) -> Tensor:
    """Return `x` with its dimensions in this order: `order(x, "b c h w")`.

    All are listed, or `...` stands for the others; `(h w)` merges. Raises `ShapeError` for a
    dimension that `x` hasn't, or that is left out.
    """
    return _ordered(x, dims, "refuse")


def transpose(x: Tensor, *dims: Names) -> Tensor:
    """Return `x` with these dimensions last, in this order; the others stay in front.

    Raises `ShapeError` for a dimension that `x` hasn't.
    """
    return _ordered(x, dims, "front")


def _ordered(x: Tensor, dims: tuple[Names, ...], missing: str) -> Tensor:
    plan = planned(naming.order, (x,), meant(dims), missing)
    found = carry(torch.permute, x, plan.axes)
    for first, last in plan.merged:
        found = carry(torch.flatten, found, first, last)
    return found


def placed(x: Tensor, plan: Sequence[int | None]) -> Tensor:
    """Bring axes into an order, with a new one of size 1 for each None."""
    axes = [at for at in plan if at is not None]
    if axes != list(range(len(axes))):
        x = carry(torch.permute, x, axes)
    for index, at in enumerate(plan):
        if at is None:
            x = carry(torch.unsqueeze, x, index)
    return x


def stack(x: Tensor, dims: Names | None = None, /, **new: Names) -> Tensor:
    """Merge dimensions into one, in the order given: `stack(x, fc="c h w")`.

    `stack(x, "c h w")` merges them into `(c h w)`. The merged dimension stands where the first of
    them stood. (To put tensors beside each other along a new dimension, see `stack_new`.)
    """
    if dims is not None:
        x = _merged(x, dims, None)[0]
    for name, given in new.items():
        x = merged(x, given, name)
    return x


def merged(x: Tensor, dims: Names, name: Name) -> Tensor:
    """Return a tensor in which dimensions are merged into one of a new name."""
    found, first = _merged(x, dims, new_name(name))
    return called(apart_from(x, found), ((first, name),))


def _merged(x: Tensor, dims: Names, name: Name | None) -> tuple[Tensor, int]:
    """Return a tensor in which dimensions are merged, and where the one that they are now is."""
    axes, first, last = planned(_merge, (x,), meant(dims), name)
    if axes is not None:
        x = carry(torch.permute, x, axes)
    return carry(torch.flatten, x, first, last), first


def _merge(call: Any, shape: Any, dims: Any, name: Any) -> Any:
    """Return the order that makes dimensions neighbours, None where they are, and where that is."""
    plan = rules.merge(call, shape, dims, meant(name))
    if plan is None:
        return None
    in_order = plan.axes == tuple(range(len(plan.axes)))
    return None if in_order else plan.axes, plan.first, plan.last


def split(x: Tensor, dim: Name | None = None, /, **parts: Any) -> Tensor:
    """Take a dimension apart: `split(x, fc="c h w", h=4, w=4)`, the size of one is found out.

    `split(x, "(h d)")` takes a merged dimension apart into what it was merged from.
    Raises `ShapeError` where the sizes don't multiply to the dimension's.
    """
    given = tuple([(name, meant(part)) for name, part in parts.items()])
    plan = planned(_split, (x,), meant(dim), given)  # which dynamo of torch 2.11 can't unpack
    found = carry(torch.unflatten, x, plan.at, plan.sizes)
    if len(plan.names) == len(plan.sizes) and _has_lone(x, plan.sizes):
        settled(found, x, beside(plan.at, len(plan.sizes), x.dim()))
    return called(found, plan.names, plan.old) if plan.names else found


def _has_lone(x: Tensor, parts: Sequence[int]) -> bool:
    """Whether a 1 is in the sizes, so that torch's own doesn't tell which axis it was."""
    if torch.compiler.is_compiling():
        return True
    known = record_of(x)
    return 1 in parts or known is None or 1 in known.sizes


def beside(at: int, count: int, rank: int) -> tuple[int | None, ...]:
    """Return which axes of a tensor are left where one was taken apart, None for each part."""
    return (*range(at), *(None for _ in range(count)), *range(at + 1, rank))


class _Split(NamedTuple):
    """How a dimension is taken apart, in numbers, and what its parts are called.

    `old` is a name that one of them may have again.
    """

    at: int
    sizes: tuple[int, ...]
    names: tuple[tuple[int, Name], ...]
    old: str | None


def _split(call: Any, shape: Any, dim: Any, given: tuple[tuple[str, Any], ...]) -> _Split:
    sizes = {name: size for name, size in given if isinstance(size, int)}
    into = [(old, new) for old, new in given if old not in sizes]
    if len(into) > 1 or (dim is None) is not bool(into):
        raise TypeError('write split(x, fc="c h w", h=4, w=4)')
    old, new = into[0] if into else (dim, None)
    plan = rules.split(call, shape, old, new, sizes)
    assert plan is not None
    values = getattr(call.facts, "values", {})  # none where torch.compile traces
    numbers = [value_of(as_dim(size), values) for size in plan.sizes]
    known = tuple([-1 if size is None else size for size in numbers])
    if known.count(-1) > 1:
        raise TypeError("while torch.compile traces, a split needs the sizes of all parts but one")
    if into:
        return _Split(plan.at, known, tuple(enumerate(plan.names, plan.at)), old)
    parts = shape.dims[plan.at].parts
    open_ = any(value_of(part, values) in (None, 1) for part in parts)  # 1 has no place by itself
    names = [
        (at, name_of(part))
        for at, part in enumerate(parts, plan.at)
        if open_ and isinstance(part, Size) and part.symbol is not None
    ]
    return _Split(plan.at, known, tuple(names), None)


def get(x: Tensor, dim: Name | None = None, index: Any = None, /, **at: Any) -> Tensor:
    """Return what stands at an index of a dimension: `get(x, "b", 0)`, or `get(x, b=0, c=1)`."""
    return _indexed(x, dim, index, at)


def index(x: Tensor, dim: Name | None = None, index: Any = None, /, **at: Any) -> Tensor:
    """Return what stands at indices of a dimension: an int, a slice, a list, or a tensor.

    The dimensions of an index tensor stand where the dimension stood.
    """
    return _indexed(x, dim, index, at)


def _indexed(x: Tensor, dim: Name | None, index: Any, at: Mapping[str, Any]) -> Tensor:
    given: list[tuple[Name, Any]] = list(at.items())
    if dim is not None:
        given.append((dim, index))
    if not given:
        refuse('write get(x, "b", 0) or get(x, b=0)', "takes a dimension and an index")
    return taken(x, given)


def taken(x: Tensor, given: Sequence[tuple[Name, Any]]) -> Tensor:
    """Return what stands at indices of dimensions, each behind the name of its dimension."""
    places = [planned(rules.only, (x,), meant(name)) for name, _ in given]
    first = given[0][1]
    try:
        if len(places) == 1 and type(first) is int:
            return carry(torch.select, x, places[0], first)
        return carry(torch.Tensor.__getitem__, x, _subscript(x, places, given))
    except _REFUSING as error:
        _retell(error, x, given)
        raise


_REFUSING: Final = (IndexError, TypeError, ValueError, RuntimeError)
"""What torch raises of an index; a `ShapeError` is one of them."""


def _subscript(
    x: Tensor, places: Sequence[int], given: Sequence[tuple[Name, Any]]
) -> tuple[Any, ...]:
    found: list[Any] = [_WHOLE] * x.dim()
    for place, (_, item) in zip(places, given, strict=True):
        if item is None or item.__class__ is bool or found[place] is not _WHOLE:
            _check_indices(x, given)
        found[place] = plain(item)
    return tuple(found)


_WHOLE: Final = slice(None)


def _retell(error: Exception, x: Tensor, given: Sequence[tuple[Name, Any]]) -> None:
    """Raise what the rule says of indices, in the place of what torch says of them."""
    try:
        _check_indices(x, given)
    except ShapeError as told:
        cause: BaseException = error
        words = str(error)
        if isinstance(error, ShapeError):
            cause, words = error.__cause__ or error, error.words
        raise error_like(cause)(told.message, told.names, told.place, words) from cause


def _check_indices(x: Tensor, given: Sequence[tuple[Name, Any]]) -> None:
    """Refuse what is no index of a dimension, in the words of the rule. Raises `ShapeError`."""
    if not torch.compiler.is_compiling():
        seen = tuple([(meant(name), _seen(item)) for name, item in given])
        planned(_indices, (x,), seen, tuple(x.shape))


def _indices(call: Any, shape: Any, given: Sequence[tuple[Any, Any]], sizes: Sequence[int]) -> bool:
    rules.indices(call, shape, given, sizes)
    return True


def _seen(item: Any) -> Any:
    """Return an index as rules see it, so that it can be looked up."""
    item = plain(item)
    if isinstance(item, Tensor):
        known = record_of(item)
        dims = tuple(item.shape) if known is None else known.dims
        return Known(Shape(dims), dtype_mask(item.dtype))
    if isinstance(item, (list, tuple)):
        return tuple(item) if all(type(one) is int for one in item) else UNKNOWN
    if isinstance(item, slice):
        return UNKNOWN
    return item if item is None or isinstance(item, (int, float, str)) else Other(given_as(item))


def by_name(at: Any) -> list[tuple[Name, Any]]:
    """Return what is taken of which dimension, `{"t": 0}`; refuse what doesn't say it."""
    if not isinstance(at, Mapping) or not at:
        refuse_as(not_by_name("{}" if at == {} else given_as(at)))
    return list(at.items())


def put(x: Tensor, at: Mapping[Any, Index], value: Operand | float) -> Tensor:
    """Write into `x`, `put(x, {"t": 0}, value)`: at indices of dimensions, as `index` takes them.

    `value` is aligned by its names with what stands there. Returns `x`. Raises `ShapeError` where
    it has other dimensions.
    """
    given = by_name(at)
    value = plain(value)
    places = [planned(rules.only, (x,), meant(name)) for name, _ in given]
    subscript = _subscript(x, places, given)
    try:
        if isinstance(value, Tensor) and value.dim():
            part = carry(torch.Tensor.__getitem__, x, subscript)
            value = placed(value, planned(_fitting, (part, value)))
        carry(torch.Tensor.__setitem__, x, subscript, value)
    except _REFUSING as error:
        _retell(error, x, given)
        raise
    return x


def _fitting(call: Any, part: Any, value: Any) -> Any:
    return fitting(call, value, part)


def unbind(x: Tensor, dim: Name) -> tuple[Tensor, ...]:
    """Return what stands at each index of a dimension, as a tuple."""
    return carry(torch.unbind, x, planned(rules.only, (x,), meant(dim)))


def narrow(x: Tensor, dim: Name, start: int, length: int) -> Tensor:
    """Return `length` of a dimension from an index on, `narrow(x, "t", 0, 25)`, as a view."""
    return carry(torch.narrow, x, planned(rules.only, (x,), meant(dim)), start, length)


def chunk(x: Tensor, chunks: int, dim: Name) -> tuple[Tensor, ...]:
    """Return parts of a dimension, as many as asked for if they can be equally long."""
    return carry(torch.chunk, x, chunks, planned(rules.only, (x,), meant(dim)))
