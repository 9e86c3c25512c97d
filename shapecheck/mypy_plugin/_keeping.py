"""What is kept for other runs, on this machine and by the team."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shapecheck.engine import Database

if TYPE_CHECKING:
    from collections.abc import Callable

    from shapecheck.config import Sharing
    from shapecheck.engine import Store

# What this process has told already.
_TOLD: Final[set[str]] = set()


def store_in(
    folder: str | None, fingerprint: str, sharing: Sharing | None, note: Callable[[str], None]
) -> Store | None:
    """Return what keeps records in a folder, and with the team; None where nothing is kept.

    `note` gets what there is to say of what the team keeps.
    """
    if folder is None:
        return None
    from shapecheck.engine import Shared, Store  # late: a run with nothing new needs neither

    shared = None
    if sharing is not None:
        shared = Shared(sharing.place, note, read_only=sharing.read_only)
    return Store(Database(Path(folder)), fingerprint, shared)


def tell(text: str) -> None:
    """Tell whoever runs mypy something that is no error in the program, once."""
    if text not in _TOLD:
        _TOLD.add(text)
        sys.stderr.write(f"shapecheck: {text}\n")
