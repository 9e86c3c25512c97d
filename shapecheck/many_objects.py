"""Has Python deal with as many objects as the analysis of a program makes."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_GARBAGE: Final = 3_000_000
_RECURSION_LIMIT: Final = 2**14
# Objects that are few to look through.
_FEW: Final = 20_000


@contextmanager
def many_objects() -> Iterator[None]:
    """Have Python look for garbage rarely, and go deep: what is made is trees that stay."""
    before, limit = gc.get_threshold(), sys.getrecursionlimit()
    gc.set_threshold(_GARBAGE)
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    try:
        yield
    finally:
        _make_old()  # else all of it would be walked right here
        gc.set_threshold(*before)
        sys.setrecursionlimit(limit)


@contextmanager
def lasting_objects() -> Iterator[None]:
    """Have Python look for no garbage among what is made here, now or soon: most of it stays.

    What was made before is looked through first, as if nothing had come between.
    """
    if not gc.isenabled():
        yield
        return
    if gc.get_count()[0] > _FEW:
        gc.collect(0)
    gc.disable()
    try:
        yield
    finally:
        _make_old()
        gc.enable()


def _make_old() -> None:
    """Have all objects that there are be looked through only where everything is."""
    gc.freeze()
    gc.unfreeze()
