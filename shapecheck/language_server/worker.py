"""The one thread in which all work is done, the most urgent first."""

from __future__ import annotations

import gc
import heapq
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final, TypeVar

_T = TypeVar("_T")
_STACK: Final = 64 * 2**20
_MOST_INTERRUPTIONS: Final = 3
"""What has given way as often is done to its end, so that it is done at all."""


class Urgency(IntEnum):
    """What comes first: the lower number."""

    EDIT = 0
    QUESTION = 1
    CHECK = 2
    BACKGROUND = 3


class Interrupted(BaseException):
    """Work is ended in the middle: it gives way to something more urgent, or nobody wants it.

    It isn't an `Exception`: nothing that catches all defects takes it for one.
    """


@dataclass(order=True, slots=True)
class _Job:
    urgency: Urgency
    number: int
    work: Callable[[], Any] = field(compare=False)
    future: Future[Any] = field(compare=False)
    interruptions: int = field(default=0, compare=False)


class Worker:
    """Does one thing after the other, in a thread of its own that has a large stack."""

    def __init__(self) -> None:
        self._jobs: list[_Job] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._running: _Job | None = None
        self._is_stopped = self._has_rested = False
        before = threading.stack_size(_STACK)
        try:
            self._thread = threading.Thread(target=self._run, name="shapecheck", daemon=True)
            self._thread.start()
        finally:
            threading.stack_size(before)

    def submit(self, urgency: Urgency, work: Callable[[], _T]) -> Future[_T]:
        """Have something done, and return what will have its result; that may be cancelled."""
        job = _Job(urgency, next(self._numbers), work, Future())
        with self._changed:
            heapq.heappush(self._jobs, job)
            self._changed.notify()
        return job.future

    def give_way(self) -> None:
        """Raise `Interrupted` where what is being done isn't wanted now; it is begun again later.

        Only what was submitted as a check, or less urgent, gives way to others.
        """
        job = self._running
        if job is None or threading.current_thread() is not self._thread:
            return
        if job.future.cancelled() or self._is_stopped:
            raise Interrupted
        if job.urgency >= Urgency.CHECK and job.interruptions < _MOST_INTERRUPTIONS:
            with self._changed:
                first = self._jobs[0].urgency if self._jobs else job.urgency
            if first < job.urgency:
                raise Interrupted

    def rest(self) -> None:
        """Look for garbage, while nobody waits for anything.

        What is left the first time, when all modules have been checked, is hardly ever garbage: so
        that isn't looked through again.
        """
        gc.collect()
        if not self._has_rested:
            gc.freeze()
            self._has_rested = True

    def stop(self) -> None:
        """Do nothing more; what is being done ends at the next occasion."""
        with self._changed:
            self._is_stopped = True
            for job in self._jobs:
                job.future.cancel()
            self._jobs.clear()
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._jobs and not self._is_stopped:
                    self._changed.wait()
                if self._is_stopped:
                    return
                job = self._running = heapq.heappop(self._jobs)
            self._do(job)
            self._running = None

    def _do(self, job: _Job) -> None:
        if job.future.cancelled():
            return
        try:
            result = job.work()
        except Interrupted:
            if not job.future.cancelled():
                job.interruptions += 1
                with self._changed:
                    heapq.heappush(self._jobs, job)
        except BaseException as error:  # noqa: BLE001 - it goes to whoever waits for the result
            with suppress(InvalidStateError):
                job.future.set_exception(error)
        else:
            with suppress(InvalidStateError):  # cancelled meanwhile
                job.future.set_result(result)
