"""beartype: checks tensors of our types as it does any type with a validator of its own.

It checks `Annotated[T, x]` by `x` where all that stands behind `T` are its validators, and else
only by `T`. So the spec of one of our types is registered as one of their class, and what beartype
asks of a validator is answered by one that `beartype.vale.Is` makes.
"""

from __future__ import annotations

import warnings
from abc import ABCMeta
from functools import cache
from typing import Any, Final

from beartype.vale import Is

from shapecheck.tensor_spec import TensorSpec
from shapecheck.types import AloneSpec


@cache
def validator(spec: TensorSpec) -> Any:
    """Return a validator of beartype's for tensors that fit a spec."""

    def fits(value: object) -> bool:
        from shapecheck.runtime.boundary import other_checkers

        return other_checkers.fits(value, spec)

    made = Is[fits]
    made.get_repr = repr(spec)
    return made


def is_validator(item: object) -> bool:
    """Whether beartype checks what stands beside a type by this item."""
    return isinstance(item, _CLASS)


def _always(value: object) -> bool:
    return True


_CLASS: Final[Any] = type(Is[_always])

if isinstance(_CLASS, ABCMeta):
    _CLASS.register(AloneSpec)
else:
    warnings.warn(
        "this beartype's validators can't be extended: it takes Float[Tensor, \"b c\"] for a plain "
        "Tensor; put @shapecheck in the place of @beartype and @jaxtyped",
        RuntimeWarning,
        stacklevel=2,
    )
