"""Leaves torch's attention modules the fast paths that they take where no function mode is active.

`nn.MultiheadAttention`, `nn.TransformerEncoderLayer` and `nn.TransformerEncoder` ask
`torch.overrides.has_torch_function`, which any mode makes true. On the other path results differ
in the last bits, padding isn't zero, and nested tensors are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import torch

from shapecheck.runtime.internals import depth, mode_at, pop_mode, push_mode, register_builtin
from shapecheck.runtime.naming.call_names import state

_original: Final[Callable[[Iterable[Any]], bool]] = torch.overrides.has_torch_function
_variadic: Final[Callable[..., bool]] = torch.overrides.has_torch_function_variadic
_compiling: Final = torch.compiler.is_dynamo_compiling


def install() -> None:
    """Have torch's modules ask our function from now on."""
    if torch.overrides.has_torch_function is _original:
        torch.overrides.has_torch_function = has_torch_function
        register_builtin(has_torch_function, "aten::has_torch_function")


def has_torch_function(args: Iterable[Any]) -> bool:
    """Say what torch's function of this name says, but for the mode that carries names."""
    if _compiling():  # dynamo knows the other by its place in `torch.overrides`, which is ours now
        return _variadic(*args)
    top = depth() - 1
    if top < 0 or state.mode is None or mode_at(top) is not state.mode:
        return _original(args)
    mode = pop_mode()
    try:
        return _original(args)
    finally:
        push_mode(mode)
