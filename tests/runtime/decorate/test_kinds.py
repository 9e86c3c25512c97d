"""Each kind of function and method that can be decorated."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from shapecheck import Float, ShapeError, dims_of, shapecheck


@shapecheck
class Signal:
    def __init__(self, samples: Float[Tensor, "channels time"]) -> None:
        self._samples = samples

    @property
    def samples(self) -> Float[Tensor, "channels time"]:
        """What was recorded."""
        return self._samples

    @samples.setter
    def samples(self, value: Float[Tensor, "channels time"]) -> None:
        self._samples = value

    @classmethod
    def silent(cls, like: Float[Tensor, "channels time"]) -> Signal:
        assert dims_of(like) == ("channels", "time")
        return cls(torch.zeros_like(like))

    @staticmethod
    def mix(*parts: Float[Tensor, "channels time"], **gains: Float[Tensor, "channels"]) -> Any:
        assert all(dims_of(part) == ("channels", "time") for part in parts)
        return sum(parts)


def test_properties() -> None:
    signal = Signal(torch.ones(2, 3))
    assert signal.samples.shape == (2, 3)
    signal.samples = torch.ones(1, 4)
    with pytest.raises(ShapeError, match='argument "value" of'):
        signal.samples = torch.ones(3)
    signal._samples = torch.ones(3)
    with pytest.raises(ShapeError, match="returned value"):
        _ = signal.samples
    assert Signal.samples.__doc__ == "What was recorded."


def test_class_and_static_methods() -> None:
    assert Signal.silent(torch.ones(2, 3)).samples.sum() == 0
    with pytest.raises(ShapeError):
        Signal.silent(torch.ones(2))
    Signal.mix(torch.ones(2, 3), torch.ones(2, 3), left=torch.ones(2))
    with pytest.raises(ShapeError, match='item 1 of argument "parts"'):
        Signal.mix(torch.ones(2, 3), torch.ones(2, 4))
    with pytest.raises(ShapeError, match='argument "right"'):
        Signal.mix(torch.ones(2, 3), left=torch.ones(2), right=torch.ones(3))


@shapecheck
def windows(x: Float[Tensor, "time d"], size: int) -> Iterator[Float[Tensor, "size d"]]:
    for start in range(x.shape[0] - size + 1):
        yield x[start : start + size]


@shapecheck
async def later(x: Float[Tensor, "time d"]) -> AsyncIterator[Float[Tensor, "d"]]:
    for row in x:
        await asyncio.sleep(0)
        yield row


@shapecheck
def use(x: Float[Tensor, "n d"]) -> Float[Tensor, "n"]:
    assert dims_of(x) == ("n", "d")
    return x.sum(1)


def test_generators_that_are_left_unfinished() -> None:
    started = windows(torch.ones(5, 2), 2)
    assert next(started).shape == (2, 2)
    assert torch._C._len_torch_function_stack() == 0
    assert use(torch.ones(3, 4)).shape == (3,)
    started.close()
    del started

    async def first() -> Tensor:
        async for row in later(torch.ones(3, 2)):
            return row
        raise AssertionError

    assert asyncio.run(first()).shape == (2,)
    assert use(torch.ones(3, 4)).shape == (3,)
    assert torch._C._len_torch_function_stack() == 0


def test_coroutines_that_run_by_turns() -> None:
    @shapecheck
    async def work(x: Float[Tensor, "n d"], turns: int) -> Float[Tensor, "d"]:
        for _ in range(turns):
            await asyncio.sleep(0)
            use(x)
        return x.sum(0)

    async def all_of_them() -> list[Tensor]:
        return list(await asyncio.gather(*(work(torch.ones(i, i + 1), i) for i in range(1, 5))))

    assert [tuple(t.shape) for t in asyncio.run(all_of_them())] == [(2,), (3,), (4,), (5,)]
    with pytest.raises(ShapeError):
        asyncio.run(work(torch.ones(2), 1))
