"""A decorated function takes the arguments that it took before, and refuses others as Python does.

With the same words, and with the same values for what isn't given.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from jaxtyping import Float
from torch import Tensor

from shapecheck import shapecheck

PARAMETERS = (
    *("x", "x, y", "x, y=1", "x, /", "x, /, y", "x, /, y=1, *, z=2", "x, *, y", "x, *, y=1, z"),
    *("x, *y", "x, *y, z", "x, *y, z=2", "x, **y", "x, /, **y", "x, *, z=2, **y", "x, *y, **z"),
    *("x, _default_y=1, y=2", "_x, __y=_x0, x=2", "*x", "*x, y=1", "**x"),
)


def calls() -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield arguments: some by place, some by name."""
    for count, names in itertools.product(range(4), ("", "x", "y", "z", "y z", "_x", "w")):
        yield (
            tuple(torch.full((2,), float(at)) for at in range(count)),
            {name: torch.full((2,), 9.0) for name in names.split()},
        )


def outcome(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    try:
        return repr(function(*args, **kwargs))
    except TypeError as error:
        return f"TypeError: {error}"


def made(parameters: str) -> Callable[..., Any]:
    """Return a function with such parameters, which gives all that it is given."""
    annotated = parameters.replace("x", 'x: Float[Tensor, "n"]', 1)
    space: dict[str, Any] = {"Float": Float, "Tensor": Tensor, "_x0": 7}
    exec(f"def f({annotated}): return dict(locals())", space)
    function: Callable[..., Any] = space["f"]
    return function


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_arguments(parameters: str) -> None:
    plain = made(parameters)
    checked = shapecheck(plain)
    for args, kwargs in calls():
        assert outcome(checked, args, kwargs) == outcome(plain, args, kwargs), (args, kwargs)
