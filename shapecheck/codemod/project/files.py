"""Python files on disk: found, read to the byte, and replaced as a whole or not at all."""

from __future__ import annotations

import codecs
import io
import os
import re
import stat
import tokenize
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from shapecheck.codemod.project.replacing import replace
from shapecheck.project.reading import content_of

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
        content = content_of(path)
    except OSError as error:
        raise FileProblem(f"{path}: can't be read: {error.strerror}") from None
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        bom = len(codecs.BOM_UTF8) if encoding == "utf-8-sig" else 0
        text = content[bom:].decode("utf-8" if bom else encoding)
    except (SyntaxError, UnicodeError, LookupError) as error:
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
    try:
        if not path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
            raise FileProblem(f"{file.path}: is read-only; left as it was")
        if not os.access(path, os.W_OK):
            raise FileProblem(f"{file.path}: may not be written; left as it was")
        if path.stat().st_nlink > 1:
            raise FileProblem(
                f"{file.path}: has another name (a hard link), which would keep the old text; "
                "left as it was"
            )
        if path.read_bytes() != file.content:
            raise FileProblem(f"{file.path}: has changed since it was read; left as it is")
        replace(path, content, durable=True)
    except OSError as error:
        raise FileProblem(
            f"{file.path}: can't be written: {error.strerror}; left as it was"
        ) from None


_SKIPPED: Final = frozenset(
    "__pycache__ node_modules site-packages dist-packages build dist venv env".split()
)


@dataclass(slots=True)
class Found:
    """The Python files that were asked for, and what is said of links that are left alone."""

    files: list[Path] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def find(paths: Iterable[Path]) -> Found:
    """Find the Python files that paths stand for, those in folders in order; each once.

    Hidden folders, environments and installed packages in a folder are left out. A link is what
    it leads to where it is named; in a folder it is only where that is among the files. Raises
    `FileProblem` for a path that isn't there.
    """
    found = Found()
    links: list[Path] = []
    seen: set[str] = set()
    folders: list[str] = []
    for path in paths:
        if path.is_dir():
            folders.append(os.path.realpath(path))
            every = _walk(path, links)
        elif path.exists():
            every = iter([path])
        else:
            raise FileProblem(f"{path}: there is no such file or folder")
        for one in every:
            if (actual := os.path.realpath(one)) not in seen:
                seen.add(actual)
                found.files.append(one)
    for link in links:
        actual = os.path.realpath(link)
        is_inside = link.is_dir() and any(Path(actual).is_relative_to(top) for top in folders)
        if actual not in seen and not is_inside and _has_code(link):
            found.left.append(f"{link}: is a link to {actual}, which isn't named; left alone")
    return found


def _has_code(link: Path) -> bool:
    """Whether a link leads to a file, or to a folder with Python files in it."""
    with suppress(OSError):
        return not link.is_dir() or any(path.suffix == ".py" for path in link.iterdir())
    return False


def _walk(folder: Path, links: list[Path]) -> Iterator[Path]:
    """Yield the Python files in a folder; links to files and folders are added to `links`."""
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in _SKIPPED
            and not Path(root, name, "pyvenv.cfg").exists()
        )
        links += (path for name in folders if (path := Path(root, name)).is_symlink())
        for name in sorted(names):
            path = Path(root, name)
            if name.endswith(".py") and path.is_file():  # no link to nowhere, no pipe
                if path.is_symlink():
                    links.append(path)
                else:
                    yield path
