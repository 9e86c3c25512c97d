"""What generators yield, are sent and return is checked as it comes."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from shapecheck import Float, ShapeError, disabled, shapecheck

X = torch.rand(2, 3)


def refused(function: Callable[[], Any]) -> str:
    """Return what the error of a call says."""
    with pytest.raises(ShapeError) as caught:
        function()
    return str(caught.value)


@shapecheck
def batches(x: Float[Tensor, "n d"], *sizes: int) -> Iterator[Float[Tensor, "b d"]]:
    for size in sizes:
        yield x[:size]
    yield x[:, :2]


def test_each_item_is_held_against_the_arguments() -> None:
    taken = batches(X, 2, 1)
    assert [next(taken).shape, next(taken).shape] == [(2, 3), (1, 3)]  # the last one is smaller
    said = refused(lambda: next(taken))
    line = batches.__wrapped__.__code__.co_firstlineno + 4  # type: ignore[attr-defined]
    assert said == (
        'yielded value "x[:, :2]" is (2 2), declared "b d": axis 1 is 2, declared d (here 3)  '
        f"[shape]\n  at {__file__}:{line}: yield x[:, :2]\n  here n=2, d=3, b=2"
    )
    assert list(taken) == []  # it is over


@shapecheck
def averages(
    start: Float[Tensor, "d"],
) -> Generator[Float[Tensor, "d"], Float[Tensor, "n d"] | None, Float[Tensor, "d"]]:
    mean = start
    while True:
        given = yield mean
        if given is None:
            return mean[:2]
        mean = mean + given.mean(0)


def test_what_is_sent_and_returned() -> None:
    running = averages(X[0])
    next(running)
    assert torch.equal(running.send(X), X[0] + X.mean(0))
    said = refused(lambda: running.send(X.T))
    assert 'value sent to "averages" is (3 2), declared "n d": axis 1 is 2, declared d' in said
    ended = averages(X[0])
    next(ended)
    said = refused(lambda: next(ended))
    assert (
        'returned value "mean[:2]" is (2), declared "d": axis 0 is 2, declared d (here 3)' in said
    )


def test_containers_and_other_spellings() -> None:
    @shapecheck
    def pairs(x: Float[Tensor, "n d"]) -> Iterable[tuple[int, Float[Tensor, "d"]]]:
        yield 0, x[0]
        yield 1, x[:, 0]

    @shapecheck
    def numbers(x: Float[Tensor, "n d"]) -> Iterator[int]:
        yield "nothing of ours"  # type: ignore[misc]

    assert "item 1" in refused(lambda: list(pairs(X)))
    assert len(list(numbers(X))) == 1


def test_it_stays_a_generator() -> None:
    log: list[str] = []

    @shapecheck
    def cautious(x: Float[Tensor, "n"]) -> Generator[Float[Tensor, "n"], None, str]:
        try:
            while True:
                try:
                    yield x
                except ValueError as error:  # noqa: PERF203
                    log.append(str(error))
        finally:
            log.append("closed")

    made = cautious(torch.rand(2))
    assert inspect.isgenerator(made)
    assert made.__name__ == "cautious"
    next(made)
    assert made.throw(ValueError("thrown in")).shape == (2,)
    made.close()
    next(left := cautious(torch.rand(2)))
    del left
    assert log == ["thrown in", "closed", "closed"]

    @shapecheck
    def whole(x: Float[Tensor, "n"]) -> Generator[Float[Tensor, "n"], None, str]:
        text = yield from cautious(x)
        return text

    outer = whole(torch.rand(2))
    next(outer)
    outer.throw(ValueError("through both"))
    assert log[-1] == "through both"
    with pytest.raises(KeyError):
        outer.throw(KeyError())
    assert log[-1] == "closed"


def test_asynchronous_ones() -> None:
    log: list[str] = []

    @shapecheck
    async def rows(x: Float[Tensor, "n d"]) -> AsyncIterator[Float[Tensor, "d"]]:
        for row in x:
            await asyncio.sleep(0)
            yield row
        yield x[:, 0]

    @shapecheck
    async def echo(x: Float[Tensor, "n"]) -> AsyncGenerator[Float[Tensor, "n"], Float[Tensor, "n"]]:
        try:
            while True:
                x = yield x
        finally:
            await asyncio.sleep(0)
            log.append("closed")

    async def run() -> int:
        taken = rows(X)
        count = len([await anext(taken), await anext(taken)])
        with pytest.raises(ShapeError, match=r'yielded value "x\[:, 0\]" is \(2\), declared "d"'):
            await anext(taken)
        sending = echo(torch.rand(2))
        await sending.asend(None)  # type: ignore[arg-type]
        assert (await sending.asend(torch.ones(2))).sum() == 2
        with pytest.raises(ShapeError, match='value sent to "echo" is'):
            await sending.asend(torch.ones(3))
        return count

    assert asyncio.run(run()) == 2
    assert log == ["closed"]


def test_nothing_is_checked_where_that_is_said() -> None:
    with disabled():
        assert len(list(batches(X))) == 1
    made = batches(X)
    with disabled():
        assert len(list(made)) == 1


def test_names_go_through_a_loop_over_it() -> None:
    @shapecheck
    def total(x: Float[Tensor, "n d"], w: Float[Tensor, "d e"]) -> Float[Tensor, "e"]:
        found = torch.zeros(w.shape[1])
        for batch in batches(x, 1):
            if batch.shape[1] == x.shape[1]:
                found = found + (batch @ w).sum(0)
        return found

    assert total(torch.rand(2, 2), torch.rand(2, 4)).shape == (4,)
