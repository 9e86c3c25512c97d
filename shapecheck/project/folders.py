"""What lies in folders, listed once each: a name must be spelled as it is on disk."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Final

ENDINGS: Final = (".pyi", ".py")


class Folders:
    """The folders that a run has looked into."""

    def __init__(self) -> None:
        self._listed: dict[str, dict[str, bool]] = {}
        self._stems: dict[str, frozenset[str]] = {}

    def listing(self, folder: str) -> dict[str, bool]:
        """Return the names in a folder, each with whether it is a folder; none where none is."""
        found = self._listed.get(folder)
        if found is None:
            found = {}
            try:
                with os.scandir(folder or ".") as entries:
                    found = {entry.name: entry.is_dir() for entry in entries}
            except OSError:
                pass
            self._listed[folder] = found
        return found

    def forget(self) -> None:
        """List the folders anew."""
        self._listed.clear()
        self._stems.clear()

    def stems(self, folder: str) -> frozenset[str]:
        """Return the names in a folder, without their endings."""
        if folder not in self._stems:
            names = self.listing(folder)
            self._stems[folder] = frozenset(os.path.splitext(name)[0] for name in names)  # noqa: PTH122
        return self._stems[folder]

    def is_file(self, folder: str, name: str) -> bool:
        """Whether there is a file of this name in a folder."""
        return self.listing(folder).get(name) is False

    def is_folder(self, folder: str, name: str) -> bool:
        """Whether there is a folder of this name in a folder."""
        return self.listing(folder).get(name) is True

    def init_file(self, folder: str) -> str | None:
        """Return the name of the file that makes a folder a package; None where none does."""
        names = (f"__init__{ending}" for ending in ENDINGS)
        return next((name for name in names if self.is_file(folder, name)), None)


def join(folder: str, name: str) -> str:
    """Return the path of what lies in a folder; nothing is looked at, as often as it is asked."""
    return f"{folder}{'' if folder.endswith(os.sep) else os.sep}{name}"


_UNTIDY: Final = (os.sep * 2, f"{os.sep}.", *filter(None, [os.altsep]))
"""What may be in a path that says nothing in it."""


@lru_cache(maxsize=4096)
def source_root(module: str, path: str) -> str:
    """Return the folder that the dotted name of a module starts from."""
    depth = module.count(".") + 1
    if path.startswith(".") or any(one in path for one in _UNTIDY):
        path = str(Path(path))
    folder, name = os.path.split(path)
    if os.path.splitext(name)[0] != "__init__":  # noqa: PTH122 - as below
        depth -= 1
    for _ in range(depth):
        folder = os.path.dirname(folder)  # noqa: PTH120 - asked for each module, and twice as fast
    return folder or "."
