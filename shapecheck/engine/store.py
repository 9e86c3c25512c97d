"""Keeps records of modules in a database, for all who check the same program.

A row is what was said of one text of one module, in the versions that others then had.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from shapecheck.analysis import Options
from shapecheck.engine.database import Database
from shapecheck.engine.records import (
    ModuleRecord,
    digest,
    said_from_text,
    versions_from_text,
    versions_to_text,
)

_VERSIONS: Final = 8
"""As many versions of a module are kept: of a few branches, and of what was edited last."""


class Store:
    """The records of one kind of analysis, which `maker` tells from others; see `fingerprint`."""

    def __init__(self, database: Database, maker: str) -> None:
        self._database, self._maker = database, maker

    def find(self, module: str, version: str | None) -> ModuleRecord | None:
        """Return what was said of a version of a module, else of the one that was there last."""
        rows = self._database.rows(
            "SELECT versions, said, parts FROM said WHERE maker = ? AND module = ? "
            "ORDER BY version = ? DESC, rowid DESC LIMIT 1",
            (self._maker, module, version),
        )
        for versions, said, parts in rows:
            with suppress(ValueError):
                return ModuleRecord(
                    module,
                    versions_from_text(_opened(versions)),
                    said_from_text(_opened(said)),
                    text=_opened(parts),
                )
        return None

    def keep(self, record: ModuleRecord) -> None:
        """Keep what is said of a module."""
        row = (
            self._maker,
            record.module,
            record.versions[record.module],
            _sealed(versions_to_text(record.versions)),
            _sealed(record.said_text),
            _sealed(record.text),
        )
        self._database.write("INSERT OR REPLACE INTO said VALUES (?, ?, ?, ?, ?, ?)", row)
        which = self._maker, record.module
        self._database.write(
            "DELETE FROM said WHERE maker = ? AND module = ? AND rowid NOT IN "
            "(SELECT rowid FROM said WHERE maker = ? AND module = ? ORDER BY rowid DESC LIMIT ?)",
            (*which, *which, _VERSIONS),
        )

    def note_versions(self, record: ModuleRecord) -> None:
        """Take note that what is kept of a module holds for other versions of what was read."""
        new = _sealed(versions_to_text(record.versions))
        which = self._maker, record.module, record.versions[record.module]
        self._database.write(
            "UPDATE said SET versions = ? WHERE maker = ? AND module = ? AND version = ?",
            (new, *which),
        )


def _sealed(text: str) -> str:
    """Put before a text what tells whether it is still the same."""
    return f"{digest(text.encode())} {text}"


def _opened(text: object) -> str:
    """Return a text that was sealed; raises ValueError where it isn't the same any more."""
    seal, _, content = str(text).partition(" ")
    if seal != digest(content.encode(errors="surrogatepass")):
        raise ValueError("damaged")
    return content


# What can't change a verdict; everything else in the package can.
_NOT_STATIC: Final = frozenset({"runtime", "named", "codemod", "cli", "parallel.py", "__main__.py"})


def fingerprint(options: Options) -> str:
    """Return what tells analyses apart that may say different things of one text.

    These are shapecheck's own source, the settings, the signature files and the Python that parses.
    """
    found = hashlib.blake2b(repr((options, sys.version_info[:2])).encode(), digest_size=16)
    for path in _files_of_verdicts(options):
        try:
            with open(path, "rb") as file:  # noqa: PTH123 - there are hundreds, in each run
                content = file.read()
        except OSError as error:
            content = repr(error).encode()
        found.update(f"\0{os.path.basename(path)}\0{len(content)}\0".encode())  # noqa: PTH119
        found.update(content)
    return found.hexdigest()


def _files_of_verdicts(options: Options) -> Iterator[str]:
    package = Path(__file__).parents[1]
    for child in sorted(one.name for one in package.iterdir()):
        if child not in _NOT_STATIC:
            yield from _sources(f"{package}/{child}")
    # Signature files: inside an installed package, beside a checked-out one.
    if (package.parent / "pyproject.toml").is_file():
        yield from _sources(f"{package.parent}/stubs")
    for folder in options.stubs:
        yield from _sources(folder)


def _sources(path: str) -> Iterator[str]:
    if os.path.isfile(path):  # noqa: PTH113 - as above
        yield path
        return
    for parent, folders, names in os.walk(path):
        folders.sort()
        yield from (f"{parent}/{name}" for name in sorted(names) if name.endswith((".py", ".pyi")))
