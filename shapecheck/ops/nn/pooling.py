"""Pools: the largest, the mean or the norm of each window."""

from __future__ import annotations

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import DimExpr, IntSize, size_of
from shapecheck.ops.agree import loose, one_or_more, size
from shapecheck.ops.call import UNKNOWN, Call, Value, as_tensor, rule
from shapecheck.ops.shape.joining import same_shape
from shapecheck.ops.windows import grid, numbers, positions, shown
from shapecheck.shapes import Shape, Tensor, mismatch


def _with_indices(shape: Shape, kind: dtypes.DTypes, return_indices: Value) -> Value:
    if return_indices is False:
        return Tensor(shape, kind)
    if return_indices is True:
        return (Tensor(shape, kind), Tensor(shape, dtypes.INT64))
    return UNKNOWN


@rule("pool")
def pool(
    call: Call,
    input: Value,
    kernel_size: Value,
    stride: Value = None,
    padding: Value = 0,
    dilation: Value = 1,
    ceil_mode: Value = False,
    return_indices: Value = False,
    **rest: Value,
) -> Value:
    """Judge a pool over the last one, two or three axes; the stride is the kernel's by default.

    `"inside"`: the kernel has to fit without the padding, as `avg_pool3d` demands.
    """
    count, inside = call.number(), call.extra[1:]
    tensor = as_tensor(input)
    found = grid(call, tensor, count)
    kernel = numbers(kernel_size, count)
    strides = numbers(kernel_size if stride in (None, ()) else stride, count)
    sides, steps = numbers(padding, count), numbers(dilation, count)
    result: list[DimExpr] = []
    for index, dim in enumerate(found.spatial):
        extent = steps[index] * (kernel[index] - 1) + 1
        side = sides[index]
        if isinstance(side, int) and isinstance(extent, int) and 2 * side > extent:
            raise mismatch(
                f"it is {side}, and the kernel spans {extent}",
                "needs a padding of at most half the kernel",
            )
        whole = call.facts.dim(dim)
        if inside and isinstance(whole, int) and isinstance(extent, int) and whole < extent:
            raise mismatch(
                f"the kernel spans {extent}, and axis {found.axis(index)} is {whole}",
                f"finds no place along axis {found.axis(index)}",
            )
        if not isinstance(ceil_mode, bool):
            result.append(dims.unknown())
            continue
        result.append(
            positions(
                call,
                dim,
                kernel[index],
                strides[index],
                2 * side,
                steps[index],
                found.axis(index),
                ceil_mode,
            )
        )
    return _with_indices(found.with_spatial(result), tensor.dtype, return_indices)


@rule("adaptive pool")
def adaptive_pool(
    call: Call, input: Value, output_size: Value, return_indices: Value = False, **rest: Value
) -> Value:
    """Judge a pool to a given size; None keeps an axis."""
    count = call.number()
    tensor = as_tensor(input)
    found = grid(call, tensor, count)
    listed = one_or_more(output_size)
    given = (UNKNOWN,) if listed is None else tuple(listed)
    if len(given) == 1:
        given *= count
    if len(given) != count:
        raise mismatch(
            f"{len(given)} are given for {count} axes", "needs one size for each spatial axis"
        )
    sizes = [
        dim if one is None else size(one) for dim, one in zip(found.spatial, given, strict=True)
    ]
    if any(isinstance(one, int) and one < 0 for one in sizes):
        raise mismatch("a size can't be negative", f"can't pool to {shown(sizes)}")
    return _with_indices(found.with_spatial(sizes), tensor.dtype, return_indices)


@rule("unpool")
def unpool(
    call: Call,
    input: Value,
    indices: Value,
    kernel_size: Value,
    stride: Value = None,
    padding: Value = 0,
    output_size: Value = None,
    **rest: Value,
) -> Value:
    """Judge `max_unpool`: `(n-1)*stride - 2*padding + kernel`, or the given size."""
    count = call.number()
    tensor = as_tensor(input)
    found = grid(call, tensor, count)
    same_shape(call, (tensor, as_tensor(indices)), "can't unpool {}")
    kernel, sides = numbers(kernel_size, count), numbers(padding, count)
    strides = numbers(kernel_size if stride in (None, ()) else stride, count)
    sizes: list[DimExpr] = []
    for dim, one, step, side in zip(found.spatial, kernel, strides, sides, strict=True):
        known = not any(map(loose, (one, step, side)))
        sizes.append((size_of(dim) - 1) * step - 2 * side + one if known else dims.unknown())
    if output_size is not None:
        given = tuple(output_size) if isinstance(output_size, (tuple, list)) else ()
        sizes = list(numbers(given[-count:], count))
    return Tensor(found.with_spatial(sizes), tensor.dtype)


@rule("fractional pool")
def fractional_pool(
    call: Call,
    input: Value,
    kernel_size: Value,
    output_size: Value = None,
    output_ratio: Value = None,
    return_indices: Value = False,
    **rest: Value,
) -> Value:
    """Judge a fractional pool, whose result has a given size or ratio."""
    count = call.number()
    tensor = as_tensor(input)
    found = grid(call, tensor, count)
    sizes: list[IntSize] = [dims.unknown() for _ in range(count)]
    if output_size is not None:
        sizes = numbers(output_size, count)
    return _with_indices(found.with_spatial(sizes), tensor.dtype, return_indices)
