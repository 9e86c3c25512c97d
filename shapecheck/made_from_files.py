"""Keeps what was made from files beside a module's bytecode, for as long as the files are the same.

It follows Python's rules for bytecode: the same `__pycache__`, silent where that can't be written,
not written under `-B`. It is JSON, so that a damaged or foreign file can do no harm.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, Final, TypeAlias

Stamp: TypeAlias = tuple[int, int, int]
"""When a file was written last, when that or its place changed, both in nanoseconds; its size."""

UNKNOWN_STAMP: Final[Stamp] = (0, 0, 0)
"""That of no file."""

_SETTLED: Final = 2_000_000_000
"""Nanoseconds after which a file that is written again has another time, on any file system."""


def stamp_of(status: os.stat_result) -> Stamp:
    """Return what is another stamp once a file has been written again."""
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size


def is_settled(stamp: Stamp) -> bool:
    """Whether a file that has this stamp must have the text that it has now.

    One that was written a moment ago may be written again without being given another time.
    """
    return max(stamp[:2]) + _SETTLED < time.time_ns()


class MadeFromFiles:
    """What one module makes of some files or folders: `beside` is its own file, `paths` are theirs.

    `form` is another number where it makes something else of them. `which` tells several things
    apart that one module makes.
    """

    def __init__(self, beside: str, form: int, paths: Iterable[str], which: str = "") -> None:
        name = which and f".{_digest(which)[:16]}"
        self._path = Path(cache_from_source(beside)).with_suffix(f"{name}.json")
        stamps = [(path, _stamp(path)) for path in paths]
        self._are_settled = all(stamp is not None and is_settled(stamp) for _, stamp in stamps)
        self._key = _digest(repr((form, stamps)))

    def load(self) -> Any | None:
        """Return what was kept of the files as they are; None for nothing."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            found = json.loads(self._path.read_bytes())
            if found["key"] == self._key:
                return found["made"]
        return None

    def keep(self, made: Any) -> None:
        """Keep for the next start what was made of the files, which JSON can write."""
        if sys.dont_write_bytecode or not self._are_settled:
            return
        draft = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        with suppress(OSError):  # a folder that can't be written to: it is made again
            self._path.parent.mkdir(exist_ok=True)
            draft.write_text(json.dumps({"key": self._key, "made": made}), "utf-8")
            draft.replace(self._path)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="surrogatepass")).hexdigest()


def _stamp(path: str) -> Stamp | None:
    try:
        return stamp_of(os.stat(path))  # noqa: PTH116 - there are hundreds, in each run
    except OSError:
        return None
