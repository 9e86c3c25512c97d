"""Tensors with first-class dimensions, which `functorch.dim` makes: none of torch's tensors.

Nothing of it is imported here: a program that has one has imported it.
"""

from __future__ import annotations

import sys
from typing import Any, Final

from shapecheck.dims import Kind, Sym
from shapecheck.dims.origins import FirstClass
from shapecheck.runtime.internals import DisableTorchFunction
from shapecheck.shapes import Free

_MODULE: Final = "functorch.dim"


def is_batched(value: Any) -> bool:
    """Whether a value is a tensor with first-class dimensions."""
    return type(value) is getattr(sys.modules.get(_MODULE), "Tensor", None) and hasattr(
        type(value), "_get_levels"
    )


def batched_sizes(value: Any) -> tuple[int, ...]:
    """Return the sizes of the axes of a tensor with first-class dimensions."""
    with DisableTorchFunction():
        whole = value._get_tensor().shape
    levels = value._get_levels()
    return tuple([size for size, at in zip(whole, levels, strict=True) if at.is_positional()])


def free_of(value: Any) -> tuple[Free, ...]:
    """Return the first-class dimensions of a tensor, for messages."""
    dims = value.dims if is_batched(value) else ()
    return tuple(Free(Sym(d._name, Kind.UNKNOWN, FirstClass(at))) for at, d in enumerate(dims))


def is_dim(value: Any) -> bool:
    """Whether a value is a first-class dimension."""
    module = sys.modules.get(_MODULE)
    return module is not None and type(value) is module.Dim


def is_dim_list(value: Any) -> bool:
    """Whether a value is a list of first-class dimensions, which stands for all of them."""
    module = sys.modules.get(_MODULE)
    return module is not None and type(value) is module.DimList


def dims_made() -> int:
    """Return how many first-class dimensions the program has made."""
    module = sys.modules.get(_MODULE)
    return int(getattr(module, "_n_dims_created", 0))  # which an old torch doesn't count
