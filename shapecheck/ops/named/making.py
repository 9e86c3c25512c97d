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
from shapecheck.shapes import Shape, Tensor, mismatch

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
        raise mismatch(f"{said(sizes)} isn't one", "takes sizes by name, b=2 or dict(b=2)")
    pairs = sized(call, [*by_dimension(sizes or {}), *kwargs.items()])
    if "start" in rest and len(pairs) != 1:
        raise mismatch(f"{len(pairs)} are given", "takes the size of one dimension")
    return Tensor(Shape(tuple(called(call, as_size(size), name) for name, size in pairs)), kind)
