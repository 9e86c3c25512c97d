"""Which modules are worth reading for the shapes of tensors, told by their text and their path."""

from __future__ import annotations

import os
import re
from typing import Final

from shapecheck.analysis import is_installed

# A module of a library without these has no annotations to read.
_ANNOTATION_LIBRARIES: Final = ("jaxtyping", "shapecheck", "torchtyping")
_TYPESHED: Final = "mypy/typeshed".replace("/", os.sep)
# In bytes. Larger ones (numpy's, transformers') don't hand out annotated functions.
_LARGEST_PACKAGE_FILE: Final = 50_000

_TENSORS: Final = re.compile(r"\b(?:torch|einops)\b")
_SHAPES: Final = re.compile(rf"\b(?:{'|'.join(_ANNOTATION_LIBRARIES)}|Annotated|functorch)\b")
_DEF: Final = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]", re.MULTILINE)


def is_library(path: str) -> bool:
    """Is this a module of an installed package or of mypy's typeshed, by its path?"""
    return is_installed(path) or _TYPESHED in path


def hands_out_shapes(path: str, text: str, size: int) -> bool:
    """Is a module of a library worth reading: annotated, or a package that hands out others?

    What a library does inside is its own business, and some have ten thousand lines a module.
    """
    if _TYPESHED in path:
        return False
    if any(library in text for library in _ANNOTATION_LIBRARIES):
        return True
    return "__init__." in path and size <= _LARGEST_PACKAGE_FILE


def functions_and_shapes(text: str) -> tuple[int, bool]:
    """Count the functions in a file that has to do with tensors, and say whether it says a shape.

    An import of a library of shapes, or an `Annotated`, is taken for a shape.
    """
    if _TENSORS.search(text) is None:
        return 0, False
    return len(_DEF.findall(text)), _SHAPES.search(text) is not None
