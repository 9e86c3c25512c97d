"""Why a shape isn't known, in words."""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from shapecheck.analysis import Cause

_WORDS: Final = {
    "parameter": 'the parameter "{}" has no annotation',
    "declared": '"{}" is annotated with a type, which tells no shape',
    "open": 'the annotation of "{}" leaves it open',
    "library": "{}: an untyped library",
    "rule": "{} has no rule",
    "data": "{}: its sizes depend on data, or on a number that isn't known",
    "function": "what {}() gives has no annotation, and looking into it doesn't tell",
    "attribute": '"{}" has no annotation, and what is assigned to it doesn\'t tell',
    "name": '"{}" isn\'t known where it is defined',
    "each": "each of {} has shapes of its own",
    "loop": 'a loop makes "{}" of itself, with another size each time',
    "budget": "looking into {}() to its end takes too long",
    "error": "the error in {}",
    "other": '"{}" isn\'t known here',
}
_STANDARD: Final = "{}: Python's own library, which knows nothing of shapes"
_MISSING: Final = "{}: of a library that isn't installed here"


@cache
def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def is_standard(cause: Cause) -> bool:
    """Whether something comes from Python's own library, of which there is no more to know."""
    return cause.kind == "library" and root_of(cause) in sys.stdlib_module_names


def is_missing(cause: Cause) -> bool:
    """Whether something comes from a library that isn't installed here."""
    return cause.kind == "library" and not is_standard(cause) and not _is_installed(root_of(cause))


def in_words(cause: Cause) -> str:
    """Return what a cause that the analysis found means to the reader."""
    words = _WORDS[cause.kind]
    if is_standard(cause):
        words = _STANDARD
    elif is_missing(cause):
        words = _MISSING
    return words.format(cause.subject)


def root_of(cause: Cause) -> str:
    """Return the library that a cause is about."""
    return cause.subject.partition(".")[0]
