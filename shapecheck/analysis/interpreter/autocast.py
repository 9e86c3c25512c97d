"""torch.autocast: which float dtypes ops may compute in where it is on.

Only tensors on its device are cast, which the analysis can't see, so that float32 stays possible.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from shapecheck import dtypes
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Function, Value, dotted
from shapecheck.analysis.program.syntax import nodes_of
from shapecheck.analysis.values.model import Argument, Arguments, Context, options
from shapecheck.analysis.values.state import State
from shapecheck.ops.call import Opaque, Unknown
from shapecheck.shapes import Facts, Mismatch, Tensor
from shapecheck.signatures import Signature

FULL: Final = dtypes.of("float32")
CASTABLE: Final = FULL | dtypes.of("float16") | dtypes.of("bfloat16")


@dataclass(frozen=True, slots=True)
class CastInputs(Opaque):
    """A `torch.amp.custom_fwd(cast_inputs=...)`, under which autocast is off."""

    dtype: dtypes.DTypes


@dataclass(frozen=True, slots=True)
class Autocast(Opaque):
    """A `torch.autocast(...)`: the lower dtypes that it may compute in, none if it is off."""

    lower: dtypes.DTypes


def entered(frame: Frame, node: ast.expr, manager: Value, around: dtypes.DTypes) -> dtypes.DTypes:
    """Return the lower dtypes in the body of a `with`, from those around it.

    A manager that isn't known may well be one, as `accelerator.autocast()` is.
    """
    found: dtypes.DTypes = 0
    for one in options(manager):
        match one:
            case Autocast(lower=lower):
                found |= lower
            case Context(lower=int(lower)):
                found |= lower
            case Unknown() if not _is_of_library(frame, node):
                found |= around | CASTABLE & ~FULL
            case _:
                found |= around
    return found


def _is_of_library(frame: Frame, node: ast.expr) -> bool:
    """Whether a manager is one of torch's or Python's; an `ExitStack` may enter any."""
    name = dotted(frame.hush(Frame.eval, node.func)) if isinstance(node, ast.Call) else None
    root = "" if name is None else name.partition(".")[0]
    return root == "torch" or (root in sys.stdlib_module_names and root != "contextlib")


def around_yields(function: Function, around: dtypes.DTypes) -> dtypes.DTypes:
    """Return the lower dtypes where a generator function yields, by the `with` around that."""
    frame = Frame(function.module, State())
    for node in nodes_of(ast.With, function.node):
        if any(nodes_of(ast.Yield, *node.body)):
            for item in node.items:
                expr = item.context_expr
                around = entered(frame, expr, frame.hush(Frame.eval, expr), around)
    return around


def decorated(function: Function, facts: Facts) -> dtypes.DTypes:
    """Return the lower dtypes in the body of a function, by its decorators."""
    lower = facts.autocast
    for value in _decorators(function):
        match value:
            case Autocast(lower=given):
                lower = given
            case CastInputs():
                lower = 0
    return lower


def _decorators(function: Function) -> Iterator[Value]:
    for decorator in getattr(function.node, "decorator_list", ()):
        yield Frame(function.module, State()).hush(Frame.eval, decorator)


def with_cast_inputs(function: Function, facts: Facts, args: Arguments) -> Arguments:
    """Return the arguments as `custom_fwd(cast_inputs=...)` hands them on under autocast."""
    kinds = [one.dtype for one in _decorators(function) if isinstance(one, CastInputs)]
    if not facts.autocast or not kinds:
        return args

    def cast_one(given: Argument) -> Argument:
        return replace(given, value=_either(given.value, _of(given.value, kinds[0])))

    kwargs = {name: cast_one(given) for name, given in args.kwargs.items()}
    return replace(args, args=tuple(map(cast_one, args.args)), kwargs=kwargs)


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
    if is_in_place or "uncast" in signature.flags or _is_any(value):
        return value
    for kind in (facts.autocast, FULL) if facts.autocast else ():
        given = [_of(arg, kind) for arg in args]
        named = {name: _of(arg, kind) for name, arg in kwargs.items()}
        with suppress(Mismatch):
            found = signature.apply(facts.copy(), given, named, instance=instance)
            value = _either(value, found)
    return value


def _is_any(value: Value) -> bool:
    """Whether nothing is known of the dtypes of a result, so that no other adds to them."""
    match value:
        case Tensor(dtype=dtype):
            return dtype == dtypes.ANY
    return type(value) is not tuple or all(map(_is_any, value))


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
