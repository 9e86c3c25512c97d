"""What a team keeps for all its machines, in a place that may be far away, or not there at all.

Whoever may write there is trusted as the code is: a record that says something else is believed.
One that isn't as it should be is no record, and a place that fails or is too slow is given up, with
a note; nothing else comes of it.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

from shapecheck.engine.places import MOST_BYTES, Place, UnusableError, place

_T = TypeVar("_T")

_PATIENCE: Final = 10.0
"""Seconds that may be waited for nothing, in all."""

_WORTH: Final = 0.25
"""Seconds that an object is worth waiting for."""

_FAILURES: Final = 3
"""After as many in a row a place is given up."""

_TOGETHER: Final = 64
"""As many objects are asked for at once."""

_USER: Final = re.compile(r"//[^/@\s]*@")


class Shared:
    """The records in a place, which is opened when somebody asks for one.

    `tell` gets what there is to say of it, each thing once. A copy of the process opens the place
    for itself. `requests` counts the objects that were asked for or written.
    """

    def __init__(self, name: str, tell: Callable[[str], None], *, read_only: bool = False) -> None:
        self.requests = 0
        self._name, self._tell = name, tell
        self._can_read, self._can_write = True, not read_only
        self._place: Place | None = None
        self._process = os.getpid()
        self._patience = _PATIENCE
        self._failures = {"read": 0, "write": 0}
        self._told: set[str] = set()

    @property
    def is_given_up(self) -> bool:
        """Whether nothing more is asked of the place."""
        return not self._can_read

    def read(self, keys: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield those of some objects that are there."""
        for first in range(0, len(keys), _TOGETHER):
            if not self._can_read:
                return
            some = keys[first : first + _TOGETHER]
            names = {_object(key): key for key in some}
            found = self._answer(partial(self._read, [*names]), len(some))
            if isinstance(found, Exception):
                self._fail("read", found)
                continue
            errors = [one for one in found.values() if isinstance(one, Exception)]
            if errors:
                self._fail("read", errors[0])
            else:
                self._failures["read"] = 0
            for name, content in found.items():
                if isinstance(content, bytes):
                    yield names[name], content

    def write(self, objects: Mapping[str, bytes]) -> None:
        """Put objects there, or in their place."""
        items = [(_object(key), one) for key, one in objects.items() if len(one) <= MOST_BYTES]
        for first in range(0, len(items), _TOGETHER):
            if not self._can_write:
                return
            some = dict(items[first : first + _TOGETHER])
            failed = self._answer(partial(self._write, some), len(some))
            if isinstance(failed, Exception):
                self._fail("write", failed)
            else:
                self._failures["write"] = 0

    def note_damage(self) -> None:
        """Take note of an object that is no record."""
        self._say("has something in it that can't be read, and that is found out again")

    def _read(self, names: Sequence[str]) -> Mapping[str, bytes | Exception]:
        return self._open().read(names)

    def _write(self, objects: Mapping[str, bytes]) -> None:
        self._open().write(objects)

    def _open(self) -> Place:
        if self._place is None or self._process != os.getpid():
            self._place, self._process = place(self._name), os.getpid()
        return self._place

    def _answer(self, ask: Callable[[], _T], objects: int) -> _T | Exception:
        """Return what the place answers, or what it fails with, in the time that there is."""
        answers: list[_T | Exception] = []

        def run() -> None:
            try:
                answers.append(ask())
            except Exception as error:  # noqa: BLE001 - file systems of all kinds raise all kinds
                answers.append(error)

        self.requests += objects
        begin = time.monotonic()
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(self._patience)
        waited = time.monotonic() - begin
        if not answers:
            self._patience = 0.0
            return TimeoutError("it doesn't answer in time")
        self._patience = min(self._patience - waited + objects * _WORTH, _PATIENCE)
        return answers[0]

    def _fail(self, what: str, error: Exception) -> None:
        """Take note of a failure: one that stays, or the third in a row, is the end."""
        self._failures[what] += 1
        is_end = isinstance(error, UnusableError) or self._patience <= 0.0
        is_refused = isinstance(error, PermissionError | NotADirectoryError)
        if not (is_end or is_refused) and self._failures[what] < _FAILURES:
            return
        self._can_write = False
        # What can't be written may still be read.
        self._can_read = self._can_read and what == "write" and not is_end
        done = "written" if self._can_read else "used"
        self._say(f"isn't {done} in this run: {str(error) or type(error).__name__}")

    def _say(self, what: str) -> None:
        text = _USER.sub("//", f"what is shared in {self._name} {what}")
        if text not in self._told:
            self._told.add(text)
            self._tell(text)


def _object(key: str) -> str:
    """Return the name of an object: the records of a project lie in several folders."""
    return f"{key[:2]}/{key}.record"
