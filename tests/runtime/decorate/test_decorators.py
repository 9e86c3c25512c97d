"""Other decorators above and below ours: what they make of a function goes on as they meant it."""

from __future__ import annotations

import abc
import asyncio
import functools
import inspect
import typing
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
import torch
from seeding import generator
from torch import Tensor, nn

from shapecheck import Float, ShapeError, disabled, shapecheck

X = torch.rand(2, 3)


def passing_on(function: Callable[..., Any]) -> Callable[..., Any]:
    """Do nothing, as most decorators do to what is passed."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def in_a_thread(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        return await asyncio.to_thread(function, *args, **kwargs)

    return wrapper


def with_a_seed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Pass one argument more than is given."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(generator(), *args, **kwargs)

    return wrapper


def renamed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Take an argument by the name that it had in earlier versions."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if "factor" in kwargs:
            kwargs["by"] = kwargs.pop("factor")
        return function(*args, **kwargs)

    return wrapper


def may_return_a_tuple(function: Callable[..., Any]) -> Callable[..., Any]:
    """Look for an option among the arguments that are given by name."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        wanted = kwargs.pop("as_tuple", False)
        result = function(*args, **kwargs)
        return (result,) if wanted else result

    return wrapper


def refuse(call: Callable[[], Any]) -> None:
    with pytest.raises(ShapeError):
        call()


@pytest.mark.parametrize(
    "decorator",
    [
        passing_on,
        torch.no_grad(),
        torch.inference_mode(),
        torch.enable_grad(),
        torch.autocast(X.device.type, dtype=torch.bfloat16),
        torch.compiler.disable,
        torch.profiler.record_function("product"),
        lambda function: torch.compile(function, backend="eager"),
    ],
)
def test_above_or_below(decorator: Callable[[Any], Any]) -> None:
    def product(x: Float[Tensor, "n d"], w: Float[Tensor, "d e"], *, by: int = 1) -> Tensor:
        return x @ w * by

    torch._dynamo.reset()
    for decorated in (decorator(shapecheck(product)), shapecheck(decorator(product))):
        assert decorated(X, torch.rand(3, 4)).shape == (2, 4)
        assert decorated(X, w=torch.rand(3, 4), by=2).shape == (2, 4)
        refuse(lambda decorated=decorated: decorated(X, torch.rand(4, 4)))  # type: ignore[misc]


def test_arguments_go_on_as_they_were_given() -> None:
    @shapecheck
    @with_a_seed
    def noisy(seed: torch.Generator, x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        return x + torch.rand(x.shape, generator=seed)

    @shapecheck
    @renamed
    def scaled(x: Float[Tensor, "n d"], by: float = 1.0) -> Float[Tensor, "n d"]:
        return x * by

    @shapecheck
    @may_return_a_tuple
    def same(x: Float[Tensor, "n d"], as_tuple: bool = False) -> Any:
        assert not as_tuple
        return x

    assert noisy(X).shape == (2, 3)
    assert torch.equal(scaled(X, factor=2), X * 2)  # type: ignore[call-arg]
    refuse(lambda: scaled(X[0], by=2))
    assert isinstance(same(X, as_tuple=True), tuple)
    assert same(x=X) is X
    refuse(lambda: same(x=X[0]))


def test_a_result_of_another_kind() -> None:
    """What the annotation says is of the function inside."""

    @shapecheck
    @passing_on
    async def fetch(x: Float[Tensor, "n d"]) -> Float[Tensor, "n"]:
        return x.sum(1)

    @shapecheck
    @in_a_thread
    def sums(x: Float[Tensor, "n d"], dim: int) -> Float[Tensor, "n"]:
        return x.sum(dim)

    assert asyncio.run(fetch(X)).shape == (2,)
    assert asyncio.run(sums(X, 1)).shape == (2,)  # type: ignore[arg-type]
    refuse(lambda: asyncio.run(sums(X, 0)))  # type: ignore[arg-type]
    refuse(lambda: asyncio.run(fetch(X[0])))


class Scopes:
    @contextmanager
    def scope(self, x: Float[Tensor, "n"]) -> Iterator[Float[Tensor, "n"]]:
        yield x * 2

    @asynccontextmanager
    async def later(self, x: Float[Tensor, "n"]) -> AsyncIterator[Float[Tensor, "n"]]:
        yield x * 2

    @functools.lru_cache  # noqa: B019 - as people write it
    def table(self, n: int) -> Float[Tensor, "n"]:
        return torch.zeros(n)


def test_context_managers() -> None:
    checked = shapecheck(Scopes)()
    with checked.scope(X[0]) as doubled:
        assert torch.equal(doubled, X[0] * 2)

    async def enter() -> Tensor:
        async with checked.later(X[0]) as doubled:
            return doubled

    assert torch.equal(asyncio.run(enter()), X[0] * 2)
    assert checked.table(3) is checked.table(3)

    @contextmanager
    @shapecheck
    def inside(x: Float[Tensor, "n"]) -> Iterator[Float[Tensor, "n"]]:
        yield x[:-1]

    with pytest.raises(ShapeError, match="yielded value"), inside(X[0]):
        pass


@pytest.mark.parametrize("checked_first", [True, False])
def test_no_grad_on_a_generator(checked_first: bool) -> None:
    """torch asks what kind of function it is given; only for a generator it lasts to the end."""

    def rows(x: Float[Tensor, "n d"]) -> Iterator[Float[Tensor, "d"]]:
        for row in x:
            yield row * 2

    no_grad = torch.no_grad()
    made = no_grad(shapecheck(rows)) if checked_first else shapecheck(no_grad(rows))
    x = X.clone().requires_grad_()
    assert [row.requires_grad for row in made(x)] == [False, False]


def test_the_kind_of_a_function_is_what_it_was() -> None:
    @shapecheck
    async def fetch(x: Float[Tensor, "n"]) -> Float[Tensor, "n"]:
        return x

    @shapecheck
    def items(x: Float[Tensor, "n"]) -> Iterator[Float[Tensor, ""]]:
        yield from x

    @shapecheck
    async def items_later(x: Float[Tensor, "n"]) -> AsyncIterator[Float[Tensor, ""]]:
        for item in x:
            yield item

    async def taken() -> list[Tensor]:
        return [item async for item in items_later(X[0])]

    for _ in range(2):  # before their first call, and after
        assert inspect.iscoroutinefunction(fetch)
        assert inspect.isgeneratorfunction(items)
        assert inspect.isasyncgenfunction(items_later)
        assert torch.equal(asyncio.run(fetch(X[0])), X[0])
        assert len(list(items(X[0]))) == len(asyncio.run(taken())) == 3


def test_an_async_generator_is_driven_through_ours() -> None:
    log: list[object] = []

    @shapecheck
    async def rows(x: Float[Tensor, "n d"]) -> AsyncIterator[Float[Tensor, "d"]]:
        try:
            for row in x:
                try:
                    log.append((yield row))
                except ValueError as error:  # noqa: PERF203
                    log.append(str(error))
        finally:
            log.append("closed")

    async def drive() -> None:
        made: Any = rows(torch.rand(4, 3))
        await made.__anext__()
        await made.asend("sent")
        await made.athrow(ValueError("thrown"))
        await made.aclose()
        with disabled():
            made = rows(X[:1])
            await made.__anext__()
            with pytest.raises(StopAsyncIteration):
                await made.asend("sent, unchecked")

    asyncio.run(drive())
    assert log == ["sent", "thrown", "closed", "sent, unchecked", "closed"]


class cached(property):
    """A property that keeps what it gave, as some libraries have it."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        key = f"_cached_{self.fget.__name__}"  # type: ignore[union-attr]
        if key not in vars(instance):
            vars(instance)[key] = super().__get__(instance, owner)
        return vars(instance)[key]


@shapecheck
class Tables:
    def __init__(self, n: int, m: int) -> None:
        self.n, self.m = n, m

    @cached
    def square(self) -> Float[Tensor, "n n"]:
        return torch.rand(self.n, self.m)

    @functools.cached_property
    def again(self) -> Float[Tensor, "n n"]:
        """A square, once more."""
        return torch.rand(self.n, self.m)

    @property
    @abc.abstractmethod
    def left_out(self) -> Float[Tensor, "n"]: ...


def test_properties_that_are_cached() -> None:
    tables = Tables(2, 2)
    assert tables.square is tables.square
    assert tables.again is tables.again
    del tables.again
    assert tables.again.shape == (2, 2)
    assert type(vars(Tables)["square"]) is cached
    assert vars(Tables)["again"].__doc__ == "A square, once more."
    assert vars(Tables)["left_out"].__isabstractmethod__
    refuse(lambda: Tables(2, 3).square)
    refuse(lambda: Tables(2, 3).again)


def test_overloads_are_all_there() -> None:
    class Encoder:
        @typing.overload
        @shapecheck
        def encode(self, x: Float[Tensor, "n"]) -> int: ...
        @typing.overload
        @shapecheck
        def encode(self, x: Float[Tensor, "n d"]) -> str: ...
        def encode(self, x: Any) -> Any: ...

    if hasattr(typing, "get_overloads"):  # from Python 3.11 on
        assert len(typing.get_overloads(Encoder.encode)) == 2


def test_torchscript_is_refused() -> None:
    @shapecheck
    def double(x: Float[Tensor, "n"]) -> Float[Tensor, "n"]:
        return x * 2

    def twice(x: Tensor) -> Tensor:
        return double(double(x))

    for function in (double, twice):
        with pytest.raises(RuntimeError, match="double is decorated with @shapecheck, and Torch"):
            torch.jit.script(function)


def test_a_class_that_forbids_changes() -> None:
    class Sealed(type):
        def __setattr__(cls, name: str, value: object) -> None:
            raise TypeError("this class is sealed")

    with pytest.warns(RuntimeWarning, match="Layer.forward isn't checked: this class is sealed"):

        @shapecheck
        class Layer(metaclass=Sealed):
            def forward(self, x: Float[Tensor, "n"]) -> Float[Tensor, "m"]:
                return x

    assert Layer().forward(X[0]) is not None


def test_types_of_an_enclosing_function() -> None:
    """The annotations of a class in a function may name what only that function knows."""
    Row = Float[Tensor, "d"]

    @shapecheck
    class Table(nn.Module):
        def forward(self, x: Row, other: Table | None = None) -> Row:
            return x

    @shapecheck
    class Pair(typing.NamedTuple):
        left: Row
        right: Row

    refuse(lambda: Table()(X))
    refuse(lambda: Pair(X[0], X[0, 1:]))
    assert Pair(X[0], X[1])._replace(left=X[1]).left is not None
