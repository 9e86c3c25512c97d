"""Work that a second process does half of comes to the same."""

from __future__ import annotations

import os

import pytest

from shapecheck.codemod import parallel


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
