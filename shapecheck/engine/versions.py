"""Which versions of modules were read: what tells a text, and a place where it lay, from others."""

from __future__ import annotations

import hashlib
from typing import TypeAlias

Versions: TypeAlias = dict[str, str | None]
"""Of each module the version in which it was read, None where there was none."""


def digest(content: bytes) -> str:
    """Return what is another text for another content of a file."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def content_of(version: str | None) -> str | None:
    """Return what a version of a module says of its content, before what it says of its path."""
    return None if version is None else version.partition(" ")[0]
