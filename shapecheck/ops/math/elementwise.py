"""Ops that broadcast all their tensors against each other, and changes of dtype."""

from __future__ import annotations

from shapecheck import dtypes
from shapecheck.ops.call import UNKNOWN, Call, DType, Unknown, Value, as_tensor, rule
from shapecheck.ops.promotion import RESULTS, promote_values
from shapecheck.ops.shape.indexing import fit_into
from shapecheck.shapes import Mismatch, Shape, Tensor, mismatch


def combined(call: Call, operands: tuple[Value, ...], kind: dtypes.DTypes) -> Tensor:
    """Broadcast operands, numbers among them; the result has the dtype that is given."""
    tensors = [as_tensor(operand) for operand in operands]
    shape = call.broadcast(tensors)
    kept = any(tensor.inserted and tensor.shape == shape for tensor in tensors)
    return Tensor(shape, kind, kept)


@rule("several_inplace")
def several_inplace(call: Call, input: Value, **operands: Value) -> Value:
    """Broadcast operands into the first, which keeps its shape and dtype."""
    for value in operands.values():
        if value is not None and not isinstance(value, str):
            inplace(call, input, value)
    return as_tensor(input)


@rule("where")
def where(call: Call, condition: Value, input: Value, other: Value, **rest: Value) -> Value:
    """Broadcast a condition and two values; the dtype is that of the values."""
    if isinstance(condition, Tensor) and not condition.dtype & (dtypes.BOOL | dtypes.of("uint8")):
        raise mismatch(
            f"the condition must be Bool, not {dtypes.describe(condition.dtype)}",
            f"can't choose by {condition.shape}",
            "shape-dtype",
        )
    return combined(call, (condition, input, other), promote_values(input, other))


@rule("masked_fill")
def masked_fill(call: Call, input: Value, mask: Value, value: Value, **rest: Value) -> Value:
    """Broadcast a tensor and a mask; the dtype is the tensor's.

    A mask of which no rank is known is supposed to fit into a tensor of three axes or more, none of
    which is 1: nobody has a larger one. Fewer are often spread over all that the mask is for.
    """
    tensor, chosen = as_tensor(input), as_tensor(mask)
    if not chosen.dtype & dtypes.BOOL:
        raise mismatch(
            f"the mask must be Bool, not {dtypes.describe(chosen.dtype)}",
            f"can't fill {tensor.shape} where {chosen.shape}",
            "shape-dtype",
        )
    if isinstance(value, Tensor) and call.facts.shape(value.shape).least_rank:
        raise mismatch(
            f"the value is {value.shape}, and a number is needed",
            "can't fill by it",
            about=(value.shape,),
        )
    if call.extra:
        return inplace(call, tensor, chosen)
    found = combined(call, (tensor, chosen), tensor.dtype)
    shape = call.facts.shape(tensor.shape)
    is_open = call.facts.shape(chosen.shape).rank is None
    is_whole = shape.rank is not None and shape.rank > 2 and 1 not in shape.dims
    return found.with_shape(shape) if is_open and is_whole else found


@rule("dist")
def dist(call: Call, input: Value, other: Value, **rest: Value) -> Value:
    """Broadcast two operands and reduce what is left to a number."""
    call.broadcast((as_tensor(input), as_tensor(other)))
    return Tensor(Shape(()), dtypes.to_real(dtypes.to_float(promote_values(input, other))))


@rule("inplace")
def inplace(call: Call, input: Value, other: Value, **rest: Value) -> Value:
    """Broadcast a value into a tensor, which keeps its shape and dtype."""
    tensor, value = as_tensor(input), as_tensor(other)
    if rest.get("rounding_mode") is not None:
        call.extra = ("same",)
    target, given = call.facts.shape(tensor.shape), call.facts.shape(value.shape)
    headline = f"can't write {given} into {target}"
    try:
        call.broadcast((tensor, value), headline)
    except Mismatch as error:
        if error.problem.code == "shape-broadcast":
            raise
    fit_into(call, given, target, headline)
    _check_result(call, tensor, other, headline)
    return tensor


def _check_result(call: Call, tensor: Tensor, other: Value, headline: str) -> None:
    """Refuse a result that the left operand's dtype can't hold."""
    if not call.extra or call.extra[0] not in RESULTS:
        return
    kind = RESULTS[call.word()](promote_values(tensor, other))
    order = (dtypes.BOOL, dtypes.INTEGER, dtypes.FLOAT, dtypes.COMPLEX)
    least = next((i for i, group in enumerate(order) if kind & group), 0)
    most = max((i for i, group in enumerate(order) if tensor.dtype & group), default=len(order))
    if least > most and kind and not kind & dtypes.of("quantized"):
        raise mismatch(
            f"the result is {dtypes.describe(kind)}, which {dtypes.describe(tensor.dtype)} "
            "can't hold",
            headline,
            "shape-dtype",
        )


# Dtypes -------------------------------------------------------------------------------------------


@rule("convert")
def convert(call: Call, input: Value, args: Value = (), **rest: Value) -> Value:
    """Return the tensor of the dtype that `.to(...)` names, if it names one."""
    tensor = as_tensor(input)
    kind = tensor.dtype
    given = args if isinstance(args, (tuple, list)) else (args,)
    named = [value for value in (*given, rest.get("dtype")) if value is not None]
    if call.extra and (not named or not isinstance(named[0], DType)):
        return _any_dtype(tensor) if named else UNKNOWN
    for value in (*given, rest.get("other"), rest.get("dtype")):
        if isinstance(value, DType):
            kind = value.dtypes
        elif isinstance(value, Tensor):
            kind = value.dtype
        elif isinstance(value, Unknown):
            kind = dtypes.ANY
    return Tensor(tensor.shape, kind, tensor.inserted)


def _any_dtype(tensor: Tensor) -> Tensor:
    return Tensor(tensor.shape, dtypes.ANY, tensor.inserted)


@rule("astype")
def astype(call: Call, input: Value, **rest: Value) -> Value:
    """Return the tensor of the dtype that the signature's constant names."""
    tensor = as_tensor(input)
    return Tensor(tensor.shape, dtypes.of(call.word()), tensor.inserted)


@rule("type_as")
def type_as(call: Call, input: Value, other: Value, **rest: Value) -> Value:
    """Return the tensor of another's dtype."""
    tensor = as_tensor(input)
    return Tensor(tensor.shape, as_tensor(other).dtype, tensor.inserted)


@rule("view_as_real")
def view_as_real(call: Call, input: Value, **rest: Value) -> Value:
    """Return complex numbers as pairs: a last axis of 2."""
    tensor = as_tensor(input)
    kind = dtypes.to_real(tensor.dtype & dtypes.COMPLEX) or dtypes.FLOAT
    return Tensor(Shape((*tensor.shape.dims, 2)), kind)


@rule("view_as_complex")
def view_as_complex(call: Call, input: Value, **rest: Value) -> Value:
    """Return pairs along the last axis as complex numbers."""
    tensor = as_tensor(input)
    shape = call.facts.shape(tensor.shape)
    last = shape.at(-1)
    if last is None:
        return Tensor(Shape.unknown(), dtypes.COMPLEX)
    if not call.unify(last, 2):
        raise mismatch(
            f"the last axis is {last}, not 2", f"can't view {shape} as complex", about=(last,)
        )
    return Tensor(Shape(shape.dims[:-1]), dtypes.COMPLEX)
