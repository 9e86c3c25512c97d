"""Nothing leaks and nothing is left behind: by errors, recursion, threads, tasks, generators."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import gc
import os
import threading
import tracemalloc
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from patience import SECONDS
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from shapecheck import Float, ShapeError, assert_shape, dims_of, disabled, named, shapecheck
from shapecheck.runtime import errors
from shapecheck.runtime.naming.call_names import state


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No test leaves a call open, a mode on torch's stack, or names for a tensor that is gone.

    What tests of other files have named, and still hold, isn't theirs.
    """
    before = [reference for reference, _ in state.root.table.values()]
    yield
    assert state.frame is None
    assert torch._C._len_torch_function_stack() == 0
    gc.collect()
    state.root.table = {k: v for k, v in state.root.table.items() if v[0]() is not None}
    assert not [v for v in state.root.table.values() if not any(v[0] is one for one in before)]


# Memory -------------------------------------------------------------------------------------------


@shapecheck
def steps(x: Float[Tensor, "n d"], count: int) -> Float[Tensor, "n d"]:
    for index in range(count):
        x = (x * 0.5 + x.flip(0)).view(-1, 4).reshape(x.shape)
        x = torch.cat([x[:1], x[1:]]) + (index % 7)
    return x


def growth(run: Callable[[int], object], before: int, count: int) -> int:
    """Return how many bytes more there are after `run(count)`.

    It is run `before` that: what replaces something older counts as new.
    """
    run(before)
    gc.collect()
    tracemalloc.start()
    try:
        run(before)
        gc.collect()
        start, _ = tracemalloc.get_traced_memory()
        run(count)
        gc.collect()
        end, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return end - start


def test_a_long_call_needs_no_memory() -> None:
    """All tensors of a loop are gone at the next step, and so are their names."""
    x = torch.rand(3, 4)
    assert growth(lambda count: steps(x, count), 200, 4000) < 100_000


def test_the_table_of_a_long_call_is_swept() -> None:
    sizes: list[int] = []

    @shapecheck
    def run(x: Float[Tensor, "n d"]) -> None:
        for size in range(12_000):
            y = x * 2 + size
            if size % 1000 == 0:
                assert state.frame is not None
                sizes.append(len(state.frame.table))
                x.new_ones(size + 1, 3) @ torch.ones(3, size + 1)
            del y

    run(torch.rand(2, 3))
    assert max(sizes) < 6000


def test_many_calls_need_no_memory() -> None:
    x = torch.rand(3, 4)

    def calls(count: int) -> None:
        for _ in range(count):
            steps(x, 1)

    assert growth(calls, 300, 2000) < 100_000


def test_calls_of_ever_new_shapes_need_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered of shapes is dropped once it is much."""
    from shapecheck.runtime.boundary import frames
    from shapecheck.runtime.naming import mode, records

    monkeypatch.setattr(mode._cache, "most", 64)
    monkeypatch.setattr(records._interned, "most", 64)
    monkeypatch.setattr(frames, "_ENTRIES", 16)

    @shapecheck
    def double(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        return (x * 2).T.T

    for size in range(200):
        assert dims_of(double(torch.rand(size, 2))) == ("n", "d")
    assert len(mode._cache) <= 64
    assert len(records._interned) <= 64


def test_names_go_with_their_tensor() -> None:
    x = named(torch.rand(2, 3), "a b")
    alive, key = weakref.ref(x), id(x)
    assert key in state.root.table
    del x
    gc.collect()
    assert alive() is None
    for _ in range(100):  # one of these may be at the same address
        y = torch.rand(2, 3)
        assert dims_of(y) == (None, None)


def test_arguments_and_results_are_not_kept_alive() -> None:
    class Net(nn.Module):
        @shapecheck
        def forward(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
            return x * 2

    net, x = Net(), torch.rand(2, 3)
    result = net(x)
    refs = [weakref.ref(one) for one in (net, x, result)]
    del net, x, result
    gc.collect()
    assert [ref() for ref in refs] == [None] * 3


# Errors -------------------------------------------------------------------------------------------


class _Stop(BaseException):
    pass


@pytest.mark.parametrize(
    "error", [ValueError, KeyboardInterrupt, _Stop, SystemExit, RecursionError]
)
def test_an_exception_closes_all_calls(error: type[BaseException]) -> None:
    @shapecheck
    def inner(x: Float[Tensor, "n"], fail: bool) -> Float[Tensor, "n"]:
        if fail:
            raise error
        return x

    @shapecheck
    def outer(x: Float[Tensor, "m"], fail: bool) -> Float[Tensor, "m"]:
        return inner(x * 2, fail)

    with pytest.raises(error):
        outer(torch.rand(3), True)
    assert torch._C._len_torch_function_stack() == 0
    assert dims_of(outer(torch.rand(3), False)) == ("m",)


def test_a_caught_error_inside_of_a_call() -> None:
    """After it the names are those that they were.

    Around an operator nothing can be caught: torch's drop any TypeError, so ours goes past them.
    """

    caught: list[str] = []

    @shapecheck
    def swapped(a: Float[Tensor, "n m"], b: Float[Tensor, "m n"]) -> Float[Tensor, "n m"]:
        try:
            return torch.add(a, b)
        except ShapeError as error:
            caught.append(error.code)
        assert dims_of(a) == ("n", "m")
        assert dims_of(b) == ("m", "n")
        return a + b.T

    for _ in range(3):
        assert dims_of(swapped(torch.rand(3, 3), torch.rand(3, 3))) == ("n", "m")
    assert caught == ["shape"] * 3


def test_a_failed_call_binds_nothing() -> None:
    @shapecheck
    def same(x: Float[Tensor, "n"], y: Float[Tensor, "n"]) -> Float[Tensor, "n"]:
        return x + y

    for size in (3, 4):
        with pytest.raises(ShapeError, match=f"declared n \\(here {size}\\)"):
            same(torch.rand(size), torch.rand(9))
        assert same(torch.rand(size), torch.rand(size)).shape == (size,)


# Recursion and re-entrance ------------------------------------------------------------------------


def test_recursion_with_other_sizes_at_every_depth() -> None:
    @shapecheck
    def fold(x: Float[Tensor, "n d"], depth: int) -> Float[Tensor, "k d"]:
        before = dims_of(x)
        assert before == ("n", "d")
        if depth:
            fold(torch.cat([x, x]), depth - 1)
            fold(x.T, depth - 1)
        assert dims_of(x) == before
        assert_shape(x, "n d")
        return x[:1]

    assert fold(torch.rand(2, 3), 5).shape == (1, 3)


def test_a_call_in_the_middle_of_another_ones_check() -> None:
    """A `{...}` expression, a hook and a subclass may all call decorated functions."""

    @shapecheck
    def size(x: Float[Tensor, "k"]) -> Float[Tensor, "k"]:
        return x

    def expected() -> int:
        return len(size(torch.rand(3)))

    @shapecheck
    def use(x: Float[Tensor, "{count()}"], count: Callable[[], int]) -> Float[Tensor, "3"]:
        return size(x)

    for _ in range(2):
        assert dims_of(use(torch.rand(3), expected)) == (None,)
    with pytest.raises(ShapeError):
        use(torch.rand(4), expected)


def test_a_backward_hook_calls_a_decorated_function() -> None:
    seen = []

    @shapecheck
    def clip(gradient: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        seen.append(dims_of(gradient))
        return gradient.clamp(-1, 1)

    @shapecheck
    def loss(x: Float[Tensor, "a b"]) -> Float[Tensor, ""]:
        y = x * 3
        y.register_hook(clip)
        y.sum().backward()
        return y.sum()

    x = torch.rand(2, 3, requires_grad=True)
    loss(x)
    assert seen == [("n", "d")]
    assert x.grad is not None
    assert x.grad.max() == 3


# Threads and tasks --------------------------------------------------------------------------------


def test_threads() -> None:
    """The same function at the same time, with other sizes and other names in each thread."""
    together = threading.Barrier(4)

    @shapecheck
    def product(x: Float[Tensor, "n d"], y: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
        together.wait(30)
        for _ in range(20):
            assert dims_of(x @ y.T) == ("n", "m")
        return x @ y.T

    @shapecheck
    def wrong(x: Float[Tensor, "n d"], y: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
        return x @ y

    def run(size: int) -> tuple[int, ...]:
        found = product(torch.rand(size, 5), torch.rand(size + 1, 5))
        with pytest.raises(ShapeError):
            wrong(torch.rand(size, size), torch.rand(size, size))
        assert state.frame is None
        return tuple(found.shape)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, range(2, 6))) == [(n, n + 1) for n in range(2, 6)]


def test_first_calls_in_many_threads() -> None:
    for _ in range(5):

        @shapecheck
        def double(x: Float[Tensor, "n *s"]) -> Float[Tensor, "n *s"]:
            return x * 2

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda n: double(torch.ones(n, 2)).sum().item(), range(1, 17)))
        assert found == [4.0 * n for n in range(1, 17)]


def test_a_tensor_between_threads_is_unnamed_there() -> None:
    x = named(torch.rand(2, 3), "a b")
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(dims_of, x).result() == (None, None)
    assert dims_of(x) == ("a", "b")


def test_tasks_that_take_turns() -> None:
    """Names end where a function is suspended, so that no task has those of another."""

    @shapecheck
    async def gather(x: Float[Tensor, "n d"], y: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        for _ in range(3):
            await asyncio.sleep(0)
            assert inner(x).shape == x.shape
        return x + y

    @shapecheck
    def inner(x: Float[Tensor, "rows columns"]) -> Float[Tensor, "rows columns"]:
        assert dims_of(x.T) == ("columns", "rows")
        return x

    async def run() -> list[Any]:
        calls = [gather(torch.rand(n, 3), torch.rand(n, 3)) for n in (1, 2, 3)]
        wrong = gather(torch.rand(2, 3), torch.rand(3, 3))
        return await asyncio.gather(*calls, wrong, return_exceptions=True)

    *found, error = asyncio.run(run())
    assert [tuple(one.shape) for one in found] == [(1, 3), (2, 3), (3, 3)]
    assert isinstance(error, ShapeError)


def test_a_cancelled_task() -> None:
    @shapecheck
    async def wait(x: Float[Tensor, "n"]) -> Float[Tensor, "n"]:
        await asyncio.sleep(60)
        return x

    async def run() -> None:
        task = asyncio.create_task(wait(torch.rand(3)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


def test_disabled_belongs_to_its_task() -> None:
    @shapecheck
    def three(x: Float[Tensor, "3"]) -> None: ...

    async def off() -> None:
        with disabled():
            await asyncio.sleep(0)
            three(torch.rand(4))

    async def on() -> None:
        await asyncio.sleep(0)
        with pytest.raises(ShapeError):
            three(torch.rand(4))

    async def run() -> None:
        await asyncio.gather(off(), on(), off(), on())

    asyncio.run(run())
    contextvars.copy_context().run(lambda: asyncio.run(off()))


# Generators ---------------------------------------------------------------------------------------


def test_generators_that_take_turns_or_are_left() -> None:
    @shapecheck
    def rows(x: Float[Tensor, "n d"]) -> Iterator[Float[Tensor, "d"]]:
        for row in x:
            yield row * 2

    @shapecheck
    def use(x: Float[Tensor, "a b"]) -> Float[Tensor, "b"]:
        first, second = rows(x), rows(x.T)
        next(first), next(second)
        assert dims_of(x * 2) == ("a", "b")
        return next(first)

    assert use(torch.rand(3, 3)).shape == (3,)
    left = rows(torch.rand(3, 4))
    next(left)
    assert state.frame is None
    assert torch._C._len_torch_function_stack() == 0
    del left
    gc.collect()


def test_async_generators_that_are_left() -> None:
    @shapecheck
    async def rows(x: Float[Tensor, "n d"]) -> AsyncIterator[Float[Tensor, "d"]]:
        for row in x:
            yield row

    async def run() -> None:
        async for row in rows(torch.rand(3, 4)):
            assert row.shape == (4,)
            break

    asyncio.run(run())


# A defect of our own ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    ["mode.Question", "mode._outcome", "frames._entry", "frames._new_result", "mode._regrouped"],
)
def test_a_defect_never_breaks_a_call(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import shapecheck.runtime.errors as errors
    from shapecheck.runtime.boundary import frames
    from shapecheck.runtime.naming import by_names, mode

    def broken(*args: Any, **kwargs: Any) -> Any:
        raise ZeroDivisionError("a defect")

    @shapecheck
    def run(x: Float[Tensor, "n d"]) -> Float[Tensor, "d n"]:
        return (x * 2).reshape(x.shape).T

    monkeypatch.delenv("SHAPECHECK_DEBUG", raising=False)
    monkeypatch.setattr(errors, "_warned", set())
    module, _, name = target.partition(".")
    monkeypatch.setattr({"frames": frames, "mode": mode}[module], name, broken)
    monkeypatch.setattr(mode, "_cache", mode.Outcomes(64))
    monkeypatch.setattr(by_names, "_known", mode.Outcomes(64))
    x = torch.rand(3, 5)
    with pytest.warns(RuntimeWarning, match="a defect.*please report it"):
        found = run(x)
    assert torch.equal(found, (x * 2).T)
    monkeypatch.setenv("SHAPECHECK_DEBUG", "1")
    monkeypatch.setattr(mode, "_cache", mode.Outcomes(64))
    monkeypatch.setattr(by_names, "_known", mode.Outcomes(64))
    with pytest.raises(ZeroDivisionError):
        run(torch.rand(4, 6))


def test_copies_of_a_decorated_model_are_apart() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.rand(4, 4))

        @shapecheck
        def forward(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
            return x @ self.weight

    first = Net()
    second = copy.deepcopy(first)
    x = torch.rand(2, 4)
    expected = first(x)
    with torch.no_grad():
        first.weight.zero_()
    assert torch.equal(second(x), expected)


class Counting(TorchFunctionMode):
    """Counts the calls that it sees."""

    seen = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen += 1
        return func(*args, **(kwargs or {}))


@shapecheck
class Counted:
    """A mode that is switched on in one call and off in another."""

    def __init__(self) -> None:
        self.mode = Counting()

    def begin(self, x: Float[Tensor, "n"]) -> Float[Tensor, "n"]:
        self.mode.__enter__()
        return x

    def end(self, x: Float[Tensor, "n"]) -> Float[Tensor, "n"]:
        self.mode.__exit__(None, None, None)
        return x


def test_a_call_that_leaves_a_mode_active() -> None:
    x, counted = torch.ones(3), Counted()
    with Counting() as outer:
        counted.begin(x)
        assert torch._C._len_torch_function_stack() == 2
        before = counted.mode.seen, outer.seen
        x + 1
        assert (counted.mode.seen, outer.seen) == (before[0] + 1, before[1] + 1)
        counted.end(x)
        assert torch._C._len_torch_function_stack() == 1
        before = counted.mode.seen, outer.seen
        x + 1
        assert (counted.mode.seen, outer.seen) == (before[0], before[1] + 1)
    assert torch._C._len_torch_function_stack() == 0


def test_a_default_device_that_a_call_sets() -> None:
    @shapecheck
    def set_device(x: Float[Tensor, "n"], device: str | None) -> Float[Tensor, "n"]:
        torch.set_default_device(device)
        return x + 1

    try:
        set_device(torch.ones(2), "meta")
        assert torch.zeros(2).is_meta
    finally:
        set_device(torch.ones(2), None)
    assert not torch.zeros(2).is_meta
    assert torch._C._len_torch_function_stack() == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_while_another_thread_asks_a_rule() -> None:
    """A worker of a `DataLoader` is forked at any time; what is locked then must not stay so."""
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        while not done.is_set():
            with errors.LOCK:
                held.set()
                done.wait(0.01)

    def child() -> None:
        taken = errors.LOCK.acquire(timeout=SECONDS)
        os._exit(0 if taken else 1)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        for _ in range(3):
            assert held.wait(SECONDS)
            process = os.fork()
            if process == 0:
                child()
            assert os.waitpid(process, 0)[1] == 0
    finally:
        done.set()
        thread.join()
