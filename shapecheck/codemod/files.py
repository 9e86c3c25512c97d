"""Python files on disk: found, read to the byte, and replaced as a whole or not at all."""

from __future__ import annotations

import codecs
import io
import os
import re
import shutil
import stat
import tempfile
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_OLD_LINE_END: Final = re.compile(r"\r(?!\n)")
"""LibCST doesn't give back such lines as they were."""


class FileProblem(Exception):
    """A file that can't be read or written: the text says which, and why."""


@dataclass(frozen=True, slots=True)
class PythonFile:
    """A source file: its text with the line ends that it has, and what makes its bytes of it."""

    path: Path
    text: str
    encoding: str
    content: bytes

    def encoded(self, text: str) -> bytes:
        """Return the bytes of another text for this file; raises `FileProblem`."""
        bom = codecs.BOM_UTF8 if self.encoding == "utf-8-sig" else b""
        try:
            return bom + text.encode("utf-8" if bom else self.encoding)
        except UnicodeEncodeError as error:
            raise FileProblem(
                f"{self.path}: {self.encoding} has no such character: {error}"
            ) from None


def read(path: Path) -> PythonFile:
    """Read a Python file in the encoding that it declares; raises `FileProblem`."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FileProblem(f"{path}: can't be read: {error.strerror}") from None
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        bom = len(codecs.BOM_UTF8) if encoding == "utf-8-sig" else 0
        text = content[bom:].decode("utf-8" if bom else encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else error
        raise FileProblem(f"{path}: can't be read as text: {reason}") from None
    if "\0" in text:
        raise FileProblem(f"{path}: can't be read as text: it has null bytes in it")
    if _OLD_LINE_END.search(text):
        raise FileProblem(f"{path}: has lines that end in a carriage return alone; left as it is")
    return PythonFile(path, text, encoding, content)


def write(file: PythonFile, text: str) -> None:
    """Replace a file's content in one step; it is the old or the new one, whatever happens.

    Raises `FileProblem` where the file may not be written, or isn't any more what was read.
    """
    path = Path(os.path.realpath(file.path))
    content = file.encoded(text)
    temporary = None
    try:
        if not path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
            raise FileProblem(f"{file.path}: is read-only; left as it was")
        if not os.access(path, os.W_OK):
            raise FileProblem(f"{file.path}: may not be written; left as it was")
        if path.read_bytes() != file.content:
            raise FileProblem(f"{file.path}: has changed since it was read; left as it is")
        handle, temporary = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name}.", suffix=".tmp"
        )
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        shutil.copystat(path, temporary)
        os.utime(temporary)
        Path(temporary).replace(path)
        temporary = None
    except OSError as error:
        raise FileProblem(
            f"{file.path}: can't be written: {error.strerror}; left as it was"
        ) from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


_SKIPPED: Final = frozenset(
    "__pycache__ node_modules site-packages dist-packages build dist venv env".split()
)


def find(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the Python files that paths stand for, those in folders in order; each once.

    Hidden folders, environments and installed packages in a folder are left out. Raises
    `FileProblem` for a path that isn't there.
    """
    seen: set[str] = set()
    for path in paths:
        if path.is_dir():
            found: Iterable[Path] = _walk(path)
        elif path.exists():
            found = [path]
        else:
            raise FileProblem(f"{path}: there is no such file or folder")
        for one in found:
            if (actual := os.path.realpath(one)) not in seen:
                seen.add(actual)
                yield one


def _walk(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in _SKIPPED
            and not Path(root, name, "pyvenv.cfg").exists()
        )
        for name in sorted(names):
            path = Path(root, name)
            if name.endswith(".py") and path.is_file():  # no link to nowhere, no pipe
                yield path
