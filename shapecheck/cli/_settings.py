"""The project's settings, for the commands that use them."""

from __future__ import annotations

from pathlib import Path

from shapecheck import config
from shapecheck.signatures import table


def settings() -> config.Config:
    """Return the settings of the project at hand, whose signature files can be read.

    Raises `ConfigError`, and `StubError` for a file that is none; a signature that means nothing
    is met when it is needed.
    """
    found = config.load(config.find(Path()))
    next(table(found.stubs).all_names())
    return found
