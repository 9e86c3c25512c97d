"""Leaves torch's attention modules the fast paths that they take where no function mode is active.

`nn.MultiheadAttention`, `nn.TransformerEncoderLayer` and `nn.TransformerEncoder` ask
`torch.overrides.has_torch_function`, which any mode makes true. On the other path results differ
in the last bits, padding isn't zero, and nested tensors are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import torch
from torch._C import (
    _get_function_stack_at,
    _len_torch_function_stack,
    _pop_torch_function_stack,
    _push_on_torch_function_stack,
)

from shapecheck.runtime.naming.call_names import state

_original: Final[Callable[[Iterable[Any]], bool]] = torch.overrides.has_torch_function
_variadic: Final[Callable[..., bool]] = torch.overrides.has_torch_function_variadic
_compiling: Final = torch.compiler.is_dynamo_compiling


def install() -> None:
    """Have torch's modules ask our function from now on."""
    if torch.overrides.has_torch_function is _original:
        torch.overrides.has_torch_function = has_torch_function
        torch.jit._builtins._register_builtin(has_torch_function, "aten::has_torch_function")


def has_torch_function(args: Iterable[Any]) -> bool:
    """Say what torch's function of this name says, but for the mode that carries names."""
    if _compiling():  # dynamo knows the other by its place in `torch.overrides`, which is ours now
        return _variadic(*args)
    top = _len_torch_function_stack() - 1
    if top < 0 or state.mode is None or _get_function_stack_at(top) is not state.mode:
        return _original(args)
    mode = _pop_torch_function_stack()
    try:
        return _original(args)
    finally:
        _push_on_torch_function_stack(mode)
