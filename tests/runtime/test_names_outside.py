"""Names outside of decorated calls: `shapecheck.names()`, and what outlives a call."""

from __future__ import annotations

import copy
import gc
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from shapecheck import (
    Float,
    ShapeError,
    assert_shape,
    dims_of,
    disabled,
    named,
    names,
    shapecheck,
    watch,
)
from shapecheck.runtime.naming.call_names import state
from shapecheck.runtime.naming.lasting import lasting


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    assert not state.carrying
    assert state.frame is None
    assert not lasting


def test_ops_are_followed_and_checked() -> None:
    with names():
        x = named(torch.rand(3, 3), "b t")
        y = x.transpose(0, 1) * 2
        assert dims_of(y) == ("t", "b")
        with pytest.raises(ShapeError) as raised:
            torch.add(x, y)
    assert str(raised.value).splitlines()[0] == (
        '"torch.add" can\'t broadcast (b t) with (t b): axis -1 is t on the left and b on the right'
        "  [shape]"
    )
    assert dims_of(y) == ("t", "b")
    assert dims_of(y * 2) == (None, None)


def test_an_operator_raises_a_type_error_behind_the_block() -> None:
    x = named(torch.rand(3, 3), "b t")
    with pytest.raises(TypeError, match=r"can't broadcast \(b t\) with \(t b\)"), names():
        x + x.T


def test_sizes_are_followed() -> None:
    with names():
        x = named(torch.rand(5, 7), "b t")
        b, t = x.shape
        assert dims_of(torch.zeros(t, b)) == ("t", "b")
        assert dims_of(x.reshape(b, 1, t)) == ("b", None, "t")


def test_one_name_may_have_several_sizes() -> None:
    """As the last batch has, which is smaller."""
    with names():
        totals = []
        for size in (4, 4, 3, 5, 3):
            x = named(torch.rand(size, 2), "b d")
            y = x * named(torch.rand(size), "b")[:, None]
            assert dims_of(y) == ("b", "d")
            totals.append(y.sum(0))
        assert dims_of(torch.stack(totals)) == (None, "d")


class Cell(nn.Module):
    """A recurrent cell that keeps its state from call to call."""

    def __init__(self, wrong: bool = False) -> None:
        super().__init__()
        self.state: Tensor | None = None
        self.wrong = wrong

    @shapecheck
    def forward(self, x: Float[Tensor, "batch dim"]) -> Float[Tensor, "batch dim"]:
        before = self.state
        if before is not None:
            x = x + (before.T if self.wrong else before)
        self.state = x.tanh()
        return x


@pytest.mark.parametrize("named_inputs", [True, False])
def test_a_state_is_checked_at_the_second_call(named_inputs: bool) -> None:
    with names():
        for cell in (Cell(), Cell(wrong=True)):
            x = torch.rand(4, 4)
            if named_inputs:
                named(x, "b d")
            cell(x)
            assert dims_of(cell.state) == (("b", "d") if named_inputs else (None, None))  # type: ignore[arg-type]
            if cell.wrong:
                with pytest.raises(ShapeError, match=r"\(batch dim\) with \(dim batch\)"):
                    cell(x)
            else:
                for _ in range(3):
                    cell(x)


def test_without_names_a_state_is_unnamed_at_the_second_call() -> None:
    cell = Cell(wrong=True)
    for _ in range(2):
        cell(torch.rand(4, 4))


def test_another_function_meets_it_by_what_it_is_called_outside() -> None:
    @shapecheck
    def add(y: Float[Tensor, "n m"], turned: bool) -> Float[Tensor, "n m"]:
        assert cell.state is not None
        assert dims_of(cell.state) == (("n", "m") if outside else (None, None))
        return y + (cell.state.T if turned else cell.state)

    with names():
        for outside in (True, False):
            cell, x = Cell(), torch.rand(4, 4)
            cell(named(x, "b d") if outside else x)
            add(x, False)
            if outside:
                with pytest.raises(ShapeError, match=r"\(n m\) with \(m n\)"):
                    add(x, True)
            else:  # names of different functions say nothing of each other
                add(x, True)


class Memory(nn.Module):
    """Attends to the segment before, whose length is another dimension now."""

    def __init__(self, memory: Tensor) -> None:
        super().__init__()
        self.memory = memory

    @shapecheck
    def forward(
        self, x: Float[Tensor, "b t d"], bias: Float[Tensor, "b t m"]
    ) -> Float[Tensor, "b t d"]:
        scores = x @ self.memory.transpose(1, 2) + bias
        found = scores.softmax(-1) @ self.memory
        self.memory = x.detach()
        return found


@pytest.mark.parametrize("before", [0, 3, 5])
def test_what_was_one_dimension_may_be_another_now(before: int) -> None:
    with names():
        model = Memory(torch.zeros(2, before, 8))
        for length in (5, 5, 4, 4):
            size = model.memory.shape[1]
            model(torch.rand(2, length, 8), torch.rand(2, length, size))


def test_a_growing_cache() -> None:
    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.keys: Tensor | None = None

        @shapecheck
        def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t s"]:
            self.keys = x if self.keys is None else torch.cat([self.keys, x], 1)
            return x @ self.keys.transpose(1, 2)

    with names():
        model = Attention()
        for length in (4, 1, 1, 2, 8):
            model(torch.rand(2, length, 8))
        assert model.keys is not None
        assert model.keys.shape == (2, 16, 8)


def test_results_of_two_functions_have_nothing_to_do_with_each_other() -> None:
    @shapecheck
    def encode(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        return x * 2

    @shapecheck
    def embed(x: Float[Tensor, "m e"]) -> Float[Tensor, "m e"]:
        return x * 2

    with names():
        x, y = encode(torch.rand(4, 6)), embed(torch.rand(4, 6))
        assert (dims_of(x), dims_of(y)) == (("n", "d"), ("m", "e"))
        assert dims_of(x + y) == (None, None)
        assert dims_of(embed(x)) == ("m", "e")
        z = encode(named(torch.rand(4, 6), "b t"))
        assert dims_of(z) == ("b", "t")
        assert dims_of(z + y) == ("b", "t")


def test_operations_by_name_know_results_and_what_outlived_a_call() -> None:
    @shapecheck
    def encode(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        if kept:
            return sum_by_name(kept[0], "n") + x
        kept.append(x * 2)
        return kept[0]

    def sum_by_name(x: Tensor, name: str) -> Tensor:
        return named.sum(x, name, keepdim=True)

    kept: list[Tensor] = []
    with names():
        y, z = encode(torch.rand(4, 6)), encode(torch.rand(4, 6))
        assert dims_of(named.order(y, "d n")) == ("d", "n")
        assert dims_of(named.softmax(y, "n")) == ("n", "d")
        assert dims_of(named.rename(y, k="n")) == ("k", "d")
        assert dims_of(named.order(y, "d n") + z.T) == (None, None)
        x = named.NamedTensor(named(torch.rand(4, 6), "b t"))
        assert x.softmax("t").dims == ("b", "t")
        assert dims_of(encode(torch.rand(4, 6))) == ("n", "d")
        assert (x + named(torch.rand(4), "b")).dims == ("b", "t")


def test_a_result_is_called_the_same_whoever_called_before() -> None:
    @shapecheck
    def encode(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        return x * 2

    @shapecheck
    def embed(x: Float[Tensor, "m e"]) -> Float[Tensor, "m e"]:
        return x * 2

    @shapecheck
    def both(x: Float[Tensor, "k"], sizes: list[int]) -> None:
        y, z = encode(torch.rand(*sizes)), embed(torch.rand(*sizes))
        assert dims_of(y) == dims_of(z) == (None, None)
        y + z

    both(torch.rand(2), [4, 6])
    assert dims_of(encode(torch.rand(4, 6))) == ("n", "d")
    assert dims_of(embed(torch.rand(4, 6))) == ("m", "e")
    both(torch.rand(2), [4, 6])
    with names():
        assert dims_of(encode(torch.rand(4, 6)) + embed(torch.rand(4, 6))) == (None, None)


def test_a_function_without_annotations_carries_names() -> None:
    @shapecheck
    def add(a: Tensor, b: Tensor) -> Tensor:
        return a + b.T

    @shapecheck
    def plain(a, b):  # type: ignore[no-untyped-def]
        return a + b.T

    x, y = named(torch.rand(3, 3), "b t"), named(torch.rand(3, 3), "t b")
    for function in (plain, add):
        assert dims_of(function(x, y)) == ("b", "t")
    with pytest.raises(ShapeError, match=r"\(b t\) with \(t b\)"):
        plain(x, x)  # type: ignore[no-untyped-call]


def test_assert_shape_checks_and_does_not_rename() -> None:
    def check() -> None:
        x = named(torch.rand(2, 3), "b t")
        assert dims_of(assert_shape(x, "n m")) == ("b", "t")
        assert dims_of(assert_shape(x, "b t")) == ("b", "t")
        with pytest.raises(ShapeError, match="declared 4"):
            assert_shape(x, "b 4")
        assert dims_of(assert_shape(torch.rand(2, 3), "n m")) == ("n", "m")

    check()
    with names():
        check()


def test_on_and_off() -> None:
    x = named(torch.rand(2, 3), "b t")
    names.on()
    try:
        names.on()
        y = x * 2
        with names():
            assert dims_of(y.T) == ("t", "b")
        assert dims_of(y.T) == ("t", "b")
    finally:
        names.off()
    names.off()
    assert dims_of(y) == ("b", "t")
    assert dims_of(y.T) == (None, None)


def test_inside_of_a_call_nothing_changes() -> None:
    @shapecheck
    def turn(x: Float[Tensor, "b t"]) -> Float[Tensor, "t b"]:
        with names():
            y = x.T
        return y * 1

    assert dims_of(turn(torch.rand(2, 3))) == ("t", "b")


@pytest.mark.parametrize("said", ["off", "boundary"])
def test_where_no_names_are_carried(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("SHAPECHECK", said)
    with names():
        x = named(torch.rand(3, 3), "b t")
        assert dims_of(x + x.T) == (None, None)  # type: ignore[shape]


def test_each_thread_has_its_own() -> None:
    seen: list[object] = []
    with names():
        x = named(torch.rand(2, 3), "b t")
        thread = threading.Thread(target=lambda: seen.append(dims_of(x * 2)))
        thread.start()
        thread.join()
        assert dims_of(x * 2) == ("b", "t")
    assert seen == [(None, None)]


def test_modules_that_are_watched_go_on_with_the_names() -> None:
    model = nn.Sequential(nn.ReLU(), nn.Flatten(0))
    with names(), watch(model):
        assert dims_of(model(named(torch.rand(2, 3), "b t"))) == ("(b t)",)
        assert dims_of(copy.deepcopy(model)(named(torch.rand(2, 3), "b t"))) == ("(b t)",)


def test_nothing_is_checked_while_disabled() -> None:
    @shapecheck
    def rows(x: Float[Tensor, "b 4"]) -> Float[Tensor, "b 4"]:
        return x

    with names(), disabled():
        x = rows(named(torch.rand(2, 3), "b t"))  # type: ignore[shape]  # it is wrong
        assert dims_of(x) == ("b", "t")


def trained(steps: int) -> list[Tensor]:
    """What comes of a training loop with a recurrent state and an optimiser that has buffers."""
    torch.manual_seed(0)
    cell, head = Cell(), nn.Linear(4, 4)
    optimiser = torch.optim.Adam(head.parameters())
    losses = []
    for step in range(steps):
        x = torch.rand(5 if step % 3 else 4, 4)
        if cell.state is not None and len(cell.state) != len(x):
            cell.state = None
        loss = (head(cell(x)) - x).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        assert cell.state is not None
        cell.state = cell.state.detach()
        losses.append(loss.detach())
    return [*losses, *head.parameters()]


def test_a_training_loop_is_the_same() -> None:
    wanted = trained(12)
    with names():
        found = trained(12)
    assert all(map(torch.equal, wanted, found))


def compiled(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return torch.compile(function, backend="eager", fullgraph=True)


def test_what_is_compiled_runs() -> None:
    @shapecheck
    def double(x: Float[Tensor, "b t"]) -> Float[Tensor, "b t"]:
        return x * 2

    x = torch.rand(2, 3)
    with names():
        for function in (compiled(double), compiled(lambda x: x * 2)):
            for _ in range(3):
                assert torch.equal(function(named(x.clone(), "b t")), x * 2)


def test_nothing_is_held() -> None:
    with names():
        cell = Cell()
        for step in range(4000):
            cell(named(torch.rand(2 + step % 50, 3), "b d"))
            cell.state = None
        gc.collect()
        assert sum(ref() is not None for ref, _ in state.given.table.values()) < 5
        assert sum(ref() is not None for ref, _ in lasting.values()) < 5
        assert len(state.given.table) < 2000
        assert len(lasting) < 4000


@pytest.mark.parametrize("block", [True, False])
def test_an_error_is_told_at_the_line(tmp_path: Path, block: bool) -> None:
    program = tmp_path / "program.py"
    begin = "with sc.names():" if block else "sc.names.on()\nif True:"
    program.write_text(
        textwrap.dedent("""
        import torch
        import shapecheck as sc

        def add(x):
            return x + x.T

        """)
        + f"{begin}\n    add(sc.named(torch.rand(3, 3), 'b t'))\n"
    )
    told = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=False
    ).stderr
    lines = [line.strip() for line in told.splitlines() if not set(line.strip()) <= {"~", "^"}]
    assert lines[0] == "Traceback (most recent call last):"
    at = next(at for at, line in enumerate(lines) if line.startswith("add"))
    assert at == (6 if block else 2)  # `__exit__` is there where it ends a block
    assert lines[at:] == [
        "add(sc.named(torch.rand(3, 3), 'b t'))",
        f'File "{program}", line 6, in add',
        "return x + x.T",
        'shapecheck.ShapeError: "+" can\'t broadcast (b t) with (t b): axis -1 is t on the left '
        "and b on the right  [shape]",
        f"at {program}:6: return x + x.T",
        'note: left operand "x" is (b t) since line 5',
        'note: "x" would give (b t)',
        "here b=3, t=3",
    ]
