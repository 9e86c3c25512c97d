"""torch.autocast: which float dtypes ops may compute in where it is on.

Only tensors on its device are cast, which the analysis can't see, so that float32 stays possible.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from shapecheck import dtypes
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Function, Value
from shapecheck.analysis.values.model import options
from shapecheck.analysis.values.state import State
from shapecheck.ops.call import Opaque
from shapecheck.shapes import Facts, Mismatch, Tensor
from shapecheck.signatures import Signature

FULL: Final = dtypes.of("float32")
CASTABLE: Final = FULL | dtypes.of("float16") | dtypes.of("bfloat16")


@dataclass(frozen=True, slots=True)
class Autocast(Opaque):
    """A `torch.autocast(...)`: the lower dtypes that it may compute in, none if it is off."""

    lower: dtypes.DTypes


def entered(manager: Value, around: dtypes.DTypes) -> dtypes.DTypes:
    """Return the lower dtypes in the body of a `with`, from those around it."""
    found: dtypes.DTypes = 0
    for one in options(manager):
        found |= one.lower if isinstance(one, Autocast) else around
    return found


def decorated(function: Function, facts: Facts) -> dtypes.DTypes:
    """Return the lower dtypes in the body of a function, by its decorators."""
    lower = facts.autocast
    for decorator in getattr(function.node, "decorator_list", ()):
        match decorator:
            case ast.Call():
                frame = Frame(function.module, State())
                lower = entered(frame.hush(Frame.eval, decorator), lower)
    return lower


def cast(
    signature: Signature,
    facts: Facts,
    args: Sequence[Value],
    kwargs: Mapping[str, Value],
    instance: Mapping[str, Value] | None,
    value: Value,
) -> Value:
    """Return a result with the dtypes that it has where the op computes in another float dtype.

    What works in place leaves its operand the dtype that it has.
    """
    is_in_place = signature.name.endswith("_") and not signature.name.endswith("__")
    if is_in_place or "uncast" in signature.flags:
        return value
    for kind in (facts.autocast, FULL) if facts.autocast else ():
        given = [_of(arg, kind) for arg in args]
        named = {name: _of(arg, kind) for name, arg in kwargs.items()}
        with suppress(Mismatch):
            found = signature.apply(facts.copy(), given, named, instance=instance)
            value = _either(value, found)
    return value


def _of(value: Value, kind: dtypes.DTypes) -> Value:
    """Return an argument as autocast hands it to the op."""
    if isinstance(value, Tensor) and value.dtype & CASTABLE:
        return replace(value, dtype=value.dtype & ~CASTABLE | kind)
    if type(value) is tuple:
        return tuple(_of(one, kind) for one in value)
    if type(value) is list:
        return [_of(one, kind) for one in value]
    return value


def _either(value: Value, other: Value) -> Value:
    """Return a result that may have the dtypes of another one."""
    match value, other:
        case Tensor(dtype=dtype), Tensor(dtype=also):
            return replace(value, dtype=dtype | also)
    if type(value) is tuple and type(other) is tuple and len(value) == len(other):
        return tuple(map(_either, value, other))
    return value
