"""Runs ten million ops under `@shapecheck` and prints the memory of the process on the way.

    python benchmarks/soak.py [OPS]

Fails if the second half of the run needs more memory than the first.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import torch
from torch import Tensor

from shapecheck import Float, shapecheck

OPS = 10_000_000
PARTS = 20
ALLOWED = 4  # MiB, which the allocator may take or give back


def resident() -> float:
    """Return the MiB that the process holds in memory."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * 4096 / 2**20


@shapecheck
def run(x: Float[Tensor, "n d"], rounds: int) -> Float[Tensor, "n d"]:
    """Do ten ops a round, in one call that lasts as long as training does."""
    for index in range(rounds):
        y = x.T.reshape(-1)[: index % 8 + 1]
        x = (x * 0.5 + y.sum()).clamp(-1, 1)
        x = step(torch.cat([x[:1], x[1:]]))
    return x


@shapecheck
def step(x: Float[Tensor, "rows columns"]) -> Float[Tensor, "rows columns"]:
    """Do one op in a call of its own."""
    return x + 1


def main() -> None:
    """Run, print, compare."""
    ops = int(sys.argv[1]) if len(sys.argv) > 1 else OPS
    torch.set_num_threads(1)
    x, held, start = torch.rand(3, 4), [], time.perf_counter()
    run(x, 1000)
    for part in range(PARTS):
        x = run(x, ops // PARTS // 10)
        held.append(resident())
        done = (part + 1) * ops // PARTS
        seconds = time.perf_counter() - start
        print(f"{done:>12,} ops {held[-1]:8.1f} MiB {seconds / done * 1e6:6.2f} us an op")
    grown = held[-1] - held[PARTS // 2]
    print(f"{grown:+.1f} MiB in the second half")
    sys.exit(grown > ALLOWED)


if __name__ == "__main__":
    main()
