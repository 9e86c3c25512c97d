"""Whether code lies in a folder, by the path that Python has for it.

Windows spells one path in several ways: with slashes where it was imported from a path that has
them, and with letters of either case. Each is the same file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType

_MOST_FILES = 4096


def lies_in(*folders: str, also: str = "", paths: ModuleType = os.path) -> Callable[[str], bool]:
    """Return what tells whether a file lies in one of these folders, at any depth.

    `also`: what the name of a file that is none begins with, too. `paths` are a system's own rules:
    `posixpath` or `ntpath`.
    """
    begins = *(paths.normcase(paths.join(folder, "")) for folder in folders), *filter(None, (also,))

    @lru_cache(maxsize=_MOST_FILES)
    def lies_in_one(file: str) -> bool:
        spelled: str = paths.normcase(file)
        return spelled.startswith(begins)

    return lies_in_one
