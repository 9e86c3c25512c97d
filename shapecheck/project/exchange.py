"""What a team keeps for all its machines: taken before a run, and added to after it.

Both are done for all modules at once, by a process of its own: what reaches far-away places needs
threads, and a process that has some can't be copied for the work on many modules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from shapecheck import parallel
from shapecheck.config import Sharing
from shapecheck.engine import Shared, Store, Tally, Version

_ENDED: Final = (
    "what is shared isn't used in this run: the process that asks for it has ended early"
)


@dataclass(frozen=True, slots=True)
class _Done:
    """What was done in a process: what is to be said of it, and whether to go on."""

    tally: Tally
    notes: tuple[str, ...]
    is_given_up: bool


class Exchange:
    """Between the database of this machine and what is shared; `notes` is what to say of it."""

    def __init__(self, store: Store, sharing: Sharing) -> None:
        self.tally = Tally()
        self.notes: list[str] = []
        self._store, self._sharing = store, sharing
        self._is_given_up = False

    def take(self, versions: Collection[Version]) -> None:
        """Take what the database hasn't of these versions of modules."""
        lacking = self._store.lacking(versions)
        if lacking:
            self._do(lambda shared: self._store.fetch(lacking, shared))

    def give(self, versions: Collection[Version]) -> None:
        """Share what the database has of these versions of modules."""
        if versions and not self._sharing.read_only:
            self._do(lambda shared: self._store.publish(versions, shared))

    def _do(self, exchange: Callable[[Shared], None]) -> None:
        if self._is_given_up:
            return
        try:
            done = parallel.apart(lambda: self._done(exchange))
        except (EOFError, ConnectionError):
            done = _Done(Tally(), (_ENDED,), True)
        self.tally += done.tally
        self.notes += (note for note in done.notes if note not in self.notes)
        self._is_given_up = done.is_given_up

    def _done(self, exchange: Callable[[Shared], None]) -> _Done:
        notes: list[str] = []
        shared = Shared(self._sharing.place, notes.append, read_only=self._sharing.read_only)
        before = self._store.tally
        exchange(shared)
        tally = self._store.tally - before + Tally(requests=shared.requests)
        return _Done(tally, tuple(notes), shared.is_given_up)
