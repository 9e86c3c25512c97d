"""The files of a program, as texts by their paths."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

Tree = Mapping[str, str]

SETTINGS: Final = "mypy.ini"
PROJECT: Final = "pyproject.toml"
SIGNATURES: Final = "signatures"
# What mypy is asked to check, a path a line.
TARGETS: Final = "targets.txt"
_KEPT: Final = (".py", ".pyi")


def read(folder: Path, inside: str) -> dict[str, str]:
    """Return the sources below a folder of a repository, by their paths in the repository."""
    found = {}
    for path in sorted((folder / inside).rglob("*")):
        if path.suffix in _KEPT and path.is_file() and not path.is_symlink():
            found[path.relative_to(folder).as_posix()] = path.read_text("utf-8", errors="replace")
    return found


def write(folder: Path, before: Tree, after: Tree) -> None:
    """Turn one tree into the other, on the disk; a file that is the same isn't touched."""
    for name in before.keys() - after.keys():
        path = folder / name
        path.unlink()
        _remove_empty(path.parent, folder)
    for name, text in after.items():
        if before.get(name) != text:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def _remove_empty(folder: Path, root: Path) -> None:
    while folder != root and not os.listdir(folder):  # noqa: PTH208 - no glob is needed
        folder.rmdir()
        folder = folder.parent


def modules(tree: Tree) -> list[str]:
    """Return the paths of the modules, in order."""
    return sorted(name for name in tree if name.endswith(_KEPT) and not _is_signature_file(name))


def _is_signature_file(name: str) -> bool:
    return name.startswith(f"{SIGNATURES}/")


def module_name(path: str) -> str:
    """Return the dotted name of a module, all folders being packages."""
    dotted = path.rpartition(".")[0].replace("/", ".")
    return dotted.removesuffix(".__init__")
