"""Decorated programs under `torch.compile`, `torch.export` and `torch.fx`."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, NamedTuple

import pytest
import torch
from jaxtyping import Float as Theirs
from repository import ROOT
from torch import Tensor, nn
from torch._dynamo.testing import CompileCounter
from torch._dynamo.variables.base import VariableTracker

from shapecheck import Dim, Float, ShapeError, disabled, shapecheck, watch


class Plain(nn.Module):
    def __init__(self, d: int = 4) -> None:
        super().__init__()
        self.d = d
        self.linear = nn.Linear(d, d)
        self.calls = 0

    def forward(
        self,
        x: Float[Tensor, "b t {self.d}"],
        extra: list[Float[Tensor, "b t+1"]],
        scale: float = 1.0,
    ) -> Float[Tensor, "b t {self.d}"]:
        return self.linear(x) * scale + extra[0].mean()


def checked() -> nn.Module:
    """Return an instance of a class of its own, that was never called before."""

    @shapecheck
    class Checked(Plain):
        forward = Plain.forward

    return Checked()


def arguments(t: int, b: int = 2) -> tuple[Tensor, list[Tensor]]:
    return torch.randn(b, t, 4), [torch.ones(b, t + 1)]


def graphs(model: nn.Module, calls: str) -> int:
    """Return how many graphs dynamo made; a digit is a compiled call, `e` is one without dynamo."""
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(model, fullgraph=True, backend=counter)
    for call in calls:
        if call == "e":
            model(*arguments(3))
        else:
            compiled(*arguments(int(call)))
    return int(counter.frame_count)


@pytest.mark.parametrize("calls", ["3", "33", "3e3", "e3e3", "23456", "e23456e7"])
def test_nothing_is_compiled_again(calls: str) -> None:
    assert graphs(checked(), calls) == graphs(Plain(), calls)


class Block(nn.Module):
    """One of the layers of a model."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Float[Tensor, "b t 4"]) -> Float[Tensor, "b t 4"]:
        h = x.shape[-1] // 2
        return x + torch.cat((-x[..., h:], x[..., :h]), -1) * self.layer(x).relu()


class Deep(nn.Module):
    """Some of these."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(3))

    def forward(self, x: Float[Tensor, "b t 4"]) -> Float[Tensor, "b t 4"]:
        for block in self.blocks:
            x = block(x)
        return x


def compiled_blocks(model: Deep, counter: CompileCounter) -> Deep:
    for block in model.blocks:
        block.compile(fullgraph=True, backend=counter)
    return model


REGIONS: dict[str, Callable[[Deep, CompileCounter], Any]] = {
    "the whole": lambda model, counter: torch.compile(model, fullgraph=True, backend=counter),
    "each block": compiled_blocks,
    "dynamic": lambda model, counter: torch.compile(model, dynamic=True, backend=counter),
    "with breaks": lambda model, counter: torch.compile(model, backend=counter),
}


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("when", ["before", "after", "in between"])
def test_a_watched_model_is_compiled_as_often_as_another(region: str, when: str) -> None:
    """Watched before it is compiled, or after; sizes vary from call to call.

    Watched once it has run, it is compiled anew: the checks are of what is traced.
    """
    torch.manual_seed(0)
    plain = Deep()

    def outcome(watched: bool) -> tuple[int, int, list[Tensor]]:
        torch._dynamo.reset()
        counter, model = CompileCounter(), copy.deepcopy(plain)
        annotations = {"x": "batch time width"}
        with ExitStack() as stack:
            if watched and when == "before":
                stack.enter_context(watch(model, annotations))
            run = REGIONS[region](model, counter)
            if watched and when == "after":
                stack.enter_context(watch(model, annotations))
            results = []
            for number, sizes in enumerate([(2, 3), (2, 3), (2, 5), (4, 6), (2, 3)]):
                if when == "in between" and number == 1:
                    if watched:
                        stack.enter_context(watch(model, annotations))
                    else:
                        torch._dynamo.reset()
                results.append(run(torch.full((*sizes, 4), 0.5)))
            return counter.frame_count, counter.op_count, results

    frames, ops, wanted = outcome(watched=False)
    found = outcome(watched=True)
    assert all(map(torch.equal, found[2], wanted))
    assert found[:2] == (frames, ops)


@torch.library.custom_op("shapecheck_tests::mixed", mutates_args=())
def mixed(x: Tensor, weight: Tensor) -> Tensor:
    """Mix what is in the last axis."""
    return x @ weight


@mixed.register_fake
def _(x: Tensor, weight: Tensor) -> Tensor:
    return x.new_empty(*x.shape[:-1], weight.shape[1])


def _save(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
    x, weight = ctx.saved_tensors
    return grad @ weight.T, (x.flatten(0, -2).T @ grad.flatten(0, -2))


mixed.register_autograd(_backward, setup_context=_save)


@pytest.mark.parametrize("compiling", [False, True])
def test_an_op_of_ones_own(compiling: bool) -> None:
    """It has no names, and computes what it computes undecorated, gradients included."""

    def run(x: Float[Tensor, "b t d"], weight: Float[Tensor, "d e"]) -> Float[Tensor, "b t e"]:
        return torch.ops.shapecheck_tests.mixed(x.relu(), weight) * 2

    def outcome(function: Any) -> list[Tensor]:
        torch._dynamo.reset()
        torch.manual_seed(0)
        x, weight = torch.randn(2, 3, 4), torch.randn(4, 5)
        for one in (x, weight):
            one.requires_grad_()
        if compiling:
            function = torch.compile(function, fullgraph=True, backend="aot_eager")
        y = function(x, weight)
        y.square().sum().backward()
        grads = [one.grad for one in (x, weight) if one.grad is not None]
        assert len(grads) == 2
        return [y.detach(), *grads]

    for one, other in zip(outcome(run), outcome(shapecheck(run)), strict=True):
        assert torch.equal(one, other)


def maybe_scaled(x: Float[Tensor, "n d"], by: Float[Tensor, "d"] | None = None) -> Tensor:
    return x * 2 if by is None else x * by


def unused(x: Float[Tensor, "n d"], by: float = 1.0, **more: Float[Tensor, "n"]) -> Tensor:
    return x * 2


def doubled(x: Float[Tensor, "n d"]) -> Iterator[Float[Tensor, "d"]]:
    yield x[0] * 2
    yield x[1] * 2


def output_class() -> Any:
    """Return a class of what models return, as HuggingFace's do."""

    @dataclass
    class Output:
        hidden: Float[Tensor, "n d"]
        loss: Float[Tensor, ""] | None = None

    return Output


def made_inside(output: Any) -> Callable[[Tensor], Tensor]:
    def run(x: Tensor) -> Tensor:
        made = output(x * 2)
        made.loss = made.hidden.sum()
        return made.hidden + made.loss

    return run


def all_items(x: Tensor, generator: Callable[[Tensor], Iterator[Tensor]] = doubled) -> Tensor:
    return sum(generator(x), torch.zeros(3))


def no_op(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


X = torch.rand(2, 3)


@pytest.mark.parametrize(
    ("plain", "decorated", "calls"),
    [
        (
            maybe_scaled,
            lambda: shapecheck(maybe_scaled),
            [((X,), {}), ((X, X[0]), {}), ((X,), {"by": X[0]}), ((X, None), {})],
        ),
        (unused, lambda: shapecheck(unused), [((X,), {}), ((X, 2.0), {}), ((X,), {"by": 3.0})]),
        (no_op(unused), lambda: shapecheck(no_op(unused)), [((X,), {}), ((torch.rand(4, 3),), {})]),
        (
            torch.no_grad()(maybe_scaled),
            lambda: shapecheck(torch.no_grad()(maybe_scaled)),
            [((X, X[0]), {})] * 2,
        ),
        (all_items, lambda: partial(all_items, generator=shapecheck(doubled)), [((X,), {})] * 2),
        (
            made_inside(output_class()),
            lambda: made_inside(shapecheck(output_class())),
            [((X,), {}), ((torch.rand(4, 3),), {})],
        ),
    ],
)
def test_the_same_graphs_as_undecorated(
    plain: Callable[..., Any], decorated: Callable[[], Callable[..., Any]], calls: Any
) -> None:
    def outcome(function: Callable[..., Any]) -> tuple[int, int, list[Tensor]]:
        torch._dynamo.reset()
        counter = CompileCounter()
        compiled = torch.compile(function, fullgraph=True, backend=counter)
        results = [compiled(*args, **kwargs) for args, kwargs in calls]
        return counter.frame_count, counter.op_count, results

    frames, ops, wanted = outcome(plain)
    found = outcome(decorated())
    assert found[:2] == (frames, ops)
    assert all(map(torch.equal, found[2], wanted))


def test_two_instances_share_what_was_compiled() -> None:
    @shapecheck
    def scale(x: Float[Tensor, "n d"], by: int, unused: int = 0) -> Float[Tensor, "n d"]:
        return x * by

    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(scale, fullgraph=True, backend=counter)
    for unused in range(3):  # an argument that nothing reads isn't guarded either
        compiled(torch.ones(2, 3), 2, unused)
    assert counter.frame_count == 1


@pytest.mark.parametrize("first", [False, True])
def test_the_boundary_is_checked_when_it_is_compiled(first: bool) -> None:
    model = checked()
    if first:
        model(*arguments(3))
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    compiled(*arguments(3))
    for wrong in (
        lambda: compiled(torch.randn(2, 3), [torch.ones(2, 4)]),
        lambda: compiled(torch.randn(2, 3, 4), [torch.ones(2, 4), torch.ones(2, 5)]),
    ):
        with pytest.raises(ShapeError):
            wrong()
    compiled(*arguments(5))


def test_the_whole_text() -> None:
    @shapecheck
    def inner(x: Float[Tensor, "n d"], y: Float[Tensor, "n"]) -> Float[Tensor, "d"]:
        return x.sum(0)

    def outer(x: Tensor) -> Tensor:
        return inner(x, x[0])

    torch._dynamo.reset()
    compiled = torch.compile(outer, fullgraph=True, backend="eager")
    with pytest.raises(ShapeError) as caught:
        compiled(torch.ones(2, 3))
    line = outer.__code__.co_firstlineno + 1
    assert str(caught.value) == (
        'argument "y" of "inner" is (3), declared "n": axis 0 is 3, declared n (here 2)  [shape]\n'
        f"  at {__file__}:{line}: return inner(x, x[0])\n"
        '  note: n is 2 from argument "x"\n'
        "  here n=2, d=3"
    )


def test_results_are_checked() -> None:
    @shapecheck
    def wrong(x: Float[Tensor, "n d"]) -> tuple[Float[Tensor, "n"], int]:
        return x.sum(0), 1

    torch._dynamo.reset()
    compiled = torch.compile(wrong, fullgraph=True, backend="eager")
    compiled(torch.ones(3, 3))
    with pytest.raises(ShapeError, match="item 0 of returned value is"):
        compiled(torch.ones(2, 3))


def test_what_was_changed_meanwhile_is_not_judged() -> None:
    class Grows(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.seen = 2

        def forward(self, x: Tensor) -> Tensor:
            self.seen = self.seen + 1
            return self.check(x)

        @shapecheck
        def check(self, x: Float[Tensor, "{self.seen}"]) -> Float[Tensor, "{self.seen}"]:
            return x + 1

    torch._dynamo.reset()
    torch.compile(Grows(), fullgraph=True, backend="eager")(torch.ones(3))


def test_dims_of_a_fixed_size_and_disabled() -> None:
    n = Dim("n", size=3)

    @shapecheck
    def fixed(x: Float[Tensor, "n"]) -> Float[Tensor, "n"]:
        return x + 1

    torch._dynamo.reset()
    compiled = torch.compile(fixed, fullgraph=True, backend="eager")
    with disabled():
        compiled(torch.ones(4))
    torch._dynamo.reset()
    with pytest.raises(ShapeError, match="declared n"):
        compiled(torch.ones(2))


def test_jaxtyping_annotations_accept_what_is_correct() -> None:
    @shapecheck
    def attend(q: Theirs[Tensor, "b n d"], k: Theirs[Tensor, "b m d"]) -> Theirs[Tensor, "b n m"]:
        return q @ k.transpose(1, 2)

    torch._dynamo.reset()
    compiled = torch.compile(attend, fullgraph=True, backend="eager", dynamic=True)
    for n in (3, 4):
        q, k = torch.randn(2, n, 5), torch.randn(2, n + 2, 5)
        torch.testing.assert_close(compiled(q, k), q @ k.transpose(1, 2))


def test_a_named_tuple_of_what_dynamo_traces() -> None:
    """Some versions of dynamo make one of what they have for its fields, in code of their own."""

    @shapecheck
    class Outputs(NamedTuple):
        logits: Float[Tensor, "b v"]
        states: list[Float[Tensor, "b d"]]
        mask: Float[Tensor, "b"] | None

    @shapecheck
    def both(x: Float[Tensor, "b v"]) -> Outputs:
        return Outputs(x * 2, [x], None)

    x = torch.rand(2, 3)
    compiled: Callable[..., Outputs] = torch.compile(both, fullgraph=True, backend="eager")
    assert torch.equal(compiled(x).logits, both(x).logits)
    make: Callable[..., Outputs] = Outputs
    traced = [VariableTracker() for _ in Outputs._fields]
    assert list(make(*traced)) == traced
    with pytest.raises(ShapeError, match='argument "mask" of "make" is int, declared'):
        make(traced[0], traced[1], 1)


@pytest.mark.parametrize("strict", [False, True])
def test_export(strict: bool) -> None:
    model = checked()
    time = torch.export.Dim("time", min=2)
    program = torch.export.export(
        model,
        arguments(3),
        dynamic_shapes={"x": {1: time}, "extra": [{1: time + 1}]},
        strict=strict,
    )
    x, extra = arguments(7)
    torch.testing.assert_close(program.module()(x, extra), model(x, extra))
    with pytest.raises(ShapeError, match="axis 1 is 3, declared t"):
        torch.export.export(checked(), (torch.randn(2, 3, 4), [torch.ones(2, 3)]), strict=strict)


def test_fx() -> None:
    model = checked()
    for _ in range(2):  # before its first call, and after it
        traced = torch.fx.symbolic_trace(model)
        assert torch.equal(traced(*arguments(3)), traced(*arguments(3))) is False
        x, extra = arguments(3)
        assert torch.equal(traced(x, extra), model(x, extra))


def test_make_fx_and_jit_trace() -> None:
    @shapecheck
    def double(x: Float[Tensor, "n"]) -> Float[Tensor, "n"]:
        return x * 2

    x = torch.ones(3)
    make: Callable[..., Any] = torch.fx.experimental.proxy_tensor.make_fx
    assert torch.equal(make(double)(x)(x), x * 2)
    assert torch.equal(torch.jit.trace(double, (x,))(x), x * 2)


def test_torchscript_is_refused() -> None:
    @shapecheck
    class Inner(Plain): ...

    with pytest.raises(
        TypeError, match="Inner is decorated with @shapecheck, and TorchScript can't"
    ):
        torch.jit.script(nn.Sequential(Inner()))


def test_dynamo_is_not_imported_for_nothing() -> None:
    program = (
        "import sys, torch; from shapecheck import shapecheck, Float\n"
        "@shapecheck\ndef f(x: Float[torch.Tensor, 'n']) -> Float[torch.Tensor, 'n']: return x\n"
        "f(torch.ones(2)); print('torch._dynamo' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
