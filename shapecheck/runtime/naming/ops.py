"""From torch's function objects to op rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

import torch

from shapecheck import config
from shapecheck.runtime.errors import own_fault
from shapecheck.runtime.internals import Overload, OverloadPacket, is_builtin_of_nn
from shapecheck.signatures import Signature, Table, table

DTYPE_MATTERS: Final[frozenset[Any]] = frozenset(
    (torch.Tensor.__getitem__, torch.Tensor.__setitem__)
)
"""Ops whose result's shape depends on dtypes: an index of bools is a mask."""


def _signatures() -> Table:
    """Return the op signatures: those of the project at hand, then the shipped ones."""
    try:
        folders = config.load(config.find(Path.cwd())).stubs
    except (config.ConfigError, OSError) as error:
        own_fault("to read the project's settings", error)
        folders = ()
    return table(folders)


@cache
def dotted_names() -> Mapping[Any, str]:
    """Return the dotted name of every function, method and property that has a signature."""
    found: dict[Any, str] = {}
    for name in _signatures().names("torch"):
        owner: Any = torch
        *path, last = name.split(".")[1:]
        for part in path:
            owner = getattr(owner, part, None)
        if isinstance(owner, type) and not issubclass(owner, torch.Tensor):
            continue
        function = getattr(owner, last, None)
        if not callable(function):
            function = getattr(function, "__get__", None)
        if function is None:
            continue
        try:
            found.setdefault(function, name)
        except TypeError:
            continue
    return found


@lru_cache(maxsize=4096)
def signature_of(function: Callable[..., Any]) -> Signature | None:
    """Return the signature of a function as torch hands it to a mode, None if it has none."""
    name = dotted_names().get(function) or _registered(function) or _behind(function)
    return None if name is None else _signatures().signature(name)


def is_elementwise(name: str) -> bool:
    """Whether a function of torch, by its dotted name, is one of the elements alone."""
    return table().is_elementwise(name)


def _registered(function: Callable[..., Any]) -> str | None:
    """Return the dotted name of an op that a library registered with torch, `torch.ops.lib.op`."""
    if isinstance(function, Overload):
        function = function.overloadpacket
    return f"torch.ops.{function}" if isinstance(function, OverloadPacket) else None


def _behind(function: Callable[..., Any]) -> str | None:
    """Return the dotted name of the Python function that a builtin of torch does the work of."""
    name = getattr(function, "__name__", "")
    if not name or not is_builtin_of_nn(function, name):
        return None
    found = (known for known in _signatures().names("torch") if known.startswith("torch.nn."))
    return next((known for known in found if known.rpartition(".")[2] == name), None)


def reshapes_in_place(function: Callable[..., Any]) -> bool:
    """Whether an op changes the axes of the tensor that it is called on."""
    if getattr(function, "__name__", "") == "__set__":
        return getattr(function, "__self__", None) is _data
    signature = signature_of(function)
    return signature is not None and "reshapes" in signature.flags and signature.name.endswith("_")


_data: Final[Any] = torch.Tensor.data


def writes(function: Callable[..., Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether an op writes into one of its operands."""
    name = str(getattr(function, "__name__", ""))
    if name.startswith("__"):
        return name.startswith("__i") and name not in ("__int__", "__index__", "__invert__")
    return name.endswith("_") or kwargs.get("out") is not None
