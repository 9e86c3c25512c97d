"""Work on many items, in as many processes as there are cores where that is worth it."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import signal
import threading
from collections.abc import Callable, Generator, Sequence
from typing import Any, Final, TypeVar

from shapecheck.machine import cores

T = TypeVar("T")
M = TypeVar("M")
R = TypeVar("R")

Done = Callable[[T], None]
Work = Callable[[Sequence[T], Done[T]], Generator[M, list[M], list[R]]]
"""Works on some of the items, and tells of each that is done.

What it yields is for those who work on the others; it gets back what all have yielded, its own
among it. All yield equally often. What it returns is for each item, in order.
"""

_WORTH_IT: Final = 5_000
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

    def work_alone(some: Sequence[T], tell: Done[T]) -> Generator[None, list[None], list[R]]:
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
    them. `work` must do nothing but give values, which can be pickled. What fails in one of them is
    done again here. `done` is told of each item as often as work tells of it in the first process,
    or yields in another.
    """
    shares = _shares(items, cost)
    parts = [[items[at] for at in share] for share in shares]
    workers: list[_Here | _There] = []
    found: list[Any] = []
    history: list[list[Any]] = []
    try:
        if len(parts) == 1:
            workers.append(_Here(work(parts[0], done)))
        else:
            workers += [_There(work, part, done if part is parts[0] else None) for part in parts]
        while not found:
            for one in workers:
                one.tell(history)
            messages = []
            for at, one in enumerate(workers):
                try:
                    is_last, message = one.hear()
                except _Failed:
                    one.end()
                    workers[at] = one = _Here(work(parts[at], lambda item: None))
                    for number in range(len(history) + 1):
                        one.tell(history[:number])
                        is_last, message = one.hear()
                for item in parts[at] if at and not is_last else ():
                    done(item)
                messages.append(message)
            if is_last:
                found = messages
            history.append(messages)
    finally:
        for one in workers:
            one.end()
    places = [at for share in shares for at in share]
    by_place = dict(zip(places, itertools.chain(*found), strict=True))
    return [by_place[at] for at in range(len(items))]


class _Failed(Exception):
    """Another process has ended before its time."""


class _Here:
    """Work that is done in this process."""

    def __init__(self, work: Generator[Any, Any, Any]) -> None:
        self._work = work
        self._told: Any = None

    def tell(self, history: Sequence[list[Any]]) -> None:
        """Hand over what all have yielded the last time, if they have."""
        self._told = history[-1] if history else None

    def hear(self) -> tuple[bool, Any]:
        """Return what is yielded next, or returned; whether it is the last."""
        try:
            return False, self._work.send(self._told)
        except StopIteration as end:
            return True, end.value

    def end(self) -> None:
        """Give up what isn't done."""
        self._work.close()


class _There:
    """Work that is done by a copy of this process."""

    def __init__(self, work: Work[T, Any, Any], items: Sequence[T], done: Done[T] | None) -> None:
        mine, its_out = os.pipe()
        its_in, out = os.pipe()
        self._items, self._done, self._is_done = items, done, False
        self._child = os.fork()
        if self._child:
            os.close(its_out)
            os.close(its_in)
            self._read, self._write = os.fdopen(mine, "rb"), os.fdopen(out, "wb")
            return
        status = 1
        try:
            os.close(mine)
            os.close(out)
            with os.fdopen(its_in, "rb") as read, os.fdopen(its_out, "wb") as write:

                def say(*message: object) -> None:
                    pickle.dump(message, write, pickle.HIGHEST_PROTOCOL)
                    write.flush()

                def tell(item: T) -> None:
                    if done is not None:
                        say("done", next(at for at, one in enumerate(items) if one is item))

                here = _Here(work(items, tell))
                is_last = False
                while not is_last:
                    here.tell(pickle.load(read))
                    is_last, message = here.hear()
                    say("return" if is_last else "yield", message)
            status = 0
        finally:
            os._exit(status)  # nothing that this copy inherited is its to clean up

    def tell(self, history: Sequence[list[Any]]) -> None:
        """Hand over what all have yielded the last time, if they have."""
        with contextlib.suppress(BrokenPipeError):  # `hear` notices
            pickle.dump(history[-1:], self._write, pickle.HIGHEST_PROTOCOL)
            self._write.flush()

    def hear(self) -> tuple[bool, Any]:
        """Return what is yielded next, or returned; whether it is the last."""
        try:
            kind, message = pickle.load(self._read)
            while kind == "done":
                if self._done is not None:
                    self._done(self._items[message])
                kind, message = pickle.load(self._read)
        except (EOFError, pickle.UnpicklingError):
            raise _Failed from None
        self._is_done = kind == "return"
        return self._is_done, message

    def end(self) -> None:
        """Have the process end if it hasn't."""
        if not self._is_done:
            os.kill(self._child, signal.SIGKILL)
        os.waitpid(self._child, 0)
        for stream in (self._read, self._write):
            with contextlib.suppress(BrokenPipeError):
                stream.close()


def _shares(items: Sequence[T], cost: Callable[[T], int]) -> list[list[int]]:
    """Divide the numbers of items into lists that cost about the same, one for each process."""
    costs = [cost(item) for item in items]
    can_fork = hasattr(os, "fork") and threading.active_count() == 1
    number = min(cores(), _MOST, len(items), sum(costs) // _WORTH_IT + 1) if can_fork else 1
    shares: list[list[int]] = [[] for _ in range(max(number, 1))]
    loads = [0] * len(shares)
    for at in sorted(range(len(items)), key=lambda at: -costs[at]):
        lightest = loads.index(min(loads))
        shares[lightest].append(at)
        loads[lightest] += costs[at]
    return shares
