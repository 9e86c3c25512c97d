"""What only a CUDA device has, asked of decorated code and of the same code undecorated."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import process_workers as workers
import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributed.fsdp import fully_shard
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader

from shapecheck import (
    BFloat16,
    Bool,
    Dim,
    Float,
    Float16,
    Float32,
    Int,
    ShapeError,
    dims,
    dims_of,
    named,
    shapecheck,
)

pytestmark = pytest.mark.gpu
CUDA = "cuda"


class Plain(nn.Module):
    """A block of a transformer: attention, views, a mask made on the device, dropout."""

    def __init__(self, width: int = 32, heads: int = 4, dropout: float = 0.1) -> None:
        super().__init__()
        self.heads, self.dropout = heads, nn.Dropout(dropout)
        self.norm = nn.LayerNorm(width, device=CUDA)
        self.qkv = nn.Linear(width, 3 * width, device=CUDA)
        self.out = nn.Linear(width, width, device=CUDA)

    def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in (q, k, v))
        future = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(future, float("-inf"))
        found = (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, d)
        return x + self.dropout(self.out(found))


class Checked(Plain):
    forward = shapecheck(Plain.forward)


def models(**options: Any) -> tuple[Plain, Checked]:
    """Return the undecorated and the decorated model with the same weights."""
    torch.manual_seed(1)
    plain, checked = Plain(**options), Checked(**options)
    checked.load_state_dict(plain.state_dict())
    return plain, checked


def trained(model: nn.Module, call: Callable[[Tensor], Tensor], steps: int = 3) -> list[Tensor]:
    """Return outputs, gradients, weights and the generator's state after a few steps."""
    torch.manual_seed(3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    found: list[Tensor] = []
    for _ in range(steps):
        optimizer.zero_grad()
        x = torch.randn(2, 6, 32, device=CUDA, requires_grad=True)
        y = call(x)
        y.float().square().mean().backward()
        optimizer.step()
        found += [y.detach(), x.grad]
    found += [p.grad for p in model.parameters()]
    return [*found, *model.state_dict().values(), torch.cuda.get_rng_state()]


def same(wanted: Any, found: Any) -> None:
    """Require equality bit for bit, also of dtype and device."""
    torch.testing.assert_close(found, wanted, rtol=0, atol=0)


def refused(call: Callable[[], object]) -> str:
    """Return what a call is refused with by torch."""
    with pytest.raises(RuntimeError) as caught:
        call()
    return str(caught.value)


# Devices ------------------------------------------------------------------------------------------


def test_tensors_of_both_devices() -> None:
    seen: list[tuple[str | None, ...]] = []

    def mixed(
        x: Float[Tensor, "b t d"], rows: Int[Tensor, "n"], scale: Float[Tensor, ""]
    ) -> Float[Tensor, "n t d"]:
        picked = (x * scale)[rows]
        host = picked.cpu().pin_memory()
        back = host.to(x.device, non_blocking=True)
        again = back.to("cpu").cuda()
        seen.extend(map(dims_of, (x * scale, picked, host, back, again)))
        return again

    given = torch.randn(3, 4, 5, device=CUDA), torch.tensor([2, 0], device="cpu")
    scale = torch.tensor(2.0, device="cpu")
    wanted = mixed(*given, scale)
    seen.clear()
    for _ in range(2):
        same(wanted, shapecheck(mixed)(*given, scale))
    assert seen == [("b", "t", "d"), *[("n", "t", "d")] * 4] * 2


def test_torch_says_itself_that_devices_differ() -> None:
    def product(x: Float[Tensor, "n d"], w: Float[Tensor, "d e"]) -> Float[Tensor, "n e"]:
        return x @ w

    x, w = torch.ones(2, 3, device=CUDA), torch.ones(3, 4, device="cpu")
    wanted = refused(lambda: product(x, w))
    assert "device" in wanted
    assert refused(lambda: shapecheck(product)(x, w)) == wanted
    assert product(x, w.cuda()).shape == shapecheck(product)(x, w.cuda()).shape == (2, 4)


def test_errors() -> None:
    @shapecheck
    def product(x: Float[Tensor, "n d"], w: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
        return x @ w

    x = torch.ones(3, 3, device=CUDA)
    with pytest.raises(ShapeError, match=r"can't multiply \(n d\) by \(m d\)"):
        product(x, x.clone())
    with pytest.raises(ShapeError, match=r"axis 1 is 4, declared d \(here 3\)"):
        product(x, torch.ones(3, 4, device=CUDA))
    with pytest.raises(ShapeError, match="is int64, declared Float"):
        product(x, x.long())
    assert torch.equal(x + 1, torch.full((3, 3), 2.0, device=CUDA))  # the device goes on


@pytest.mark.parametrize("mode", ["boundary", "full"])
def test_outcomes_are_apart_by_device_and_dtype(mode: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("SHAPECHECK", mode)
    names: list[tuple[str | None, ...]] = []

    def mix(x: Float[Tensor, "n d"], w: Float[Tensor, "d e"]) -> Float[Tensor, "n e"]:
        y = (x @ w).relu()
        names.append(dims_of(y))
        return torch.where(y > 0.5, y, torch.zeros_like(y))

    checked = shapecheck(mix)
    x, w = torch.rand(3, 4, device="cpu"), torch.rand(4, 5, device="cpu")
    for device in ("cpu", CUDA, "cpu", CUDA):
        for dtype in (torch.float32, torch.bfloat16, torch.float64):
            given = x.to(device, dtype), w.to(device, dtype)
            wanted = mix(*given)
            names.clear()
            found = checked(*given)
            same(wanted, found)
            assert (found.device.type, found.dtype) == (device, dtype)
            assert names == [("n", "e") if mode == "full" else (None, None)]

    @shapecheck
    def half(x: Float16[Tensor, "n"]) -> Float16[Tensor, "n"]:
        return x

    vector = torch.rand(3, device=CUDA)
    for _ in range(2):
        half(vector.half())
        with pytest.raises(ShapeError, match="is float32, declared float16"):
            half(vector)


def test_masks_and_indices_on_either_device() -> None:
    def select(
        x: Float[Tensor, "b d"], keep: Bool[Tensor, "b"], at: Int[Tensor, "n"]
    ) -> tuple[Tensor, Float[Tensor, "n d"]]:
        return x[keep], x[at]

    x = torch.rand(3, 3, device=CUDA)
    checked = shapecheck(select)
    for device in (CUDA, "cpu", CUDA):
        keep = torch.tensor([True, False, True], device=device)
        at = torch.tensor([2, 1, 0], device=device)
        same(select(x, keep, at), checked(x, keep, at))


def test_lengths_on_the_cpu_of_data_on_the_device() -> None:
    time = Dim("time", kind="spatial", ragged=True)
    batch, feature = dims("batch feature")
    lengths = torch.tensor([3, 1, 4])
    x = torch.rand(3, 4, 5)
    wanted = torch.stack([row[:n].mean(0) for row, n in zip(x, lengths.tolist(), strict=True)])

    @shapecheck
    def means(x: Float[Tensor, batch, time, feature], lengths: Int[Tensor, batch]) -> Tensor:
        return named.mean(x, time.with_lengths(lengths))

    torch.testing.assert_close(means(x.to(CUDA), lengths.to(CUDA)), wanted.to(CUDA))


# Streams and graphs -------------------------------------------------------------------------------


def test_streams_and_events() -> None:
    seen: list[tuple[str | None, ...]] = []

    def aside(x: Float[Tensor, "n d"], w: Float[Tensor, "d e"]) -> Float[Tensor, "n e"]:
        here, stream = torch.cuda.current_stream(), torch.cuda.Stream()
        stream.wait_stream(here)
        with torch.cuda.stream(stream):
            y = x @ w
            x.record_stream(stream)
            w.record_stream(stream)
            done = stream.record_event()
        here.wait_event(done)
        y.record_stream(here)
        seen.append(dims_of(y))
        return y.relu()

    x, w = torch.randn(64, 32, device=CUDA), torch.randn(32, 16, device=CUDA)
    wanted = aside(x, w)
    seen.clear()
    checked = shapecheck(aside)
    for _ in range(3):
        same(wanted, checked(x, w))
    assert seen == [("n", "e")] * 3


def test_threads_with_streams_of_their_own() -> None:
    _, model = models(dropout=0.0)
    given = [torch.randn(2, n, 32, device=CUDA) for n in range(1, 9)]
    wanted = [Plain.forward(model, x) for x in given]
    torch.cuda.synchronize()

    def run(x: Tensor) -> Tensor:
        with torch.cuda.stream(torch.cuda.Stream()):
            found = model(x)
            torch.cuda.current_stream().synchronize()
        return found

    with ThreadPoolExecutor(4) as pool:
        torch.testing.assert_close(list(pool.map(run, given)), wanted)


def warm(model: nn.Module, x: Tensor) -> None:
    """Run steps on another stream, as torch asks for before a capture."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            model.zero_grad(set_to_none=True)
            model(x).square().mean().backward()
    torch.cuda.current_stream().wait_stream(stream)


def test_a_captured_training_step() -> None:
    """The decorated model is called for the first time while the graph is captured."""
    new = torch.randn(2, 6, 32, device=CUDA)
    found = []
    for model in models(dropout=0.0):
        x = torch.randn(2, 6, 32, device=CUDA)
        undecorated = Plain(dropout=0.0)
        undecorated.load_state_dict(model.state_dict())
        warm(undecorated, x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = model(x)
            y.square().mean().backward()
        x.copy_(new)
        graph.replay()
        torch.cuda.synchronize()
        found.append([y.clone(), *(p.grad.clone() for p in model.parameters())])
    same(*found)


def test_graphed_callables() -> None:
    found = []
    for model in models(dropout=0.0):
        torch.manual_seed(4)
        x = torch.randn(2, 6, 32, device=CUDA, requires_grad=True)
        graphed = torch.cuda.make_graphed_callables(model, (x,))
        found.append(trained(model, graphed))
    same(*found)


# Compilation --------------------------------------------------------------------------------------


@pytest.fixture
def alone() -> Iterator[None]:
    """Compile in this process: each of those that run the tests would start as many as it likes."""
    from torch._inductor import config

    torch._dynamo.reset()
    with config.patch(compile_threads=1):
        yield
    torch._dynamo.reset()


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
def test_inductor(mode: str | None) -> None:
    plain, checked = (
        torch.compile(model, fullgraph=True, mode=mode) for model in models(dropout=0.0)
    )
    for sizes in ((2, 6, 32), (2, 6, 32), (3, 7, 32), (3, 7, 32)):
        x = torch.randn(sizes, device=CUDA)
        found = []
        for model in (plain, checked):
            torch.compiler.cudagraph_mark_step_begin()
            model.zero_grad()
            y = model(x)
            y.square().mean().backward()
            found.append([y.detach().clone(), *(p.grad.clone() for p in model.parameters())])
        same(*found)


@pytest.mark.usefixtures("alone")
def test_inductor_in_parts() -> None:
    """Where a graph breaks inside of a decorated function, the rest has names still."""
    seen: list[tuple[str | None, ...]] = []

    @torch.compile
    def scaled(x: Tensor, w: Tensor) -> Tensor:
        return (x @ w).relu() * 2

    def around(x: Float[Tensor, "n d"], w: Float[Tensor, "d e"]) -> Float[Tensor, "n e"]:
        y = scaled(x, w)
        seen.append(dims_of(x * 2))
        return y

    x, w = torch.randn(8, 4, device=CUDA), torch.randn(4, 16, device=CUDA)
    wanted = around(x, w)
    seen.clear()
    same(wanted, shapecheck(around)(x, w))
    assert seen == [("n", "d")]


# Training -----------------------------------------------------------------------------------------


def direct(model: nn.Module) -> Callable[[Tensor], Tensor]:
    return model


def checkpointed(reentrant: bool) -> Callable[[nn.Module], Callable[[Tensor], Tensor]]:
    return lambda model: lambda x: checkpoint(model, x, use_reentrant=reentrant)


def autocast(dtype: torch.dtype) -> Callable[[nn.Module], Callable[[Tensor], Tensor]]:
    def wrap(model: nn.Module) -> Callable[[Tensor], Tensor]:
        def call(x: Tensor) -> Tensor:
            with torch.autocast(CUDA, dtype):
                return model(x)

        return call

    return wrap


@pytest.mark.parametrize(
    "wrap",
    [
        direct,
        checkpointed(reentrant=False),
        checkpointed(reentrant=True),
        autocast(torch.bfloat16),
        autocast(torch.float16),
    ],
    ids=["direct", "checkpoint", "reentrant checkpoint", "bf16", "fp16"],
)
def test_training_is_the_same_bit_for_bit(
    wrap: Callable[[nn.Module], Callable[[Tensor], Tensor]],
) -> None:
    wanted, found = (trained(model, wrap(model)) for model in models())
    same(wanted, found)


def test_a_result_under_autocast() -> None:
    def product(x: Float[Tensor, "n d"], w: Float[Tensor, "d e"]) -> Tensor:
        with torch.autocast(CUDA, torch.bfloat16):
            return x @ w

    def half(x: Float[Tensor, "n d"], w: Float[Tensor, "d e"]) -> BFloat16[Tensor, "n e"]:
        return product(x, w)

    def full(x: Float[Tensor, "n d"], w: Float[Tensor, "d e"]) -> Float32[Tensor, "n e"]:
        return product(x, w)

    x, w = torch.rand(3, 4, device=CUDA), torch.rand(4, 5, device=CUDA)
    same(product(x, w), shapecheck(half)(x, w))
    with pytest.raises(ShapeError, match="bfloat16"):
        shapecheck(full)(x, w)


def test_scaled_gradients() -> None:
    def run(model: nn.Module) -> list[Any]:
        torch.manual_seed(5)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        scaler = torch.amp.GradScaler(CUDA, init_scale=2.0**24)  # too large: steps are left out
        scales = []
        for _ in range(6):
            optimizer.zero_grad()
            with torch.autocast(CUDA, torch.float16):
                loss = model(torch.randn(2, 6, 32, device=CUDA)).square().mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            scales.append(scaler.get_scale())
        return [torch.tensor(scales), *model.state_dict().values()]

    wanted, found = map(run, models())
    same(wanted, found)


@pytest.fixture
def group(tmp_path: Path) -> Iterator[None]:
    """A group of this process alone."""
    if not dist.is_nccl_available():
        pytest.skip("this torch has no nccl")
    device = torch.device(CUDA, torch.cuda.current_device())
    dist.init_process_group(
        "nccl", init_method=f"file://{tmp_path}/group", rank=0, world_size=1, device_id=device
    )
    yield
    dist.destroy_process_group()


@pytest.mark.usefixtures("group")
@pytest.mark.parametrize("wrap", [DistributedDataParallel, fully_shard], ids=["ddp", "fsdp"])
def test_a_distributed_model(wrap: Callable[[nn.Module], nn.Module]) -> None:
    def run(model: nn.Module) -> list[Tensor]:
        whole = wrap(model)
        torch.manual_seed(3)
        found = []
        for _ in range(2):
            whole.zero_grad()
            y = whole(torch.randn(2, 6, 32, device=CUDA))
            y.square().mean().backward()
            found.append(y.detach())
        grads = [p.grad for p in whole.parameters() if p.grad is not None]
        return found + [g.full_tensor() if hasattr(g, "full_tensor") else g for g in grads]

    wanted, found = map(run, models())
    assert len(wanted) > 4
    same(wanted, found)


# Data ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("processes", [0, 2])
def test_batches_in_pinned_memory(processes: int) -> None:
    loader = DataLoader(
        workers.Images(),
        batch_size=2,
        num_workers=processes,
        multiprocessing_context="spawn" if processes else None,
        collate_fn=workers.collate,
        pin_memory=True,
    )
    seen: list[tuple[str | None, ...]] = []

    def means(images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c"]:
        there = images.to(CUDA, non_blocking=True)
        seen.append(dims_of(there))
        return there.mean((-2, -1))

    batches = list(loader)
    assert all(batch.is_pinned() for batch in batches)
    wanted = [means(batch) for batch in batches]
    seen.clear()
    same(wanted, [shapecheck(means)(batch) for batch in batches])
    assert seen == [("b", "c", "h", "w")] * 2


# Kernels ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "backend",
    [
        SDPBackend.MATH,
        SDPBackend.FLASH_ATTENTION,
        SDPBackend.EFFICIENT_ATTENTION,
        SDPBackend.CUDNN_ATTENTION,
    ],
    ids=lambda backend: backend.name.lower(),
)
def test_kernels_of_attention(backend: SDPBackend) -> None:
    seen: list[tuple[str | None, ...]] = []

    def attend(
        q: BFloat16[Tensor, "b h t d"], k: BFloat16[Tensor, "b h s d"]
    ) -> BFloat16[Tensor, "b h t d"]:
        found = F.scaled_dot_product_attention(q, k, k)
        seen.append(dims_of(found))
        return found

    q = torch.randn(2, 4, 64, 64, device=CUDA, dtype=torch.bfloat16)
    k = torch.randn(2, 4, 128, 64, device=CUDA, dtype=torch.bfloat16)
    with sdpa_kernel(backend):
        try:
            wanted = attend(q, k)
        except RuntimeError as error:
            pytest.skip(f"not on this device: {error}")
        seen.clear()
        for _ in range(2):
            same(wanted, shapecheck(attend)(q, k))
    assert seen == [("b", "h", "t", "d")] * 2


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_the_fast_path_of_an_encoder() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, device=CUDA).eval()
    encoder = nn.TransformerEncoder(layer, 2).eval()

    def encode(x: Float[Tensor, "b t 32"], mask: Bool[Tensor, "b t"]) -> Float[Tensor, "b t 32"]:
        return encoder(x, src_key_padding_mask=mask)

    x = torch.rand(3, 6, 32, device=CUDA)
    mask = torch.arange(6, device=CUDA) >= torch.tensor([[6], [4], [3]], device=CUDA)
    with torch.no_grad():
        wanted = encode(x, mask)
        assert not wanted[2, 3:].any()  # only the fast path makes zeros of padding
        same(wanted, shapecheck(encode)(x, mask))


# Costs --------------------------------------------------------------------------------------------


def test_nothing_waits_for_the_device() -> None:
    """Nor the first time, nor where names are asked for, nor where an error is told."""
    _, model = models()

    @shapecheck
    def all_of_it(
        tokens: Int[Tensor, "b t"], table: Float[Tensor, "v 32"], keep: Bool[Tensor, "b t"]
    ) -> Float[Tensor, "b t 32"]:
        b, t = tokens.shape
        x: Float[Tensor, "b t 32"] = table[tokens] + F.embedding(tokens, table)
        x = x.masked_fill(~keep[..., None], 0.0)
        x = model(x) + torch.arange(t, device=x.device)[:, None]
        x = torch.cat((x[:, :1], x[:, 1:]), dim=1).reshape(b * t, -1).view(b, t, 32)
        x = torch.einsum("btd,de->bte", x, table[:32]) + torch.where(keep, 1, 0)[..., None]
        assert dims_of(x) == ("b", "t", None)
        return x

    @shapecheck
    def wrong(x: Float[Tensor, "n d"], y: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
        return x @ y

    square, other = torch.ones(2, 4, 4, device=CUDA)
    square @ other  # what cuBLAS needs
    with without_waiting():
        tokens = torch.arange(8, device=CUDA).view(2, 4)
        keep, table = tokens > 2, torch.ones(40, 32, device=CUDA)
        for _ in range(2):
            all_of_it(tokens, table, keep)
        for _ in range(2):
            with pytest.raises(ShapeError, match="can't multiply"):
                wrong(square, other)
            with pytest.raises(ShapeError, match="declared d"):
                wrong(square, other[:, 1:])


@contextlib.contextmanager
def without_waiting() -> Iterator[None]:
    """Raise where the CPU waits for the device."""
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        with pytest.raises(RuntimeError, match="synchroniz"):
            torch.ones(2, device=CUDA).tolist()
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def memory_of_steps(model: nn.Module) -> tuple[int, int]:
    """Return the peak of two steps, and what is left after them, in bytes."""
    gc.collect()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    for _ in range(2):
        x = torch.randn(8, 64, 32, device=CUDA)
        model(x).square().mean().backward()
        model.zero_grad(set_to_none=True)
    del x
    return torch.cuda.max_memory_allocated() - before, torch.cuda.memory_allocated() - before


def test_the_peak_of_memory_is_the_same() -> None:
    plain, checked = models()
    memory_of_steps(plain)  # what cuBLAS keeps
    wanted = memory_of_steps(plain)
    assert memory_of_steps(checked) == wanted  # the first time
    assert memory_of_steps(checked) == wanted
    assert wanted[1] == 0


@pytest.mark.parametrize("mode", ["boundary", "full"])
def test_nothing_is_kept_alive(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the garbage collector: steps of training, and all that a caught error holds."""
    monkeypatch.setenv("SHAPECHECK", mode)
    _, model = models()
    memory_of_steps(model)

    def then(last: Callable[[Tensor], Tensor]) -> Callable[[Tensor], object]:
        """Return a function that does more with what the model gives: something is refused."""

        @shapecheck
        def f(x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
            return last(model(x))

        def call(x: Tensor) -> None:
            with contextlib.suppress(ShapeError, RuntimeError):
                f(x)
                pytest.fail("it is refused")

        return call

    def step(x: Tensor) -> None:
        model(x).square().mean().backward()
        model.zero_grad(set_to_none=True)

    calls = {
        "a step": step,
        "no gradient is asked for": model,
        "the result": then(lambda y: y.mT),
        "an op": then(lambda y: y @ y),
        "an op, by torch": then(lambda y: y.view(7, -1)),
        "an argument": lambda x: then(lambda y: y)(x[0]),
    }
    gc.collect()
    gc.disable()
    try:
        for name, call in calls.items():
            for n in range(1, 5):
                before = torch.cuda.memory_allocated()
                x = torch.randn(n, 16, 32, device=CUDA)
                call(x)
                del x
                assert torch.cuda.memory_allocated() == before, (name, n)
    finally:
        gc.enable()
