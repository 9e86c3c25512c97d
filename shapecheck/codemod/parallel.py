"""Work on many items, half of it in a second process where that is worth it."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from shapecheck.machine import cores

T = TypeVar("T")
R = TypeVar("R")

_WORTH_IT: Final = 5_000
"""From so much work on a second process saves more than it costs to start."""


def each(
    work: Callable[[T], R],
    items: Sequence[T],
    cost: Callable[[T], int],
    done: Callable[[T], None] = lambda item: None,
) -> list[R]:
    """Return what `work` gives for each item; `done` is told of those of this process.

    The second process is a copy of this one: `work` must do nothing but return a value, which can
    be pickled. What fails in it is done again here.
    """
    mine, others = _halves(items, cost)
    if not others or not _can_fork() or sum(map(cost, items)) < _WORTH_IT:
        mine, others = [*range(len(items))], []
    found: dict[int, R] = {}
    read, child = _begun(work, [items[at] for at in others]) if others else (-1, 0)
    try:
        for at in mine:
            found[at] = work(items[at])
            done(items[at])
    finally:
        results: list[R] = _ended(read, child) if others else []
    for at, result in zip(others, results, strict=False):
        found[at] = result
        done(items[at])
    for at in others[len(results) :]:
        found[at] = work(items[at])
        done(items[at])
    return [found[at] for at in range(len(items))]


def _halves(items: Sequence[T], cost: Callable[[T], int]) -> tuple[list[int], list[int]]:
    """Divide the numbers of items into two lists that cost the same."""
    halves: tuple[list[int], list[int]] = [], []
    costs = [0, 0]
    for at in sorted(range(len(items)), key=lambda at: -cost(items[at])):
        lighter = costs[1] < costs[0]
        halves[lighter].append(at)
        costs[lighter] += cost(items[at])
    return halves


def _can_fork() -> bool:
    return cores() > 1 and hasattr(os, "fork") and threading.active_count() == 1


def _begun(work: Callable[[T], R], items: Sequence[T]) -> tuple[int, int]:
    """Have a copy of this process do some work; return where to read the results, and its id."""
    read, write = os.pipe()
    child = os.fork()
    if child:
        os.close(write)
        return read, child
    status = 1
    try:
        os.close(read)
        with os.fdopen(write, "wb") as stream:
            pickle.dump([work(item) for item in items], stream)
        status = 0
    finally:
        os._exit(status)  # nothing that this copy inherited is its to clean up


def _ended(read: int, child: int) -> list[R]:
    """Return what the other process has found; nothing if it failed."""
    with os.fdopen(read, "rb") as stream:
        content = stream.read()
    _, status = os.waitpid(child, 0)
    if status:
        return []
    found: list[R] = pickle.loads(content)
    return found
