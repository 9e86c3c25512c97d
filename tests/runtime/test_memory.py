"""The tensors of a call die with it, as they do without the decorator: no garbage collector needed.

What waits for the collector keeps the memory of a device, and with a result all that its gradients
are made of.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

from shapecheck import Float, ShapeError, assert_shape, named, shapecheck, trace, watch


@dataclass
class Pair:
    both: Float[Tensor, "b n"]
    one: Float[Tensor, "n"]


class Single(NamedTuple):
    only: Float[Tensor, "b n"]


def programs() -> dict[str, Callable[[Tensor], object]]:
    """Return decorated functions, each called with a tensor of 3 x 5."""

    @shapecheck
    def twice(x: Float[Tensor, "b n"]) -> Float[Tensor, "b n"]:
        return x * 2

    @shapecheck
    def several(
        x: Float[Tensor, "b n"], y: Float[Tensor, "b {x.shape[1]}"]
    ) -> tuple[Float[Tensor, "b n"], Float[Tensor, "n b"]]:
        z: Float[Tensor, "b n"] = x + y
        return z, z.T

    @shapecheck
    def record(x: Float[Tensor, "b n"]) -> Pair:
        return Pair(x * 1, x[0] * 1)

    @shapecheck
    def named_tuple(x: Float[Tensor, "b n"]) -> Single:
        return Single(x * 1)

    @shapecheck
    def rows(x: Float[Tensor, "b n"]) -> Iterator[Float[Tensor, "n"]]:
        for row in x:
            yield row * 1

    @shapecheck
    async def later(x: Float[Tensor, "b n"]) -> Float[Tensor, "b n"]:
        return x * 1

    @shapecheck
    def nested(x: Float[Tensor, "b n"]) -> Float[Tensor, "b n"]:
        def inner(y: Float[Tensor, "b n"]) -> Float[Tensor, "b n"]:
            return twice(y + x)

        return inner(x)

    @shapecheck
    def groups(x: Float[Tensor, "*batch n"]) -> Float[Tensor, "*batch 2*n"]:
        return torch.cat((x, x), -1)

    @shapecheck
    def equations(x: Float[Tensor, "b n+1"], y: Float[Tensor, "b 2*n"]) -> Float[Tensor, "b n"]:
        return y[:, ::2] * x.sum()

    @shapecheck
    def other_result(x: Float[Tensor, "b n"]) -> Float[Tensor, "n b"]:
        return x * 1

    @shapecheck
    def failing_op(x: Float[Tensor, "b n"]) -> Float[Tensor, "b n"]:
        return x @ x

    @shapecheck
    def failing_for_torch(x: Float[Tensor, "b n"]) -> Float[Tensor, "b n"]:
        return x.view(7, -1)

    @shapecheck
    def by_name(x: Float[Tensor, "b n"]) -> Float[Tensor, "b"]:
        return named.sum(x, "n")

    @shapecheck
    def failing_by_name(x: Float[Tensor, "b n"]) -> Float[Tensor, "b"]:
        return named.sum(x, "m")

    @shapecheck
    def asserted(x: Float[Tensor, "b n"]) -> Float[Tensor, "b n"]:
        y = x * 1
        assert_shape(y, "b n")
        return y

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(5, 5)

        @shapecheck
        def forward(self, x: Float[Tensor, "b {self.linear.in_features}"]) -> Float[Tensor, "b 5"]:
            return self.linear(x).relu()

    plain = nn.Sequential(nn.Linear(5, 5), nn.ReLU())

    def watched(x: Tensor) -> Tensor:
        with watch(plain, {"input": "b n", "return": "b n"}):
            result: Tensor = plain(x)
        return result

    def caught(function: Callable[[Tensor], object], given: Any = None) -> Any:
        def call(x: Tensor) -> None:
            with contextlib.suppress(ShapeError, RuntimeError):
                function(x if given is None else given(x))

        return call

    return {
        "an op": twice,
        "an expression, two results": lambda x: several(x, x * 1),
        "a record": record,
        "a named tuple": named_tuple,
        "a generator": lambda x: [*rows(x)],
        "a generator left early": lambda x: next(iter(rows(x))),
        "a coroutine": lambda x: asyncio.run(later(x)),
        "an inner function": nested,
        "a group": groups,
        "an equation": lambda x: equations(x, x.new_zeros(3, 8)),
        "an error of a result": caught(other_result),
        "an error of an argument": caught(twice, lambda x: x[0] * 1),
        "an error of an op": caught(failing_op),
        "an error of torch's own": caught(failing_for_torch),
        "by name": by_name,
        "an error by name": caught(failing_by_name),
        "an assertion": asserted,
        "a module": Layer(),
        "a watched model": watched,
        "a trace": trace(plain),
    }


def tensors() -> list[Tensor]:
    return [
        one for one in gc.get_objects() if type(one) is Tensor and not isinstance(one, nn.Parameter)
    ]


@pytest.fixture(params=("full", "boundary"))
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("SHAPECHECK", request.param)
    return str(request.param)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", programs())
def test_tensors_die_with_the_call(name: str, mode: str) -> None:
    program = programs()[name]
    gc.collect()
    gc.disable()
    try:
        for at in range(3):
            before, held = {id(one) for one in tensors()}, torch.cuda.memory_allocated()
            x = torch.randn(3, 5, requires_grad=True) * 1
            result = program(x)
            del x, result
            assert [tuple(one.shape) for one in tensors() if id(one) not in before] == []
            # Memory that no object stands for; the first time, cuBLAS takes some for good.
            assert at == 0 or torch.cuda.memory_allocated() == held
    finally:
        gc.enable()


def test_what_is_around_an_expression_is_let_go() -> None:
    """An expression in an annotation keeps what it asks for, and no more of the module."""
    names: dict[str, Any] = {"N": 5, "large": torch.zeros(3), "__name__": "notebook"}
    source = """
from shapecheck import Float, shapecheck
from torch import Tensor
@shapecheck
def f(x: Float[Tensor, "b {N}"]) -> Float[Tensor, "b {N}"]:
    return x
"""
    exec(compile(source, "<notebook>", "exec"), names)
    names["f"](torch.zeros(2, 5))
    large = weakref.ref(names.pop("large"))
    assert large() is None
