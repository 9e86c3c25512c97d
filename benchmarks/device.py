"""What checking costs on a device: training steps of three models, with the decorator and without.

    python benchmarks/device.py [--device cuda] [--steps 20] [--small]

A ResNet-50, a ViT-S and a decoder of 12 layers, under autocast to bfloat16: at the sizes of a real
training, and with a batch of one, where a step is as long as the CPU needs to start its kernels.
Both take turns in one run. `first` is the first step of a model in this process, of kernels that
ran before; `step` the median of the others; `peak` the largest memory that was in use, above what
was before the step. Seconds are those of a clock on the wall, until the device has finished.
"""

from __future__ import annotations

import argparse
import gc
import os
import runpy
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from shapecheck import Float, shapecheck

EXAMPLES = Path(__file__).parents[1] / "examples"
MODES = ("off", "boundary", "full")
Step = Callable[[], None]


def resnet(batch: int, small: bool) -> Step:
    """A ResNet-50 on images."""
    module = runpy.run_path(str(EXAMPLES / "resnet.py"))
    layers = (1, 1, 1, 1) if small else (3, 4, 6, 3)
    model = module["ResNet"](module["Bottleneck"], layers, num_classes=1000)
    images = torch.randn(batch, 3, *(64, 64) if small else (224, 224))
    targets = torch.randint(1000, (batch,))
    return training(model, lambda: F.cross_entropy(model(images), targets))


def decoder(batch: int, small: bool) -> Step:
    """A decoder of 12 layers, 768 wide, on texts."""
    module = runpy.run_path(str(EXAMPLES / "gpt.py"))
    size = {"block_size": 64, "n_layer": 2, "n_embd": 96} if small else {}
    config = module["GPTConfig"](bias=False, flash=True, **size)
    model = module["GPT"](config)
    tokens = torch.randint(config.vocab_size, (batch, config.block_size))
    return training(model, lambda: model(tokens, tokens)[1])


def vit(batch: int, small: bool) -> Step:
    """A ViT-S on patches of 16x16."""
    width, heads, depth = (48, 6, 2) if small else (384, 6, 12)

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(2)])
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        @shapecheck
        def attend(self, x: Float[Tensor, "b n d"]) -> Float[Tensor, "b n d"]:
            b, n, d = x.shape
            qkv = self.qkv(x).reshape(b, n, 3, heads, d // heads)
            q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
            y = F.scaled_dot_product_attention(q, k, v)
            return self.out(y.transpose(1, 2).reshape(b, n, d))

        @shapecheck
        def forward(self, x: Float[Tensor, "b n d"]) -> Float[Tensor, "b n d"]:
            x = x + self.attend(self.norms[0](x))
            return x + self.down(F.gelu(self.up(self.norms[1](x))))

    class ViT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, width, 16, 16)
            self.first = nn.Parameter(torch.zeros(1, 1, width))
            self.position = nn.Parameter(torch.zeros(1, 197, width))
            self.blocks = nn.Sequential(*(Block() for _ in range(depth)))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

        @shapecheck
        def forward(self, images: Float[Tensor, "b 3 224 224"]) -> Float[Tensor, "b 1000"]:
            x = self.patches(images).flatten(2).transpose(1, 2)
            x = torch.cat((self.first.expand(x.shape[0], -1, -1), x), dim=1) + self.position
            x = self.blocks(x)
            return self.head(self.norm(x)[:, 0])

    model = ViT()
    images, targets = torch.randn(batch, 3, 224, 224), torch.randint(1000, (batch,))
    return training(model, lambda: F.cross_entropy(model(images), targets))


def training(model: nn.Module, loss: Callable[[], Tensor]) -> Step:
    """Return a step of training; it leaves no gradient."""
    kind = torch.empty(0).device.type

    def step() -> None:
        with torch.autocast(kind, torch.bfloat16):
            found = loss()
        found.backward()
        model.zero_grad()

    return step


MODELS: dict[str, tuple[Callable[[int, bool], Step], int]] = {
    "ResNet-50": (resnet, 64),
    "ViT-S": (vit, 128),
    "decoder": (decoder, 8),
}


@dataclass
class Costs:
    """Of one variant: seconds of its steps in order, and bytes."""

    seconds: list[float] = field(default_factory=list)
    peak: int = 0

    @property
    def warm(self) -> float:
        """The median of what isn't the first step."""
        return statistics.median(self.seconds[1:])


def made(mode: str, device: str, make: Callable[[], Step]) -> Step:
    """Make a model and its data on a device while `SHAPECHECK` says how much is checked."""
    os.environ["SHAPECHECK"] = mode
    try:
        with torch.device(device):
            return make()
    finally:
        del os.environ["SHAPECHECK"]


def measured(step: Step, costs: Costs, on_cuda: bool) -> None:
    """Run one step and add what it cost."""
    before = 0
    if on_cuda:
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    step()
    if on_cuda:
        torch.cuda.synchronize()
        costs.peak = max(costs.peak, torch.cuda.max_memory_allocated() - before)
    costs.seconds.append(time.perf_counter() - start)


def compared(make: Callable[[], Step], steps: int, device: str) -> None:
    """Print the costs of one model in each mode."""
    unmeasured = made("off", device, make)
    for _ in range(3):
        unmeasured()
    del unmeasured
    gc.collect()
    variants = {mode: made(mode, device, make) for mode in MODES}
    costs = {mode: Costs() for mode in MODES}
    order = list(MODES)
    for _ in range(steps + 1):
        for mode in order:
            measured(variants[mode], costs[mode], device.startswith("cuda"))
        order.append(order.pop(0))
    off = costs["off"]
    for mode, found in costs.items():
        ratios = [a / b for a, b in zip(found.seconds[1:], off.seconds[1:], strict=True)]
        print(
            f"  {mode:10}{found.seconds[0] * 1e3:10.1f}{found.seconds[0] / off.seconds[0]:7.2f}x"
            f"{found.warm * 1e3:10.2f}{statistics.median(ratios):8.3f}x"
            f"{found.peak / 2**20:10.1f}{found.peak / max(off.peak, 1):8.3f}x"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--small", action="store_true", help="small models, to try this out")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    name = torch.cuda.get_device_name() if chosen.device.startswith("cuda") else "CPU"
    print(f"Steps of training on {name}, torch {torch.__version__}")
    print(f"  {'':10}{'first, ms':>10}{'':8}{'step, ms':>10}{'':9}{'peak, MiB':>10}")
    for title, (make, batch) in MODELS.items():
        for size in (2,) if chosen.small else (batch, 1):
            print(f"{title}, batch {size}")
            steps = chosen.steps if size == batch else 3 * chosen.steps  # they are short
            compared(partial(make, size, chosen.small), steps, chosen.device)


if __name__ == "__main__":
    main()
