"""What tells analyses apart that may say different things of one text."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shapecheck.made_from_files import MadeFromFiles

if TYPE_CHECKING:
    from shapecheck.analysis import Options

# What can't change a verdict; everything else in the package can.
_NOT_STATIC: Final = frozenset({"runtime", "named", "codemod", "cli", "parallel.py", "__main__.py"})

_FORM: Final = 1
"""Another number where it is made in another way."""


def fingerprint(options: Options) -> str:
    """Return what tells analyses apart that may say different things of one text.

    These are shapecheck's own source, the settings, the signature files and the Python that parses.
    """
    # Where the folders of signature files lie is of no matter, only what is in them.
    settings = replace(options, stubs=("",) * len(options.stubs))
    found = hashlib.blake2b(repr((settings, sys.version_info[:2])).encode(), digest_size=16)
    found.update(_own().encode())
    for folder in options.stubs:  # in which there may be anything
        _read(found, islice(filter(os.path.isfile, _sources(folder)), _MOST_SIGNATURES))
    return found.hexdigest()


def _own() -> str:
    """Return what stands for the files of this package, which most starts find as they were."""
    paths = [*_files_of_verdicts()]
    kept = MadeFromFiles(__file__, _FORM, paths)
    known = kept.load()
    if isinstance(known, str):
        return known
    found = hashlib.blake2b(digest_size=16)
    _read(found, paths)
    kept.keep(found.hexdigest())
    return found.hexdigest()


def _read(found: hashlib.blake2b, paths: Iterable[str]) -> None:
    """Have a digest be of some files, too."""
    for path in paths:
        try:
            with open(path, "rb") as file:  # noqa: PTH123 - there are hundreds
                content = file.read()
        except OSError as error:
            content = repr(error).encode()
        found.update(f"\0{os.path.basename(path)}\0{len(content)}\0".encode())  # noqa: PTH119
        found.update(content)


_MOST_SIGNATURES: Final = 10_000
"""A folder of more files is refused where signatures are read."""


def _files_of_verdicts() -> Iterator[str]:
    package = Path(__file__).parents[1]
    for child in sorted(os.listdir(package)):  # noqa: PTH208 - as above
        if child not in _NOT_STATIC:
            yield from _sources(f"{package}/{child}")
    # Signature files: inside an installed package, beside a checked-out one.
    if (package.parent / "pyproject.toml").is_file():
        yield from _sources(f"{package.parent}/stubs")


def _sources(path: str) -> Iterator[str]:
    if os.path.isfile(path):  # noqa: PTH113 - as above
        yield path
        return
    for parent, folders, names in os.walk(path):
        folders.sort()
        yield from (f"{parent}/{name}" for name in sorted(names) if name.endswith((".py", ".pyi")))
