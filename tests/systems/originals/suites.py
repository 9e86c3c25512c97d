"""What a system's own tests are: where they are, how they are run, and which of them can't pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Left:
    """Why a test doesn't pass; `line`: it does without the statement that has this text."""

    reason: str
    line: str | None = None


@dataclass(frozen=True, slots=True)
class Suite:
    """The tests of a system, and the adapter that they are run through.

    `install` is given the folder of the checkout, and puts modules in the place of the system's.
    A test is run inside of `around`, and is what `decorate` makes of its function. `left` are the
    tests that don't pass, by their names.
    """

    tests: tuple[str, ...]
    install: Callable[[Path], None]
    decorate: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda test: test
    around: Callable[[], AbstractContextManager[object]] = nullcontext
    left: Mapping[str, Left] = field(default_factory=dict)
