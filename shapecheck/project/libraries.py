"""Which installed libraries are followed as the program's own code: those that are about torch."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from shapecheck.made_from_files import MadeFromFiles

_FOLDERS: Final = ("site-packages", "dist-packages")
_INFO: Final = ".dist-info"
# Without a condition, or as an extra that is called after it.
_REQUIRES: Final = re.compile(
    r"^Requires-Dist: *torch(?![-\w.])(?!.*\bextra\b)"
    r"|^Requires-Dist: *torch(?![-\w.]).*\bextra *== *[\"'](?:torch|pytorch)[\"']",
    re.MULTILINE,
)
_TOP: Final = re.compile(r"(\w+)(?:/|\.py,)")
_FORM: Final = 1
"""Another number where something else is read there."""


def is_followed(path: str) -> bool:
    """Whether a module lies in an installed library that is about torch, by its path."""
    for folder in _FOLDERS:
        before, found, inside = path.rpartition(f"{os.sep}{folder}{os.sep}")
        if found:
            top = inside.partition(os.sep)[0].partition(".")[0]
            return is_about_torch(before + os.sep + folder, top)
    return False


def is_about_torch(folder: str, package: str) -> bool:
    """Whether a top-level package in a folder of packages says that it needs torch."""
    try:
        changed = os.stat(folder).st_mtime_ns  # noqa: PTH116 - asked for every module that isn't there
    except OSError:
        return False
    return package in _about_torch(folder, changed)


@lru_cache(maxsize=16)
def _about_torch(folder: str, changed: int) -> frozenset[str]:
    """Return the packages in a folder, as it was changed last, that need torch."""
    kept = MadeFromFiles(__file__, _FORM, [folder], folder)
    known = kept.load()
    if isinstance(known, list):
        return frozenset(map(str, known))
    found = frozenset(_needing_torch(folder))
    kept.keep(sorted(found))
    return found


def _needing_torch(folder: str) -> Iterator[str]:
    """Yield the packages in a folder that need torch.

    A package is called as the distribution that it came with, or stands in the list of its files.
    """
    for name in os.listdir(folder):  # noqa: PTH208
        if not name.endswith(_INFO):
            continue
        info = os.path.join(folder, name)  # noqa: PTH118
        said = _content(os.path.join(info, "METADATA"))  # noqa: PTH118
        about = said.partition(b"\n\n")[0].decode(errors="replace")  # a description follows
        if _REQUIRES.search(about) is not None:
            yield name.partition("-")[0]
            record = _content(os.path.join(info, "RECORD")).decode(errors="replace")  # noqa: PTH118
            tops = map(_TOP.match, record.splitlines())
            yield from (top[1] for top in tops if top is not None)


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - there are hundreds of packages
            return file.read()
    except OSError:
        return b""
