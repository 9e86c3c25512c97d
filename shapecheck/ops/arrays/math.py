"""Products, choices and norms of numpy, which promote dtypes and count axes as numpy does."""

from __future__ import annotations

from dataclasses import replace

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.ops.arrays.create import as_array, of_dtype
from shapecheck.ops.arrays.promotion import promoted, to_float, to_smallest_float
from shapecheck.ops.call import RULES, UNKNOWN, Call, Unknown, Value, as_size, rule
from shapecheck.ops.shape.axes import without
from shapecheck.shapes import Shape, Tensor, mismatch


def _of_any(tensor: Tensor) -> Tensor:
    """Return an array of which no dtype is known, so that torch's rules of dtypes don't count."""
    return replace(tensor, dtype=dtypes.ANY)


def _typed(found: Value, kind: dtypes.DTypes) -> Value:
    return replace(found, dtype=kind) if isinstance(found, Tensor) else found


@rule("array product")
def array_product(call: Call, a: Value, b: Value, **rest: Value) -> Value:
    """Multiply two arrays by torch's rule that the constant names."""
    left, right = as_array(call, a), as_array(call, b)
    known = {name: value for name, value in rest.items() if name != "out"}
    found = RULES[call.word()](replace(call, extra=()), _of_any(left), _of_any(right), **known)
    return _typed(found, promoted(left, right))


@rule("array tensordot")
def array_tensordot(call: Call, a: Value, b: Value, axes: Value = 2, **rest: Value) -> Value:
    """Contract so many axes, or pairs of given ones."""
    left, right = as_array(call, a), as_array(call, b)
    found = RULES["tensordot"](call, _of_any(left), _of_any(right), dims=axes)
    return _typed(found, promoted(left, right))


@rule("array dot")
def array_dot(call: Call, a: Value, b: Value, **rest: Value) -> Value:
    """Contract the last axis with the other's last but one; the others stand side by side."""
    left, right = as_array(call, a), as_array(call, b)
    kind = promoted(left, right)
    one, other = call.facts.shape(left.shape), call.facts.shape(right.shape)
    if one.rank is None or other.rank is None:
        return Tensor(Shape.unknown(), kind)
    if not one.dims or not other.dims:
        return Tensor(Shape((*one.dims, *other.dims)), kind)
    at = max(len(other.dims) - 2, 0)
    inner, axis = other.dims[at], -1 if len(other.dims) == 1 else -2
    if not call.unify(one.dims[-1], inner):  # type: ignore[arg-type]  # no runs: the rank is known
        raise mismatch(
            f"the inner dimensions are {one.dims[-1]} (axis -1) and {inner} (axis {axis})",
            f"can't multiply {one} by {other}",
            "shape",
            "transpose",
            "swap",
            about=(one.dims[-1], inner),
        )
    return Tensor(Shape((*one.dims[:-1], *other.dims[:at], *other.dims[at + 1 :])), kind)


@rule("array einsum")
def array_einsum(call: Call, equation: Value, operands: Value, **rest: Value) -> Value:
    """Sum products of arrays as a text says."""
    if not isinstance(operands, (tuple, list)) or not isinstance(equation, str):
        return UNKNOWN
    given = [as_array(call, one) for one in operands]
    found = RULES["einsum"](call, equation, tuple(map(_of_any, given)))
    return _typed(found, promoted(*given))


@rule("array power")
def array_power(call: Call, x1: Value, x2: Value, dtype: Value = None, **rest: Value) -> Value:
    """Broadcast a base and an exponent; a power of a bool may be a small integer."""
    values = [one if _is_number(one) else as_array(call, one) for one in (x1, x2)]
    tensors = [as_array(call, one) for one in values]
    kind = promoted(*values)
    if any(one.dtype & dtypes.BOOL for one in tensors):
        kind |= dtypes.of("int8")
    return of_dtype(Tensor(call.broadcast(tensors), kind), dtype)


@rule("array where")
def array_where(call: Call, condition: Value, x: Value, y: Value, **rest: Value) -> Value:
    """Broadcast a condition and two values; the dtype is that of the values."""
    values = [one if _is_number(one) else as_array(call, one) for one in (x, y)]
    shape = call.broadcast([as_array(call, one) for one in (condition, *values)])
    return Tensor(shape, promoted(*values))


def _is_number(value: Value) -> bool:
    return not isinstance(value, (Tensor, tuple, list, Unknown))


@rule("array norm")
def array_norm(
    call: Call,
    x: Value,
    axis: Value = None,
    keepdims: Value = False,
    dtype: Value = None,
    **rest: Value,
) -> Value:
    """Return real numbers for an axis, for several or for all: norms, deviations."""
    tensor = as_array(call, x)
    kind = dtypes.to_real(to_float(tensor.dtype))
    shape = without(call, call.facts.shape(tensor.shape), axis, keepdims)
    return of_dtype(Tensor(shape, kind), dtype)


@rule("array each")
def array_each(call: Call, x: Value, dtype: Value = None, **rest: Value) -> Value:
    """Return a function of each element that keeps its dtype.

    The constant is the dtype that bools may come to; "whole": integers come to floats in numpy
    before 2.1.
    """
    tensor = as_array(call, x)
    kind, exact = tensor.dtype, tensor.dtype & (dtypes.BOOL | dtypes.INTEGER)
    if call.extra == ("whole",):
        kind |= to_smallest_float(exact) | to_float(exact)
    elif exact & dtypes.BOOL:
        kind |= dtypes.of(call.word())
    return of_dtype(Tensor(tensor.shape, kind, tensor.inserted), dtype)


@rule("array quantile")
def array_quantile(
    call: Call, a: Value, q: Value, axis: Value = None, keepdims: Value = False, **rest: Value
) -> Value:
    """Return quantiles or percentiles; the axes of the wanted ones go before the others."""
    tensor, wanted = as_array(call, a), as_array(call, q)
    reduced = without(call, call.facts.shape(tensor.shape), axis, keepdims)
    if isinstance(q, Unknown) or wanted.shape.rank is None:
        return Tensor(Shape.unknown(), dtypes.ANY)
    kind = to_float(tensor.dtype)
    return Tensor(Shape((*wanted.shape.dims, *reduced.dims)), kind | dtypes.of("float64"))


@rule("array unique")
def array_unique(call: Call, ar: Value, axis: Value = None, **flags: Value) -> Value:
    """Return the distinct values in order, how many isn't known, and what else is asked for."""
    tensor = as_array(call, ar)
    number = dims.unknown("unique")
    shape = Shape((number,))
    if axis is not None:
        whole = call.facts.shape(tensor.shape)
        position = call.axis(whole, axis)
        if position is None:
            shape = Shape.unknown()
        else:
            shape = Shape((*whole.dims[:position], number, *whole.dims[position + 1 :]))
    found: list[Value] = [Tensor(shape, tensor.dtype)]
    asked = [flags.get(name, False) for name in ("return_index", "return_inverse", "return_counts")]
    if any(not isinstance(one, bool) for one in asked):
        return UNKNOWN
    sizes = (Shape((number,)), Shape.unknown(), Shape((number,)))
    found += [Tensor(size, dtypes.INT64) for size, flag in zip(sizes, asked, strict=True) if flag]
    return tuple(found) if len(found) > 1 else found[0]


@rule("array histogram")
def array_histogram(call: Call, a: Value, bins: Value = 10, **rest: Value) -> Value:
    """Count in bins, which are so many, or lie between given edges."""
    as_array(call, a)
    if isinstance(bins, (str, Unknown)):
        return (Tensor(Shape.of_rank(1)), Tensor(Shape.of_rank(1)))
    edges = as_array(call, bins)
    if edges.shape.rank == 0:
        count = as_size(bins)
        return (Tensor(Shape((count,))), Tensor(Shape((count + 1,))))
    first = edges.shape.at(0)
    count = dims.unknown() if first is None else dims.size_of(first) - 1
    return (Tensor(Shape((count,))), Tensor(edges.shape))
