"""What is asked of a module as a whole: its text, and whether it has to do with tensors."""

from __future__ import annotations

from typing import Final

TENSORS: Final = "tensors "
"""The key of what `mentions_tensors` says of a module, for `analysis.digest_of`."""

TEXT: Final = "text "
"""The key of all that stands in a module."""

_LIBRARIES: Final = ("torch", "shapecheck", "jaxtyping", "einops")


def mentions_tensors(text: str) -> bool:
    """Whether a library of tensors stands in a text, a module's or a module's name.

    A module without one can have nothing to do with the shapes of tensors by itself.
    """
    return any(library in text for library in _LIBRARIES)


def is_installed(path: str) -> bool:
    """Whether a module lies in an installed package, by its path."""
    return "site-packages" in path or "dist-packages" in path
