"""`F.linear`, and the weights that modules make from their arguments."""

from __future__ import annotations

from collections.abc import Mapping

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import DimExpr
from shapecheck.ops.agree import counted, fits_bias, one_kind, promote_all, size
from shapecheck.ops.call import UNKNOWN, Call, Value, as_mapping, as_tensor, rule
from shapecheck.shapes import Run, Shape, Tensor, has_run, mismatch


@rule("linear")
def linear(call: Call, input: Value, weight: Value, bias: Value = None, **rest: Value) -> Value:
    """Judge `F.linear`: input `*n i`, weight `o i` (or `i`), bias `o`."""
    parts = [as_tensor(input), as_tensor(weight)]
    shape = call.facts.stretched(parts[0].shape, back=1)
    table = call.facts.stretched(parts[1].shape, count=2, guess=True)
    headline = f"can't multiply {shape} by a weight of {table}"
    one_kind(parts[0], parts[1], headline)
    kind = promote_all(parts)
    if shape.rank == 0:
        raise mismatch('"input" has no axis', headline)
    if table.rank is not None and table.rank not in (1, 2):
        raise mismatch(
            f'"weight" has {counted(table.rank, "axis")}, where 2 are expected', headline
        )
    found, wanted = shape.at(-1), table.at(-1)
    if found is not None and wanted is not None and not call.unify(found, wanted):
        raise mismatch(
            f'axis -1 is {found} in "input" and {wanted} in "weight"',
            headline,
            "shape",
            "transpose",
            about=(found, wanted),
        )
    lead = shape.dims[:-1] if found is not None else Shape.unknown().dims
    if table.rank == 1:
        return Tensor(Shape(lead), kind)
    if table.rank is None:
        return Tensor(Shape((*lead, *Shape.unknown().dims)), kind)
    out = table.dims[0]
    assert not isinstance(out, Run)
    fits_bias(call, bias, out, headline)
    return Tensor(Shape((*lead, out)), kind)


@rule("prelu")
def prelu(call: Call, input: Value, weight: Value, **rest: Value) -> Value:
    """Judge `F.prelu`: one slope, or one for each channel (axis 1)."""
    tensor, slopes = as_tensor(input), as_tensor(weight)
    shape, given = call.facts.shape(tensor.shape), call.facts.shape(slopes.shape)
    headline = f"can't weigh {shape} by slopes of {given}"
    if given.rank is not None and given.rank > 1:
        raise mismatch(f'"weight" has {given.rank} axes, at most 1 is expected', headline)
    count = given.at(0) if given.rank == 1 else None
    if count is None or call.facts.dim(count) == 1 or shape.rank is None:
        return tensor
    channels: DimExpr | None = shape.at(1) if shape.rank > 1 else 1
    if channels is not None and not call.unify(count, channels):
        raise mismatch(
            f'"weight" has {count} elements, where axis 1 is {channels}',
            headline,
            about=(count, channels),
        )
    return tensor


@rule("normalized weight")
def normalized_weight(call: Call, self: Mapping[str, Value]) -> Value:
    """Return the weight of a `LayerNorm`, which has the shape that it normalizes."""
    given = self.get("normalized_shape")
    if self.get("elementwise_affine") is False:
        return None
    if isinstance(given, (tuple, list)):
        if has_run(given):
            return UNKNOWN
        return Tensor(Shape(tuple(size(one) for one in given)), dtypes.ANY)
    if isinstance(given, (int, dims.Size)):
        return Tensor(Shape((size(given),)), dtypes.ANY)
    return UNKNOWN


@rule("mixed weight")
def mixed_weight(call: Call, self: Mapping[str, Value]) -> Value:
    """Return the weight of an `EinMix`, whose axes its pattern names."""
    pattern, lengths = self.get("weight_shape"), as_mapping(self.get("kwargs"))
    if not isinstance(pattern, str):
        return UNKNOWN
    return Tensor(Shape(tuple(size(lengths.get(name, UNKNOWN)) for name in pattern.split())))
