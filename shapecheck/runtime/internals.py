"""What the run time uses of torch that isn't public, and what holds where a torch doesn't have it.

Nothing else in the package names anything private of torch. Without the stack of function modes
names aren't carried through ops, which is said once; everything else has something in its place.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

import torch

_ABSENT: Final = object()


def _found(path: str, instead: Any) -> Any:
    """Return what torch has at a path below its own name, or what stands in its place."""
    here: Any = torch
    for part in path.split("."):
        here = getattr(here, part, _ABSENT)
    return instead if here is _ABSENT else here


# Function modes ------------------------------------------------------------------------------

DisableTorchFunction: Final[Any] = _found("_C.DisableTorchFunction", nullcontext)
"""While it is on, no mode sees what is asked of tensors. Without it they see our questions too."""

_STACK: Final = tuple(
    f"_C.{name}"
    for name in (
        "_len_torch_function_stack",
        "_get_function_stack_at",
        "_push_on_torch_function_stack",
        "_pop_torch_function_stack",
    )
)
_missing: Final = [path for path in _STACK if _found(path, _ABSENT) is _ABSENT]

depth: Callable[[], int]
mode_at: Callable[[int], Any]
push_mode: Callable[[Any], None]
pop_mode: Callable[[], Any]
if _missing:
    warnings.warn(
        f"shapecheck: this torch has no torch.{_missing[0]}; arguments and results are checked, "
        "and names aren't carried through the ops in between",
        RuntimeWarning,
        stacklevel=2,
    )
    depth, mode_at = lambda: 0, lambda at: None
    push_mode, pop_mode = lambda mode: None, lambda: None
else:
    depth, mode_at, push_mode, pop_mode = (_found(path, None) for path in _STACK)

# Transforms ----------------------------------------------------------------------------------

_TRANSFORMS: Final = tuple(
    f"_C._functorch.{name}"
    for name in (
        "peek_interpreter_stack",
        "is_functorch_wrapped_tensor",
        "get_unwrapped",
        "maybe_get_bdim",
        "maybe_get_level",
    )
)


def _no_transform(*_: object) -> Any:
    """Say that nothing is transformed: tensors inside of `torch.vmap` have no names then."""
    return None


transforming: Callable[[], Any]
is_wrapped: Callable[[torch.Tensor], bool]
unwrapped: Callable[[torch.Tensor], torch.Tensor]
mapped_axis: Callable[[torch.Tensor], int]
level_of: Callable[[torch.Tensor], int]
_transforms: Final = [_found(path, _ABSENT) for path in _TRANSFORMS]
transforming, is_wrapped, unwrapped, mapped_axis, level_of = (
    [_no_transform] * len(_TRANSFORMS) if _ABSENT in _transforms else _transforms
)

# Tracing -------------------------------------------------------------------------------------

_traced: Final[Any] = importlib.import_module("torch.fx._symbolic_trace")
FX: Any
FX_TRACING: str
"""Python that says whether `torch.fx` is tracing, with `{fx}` for `FX`: each call asks it."""
if hasattr(_traced, "_is_fx_tracing_flag"):
    FX, FX_TRACING = _traced, "{fx}._is_fx_tracing_flag"
elif hasattr(_traced, "_is_fx_tracing_tls"):  # from torch 2.15 on
    FX, FX_TRACING = _traced._is_fx_tracing_tls, "getattr({fx}, 'flag', False)"
else:
    FX = getattr(_traced, "is_fx_symbolic_tracing", bool)
    FX_TRACING = "{fx}()"

is_fx_tracing: Final[Callable[[], bool]] = eval(f"lambda: {FX_TRACING.format(fx='FX')}")
tracing_state: Final[Callable[[], Any]] = _found(
    "_C._get_tracing_state", lambda: True if _found("jit.is_tracing", bool)() else None
)
"""Returns None where TorchScript isn't tracing."""

HAS_COMPTIME: Final = (Path(torch.__file__).parent / "_dynamo" / "comptime.py").exists()
"""Whether dynamo runs code of ours as it traces. To ask dynamo itself would load it."""
IMPORT_COMPTIME: Final = "from torch._dynamo.comptime import comptime as {name}"
"""Python that gets what runs it, in a function that dynamo is tracing."""


def dynamo_error() -> type[Exception]:
    """Return the class of errors that dynamo lets through as they are, if it has one."""
    try:
        from torch._dynamo.exc import TorchRuntimeError
    except ImportError:
        return Exception
    return TorchRuntimeError


def is_traced(value: object) -> bool:
    """Return whether a value is what dynamo has for one of the program that it is tracing.

    It makes a named tuple of such, to see what it is like. A dynamo that isn't loaded stays so.
    """
    tracked = getattr(sys.modules.get("torch._dynamo.variables.base"), "VariableTracker", None)
    return isinstance(tracked, type) and isinstance(value, tracked)


def register_builtin(function: Callable[..., Any], name: str) -> None:
    """Tell TorchScript which op a function stands for, if it can be told."""
    register = _found("jit._builtins._register_builtin", None)
    if register is not None:
        register(function, name)


# Ops -----------------------------------------------------------------------------------------

Overload: Final[Any] = _found("_ops.OpOverload", type(torch.ops.aten.add.Tensor))
OverloadPacket: Final[Any] = _found("_ops.OpOverloadPacket", type(torch.ops.aten.add))


def is_builtin_of_nn(function: Callable[..., Any], name: str) -> bool:
    """Whether a function is the builtin that does the work of one in `torch.nn.functional`."""
    return getattr(_found("_C._nn", None), name, None) is function
