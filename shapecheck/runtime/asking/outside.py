"""Names outside of decorated calls: `with shapecheck.names():` and `shapecheck.names.on()`."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Final

from shapecheck.runtime import settings
from shapecheck.runtime.boundary import frames
from shapecheck.runtime.errors import LOCK
from shapecheck.runtime.naming.call_names import state
from shapecheck.runtime.source import told_at_users_line


class Block:
    """A `with` block that carries names."""

    def __init__(self) -> None:
        self._began = False

    def __enter__(self) -> None:
        self._began = _begin()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._began:
            _end()
            self._began = False
        told = _told(error)
        if told is not None and told is not error:
            raise told


class Names:
    """Carries names outside of decorated calls, in this thread.

        with shapecheck.names():
            x = shapecheck.named(torch.rand(2, 3), "b t")
            x.sum(0) + x

    `named` gives a tensor names, as does a decorated function whose arguments have some; each op
    carries them on and is checked by them, as inside of a decorated call. A tensor keeps its names
    until it dies: a cache or a state that a function leaves behind has them in its next call.

    Inside of a decorated call, where that is so anyway, and where `SHAPECHECK` is `off` or
    `boundary`, nothing changes.
    """

    def __init__(self) -> None:
        self._hook = sys.excepthook

    def __call__(self) -> Block:
        """Return what carries names inside of a `with` block."""
        return Block()

    def on(self) -> None:
        """Carry names from here on, until `off()`."""
        _begin()
        if sys.excepthook is not _tell:
            self._hook, sys.excepthook = sys.excepthook, _tell

    def off(self) -> None:
        """Carry no names outside of calls any more; tensors keep those that they have."""
        if state.carrying and state.frame is state.given:
            _end()
        if sys.excepthook is _tell:
            sys.excepthook = self._hook


names: Final = Names()


def _tell(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Show an error that nothing caught, at the user's own line."""
    told = _told(error) or error
    names._hook(type(told), told, told.__traceback__)


def _told(error: BaseException | None) -> Exception | None:
    """Return an error with a traceback that ends at the user's own line."""
    return told_at_users_line(error, caught=False) if isinstance(error, Exception) else None


def _begin() -> bool:
    """Return whether names are carried from now on, and weren't before."""
    if settings.mode() is not settings.Mode.FULL or state.frame is not None:
        return False
    with LOCK:
        frames.carry_on()
    return True


def _end() -> None:
    with LOCK:
        frames.carry_no_more()
