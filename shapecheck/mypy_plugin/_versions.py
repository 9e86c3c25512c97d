"""What is installed beside the plugin: the versions it works with, and stubs it can't work with."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Final

_OLDEST_MYPY: Final = (2, 4)
_OLDEST_TORCH: Final = (2, 4)
_TORCH_METADATA: Final = re.compile(r"torch-([^-]+)(?:-.*)?\.(?:dist|egg)-info", re.IGNORECASE)
_TORCH_STUBS: Final = "torch-stubs"


class UnsupportedVersionError(Exception):
    """The plugin can't work with a version that is installed."""


def require_mypy(version: str) -> None:
    """Raise `UnsupportedVersionError` when this mypy is too old to run the plugin."""
    if _is_older(version, _OLDEST_MYPY):
        raise UnsupportedVersionError(
            f"shapecheck needs mypy {_dotted(_OLDEST_MYPY)} or newer, and this is mypy {version}; "
            f"pip install --upgrade mypy"
        )


def environment_problem(folders: Iterable[str]) -> str | None:
    """Say what in these folders of packages keeps mypy from checking torch code, if anything.

    torch is looked up by its metadata and never imported; none at all is fine.
    """
    torch: tuple[str, str] | None = None
    for folder, name in _entries(folders):
        if name == _TORCH_STUBS:
            return _foreign_stubs(folder)
        match = _TORCH_METADATA.fullmatch(name)
        if match is not None and torch is None:
            torch = match[1], folder
    if torch is None or not _is_older(torch[0], _OLDEST_TORCH):
        return None
    return (
        f"shapecheck needs torch {_dotted(_OLDEST_TORCH)} or newer, and torch {torch[0]} is "
        f"installed in {torch[1]}; pip install --upgrade torch"
    )


def _entries(folders: Iterable[str]) -> Iterator[tuple[str, str]]:
    for folder in folders:
        try:
            names = sorted(os.listdir(folder))  # noqa: PTH208 - Path.iterdir takes six times as long
        except OSError:
            continue
        for name in names:
            yield folder, name


def _foreign_stubs(folder: str) -> str:
    """Say which project put `torch-stubs` into `folder`."""
    from importlib.metadata import distributions

    owner = None
    for distribution in distributions(path=[folder]):
        files = distribution.files or ()
        if any(file.parts[:1] == (_TORCH_STUBS,) for file in files):
            owner = distribution.name
            break
    source = f"{owner}, " if owner else ""
    remedy = f"pip uninstall {owner}" if owner else f"remove {os.path.join(folder, _TORCH_STUBS)}"  # noqa: PTH118
    return (
        f'"{_TORCH_STUBS}" ({source}in {folder}) takes the place of torch\'s own types, '
        f"and mypy can't check torch code against it; {remedy}"
    )


def _is_older(version: str, oldest: tuple[int, int]) -> bool:
    match = re.match(r"(\d+)\.(\d+)", version)
    return match is not None and (int(match[1]), int(match[2])) < oldest


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
