"""Reads source files, in the encoding that they declare."""

from __future__ import annotations

import codecs
import errno
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Final

from shapecheck.analysis import Source
from shapecheck.engine import digest
from shapecheck.project.settings import Settings

_DECLARED: Final = re.compile(
    rb"([ \t\v]*#.*(\r\n?|\n))??[ \t\v]*#.*coding[:=][ \t]*(?P<name>[-\w.]+)"
)
_LATIN: Final = re.compile(r"(?:iso-)?latin-1(?:-.*)?")


class UnreadableError(Exception):
    """A file that can't be read, or isn't text: why."""


class Reader:
    """Reads each file once, and hands out the same `Source` object for it again.

    `texts` are what files are to be taken for, by their absolute paths: of those that are edited.
    """

    def __init__(self, settings: Settings, texts: Mapping[str, str] | None = None) -> None:
        self._settings = settings
        self._texts = {} if texts is None else texts
        self._read: dict[str, Source | UnreadableError] = {}
        self._digests: dict[str, str] = {}

    def digest(self, source: Source) -> str:
        """Return what is another text for another content of a file that was read."""
        return self._digests[source.path]

    def forget(self, paths: Iterable[str] | None) -> None:
        """Read files anew: those with some absolute paths, or all."""
        if paths is None:
            self._read.clear()
            return
        left_out = set(paths)
        for path in [path for path in self._read if os.path.abspath(path) in left_out]:  # noqa: PTH100
            del self._read[path]

    def read(self, module: str, path: str) -> Source | None:
        """Return the text of a module, None where it can't be read."""
        try:
            return self.source(module, path)
        except UnreadableError:
            return None

    def source(self, module: str, path: str) -> Source:
        """Return the text of a module; raises `UnreadableError`."""
        found = self._read.get(path)
        if found is None:
            found = self._new(module, path)
        elif isinstance(found, Source) and found.name != module:
            found = Source(module, found.path, found.text)
        self._read[path] = found
        if isinstance(found, UnreadableError):
            raise found
        return found

    def _new(self, module: str, path: str) -> Source | UnreadableError:
        try:
            text = self._texts.get(os.path.abspath(path))  # noqa: PTH100
            content = content_of(Path(path)) if text is None else _encoded(text)
            shown = self._settings.display(path)
            self._digests[shown] = digest(content)
            return Source(module, shown, decoded(content) if text is None else text)
        except OSError as error:
            return UnreadableError(f"Cannot read file: {error.strerror}")
        except (UnicodeError, LookupError) as error:
            return UnreadableError(f"Cannot decode file: {error}")


def content_of(path: Path) -> bytes:
    """Return what is in a file; raises OSError, also for a pipe or a device, which has no end."""
    status = path.stat()
    if not (S_ISREG(status.st_mode) or S_ISDIR(status.st_mode)):
        raise OSError(errno.EINVAL, "Not a regular file")
    return path.read_bytes()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", errors="surrogatepass")


def decoded(content: bytes) -> str:
    """Decode a source file; raises UnicodeDecodeError or LookupError."""
    if content.startswith(codecs.BOM_UTF8):
        return content[len(codecs.BOM_UTF8) :].decode("utf-8")
    declared = _DECLARED.match(content)
    encoding = "utf-8" if declared is None else declared["name"].decode("ascii")
    return content.decode("latin-1" if _LATIN.fullmatch(encoding) else encoding)
