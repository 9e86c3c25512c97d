"""How much is checked: the `SHAPECHECK` variable and `disabled()`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from typing import Final

import torch

from shapecheck.runtime.internals import is_fx_tracing, tracing_state


class Mode(Enum):
    """OFF: functions are left as they are. BOUNDARY: arguments and results. FULL: every op too."""

    OFF = "off"
    BOUNDARY = "boundary"
    FULL = "full"


def mode() -> Mode:
    """Return the mode that the environment asks for; it counts when a function is decorated."""
    said = os.environ.get("SHAPECHECK", "").strip().lower()
    if not said:
        return Mode.FULL
    try:
        return Mode(said)
    except ValueError:
        raise ValueError(
            f'SHAPECHECK="{said}" in the environment means nothing; it can be off, boundary or full'
        ) from None


paused: Final[ContextVar[bool]] = ContextVar("shapecheck_paused", default=False)


def stands_aside() -> bool:
    """Whether nothing is to be checked: in `disabled()`, and while a program is traced."""
    if torch.compiler.is_compiling() or paused.get():
        return True
    return is_fx_tracing() or tracing_state() is not None


@contextmanager
def disabled() -> Iterator[None]:
    """Check nothing inside the `with` block, in this thread or task."""
    token = paused.set(True)
    try:
        yield
    finally:
        paused.reset(token)
