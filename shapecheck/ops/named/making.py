"""New tensors whose dimensions are given by name, with their sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import Size
from shapecheck.ops.call import Call, DType, Unknown, Value, as_size, is_size, rule
from shapecheck.ops.named.naming import by_dimension, called, fresh
from shapecheck.ops.saying import said
from shapecheck.shapes import Mismatch, Shape, Tensor, mismatch

_KINDS: Final = {"float": dtypes.DEFAULT_FLOAT, "int": dtypes.INT64, "any": dtypes.ANY}


def sized(call: Call, pairs: Sequence[tuple[Value, Value]]) -> list[tuple[str | Size, Value]]:
    """Return the dimensions of a new tensor, each by its name; refuse one that is there twice."""
    found: list[tuple[str | Size, Value]] = []
    items: list[Size] = []
    for name, size in pairs:
        new = fresh(call, Shape(tuple(items)), name)
        if not is_size(size) and not isinstance(size, Unknown):
            raise mismatch(f"{said(size)} isn't one", f'takes the size of "{new}"')
        items.append(new if isinstance(new, Size) else dims.name(new))
        found.append((new, size))
    return found


def no_sizes(given: str) -> Mismatch:
    """Return what refuses something that isn't sizes by name."""
    return mismatch(f"{given} isn't one", "takes sizes by name, b=2 or dict(b=2)")


def not_one(count: int) -> Mismatch:
    """Return what refuses another number of dimensions than one."""
    return mismatch(f"{count} are given", "takes the size of one dimension")


@rule("named.made")
def made(
    call: Call,
    sizes: Value,
    kwargs: Mapping[str, Value],
    dtype: Value = None,
    **rest: Value,
) -> Value:
    """Make a tensor of sizes by name: a dict of them, or keywords."""
    kind = _KINDS[call.word()]
    if isinstance(dtype, DType):
        kind = dtype.dtypes
    elif dtype is not None or any(isinstance(rest.get(n, 0), float) for n in ("start", "step")):
        kind = dtypes.ANY
    if isinstance(sizes, Unknown):
        return Tensor(Shape.unknown(), kind)
    if sizes is not None and not isinstance(sizes, Mapping):
        raise no_sizes(said(sizes))
    pairs = sized(call, [*by_dimension(sizes or {}), *kwargs.items()])
    if "start" in rest and len(pairs) != 1:
        raise not_one(len(pairs))
    return Tensor(Shape(tuple(called(call, as_size(size), name) for name, size in pairs)), kind)
