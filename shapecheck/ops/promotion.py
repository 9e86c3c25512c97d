"""Which dtype several operands come to, by torch's promotion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from shapecheck import dtypes
from shapecheck.ops.call import Unknown, Value, as_tensor
from shapecheck.shapes import Tensor


def promoted(*tensors: Tensor) -> dtypes.DTypes:
    """Return the dtypes that torch's promotion gives for tensors, 0-d ones counting as numbers."""
    return promote_values(*tensors)


def promote_values(*values: Value) -> dtypes.DTypes:
    """Return the promoted dtypes of tensors, 0-d tensors and Python numbers.

    Each kind decides within itself; a lower kind counts only where it is of a higher category.
    """
    whole: dtypes.DTypes | None = None
    zero: dtypes.DTypes | None = None
    number: dtypes.DTypes | None = None
    for value in values:
        tensor = as_tensor(value)
        if not isinstance(value, Tensor) and not isinstance(value, Unknown):
            number = tensor.dtype if number is None else dtypes.promote(number, tensor.dtype)
        elif tensor.shape.dims == ():
            zero = tensor.dtype if zero is None else dtypes.promote(zero, tensor.dtype)
        else:
            whole = tensor.dtype if whole is None else dtypes.promote(whole, tensor.dtype)
            if tensor.shape.rank is None and tensor.shape.least_rank == 0 and len(values) > 1:
                return _any_way(*values)
    kind = whole
    for lower in (zero, number):
        if kind is None:
            kind = lower
        elif lower is not None:
            kind = dtypes.promote_scalar(kind, lower)
    return kind or dtypes.ANY


def _any_way(*values: Value) -> dtypes.DTypes:
    """Promote where a tensor may be 0-d: each tensor's dtype, or that of all together."""
    result: dtypes.DTypes = 0
    together: dtypes.DTypes | None = None
    for value in values:
        kind = as_tensor(value).dtype
        together = kind if together is None else dtypes.promote(together, kind)
        if isinstance(value, Tensor):
            result |= kind
    return result | (together or 0)


def _same(kind: dtypes.DTypes) -> dtypes.DTypes:
    return kind


def _bool(kind: dtypes.DTypes) -> dtypes.DTypes:
    return dtypes.BOOL


RESULTS: Final[Mapping[str, Callable[[dtypes.DTypes], dtypes.DTypes]]] = {
    "same": _same,
    "bool": _bool,
    "float": dtypes.to_float,
    "real": dtypes.to_real,
}
"""What the promoted dtype becomes, by the constant that a signature passes to the rule."""
