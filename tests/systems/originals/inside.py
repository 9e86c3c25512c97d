"""Running a test inside of a decorated call, where ops are checked, on tensors that have names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from shapecheck import Shaped, named, shapecheck


def in_a_call(test: Callable[..., Any]) -> Callable[..., Any]:
    """Return a test that is run in a decorated call; a function without annotations makes none."""

    @wraps(test)
    def inside(*args: Any, **kwargs: Any) -> None:
        _call(torch.zeros(()), test, args, kwargs)

    return inside


@shapecheck
def _call(
    annotated: Shaped[Tensor, ""],
    test: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> None:
    test(*args, **kwargs)


@contextmanager
def named_by_size(home: object, names: Sequence[str]) -> Iterator[None]:
    """Have functions give tensors whose axes are called by their sizes, `s3 s4`, in the block."""
    made = {name: getattr(home, name) for name in names}
    try:
        for name, function in made.items():
            setattr(home, name, _naming(function))
        yield
    finally:
        for name, function in made.items():
            setattr(home, name, function)


def _naming(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @wraps(function)
    def naming(*args: Any, **kwargs: Any) -> Tensor:
        found = function(*args, **kwargs)
        return named(found, " ".join(f"s{n}" if n > 1 else str(n) for n in found.shape))

    return naming
