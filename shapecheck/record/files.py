"""What a record calls the files of functions: a name that holds on another machine, too."""

from __future__ import annotations

from pathlib import PurePath


def name_in_record(path: PurePath, root: PurePath | None) -> str:
    """Return what a record calls a file: its path from a root, or without one from the disk's.

    There are slashes in it and no letter of a drive. Raises ValueError for one that lies elsewhere.
    """
    return path.relative_to(path.anchor if root is None else root).as_posix()


def is_named(path: PurePath, name: str) -> bool:
    """Whether a file, by its whole path, may be the one that a record calls so."""
    named = type(path)(name.lstrip("/"))
    return type(path)(*path.parts[-len(named.parts) :]) == named
