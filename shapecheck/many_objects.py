"""Has Python deal with as many objects as the analysis of a program makes."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_GARBAGE: Final = 3_000_000
_RECURSION_LIMIT: Final = 2**14


@contextmanager
def many_objects() -> Iterator[None]:
    """Have Python look for garbage rarely, and go deep: what is made is trees that stay."""
    before, limit = gc.get_threshold(), sys.getrecursionlimit()
    gc.set_threshold(_GARBAGE)
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    try:
        yield
    finally:
        gc.freeze()
        gc.unfreeze()  # all of it is old now: else it would be walked right here
        gc.set_threshold(*before)
        sys.setrecursionlimit(limit)
