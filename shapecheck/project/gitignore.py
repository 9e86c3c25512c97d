"""What `.gitignore` files leave out, for `exclude_gitignore`."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


def matches(path: str, *, is_folder: bool) -> bool:
    """Whether git ignores a file or folder."""
    whole = Path(path).absolute()
    return any(
        spec.match_file(os.path.relpath(whole, root) + ("/" if is_folder else ""))
        for root, spec in _specs(whole.parent)
    )


@cache
def _specs(folder: Path) -> tuple[tuple[Path, GitIgnoreSpec], ...]:
    """Return what is ignored in a folder: what it says, and those above it in its repository."""
    is_top = (folder / ".git").exists() or folder.parent == folder
    above = () if is_top else _specs(folder.parent)
    files = [folder / ".git" / "info" / "exclude"] if is_top else []
    return (
        *above,
        *(_spec(folder, file) for file in (*files, folder / ".gitignore") if file.is_file()),
    )


def _spec(folder: Path, file: Path) -> tuple[Path, GitIgnoreSpec]:
    from pathspec import GitIgnoreSpec

    return folder, GitIgnoreSpec.from_lines(file.read_text(errors="replace").splitlines())
