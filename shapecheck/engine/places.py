"""Where a team's objects lie by their names: a folder, or what fsspec reaches by a URL.

Both raise whatever their file system raises; `shared` is what uses them.
"""

from __future__ import annotations

import importlib
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

MOST_BYTES: Final = 16 << 20
"""Objects above this size aren't read, nor written."""

_DAY: Final = 86_400.0
_DAYS: Final = 30
_TIDIED: Final = "tidied"
_WITH_FOLDERS: Final = frozenset("file local ftp sftp ssh smb hdfs webhdfs webdav".split())
"""Where folders have to be made. In a store of objects that would make a bucket of a mistake."""


class UnusableError(Exception):
    """There is no such kind of place here, whatever is tried: why."""


class Place(Protocol):
    """Where objects lie by their names, which have one slash in them."""

    def read(self, names: Sequence[str]) -> Mapping[str, bytes | Exception]:
        """Return those of the objects that are there, and what was raised over one."""
        ...

    def write(self, objects: Mapping[str, bytes]) -> None:
        """Put objects there."""
        ...


def place(name: str) -> Place:
    """Return the place of a name; raises `UnusableError` where nothing here can reach it."""
    if "://" not in name:
        return Folder(Path(name))
    if name.startswith("file://"):
        from urllib.parse import urlsplit  # late: they take longer to import than all of this
        from urllib.request import url2pathname

        return Folder(Path(url2pathname(urlsplit(name).path)))
    try:
        core = importlib.import_module("fsspec.core")
    except ImportError:
        raise UnusableError("it needs fsspec: pip install fsspec") from None
    try:
        files, root = core.url_to_fs(name)
    except (ImportError, ValueError) as error:  # no package for it, or no such protocol
        raise UnusableError(str(error)) from None
    return Remote(files, root)


class Folder:
    """A folder of this machine, or one that is mounted.

    What nobody has read for 30 days leaves it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._is_tidy = False

    def read(self, names: Sequence[str]) -> dict[str, bytes | Exception]:
        """Return those of the objects that are there, and what was raised over one."""
        found: dict[str, bytes | Exception] = {}
        for name in names:
            path = self._folder / name
            try:
                with path.open("rb") as file:
                    found[name] = file.read(MOST_BYTES + 1)
            except FileNotFoundError:
                continue
            except OSError as error:
                found[name] = error
            else:
                _note_use(path)
        return found

    def write(self, objects: Mapping[str, bytes]) -> None:
        """Put objects there, each whole or not at all."""
        for name, content in objects.items():
            path = self._folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_name(f"{uuid.uuid4().hex}.tmp")
            try:
                unfinished.write_bytes(content)
                unfinished.replace(path)
            finally:
                unfinished.unlink(missing_ok=True)
        if not self._is_tidy:
            self._is_tidy = True
            self._tidy()

    def _tidy(self) -> None:
        """Have what is old leave, once a day, whoever comes first."""
        mark = self._folder / _TIDIED
        with suppress(OSError):
            if mark.exists() and time.time() - mark.stat().st_mtime < _DAY:
                return
            mark.touch()
            for path in self._objects():
                with suppress(OSError):
                    if time.time() - path.stat().st_mtime > _DAYS * _DAY:
                        path.unlink()

    def _objects(self) -> Iterator[Path]:
        """Yield what `write` has put there, finished or not."""
        for ending in ("record", "tmp"):
            yield from self._folder.glob(f"??/*.{ending}")


def _note_use(path: Path) -> None:
    """Have a file be as young as its last use, to the day; who may only read leaves it."""
    with suppress(OSError):
        if time.time() - path.stat().st_mtime > _DAY:
            path.touch()


class Remote:
    """What fsspec reaches.

    Several objects are asked for at once. Whether one that is being written is seen half depends on
    what is there.
    """

    def __init__(self, files: Any, root: str) -> None:
        self._files, self._root = files, root.rstrip("/")
        kinds = files.protocol
        self._has_folders = not _WITH_FOLDERS.isdisjoint(
            (kinds,) if isinstance(kinds, str) else kinds
        )

    def read(self, names: Sequence[str]) -> dict[str, bytes | Exception]:
        """Return those of the objects that are there, and what was raised over one."""
        paths = {f"{self._root}/{name}": name for name in names}
        told = self._files.cat(list(paths), on_error="return", start=0, end=MOST_BYTES + 1)
        return {
            paths[path]: content
            for path, content in told.items()
            if path in paths and not isinstance(content, FileNotFoundError)
        }

    def write(self, objects: Mapping[str, bytes]) -> None:
        """Put objects there."""
        whole = {f"{self._root}/{name}": content for name, content in objects.items()}
        try:
            self._files.pipe(whole)
        except FileNotFoundError:
            if not self._has_folders:
                raise
            for folder in sorted({path.rpartition("/")[0] for path in whole}):
                self._files.makedirs(folder, exist_ok=True)
            self._files.pipe(whole)
