"""Work on many items, in as many processes as there are cores where that is worth it."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any, Final, TypeVar

from shapecheck.machine import cores

T = TypeVar("T")
M = TypeVar("M")
R = TypeVar("R")

Done = Callable[[T], None]
Work = Callable[[Iterable[T], Done[T]], Generator[M, list[M], list[R]]]
"""Works on some of the items, which it gets one by one, and tells of each that is done.

What it yields, when it has got to their end, is for those who work on the others; it gets back what
all have yielded, its own among it. All yield equally often. What it returns is for each item, in
the order in which it got them.
"""

_WORTH_IT: Final = 1_000
"""From so much work on another process saves more than it costs to start."""

_MOST: Final = 8
"""Each process has much of the memory of the first one."""


def each(
    work: Callable[[T], R],
    items: Sequence[T],
    cost: Callable[[T], int],
    done: Done[T] = lambda item: None,
) -> list[R]:
    """Return what `work` gives for each item, as `together` does."""

    def work_alone(some: Iterable[T], tell: Done[T]) -> Generator[None, list[None], list[R]]:
        found = []
        for item in some:
            found.append(work(item))
            tell(item)
        yield None
        return found

    return together(work_alone, items, cost, done)


def together(
    work: Work[T, M, R],
    items: Sequence[T],
    cost: Callable[[T], int],
    done: Done[T] = lambda item: None,
) -> list[R]:
    """Return what `work` gives for each item; it is begun in each process for some of them.

    Processes are copies of this one, which only waits for them: what they leave in memory goes with
    them. `work` must do nothing but give values, which can be pickled, and give the same whatever
    it is given before. What fails in one of them is done again here. `done` is told of each item as
    often as work tells of it. The items that cost most are given out first, each to who is free.
    """
    costs = [cost(item) for item in items]
    waiting = deque(sorted(range(len(items)), key=lambda at: -costs[at]))
    number = _processes(len(items), sum(costs))
    workers: list[_Here | _There] = []
    told: list[list[Any] | None] = [None]
    try:
        for _ in range(number):
            # A copy leaves nothing behind that has to be cleaned up, which takes its time.
            kind = _There if _can_copy() and sum(costs) > _WORTH_IT else _Here
            workers.append(kind(work, items, waiting, done))
        while not (workers and workers[0].is_last):
            for one in workers:
                one.tell(told[-1])
            for failed in _hear([one for one in workers if isinstance(one, _There)]):
                failed.end()
                here = _Here(work, items, waiting, lambda item: None, failed.taken)
                workers[workers.index(failed)] = here
                for past in told[:-1]:
                    here.tell(past)
                    here.hear()
                here.tell(told[-1])
            for one in workers:
                if isinstance(one, _Here):
                    one.hear()
            told.append([one.message for one in workers])
    finally:
        for one in workers:
            one.end()
    by_place: dict[int, R] = {}
    for one in workers:
        by_place.update(zip(one.taken, one.message, strict=True))
    return [by_place[at] for at in range(len(items))]


def apart(work: Callable[[], R]) -> R:
    """Return what `work` gives, which a copy of this process does where there can be one.

    What it starts, threads above all, ends with the copy, and leaves this process free to be copied
    again. Raises EOFError where the copy doesn't come to its end.
    """

    def work_once(some: Iterable[None], tell: Done[None]) -> Generator[None, list[None], list[R]]:
        yield None
        return [work() for _ in some]

    if not _can_copy():
        return work()
    worker = _There(work_once, [None], deque([0]), lambda item: None)
    try:
        while not worker.is_last:
            worker.tell(None)
            while not worker.hear():
                pass
    finally:
        worker.end()
    found: R = worker.message[0]
    return found


def _can_copy() -> bool:
    return hasattr(os, "fork") and threading.active_count() == 1


def _processes(items: int, cost: int) -> int:
    """Return how many processes are worth it."""
    return max(min(cores(), _MOST, items, cost // _WORTH_IT + 1), 1) if _can_copy() else 1


class _Here:
    """Work that is done in this process: on the items that are `taken`, then on those waiting.

    `message` is what was yielded last, or returned.
    """

    def __init__(
        self,
        work: Work[T, Any, Any],
        items: Sequence[T],
        waiting: deque[int],
        done: Done[T],
        taken: Sequence[int] = (),
    ) -> None:
        self.taken = [*taken]
        self.message: Any = None
        self.is_last = False
        self._work = work(self._given(items, waiting), done)
        self._told: Any = None

    def _given(self, items: Sequence[T], waiting: deque[int]) -> Iterator[T]:
        yield from (items[at] for at in [*self.taken])
        while waiting:
            self.taken.append(waiting.popleft())
            yield items[self.taken[-1]]

    def tell(self, told: Sequence[Any] | None) -> None:
        """Hand over what all have yielded the last time, if they have."""
        self._told = told

    def hear(self) -> None:
        """Have it go on until it yields or returns."""
        try:
            self.message = self._work.send(self._told)
        except StopIteration as end:
            self.message, self.is_last = end.value, True

    def end(self) -> None:
        """Give up what isn't done."""
        self._work.close()


class _There:
    """Work that is done by a copy of this process, which gets its items from here."""

    def __init__(
        self, work: Work[T, Any, Any], items: Sequence[T], waiting: deque[int], done: Done[T]
    ) -> None:
        self.taken: list[int] = []
        self.message: Any = None
        self.is_last = False
        self._items, self._waiting, self._done = items, waiting, done
        self.connection, there = Pipe()
        self._child = os.fork()
        if self._child:
            there.close()
            return
        status = 1
        try:
            self.connection.close()
            _serve(work, items, there)
            status = 0
        finally:
            os._exit(status)  # nothing that this copy inherited is its to clean up

    def tell(self, told: Sequence[Any] | None) -> None:
        """Hand over what all have yielded the last time, if they have."""
        with contextlib.suppress(ConnectionError):  # `hear` notices
            self.connection.send(told)

    def hear(self) -> bool:
        """Answer what it says next; return whether it has yielded or returned now.

        Raises EOFError or ConnectionError where it has ended before its time.
        """
        kind, message = self.connection.recv()
        if kind == "next":
            at = self._waiting.popleft() if self._waiting else None
            self.taken += [] if at is None else [at]
            self.connection.send(at)
        elif kind == "done":
            self._done(self._items[message])
        else:
            self.message, self.is_last = message, kind == "return"
            return True
        return False

    def end(self) -> None:
        """Have the process end if it hasn't."""
        if not self.is_last:
            os.kill(self._child, signal.SIGKILL)
        os.waitpid(self._child, 0)
        self.connection.close()


def _serve(work: Work[T, Any, Any], items: Sequence[T], parent: Connection) -> None:
    """Work in a copy of the process that has the other end of a connection."""

    def given() -> Iterator[T]:
        while True:
            parent.send(("next", None))
            at = parent.recv()
            if at is None:
                return
            yield items[at]

    def tell(item: T) -> None:
        parent.send(("done", next(at for at, one in enumerate(items) if one is item)))

    here = work(given(), tell)
    while True:
        told = parent.recv()
        try:
            message = here.send(told)
        except StopIteration as end:
            parent.send(("return", end.value))
            return
        parent.send(("yield", message))


def _hear(workers: Iterable[_There]) -> list[_There]:
    """Listen to processes until each has yielded or returned; return those that have failed."""
    speaking, failed = [*workers], []
    while speaking:
        ready = wait([one.connection for one in speaking])
        for one in [one for one in speaking if one.connection in ready]:
            try:
                is_done = one.hear()
            except (EOFError, ConnectionError, pickle.UnpicklingError):
                failed.append(one)
                is_done = True
            if is_done:
                speaking.remove(one)
    return failed
