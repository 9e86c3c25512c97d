"""Ops that change the resolution of a picture: `interpolate`, pixel shuffles, sampling grids."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor

import shapecheck.dims as dims
from shapecheck.dims import DimExpr, IntSize, Size, size_of
from shapecheck.ops.agree import are_given, counted, fits_axis, listed, loose
from shapecheck.ops.agree import size as as_length
from shapecheck.ops.call import Call, Unknown, Value, as_shape, as_tensor, rule
from shapecheck.shapes import Run, Shape, Tensor, has_run, mismatch

_SPATIAL = {
    "linear": (1,),
    "bilinear": (2,),
    "bicubic": (2,),
    "trilinear": (3,),
    "nearest": (1, 2, 3),
    "nearest-exact": (1, 2, 3),
    "area": (1, 2, 3),
}


@rule("interpolate")
def interpolate(
    call: Call,
    input: Value,
    size: Value = None,
    scale_factor: Value = None,
    mode: Value = "nearest",
    **rest: Value,
) -> Value:
    """Judge `F.interpolate`: batch and channels stay, the other axes take a size or a factor."""
    tensor = as_tensor(input)
    shape = call.facts.stretched(tensor.shape, count=_rank(size, scale_factor, mode))
    if isinstance(mode, str):
        _check_mode(shape, mode)
    if shape.rank is None:
        return Tensor(_ragged(shape, size), tensor.dtype)
    spatial = shape.dims[2:]
    headline = f"can't resize {shape}"
    if size is None and scale_factor is None:
        raise mismatch("neither a size nor a scale_factor is given", headline)
    if (
        size is not None
        and scale_factor is not None
        and not isinstance(size, Unknown)
        and not isinstance(scale_factor, Unknown)
    ):
        raise mismatch("both a size and a scale_factor are given", headline)
    given = size if size is not None else scale_factor
    if isinstance(given, (tuple, list)):
        if len(given) != len(spatial) and not has_run(given):
            raise mismatch(
                f"{are_given(len(given), 'size' if size is not None else 'factor')} "
                f"for {counted(len(spatial), 'axis')} behind the channels",
                headline,
            )
        values: Sequence[Value] = given
    else:
        values = (given,) * len(spatial)
    if len(values) != len(spatial):
        return Tensor(Shape((*shape.dims[:2], *Shape.of_rank(len(spatial)).dims)), tensor.dtype)
    if size is not None:
        sizes: list[DimExpr] = [as_length(one) for one in values]
    else:
        sizes = []
        for dim, factor in zip(spatial, values, strict=True):
            assert not isinstance(dim, Run)
            sizes.append(_scaled(size_of(call.facts.dim(dim)), size_of(dim), factor))
    return Tensor(Shape((*shape.dims[:2], *sizes)), tensor.dtype)


def _rank(size: Value, scale_factor: Value, mode: Value) -> int | None:
    """Return how many axes there must be for a mode, and for so many sizes or factors."""
    for given in (size, scale_factor):
        if isinstance(given, (tuple, list)) and not has_run(given):
            return len(given) + 2
    spatial = _SPATIAL.get(mode, ()) if isinstance(mode, str) else ()
    return spatial[0] + 2 if len(spatial) == 1 else None


def _check_mode(shape: Shape, mode: str) -> None:
    allowed = _SPATIAL.get(mode)
    if allowed is None:
        raise mismatch(f"there are {listed(sorted(_SPATIAL))}", f"has no mode '{mode}'")
    if shape.rank is not None and shape.rank - 2 not in allowed:
        ranks = " or ".join(str(count + 2) for count in allowed)
        axes = "axis" if shape.rank == 1 else "axes"
        raise mismatch(
            f'"input" has {shape.rank} {axes}, where mode {mode} expects {ranks}',
            f"can't resize {shape}",
            "shape",
            "unsqueeze",
            "squeeze",
        )


def _ragged(shape: Shape, wanted: Value) -> Shape:
    """Return what the size says of a shape of unknown rank."""
    if isinstance(wanted, (tuple, list)) and not has_run(wanted):
        front = shape.dims[:2]
        if len(front) < 2 or has_run(front):
            front = Shape.of_rank(2).dims
        return Shape((*front, *map(as_length, wanted)))
    return Shape.unknown()


def _scaled(resolved: IntSize, plain: IntSize, factor: Value) -> IntSize:
    """Return `floor(size * factor)`, unknown where a float makes that depend on rounding."""
    if isinstance(factor, Size):
        return dims.unknown() if loose(factor) else plain * factor
    if isinstance(factor, bool) or not isinstance(factor, (int, float)):
        return dims.unknown()
    if isinstance(resolved, int):
        return floor(float(resolved) * factor)
    exact = Fraction(factor)
    if exact.denominator > 64:
        return dims.unknown()
    return dims.floordiv(plain * exact.numerator, exact.denominator)


@rule("pixel_shuffle")
def pixel_shuffle(call: Call, input: Value, upscale_factor: Value, **rest: Value) -> Value:
    """Judge `*n (c r r) h w` to `*n c h*r w*r`."""
    return _shuffle(call, as_tensor(input), upscale_factor, up=True)


@rule("pixel_unshuffle")
def pixel_unshuffle(call: Call, input: Value, downscale_factor: Value, **rest: Value) -> Value:
    """Judge `*n c h*r w*r` to `*n (c r r) h w`."""
    return _shuffle(call, as_tensor(input), downscale_factor, up=False)


def _shuffle(call: Call, tensor: Tensor, factor: Value, up: bool) -> Tensor:
    shape = call.facts.shape(tensor.shape)
    headline = f"can't shuffle the pixels of {shape}"
    if shape.rank is not None and shape.rank < 3:
        raise mismatch(f"it has {shape.rank} axes, at least 3 are expected", headline)
    c, h, w = shape.at(-3), shape.at(-2), shape.at(-1)
    if c is None or h is None or w is None:
        return Tensor(Shape.unknown(), tensor.dtype)
    lead = shape.dims[:-3]
    step = as_length(factor)
    if loose(step):
        return Tensor(Shape((*lead, *Shape.of_rank(3).dims)), tensor.dtype)
    if isinstance(step, int) and step < 1:
        raise mismatch(f"the factor is {step}, at least 1 is expected", headline)
    if up:
        channels = _divided(call, c, step * step, -3, headline)
        return Tensor(Shape((*lead, channels, size_of(h) * step, size_of(w) * step)), tensor.dtype)
    rows = _divided(call, h, step, -2, headline)
    columns = _divided(call, w, step, -1, headline)
    return Tensor(Shape((*lead, size_of(c) * step * step, rows, columns)), tensor.dtype)


def _divided(call: Call, dim: DimExpr, by: IntSize, axis: int, headline: str) -> IntSize:
    whole = size_of(dim)
    resolved = size_of(call.facts.dim(dim))
    found = dims.divide(whole, by)
    if found is None:
        found = dims.exact_quotient(resolved, by)
    if dims.indivisible(resolved, by):
        raise mismatch(f"axis {axis} is {resolved}, which {by} doesn't divide", headline)
    return dims.floordiv(whole, by) if found is None else found


@rule("channel_shuffle")
def channel_shuffle(call: Call, input: Value, groups: Value, **rest: Value) -> Value:
    """Judge a shuffle of the channels among groups; the shape stays."""
    tensor = as_tensor(input)
    shape = call.facts.shape(tensor.shape)
    channels, count = shape.at(1), as_length(groups)
    headline = f"can't shuffle the channels of {shape}"
    if isinstance(count, int) and count < 1:
        raise mismatch(f"there are {count} groups, at least 1 is expected", headline)
    if channels is not None:
        _divided(call, channels, count, 1, headline)
    return tensor


@rule("grid_sample")
def grid_sample(call: Call, input: Value, grid: Value, **rest: Value) -> Value:
    """Judge `n c *s` sampled at `n *t k` (k spatial axes) to `n c *t`."""
    tensor, places = as_tensor(input), as_tensor(grid)
    a, b = call.facts.shape(tensor.shape), call.facts.shape(places.shape)
    headline = f"can't sample {a} at {b}"
    for shape, what in ((a, "input"), (b, "grid")):
        if shape.rank is not None and shape.rank not in (4, 5):
            raise mismatch(f'"{what}" has {shape.rank} axes, where 4 or 5 are expected', headline)
    if a.rank is not None and b.rank is not None and a.rank != b.rank:
        raise mismatch(f'"input" has {counted(a.rank, "axis")} and "grid" {b.rank}', headline)
    rank = a.rank or b.rank
    if rank is None:
        return Tensor(Shape.unknown(), tensor.dtype)
    batch, channels, last = a.at(0), a.at(1), b.at(-1)
    first = b.at(0)
    fits_axis(call, "grid", -1, last, rank - 2, headline)
    if batch is not None and first is not None and not call.unify(batch, first):
        raise mismatch(
            f'axis 0 is {batch} in "input" and {first} in "grid"', headline, about=(batch, first)
        )
    middle = b.dims[1:-1] if b.rank is not None else Shape.of_rank(rank - 2).dims
    lead = [dims.unknown() if one is None else one for one in (batch or first, channels)]
    return Tensor(Shape((*lead, *middle)), tensor.dtype)


@rule("affine_grid")
def affine_grid(call: Call, theta: Value, size: Value, **rest: Value) -> Value:
    """Judge `n k k+1` with a size `n c *s` of k spatial axes to `n *s k`."""
    matrix = as_tensor(theta)
    shape = call.facts.shape(matrix.shape)
    target = as_shape(size)
    headline = f"can't make a grid of {target} from {shape}"
    if target.rank is None:
        return Tensor(Shape.unknown(), matrix.dtype)
    count = target.rank - 2
    if count not in (2, 3):
        raise mismatch(f"the size has {target.rank} axes, where 4 or 5 are expected", headline)
    if shape.rank is not None and shape.rank != 3:
        raise mismatch(f'"theta" has {shape.rank} axes, where 3 are expected', headline)
    for axis, wanted in ((0, target.dims[0]), (1, count), (2, count + 1)):
        assert not isinstance(wanted, Run)
        fits_axis(call, "theta", axis, shape.at(axis), wanted, headline)
    return Tensor(Shape((target.dims[0], *target.dims[2:], count)), matrix.dtype)
