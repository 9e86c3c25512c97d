"""What the tests of several processes run: models and data sets, and one process of a group.

A process that is spawned imports this by its name, which it can't do with a test module.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
import torch.multiprocessing as mp
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint
from torch.utils.data import Dataset

from shapecheck import Float, Int, ShapeError, dims_of, shapecheck

PROCESSES = 2


class Images(Dataset[Tensor]):
    """Images of one size, but for one."""

    def __init__(self, wrong: int = -1) -> None:
        self.wrong = wrong

    def __len__(self) -> int:
        return 4

    @shapecheck
    def __getitem__(self, index: int) -> Float[Tensor, "3 h h"]:
        return torch.full((3, 4, 5 if index == self.wrong else 4), float(index), device="cpu")


@shapecheck
def collate(images: list[Float[Tensor, "3 h w"]]) -> Float[Tensor, "b 3 h w"]:
    """Put a batch together."""
    batch = torch.stack(images)
    assert dims_of(batch) == (None, None, "h", "w")
    return batch


class Plain(nn.Module):
    """Two layers, undecorated."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x: Float[Tensor, "b 4"]) -> Float[Tensor, "b 4"]:
        return x + self.down(self.up(x).relu())


class Checked(Plain):
    """The same, decorated."""

    seen: tuple[str | None, ...] = ()

    @shapecheck
    def forward(self, x: Float[Tensor, "b 4"]) -> Float[Tensor, "b 4"]:
        self.seen = dims_of(x * 2)
        return x + self.down(self.up(x).relu())


def train(model: nn.Module, step: Callable[[Tensor], Tensor] | None = None) -> list[Tensor]:
    """Return the output of two steps, and all gradients."""
    torch.manual_seed(dist.get_rank())
    found = []
    for _ in range(2):
        model.zero_grad()
        y = (step or model)(torch.randn(3, 4))
        y.square().sum().backward()
        found.append(y.detach())
    grads = [parameter.grad for parameter in model.parameters()]
    local = [grad.to_local() if isinstance(grad, DTensor) else grad for grad in grads]
    return found + [grad for grad in local if grad is not None]


def both(wrap: Callable[[nn.Module], nn.Module]) -> tuple[nn.Module, nn.Module]:
    """Return the undecorated and the decorated model with the same weights, wrapped."""
    plain, checked = Plain(), Checked()
    torch.manual_seed(7)
    for parameter in plain.parameters():
        nn.init.normal_(parameter)
    checked.load_state_dict(plain.state_dict())
    return wrap(plain), wrap(checked)


def same(wanted: list[Tensor], found: list[Tensor]) -> None:
    """Require equality bit for bit."""
    assert len(wanted) == len(found) >= 2
    assert all(torch.equal(a, b) for a, b in zip(wanted, found, strict=True))


def refused(call: Callable[[], object], text: str) -> None:
    """Require a `ShapeError` with a text."""
    with pytest.raises(ShapeError, match=re.escape(text)):
        call()


def ddp() -> None:
    """Gradients are averaged over processes as they are undecorated."""
    plain, checked = both(DistributedDataParallel)
    same(train(plain), train(checked))
    assert checked.module.seen == ("b", None)
    refused(lambda: checked(torch.randn(3, 5)), "axis 1 is 5, declared 4")


def ddp_with_checkpoint() -> None:
    """The same where activations are computed again in the backward pass."""
    plain, checked = both(DistributedDataParallel)
    again = [lambda x, m=m: checkpoint(m, x, use_reentrant=False) for m in (plain, checked)]
    same(train(plain, again[0]), train(checked, again[1]))


def fsdp() -> None:
    """Parameters that are shards, gathered for the forward pass."""
    plain, checked = both(fully_shard)
    assert all(isinstance(parameter, DTensor) for parameter in checked.parameters())
    same(train(plain), train(checked))
    assert checked.seen == ("b", None)
    refused(lambda: checked(torch.randn(3, 5)), "axis 1 is 5, declared 4")


def dtensor() -> None:
    """A DTensor has the names of the whole, a local shard its own."""
    mesh = init_device_mesh("cpu", (PROCESSES,))
    whole = torch.arange(24.0).view(6, 4)
    rows, all_of_it = distribute_tensor(whole, mesh, [Shard(0)]), None

    @shapecheck
    def scores(x: Float[Tensor, "n d"], y: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
        assert dims_of(x) == ("n", "d")
        assert dims_of(x @ y.T) == ("n", "m")
        return x @ y.T

    all_of_it = distribute_tensor(whole, mesh, [Replicate()])
    found = scores(rows, all_of_it)
    assert isinstance(found, DTensor)
    assert torch.equal(found.full_tensor(), whole @ whole.T)
    square = distribute_tensor(torch.ones(4, 4), mesh, [Replicate()])
    wrong = shapecheck(_product)
    refused(lambda: wrong(square, square + 1), "can't multiply (n d) by (m d)")

    @shapecheck
    def shard(x: Float[DTensor, "n d"]) -> Float[Tensor, "rows d"]:
        local = x.to_local()
        assert dims_of(local) == (None, None)
        return local

    assert shard(rows).shape == (3, 4)


def _product(x: Float[Tensor, "n d"], y: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
    return x @ y


def tensor_parallel() -> None:
    """Each process has half of the features between the layers; both give the whole."""
    mesh = init_device_mesh("cpu", (PROCESSES,))
    plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
    plain, checked = both(lambda model: parallelize_module(model, mesh, plan))
    assert isinstance(checked.up.weight, DTensor)
    same(train(plain), train(checked))
    assert checked.seen == ("b", None)
    refused(lambda: checked(torch.randn(3, 5)), "axis 1 is 5, declared 4")


def pipeline() -> None:
    """Each process has one stage of a pipeline: micro-batches are checked where they are run."""
    rank, device = dist.get_rank(), torch.device("cpu")

    def losses(model: nn.Module) -> list[Tensor]:
        stage = PipelineStage(model, rank, PROCESSES, device)
        schedule = ScheduleGPipe(stage, 2, loss_fn=nn.functional.mse_loss)
        found = list[Tensor]()
        if rank == 0:
            schedule.step(torch.ones(6, 4))
        else:
            schedule.step(target=torch.zeros(6, 4), losses=found)
        return [*found, *(p.grad for p in model.parameters() if p.grad is not None)]

    plain, checked = both(lambda model: model)
    same(losses(plain), losses(checked))
    assert checked.seen == ("b", None)


def collectives() -> None:
    """What goes through functional collectives has names where they keep its shape."""
    group = dist.group.WORLD

    def names(result: Tensor) -> tuple[str | None, ...]:
        found = dims_of(result)
        funcol.wait_tensor(result)  # gloo may still be writing to it
        return found

    @shapecheck
    def look(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        assert names(funcol.all_reduce(x, "sum", group)) == ("n", "d")
        assert names(funcol.all_gather_tensor(x, 0, group)) == ("2*n", "d")
        assert names(funcol.all_gather_tensor(x, 1, group)) == ("n", "2*d")
        assert names(funcol.reduce_scatter_tensor(x, "sum", 0, group)) == ("n//2", "d")
        assert names(funcol.broadcast(x, 0, group)) == ("n", "d")
        return x

    look(torch.ones(4, 3))


def in_place_collectives() -> None:
    """What a collective writes into keeps its names: it has its shape still."""

    @shapecheck
    def look(x: Float[Tensor, "n d"], tokens: Int[Tensor, "n"]) -> Float[Tensor, "k n d"]:
        dist.all_reduce(x)
        assert dims_of(x) == ("n", "d")
        parts = [torch.empty_like(x) for _ in range(PROCESSES)]
        dist.all_gather(parts, x)
        assert dims_of(parts[0]) == ("n", "d")
        dist.broadcast(tokens, 0)
        assert dims_of(tokens) == ("n",)
        other = (dist.get_rank() + 1) % PROCESSES
        received = torch.empty_like(x)
        ops = [dist.P2POp(dist.isend, x, other), dist.P2POp(dist.irecv, received, other)]
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        assert dims_of(received) == ("n", "d")
        return torch.stack(parts)

    assert dims_of(look(torch.ones(4, 3), torch.ones(4, dtype=torch.int64))) == ("k", "n", "d")


CHECKS: dict[str, Callable[[], None]] = {
    check.__name__: check
    for check in (
        ddp,
        ddp_with_checkpoint,
        fsdp,
        dtensor,
        tensor_parallel,
        pipeline,
        collectives,
        in_place_collectives,
    )
}


def _process(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/group", rank=rank, world_size=PROCESSES
    )
    for name, check in CHECKS.items():
        try:
            check()
            said = "ok"
        except Exception:  # noqa: BLE001 - it is told by the test
            said = traceback.format_exc()
        Path(folder, f"{name}-{rank}").write_text(said, "utf-8")
        dist.barrier()
    dist.destroy_process_group()


def run_group(folder: Path) -> dict[str, list[str]]:
    """Run all checks in two processes; return what each process says of each."""
    mp.spawn(_process, (str(folder),), nprocs=PROCESSES)
    return {
        name: [Path(folder, f"{name}-{rank}").read_text("utf-8") for rank in range(PROCESSES)]
        for name in CHECKS
    }
