"""Histograms over several dimensions."""

from __future__ import annotations

import shapecheck.dims as dims
from shapecheck.dims import IntSize, size_of
from shapecheck.ops.agree import counted
from shapecheck.ops.call import UNKNOWN, Call, Value, as_size, is_size, resolved, rule
from shapecheck.shapes import Shape, Tensor, mismatch


@rule("histogramdd")
def histogramdd(call: Call, input: Value, bins: Value, **settings: Value) -> Value:
    """Judge `histogramdd`: points `(n, d)` are counted in d dimensions, with the edges of each."""
    tensor, shape = resolved(call, input)
    if shape.rank is not None and shape.rank < 2:
        raise mismatch(
            f"it has {counted(shape.rank, 'axis')}, and at least 2 are needed",
            f"can't count {shape}",
            about=(shape,),
        )
    last = shape.at(-1)
    width = dims.unknown() if last is None else size_of(call.facts.dim(last))
    given = bins if isinstance(bins, (list, tuple)) else None
    if given is None and is_size(bins) and isinstance(width, int):
        given = [bins] * width
    if given is None:
        return Tensor(Shape.unknown(), tensor.dtype), UNKNOWN
    if not call.unify(width, len(given)):
        raise mismatch(
            f"axis -1 is {last}, and bins are given for {len(given)}",
            f"can't count {shape}",
            about=(width,),
        )
    counts = [_count(call, one) for one in given]
    edges = tuple(Tensor(Shape((count + 1,)), tensor.dtype) for count in counts)
    return Tensor(Shape(tuple(counts)), tensor.dtype), edges


def _count(call: Call, bins: Value) -> IntSize:
    """Return how many bins a dimension has: a number, or one less than there are edges."""
    if not isinstance(bins, Tensor):
        return as_size(bins)
    edges = call.facts.shape(bins.shape).at(0)
    return dims.unknown() if edges is None else size_of(edges) - 1
