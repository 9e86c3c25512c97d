"""Work that other processes do a part of comes to the same."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterable
from typing import Any

import pytest

from shapecheck import parallel
from shapecheck.machine import cores


@pytest.mark.parametrize("cost", [0, 100_000])
def test_results_come_in_order(cost: int) -> None:
    done: list[int] = []
    assert parallel.each(lambda n: n * n, range(7), lambda n: cost, done.append) == [
        n * n for n in range(7)
    ]
    assert sorted(done) == [*range(7)]


def test_what_fails_in_the_second_process_is_done_again() -> None:
    here = os.getpid()

    def work(n: int) -> int:
        if os.getpid() != here:
            os._exit(3)
        return n + 1

    assert parallel.each(work, range(5), lambda n: 100_000) == [1, 2, 3, 4, 5]


def test_what_fails_in_both_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        parallel.each(lambda n: 1 // n, range(3), lambda n: 100_000)


def test_those_who_work_tell_each_other() -> None:
    def work(
        given: Iterable[int], tell: Callable[[int], None]
    ) -> Generator[int, list[int], list[Any]]:
        some = [*given]
        for n in some:
            tell(n)
        sums = yield sum(some)
        for n in some:
            tell(n)
        counts = yield len(some)
        return [(n, sum(sums), sum(counts)) for n in some]

    done: list[int] = []
    found = parallel.together(work, range(6), lambda n: 100_000, done.append)
    assert found == [(n, 15, 6) for n in range(6)]
    assert sorted(done) == sorted([*range(6)] * 2)


@pytest.mark.parametrize("after", [0, 1])
def test_a_process_that_ends_early_is_replaced(after: int) -> None:
    here = os.getpid()

    def work(
        given: Iterable[int], tell: Callable[[int], None]
    ) -> Generator[int, list[int], list[Any]]:
        some = [*given]
        every: list[list[int]] = []
        for number in range(2):
            if os.getpid() != here and number == after:
                os._exit(3)
            every.append((yield sum(some) + number))
        return [(n, *map(sum, every)) for n in some]

    found = parallel.together(work, range(4), lambda n: 100_000)
    processes = min(cores(), 4)
    assert found == [(n, 6, 6 + processes) for n in range(4)]


def test_no_process_outlives_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    fork = os.fork

    def noted() -> int:
        child = fork()
        made.append(child)
        return child

    def work(
        given: Iterable[int], tell: Callable[[int], None]
    ) -> Generator[int, list[int], list[Any]]:
        some = [*given]
        yield 1
        if 0 in some:
            raise ValueError("here")
        return [*some]

    monkeypatch.setattr(os, "fork", noted)
    with pytest.raises(ValueError, match="here"):
        parallel.together(work, range(4), lambda n: 100_000)
    assert made or parallel.cores() == 1
    for child in made:
        with pytest.raises(ChildProcessError):
            os.waitpid(child, os.WNOHANG)


def test_with_one_core_much_work_is_done_in_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """It leaves nothing to be cleaned up; for little work a copy isn't worth it."""
    monkeypatch.setattr(parallel, "cores", lambda: 1)
    here = os.getpid()
    (much,) = set(parallel.each(lambda n: os.getpid(), range(3), lambda n: 100_000))
    (little,) = set(parallel.each(lambda n: os.getpid(), range(3), lambda n: 1))
    assert (much == here, little == here) == (False, True)


def test_apart_is_in_a_copy() -> None:
    """What it leaves behind isn't here: neither what it changes, nor its threads."""
    changed: list[int] = []

    def work() -> tuple[int, int]:
        changed.append(1)
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        return os.getpid(), threading.active_count()

    process, threads = parallel.apart(work)
    assert (process != os.getpid(), threads) == (True, 2)
    assert (changed, threading.active_count()) == ([], 1)


def test_apart_with_threads_is_here() -> None:
    """A process that has threads isn't copied."""
    is_over = threading.Event()
    thread = threading.Thread(target=is_over.wait)
    thread.start()
    try:
        assert parallel.apart(os.getpid) == os.getpid()
    finally:
        is_over.set()
        thread.join()


@pytest.mark.parametrize("end", [lambda: os._exit(3), lambda: 1 // 0])
def test_apart_without_an_end(end: Callable[[], object]) -> None:
    """It is told, whether the process ended or the work failed."""
    with pytest.raises(EOFError):
        parallel.apart(end)
