"""Reductions, sorts and counts that a signature can't state."""

from __future__ import annotations

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import DimExpr, IntSize, Size, Sym, size_of
from shapecheck.ops.agree import float_of
from shapecheck.ops.call import (
    UNKNOWN,
    Call,
    DType,
    Unknown,
    Value,
    as_dim,
    as_tensor,
    replace,
    resolved,
    rule,
)
from shapecheck.ops.math.elementwise import combined
from shapecheck.ops.promotion import promote_values
from shapecheck.ops.saying import written
from shapecheck.ops.shape.axes import of_rank, without
from shapecheck.shapes import Run, Shape, Tensor, mismatch


@rule("extremum")
def extremum(
    call: Call, input: Value, dim: Value = None, keepdim: Value = False, **rest: Value
) -> Value:
    """Return `max`/`min`: of all, of an axis as (values, indices), or of two tensors."""
    other = rest.get("other")
    if isinstance(dim, Tensor) or other is not None:
        operands = (input, dim if other is None else other)
        return combined(call, operands, promote_values(*operands))
    if isinstance(dim, Unknown):
        return UNKNOWN
    tensor, shape = resolved(call, input)
    if dim is None:
        return Tensor(Shape(()), tensor.dtype)
    reduced = without(call, shape, dim, keepdim)
    return (Tensor(reduced, tensor.dtype), Tensor(reduced, dtypes.INT64))


@rule("mean")
def mean(
    call: Call,
    input: Value,
    dim: Value = None,
    keepdim: Value = False,
    dtype: Value = None,
    **rest: Value,
) -> Value:
    """Average floating elements over axes."""
    tensor, shape = resolved(call, input)
    kind = tensor.dtype
    if dtype is not None:
        kind = dtype.dtypes if isinstance(dtype, DType) else dtypes.ANY
    if dtype is not None and kind & (dtypes.FLOAT | dtypes.COMPLEX):
        pass
    elif not kind & (dtypes.FLOAT | dtypes.COMPLEX | dtypes.of("quantized")):
        raise mismatch(
            f"it takes floating elements, and they are {dtypes.describe(kind)}",
            f"can't take the mean of {shape}",
            "shape-dtype",
        )
    else:
        kind &= dtypes.FLOAT | dtypes.COMPLEX if kind != dtypes.ANY else dtypes.ANY
    return Tensor(without(call, shape, None if dim == () else dim, keepdim), kind)


@rule("topk")
def topk(call: Call, input: Value, k: Value, dim: Value = -1, **rest: Value) -> Value:
    """Return the k largest along an axis, and where they were."""
    tensor, shape = resolved(call, input)
    position = call.axis(shape, dim)
    if shape.rank == 0 and isinstance(k, int) and k > 1:
        raise mismatch("it is one number", f"can't take the {written(k)} largest of {shape}")
    if position is None or not shape.dims:
        known = shape if not shape.dims else of_rank(shape)
        return (Tensor(known, tensor.dtype), Tensor(known, dtypes.INT64))
    _enough(call, shape, position, k, f"can't take the {written(k)} largest of {shape}")
    picked = replace(shape, position, as_dim(k))
    return (Tensor(picked, tensor.dtype), Tensor(picked, dtypes.INT64))


def _enough(call: Call, shape: Shape, position: int, k: Value, headline: str) -> None:
    """Refuse to take more elements than an axis certainly has."""
    item = shape.dims[position]
    if isinstance(k, int) and not isinstance(item, Run):
        size = call.facts.size(size_of(item))
        if isinstance(size, int) and k > size:
            raise mismatch(f"axis {position} has {item} elements", headline, about=(item,))


@rule("kthvalue")
def kthvalue(
    call: Call, input: Value, k: Value, dim: Value = -1, keepdim: Value = False, **rest: Value
) -> Value:
    """Return the k-th smallest along an axis, and where it was."""
    tensor, shape = resolved(call, input)
    position = call.axis(shape, dim)
    headline = f"can't take element {written(k)} in order of {shape}"
    if position is not None and shape.dims:
        _enough(call, shape, position, k, headline)
    elif shape.rank == 0 and isinstance(k, int) and k > 1:
        raise mismatch("a 0-d tensor has 1 element", headline)
    reduced = without(call, shape, dim, keepdim)
    return (Tensor(reduced, tensor.dtype), Tensor(reduced, dtypes.INT64))


@rule("quantile")
def quantile(
    call: Call, input: Value, q: Value, dim: Value = None, keepdim: Value = False, **rest: Value
) -> Value:
    """Return quantiles; a vector of them becomes the first axis."""
    tensor, shape = resolved(call, input)
    wanted = as_tensor(q)
    reduced = without(call, shape, dim, keepdim)
    if isinstance(q, Unknown) or wanted.shape.rank is None:
        return Tensor(Shape.unknown(), tensor.dtype)
    return Tensor(Shape((*wanted.shape.dims, *reduced.dims)), tensor.dtype)


@rule("unique")
def unique(
    call: Call,
    input: Value,
    return_inverse: Value = False,
    return_counts: Value = False,
    dim: Value = None,
    **rest: Value,
) -> Value:
    """Return the distinct values (along an axis: distinct slices), how many isn't known."""
    tensor, shape = resolved(call, input)
    number = dims.unknown("unique")
    inverse = shape
    if dim is None:
        values = Shape((number,))
    else:
        position = call.axis(shape, dim)
        if shape.rank == 0:
            raise mismatch("a 0-d tensor has no axis", f"has no axis {written(dim)} in {shape}")
        values = of_rank(shape) if position is None else replace(shape, position, number)
        inverse = Shape((dims.unknown(),)) if position is None else Shape((shape.dims[position],))
    found = [Tensor(values, tensor.dtype)]
    for flag, extra in ((return_inverse, inverse), (return_counts, Shape((number,)))):
        if not isinstance(flag, bool):
            return UNKNOWN
        if flag:
            found.append(Tensor(extra, dtypes.INT64))
    return found[0] if len(found) == 1 else tuple(found)


@rule("diff")
def diff(
    call: Call,
    input: Value,
    n: Value = 1,
    dim: Value = -1,
    prepend: Value = None,
    append: Value = None,
    **rest: Value,
) -> Value:
    """Return the differences of neighbours along an axis, which has one element less."""
    tensor, shape = resolved(call, input)
    if shape.rank == 0:
        raise mismatch("a 0-d tensor has no axis", "can't take differences of ()")
    position = call.axis(shape, dim)
    item = None if position is None else shape.dims[position]
    if position is None or item is None or isinstance(item, Run):
        return Tensor(of_rank(shape), tensor.dtype)
    total: DimExpr = dims.unknown()
    more = [_along(call, ends, position) for ends in (prepend, append) if ends is not None]
    if n == 0:
        return tensor
    if isinstance(n, int) and n < 0:
        raise mismatch(f"n is {n}", f"can't take differences of {shape}")
    if isinstance(n, int) and None not in more:
        whole = size_of(item) + sum(extra for extra in more if extra is not None)
        total = call.facts.size(whole) - n
        total = (
            whole - 1 if n == 1 and not isinstance(total, int) else dims.extreme("max", (total, 0))
        )
    kind = dtypes.BOOL if tensor.dtype == dtypes.BOOL else tensor.dtype
    return Tensor(replace(shape, position, total), kind)


def _along(call: Call, value: Value, position: int) -> IntSize | None:
    """Return how many elements are put before or behind along an axis."""
    shape = call.facts.shape(as_tensor(value).shape)
    if shape.rank == 0:
        return 1
    size = shape.at(position)
    return None if size is None else size_of(size)


@rule("multinomial")
def multinomial(
    call: Call, input: Value, num_samples: Value, replacement: Value = False, **rest: Value
) -> Value:
    """Draw that many indices from each row of weights."""
    weights, shape = resolved(call, input)
    if not weights.dtype & dtypes.FLOAT:
        kind = dtypes.describe(weights.dtype)
        raise mismatch(
            f"the weights must be Float, not {kind}",
            f"can't draw samples from {shape}",
            "shape-dtype",
        )
    if isinstance(num_samples, int) and num_samples < 1:
        raise mismatch("at least 1 is drawn", f"can't draw {num_samples} samples from {shape}")
    if shape.rank is not None and shape.rank not in (1, 2):
        raise mismatch("the weights have 1 or 2 axes", f"can't draw samples from {shape}")
    if shape.position(-1) is None:
        return Tensor(of_rank(shape), dtypes.INT64)
    if replacement is False:
        headline = f"can't draw {written(num_samples)} different samples from {shape}"
        _enough(call, shape, len(shape.dims) - 1, num_samples, headline)
    return Tensor(Shape((*shape.dims[:-1], as_dim(num_samples))), dtypes.INT64)


@rule("nonzero")
def nonzero(
    call: Call, input: Value = None, as_tuple: Value = False, condition: Value = None, **rest: Value
) -> Value:
    """Return where a tensor isn't zero: a row for each place, or an index vector for each axis."""
    _, shape = resolved(call, input if condition is None else condition)
    number = Size.of(Sym.count("nonzero"))
    as_tuple = True if call.extra else as_tuple
    if as_tuple is True:
        if shape.rank is None:
            return UNKNOWN
        return (Tensor(Shape((number,)), dtypes.INT64),) * max(shape.rank, 1)
    if as_tuple is not False:
        return UNKNOWN
    axes: DimExpr = dims.unknown() if shape.rank is None else shape.rank
    return Tensor(Shape((number, axes)), dtypes.INT64)


@rule("masked_select")
def masked_select(call: Call, input: Value, mask: Value, **rest: Value) -> Value:
    """Return the elements under a mask, which broadcasts, as a vector."""
    tensor = as_tensor(input)
    call.broadcast((tensor, as_tensor(mask)))
    return Tensor(Shape((dims.unknown(),)), tensor.dtype)


@rule("tensor_norm")
def tensor_norm(
    call: Call, input: Value, dim: Value = None, keepdim: Value = False, **rest: Value
) -> Value:
    """Return a norm over axes; matrix norms without axes take the last two."""
    tensor, shape = resolved(call, input)
    order = rest.get("ord", rest.get("p"))
    if call.extra and dim is None and order is not None and shape.rank is not None:
        if shape.rank > 2:
            raise mismatch(
                "a norm of an order takes 1 or 2 axes", f"can't take the norm of {shape}"
            )
    given = rest.get("dtype")
    kind = dtypes.to_real(float_of(tensor)) if given is None else dtypes.ANY
    if isinstance(given, DType):
        kind = given.dtypes
    return Tensor(without(call, shape, None if dim == () else dim, keepdim), kind)
