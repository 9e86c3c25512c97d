"""Normalizations: the shape stays, the number of features has to agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import shapecheck.dims as dims
from shapecheck.dims import DimExpr, size_of
from shapecheck.ops.agree import counted, fits_axis, float_of, size, trailing
from shapecheck.ops.call import Call, Unknown, Value, as_tensor, rule
from shapecheck.ops.saying import written
from shapecheck.ops.windows import unexpected
from shapecheck.shapes import Shape, Tensor, has_run, mismatch


def _kept(tensor: Tensor, shape: Shape | None = None) -> Tensor:
    return Tensor(tensor.shape if shape is None else shape, float_of(tensor))


@rule("layer_norm")
def layer_norm(
    call: Call,
    input: Value,
    normalized_shape: Value,
    weight: Value = None,
    bias: Value = None,
    **rest: Value,
) -> Value:
    """Judge a norm over the last axes, which `normalized_shape` repeats."""
    tensor = as_tensor(input)
    shape = call.facts.shape(tensor.shape)
    if isinstance(normalized_shape, (Unknown, Tensor)):
        return _kept(tensor)
    given: Sequence[Value] = (
        tuple(normalized_shape)
        if isinstance(normalized_shape, (tuple, list))
        else (normalized_shape,)
    )
    if has_run(given):
        return _kept(tensor)
    if not given:
        raise mismatch("normalized_shape is empty", f"can't normalize {shape}")
    sizes = [size(one) for one in given]
    text = Shape(tuple(sizes))
    shape = call.facts.stretched(shape, back=len(sizes))
    headline = f"can't normalize {shape} over {text}"
    if shape.rank is not None and shape.rank < len(sizes):
        raise mismatch(
            f'"input" has {counted(shape.rank, "axis")}, at least {len(sizes)} are expected',
            headline,
        )
    for index, wanted in enumerate(sizes):
        axis = index - len(sizes)
        fits_axis(call, "input", axis, shape.at(axis), wanted, headline, "transpose")
    for name, value in (("weight", weight), ("bias", bias)):
        if not isinstance(value, Tensor):
            continue
        vector = call.facts.shape(value.shape)
        if vector.rank is not None and vector.rank != len(sizes):
            raise mismatch(
                f'"{name}" has {counted(vector.rank, "axis")}, where {text} is expected',
                headline,
                about=(text,),
            )
        known = trailing(vector, len(sizes))
        for index, wanted in enumerate(sizes):
            found = None if known is None else known[index]
            fits_axis(call, name, index - len(sizes), found, wanted, headline)
    return _kept(tensor, shape)


@rule("group_norm")
def group_norm(
    call: Call, input: Value, num_groups: Value, channels: Value = None, **rest: Value
) -> Value:
    """Judge a norm over groups of channels (axis 1)."""
    tensor = as_tensor(input)
    shape = call.facts.shape(tensor.shape)
    headline = f"can't normalize {shape} in {written(num_groups)} groups"
    if shape.rank is not None and shape.rank < 2:
        raise mismatch(
            f'"input" has {counted(shape.rank, "axis")}, at least 2 are expected', headline
        )
    found = shape.at(1)
    if found is None:
        return _kept(tensor)
    if channels is not None and not call.unify(found, wanted := size(channels)):
        raise unexpected(1, found, wanted, "num_channels", headline)
    whole, groups = size_of(call.facts.dim(found)), size(num_groups)
    if dims.indivisible(whole, groups):
        raise mismatch(f"{whole} channels (axis 1) aren't divisible by {groups}", headline)
    for name in ("weight", "bias"):
        _features(call, rest.get(name), name, found, headline)
    return _kept(tensor)


def _features(call: Call, value: Value, name: str, wanted: DimExpr, headline: str) -> None:
    """Check a vector with one number a channel."""
    if not isinstance(value, Tensor):
        return
    shape = call.facts.shape(value.shape)
    if shape.rank is not None and shape.rank != 1:
        raise mismatch(f'"{name}" has {counted(shape.rank, "axis")}, 1 is expected', headline)
    found = shape.at(0)
    if found is not None and not call.unify(found, wanted):
        raise mismatch(
            f'"{name}" has {found} elements, where axis 1 is {wanted}',
            headline,
            about=(found, wanted),
        )


@rule("batch_norm")
def batch_norm(call: Call, input: Value, **rest: Value) -> Value:
    """Judge `F.batch_norm` and `F.instance_norm`: the statistics have one number a channel."""
    tensor = as_tensor(input)
    shape = call.facts.shape(tensor.shape)
    headline = f"can't normalize {shape}"
    if shape.rank is not None and shape.rank < 2 and shape.dims != (0,):
        raise mismatch(
            f'"input" has {counted(shape.rank, "axis")}, at least 2 are expected', headline
        )
    found = shape.at(1)
    if found is not None:
        for name in ("running_mean", "running_var", "weight", "bias"):
            _features(call, rest.get(name), name, found, headline)
    return _kept(tensor)


@rule("group norm module")
def group_norm_module(call: Call, input: Value, self: Mapping[str, Value]) -> Value:
    """Judge `nn.GroupNorm(num_groups, num_channels)(input)`."""
    return group_norm(call, input, self["num_groups"], self["num_channels"])


@rule("norm module")
def norm_module(call: Call, input: Value, self: Mapping[str, Value]) -> Value:
    """Judge a module that normalizes `num_features` channels of inputs of certain ranks.

    Its stub names the lowest and the highest rank, and whether an input may lack its batch axis.
    """
    low, high, unbatched = call.number(0), call.number(1), call.number(2)
    tensor = as_tensor(input)
    ranks = range(low - unbatched, high + 1)
    shape = call.facts.stretched(
        tensor.shape, front=2 - unbatched, count=low if len(ranks) == 1 else None
    )
    headline = f"can't take {shape}"
    wrong = shape.rank not in ranks if shape.rank is not None else shape.least_rank > high
    if wrong:
        raise mismatch(
            f'"input" has {counted(shape.least_rank, "axis")}, '
            f"where {' or '.join(map(str, ranks))} are expected",
            headline,
            "shape",
            "unsqueeze",
            "squeeze",
        )
    axis = 1
    if unbatched and shape.rank == low - 1:
        axis = 0
    if unbatched and shape.rank is None:
        return _kept(tensor)
    found = shape.at(axis)
    wanted = size(self.get("num_features"))  # unknown for a lazy module
    counts = not unbatched or self.get("affine") is True or self.get("track_running_stats") is True
    if found is not None and counts and not call.unify(found, wanted):
        raise unexpected(axis, found, wanted, "num_features", headline)
    return _kept(tensor, shape)
