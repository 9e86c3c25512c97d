"""The machine that a program runs on."""

from __future__ import annotations

import os


def cores() -> int:
    """Return how many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    return os.cpu_count() or 1 if affinity is None else len(affinity(0))
