"""typeguard: takes the text in our brackets for a text, and checks tensors by what it says.

typeguard loads this module as a plugin of its own, by the entry point `typeguard.checker_lookup`.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, Final

import typeguard
from typeguard import TypeCheckError

from shapecheck import dtypes

try:
    from typeguard import _transformer
except ImportError:
    _transformer = None  # type: ignore[assignment]

# typeguard reads what stands in the brackets of any other type as code. It has no public way to
# say that a type takes more than types.
_NAMES: Final = "annotated_names"
_knows_texts = hasattr(_transformer, _NAMES)


class _AnyHome(str):
    """A type's name that equals its full name in any module: a project may hand ours on."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and f".{other}".endswith(f".{self!s}")

    __hash__ = str.__hash__


def _tell_typeguard() -> None:
    names = (*map(_AnyHome, dtypes.CATEGORIES), "jaxtyping.Key", "jaxtyping.PRNGKeyArray")
    if _knows_texts:
        setattr(_transformer, _NAMES, (*getattr(_transformer, _NAMES), *names))
    # behind what `@shapecheck` itself looks a tensor up with, whichever of the two comes first
    typeguard.checker_lookup_functions.append(lookup)


def lookup(origin: Any, args: tuple[Any, ...], extras: tuple[Any, ...]) -> Any:
    """Return what typeguard checks a tensor of ours with; None for any other type."""
    if not extras or "shapecheck.tensor_spec" not in sys.modules:
        return None
    from shapecheck.tensor_spec import TensorSpec

    found = next((one for one in extras if isinstance(one, TensorSpec)), None)
    if found is None:
        return None
    if not _knows_texts:
        _warn()

    def check(value: object, origin: Any, args: Any, memo: object) -> None:
        from shapecheck.runtime.boundary.other_checkers import fits

        if isinstance(origin, type) and not isinstance(value, origin):
            raise TypeCheckError(f"is not an instance of {origin.__module__}.{origin.__qualname__}")
        if not fits(value, found):
            raise TypeCheckError(f'doesn\'t fit {found.label}[..., "{found.shape}"]')

    return check


def _warn() -> None:
    """Say once that this typeguard may take the text for code."""
    global _knows_texts  # noqa: PLW0603 - once a process
    _knows_texts = True
    warnings.warn(
        f"this typeguard has no _transformer.{_NAMES}, and may read the text in "
        'Float[Tensor, "b c"] as code; put @shapecheck in the place of @typechecked',
        RuntimeWarning,
        stacklevel=2,
    )


_tell_typeguard()
