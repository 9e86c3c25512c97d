"""A place where a team keeps records: a folder, or what fsspec reaches by a URL.

Each record is an object of its own, by a name that tells its content's version. Who reads one runs
nothing. With the first failure, or the first answer that takes too long, the place is given up.
"""

from __future__ import annotations

import importlib
import json
import threading
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import unquote, urlsplit

_T = TypeVar("_T")

MOST_BYTES: Final = 16 << 20
"""Objects above this size are no records."""

_SECONDS: Final = 10.0
"""As long as an answer may take."""


class _Place(Protocol):
    """Where objects lie by their names."""

    def read(self, name: str) -> bytes | None:
        """Return an object; None where there is none, or one that is too large."""
        ...

    def write(self, name: str, content: bytes) -> None:
        """Put an object there, whole or not at all."""
        ...


class Shared:
    """The records in a place; `note` is what there is to say of one that was given up.

    Raises ValueError where the place needs fsspec, and that isn't installed.
    """

    def __init__(self, place: str, *, read_only: bool = False) -> None:
        self.note: str | None = None
        self._name, self._is_read_only = place, read_only
        self._place = _place(place)
        self._is_given_up = False

    def read(self, key: str) -> Mapping[str, object] | None:
        """Return the texts of a record; None where there is none that can be read."""
        content = self._answer(lambda: self._place.read(_path(key)))
        try:
            found = None if content is None else json.loads(content)
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def write(self, key: str, texts: Mapping[str, str]) -> None:
        """Keep the texts of a record."""
        content = json.dumps(texts).encode()
        if self._is_read_only or len(content) > MOST_BYTES:
            return
        before = self._is_given_up
        self._answer(lambda: self._place.write(_path(key), content))
        if self._is_given_up and not before:  # what can't be written may still be read
            self._is_read_only, self._is_given_up = True, False

    def _answer(self, ask: Callable[[], _T]) -> _T | None:
        """Return what the place answers; None where it fails, now or before."""
        if self._is_given_up:
            return None
        answers: list[_T] = []
        failures: list[str] = []

        def run() -> None:
            try:
                answers.append(ask())
            except Exception as error:  # noqa: BLE001 - file systems of all kinds raise all kinds
                failures.append(str(error) or type(error).__name__)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(_SECONDS)
        if answers:
            return answers[0]
        self._is_given_up = True
        why = failures[0] if failures else "it doesn't answer"
        self.note = f"what is shared in {self._name} isn't used: {why}"
        return None


def _path(key: str) -> str:
    return f"{key[:2]}/{key}.json"


class _Folder:
    """A folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str) -> bytes | None:
        try:
            with (self._folder / name).open("rb") as file:
                content = file.read(MOST_BYTES + 1)
        except FileNotFoundError:
            return None
        return content if len(content) <= MOST_BYTES else None

    def write(self, name: str, content: bytes) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{uuid.uuid4().hex}.tmp")
        try:
            unfinished.write_bytes(content)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)


class _Remote:
    """What fsspec reaches. Its stores of objects put one there whole or not at all."""

    def __init__(self, files: Any, root: str) -> None:
        self._files, self._root = files, root.rstrip("/")

    def read(self, name: str) -> bytes | None:
        path = f"{self._root}/{name}"
        try:
            with self._files.open(path, "rb") as file:
                content = bytes(file.read(MOST_BYTES + 1))
        except FileNotFoundError:
            return None
        return content if len(content) <= MOST_BYTES else None

    def write(self, name: str, content: bytes) -> None:
        self._files.pipe_file(f"{self._root}/{name}", content)


def _place(name: str) -> _Place:
    if "://" not in name:
        return _Folder(Path(name).expanduser())
    if name.startswith("file://"):
        return _Folder(Path(unquote(urlsplit(name).path)))
    try:
        core = importlib.import_module("fsspec.core")
    except ImportError:
        raise ValueError(f'"{name}" needs fsspec: pip install fsspec') from None
    files, root = core.url_to_fs(name)
    return _Remote(files, root)
