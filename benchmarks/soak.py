"""Runs millions of calls and ops under `@shapecheck`, and prints the memory on the way.

    python benchmarks/soak.py [--calls N] [--ops N] [--only KIND ...]

Calls with results, calls whose errors are caught, calls in eight threads at once, calls of sizes
that hardly ever repeat (a tenth as many: what is new takes longer), ops in one long call, and calls
that leave a state behind while names are carried outside, a kind after the other. Fails if the
second half of any needs more memory than the first.
"""

from __future__ import annotations

import argparse
import gc
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import torch
from torch import Tensor

from shapecheck import Float, ShapeError, named, names, shapecheck

CALLS = 5_000_000
OPS = 10_000_000
NEW = 10  # of so many calls, one is made with sizes that are new
PARTS = 20
THREADS = 8
ALLOWED = 4  # MiB, which the allocator may take or give back


def resident() -> float:
    """Return the MiB that the process holds in memory."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * 4096 / 2**20


@shapecheck
def step(x: Float[Tensor, "rows columns"]) -> Float[Tensor, "rows columns"]:
    """Do one op in a call of its own."""
    return x + 1


@shapecheck
def joined(
    x: Float[Tensor, "n d"], y: Float[Tensor, "m d"]
) -> tuple[Float[Tensor, "n+m d"], Float[Tensor, "n m"]]:
    """Return two tensors that are made of two."""
    return torch.cat((x, y)), x @ y.T


def results(calls: int) -> None:
    """Make calls, and keep the last hundred results."""
    x, kept = torch.rand(3, 4), list[Tensor]()
    for _ in range(calls):
        kept.append(step(x))
        del kept[:-100]


def errors(calls: int) -> None:
    """Make calls, and catch the error of each hundredth one, which has a wrong argument."""
    x, wrong = torch.rand(3, 4), torch.rand(3)
    for index in range(calls):
        with suppress(ShapeError):
            step(x if index % 100 else wrong)


def threads(calls: int) -> None:
    """Make calls in eight threads, which are new ones each time."""
    running = [threading.Thread(target=results, args=(calls // THREADS,)) for _ in range(THREADS)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


_sizes = torch.Generator().manual_seed(0)


def sizes(calls: int) -> None:
    """Make calls with two tensors of one of a hundred thousand pairs of sizes."""
    drawn = torch.randint(1, 320, (calls, 2), generator=_sizes).tolist()
    one, other = torch.rand(320, 2), torch.rand(320, 2)
    for n, m in drawn:
        joined(one[:n], other[:m])


@shapecheck
def run(x: Float[Tensor, "n d"], rounds: int) -> Float[Tensor, "n d"]:
    """Do ten ops a round, in one call that lasts as long as training does."""
    for index in range(rounds):
        y = x.T.reshape(-1)[: index % 8 + 1]
        x = (x * 0.5 + y.sum()).clamp(-1, 1)
        x = step(torch.cat([x[:1], x[1:]]))
    return x


def ops(count: int) -> None:
    """Do ops in a call."""
    run(torch.rand(3, 4), count // 10)


class Cell:
    """Keeps its state from call to call."""

    state: Tensor | None = None

    @shapecheck
    def __call__(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Add the state, which becomes the result."""
        before = self.state
        self.state = x if before is None or len(before) != len(x) else (before + x).tanh()
        return self.state * 1


def outside(calls: int) -> None:
    """Make calls while names are carried outside, of ten sizes, and keep a hundred results."""
    cell, kept = Cell(), list[Tensor]()
    with names():
        for index in range(calls):
            kept.append(cell(named(torch.ones(2 + index // 100 % 10, 3), "b d")))
            del kept[:-100]


KINDS: dict[str, Callable[[int], None]] = {
    "results": results,
    "errors": errors,
    "threads": threads,
    "sizes": sizes,
    "ops": ops,
    "outside": outside,
}


def grown(kind: str, count: int) -> float:
    """Run one kind, print; return by how many MiB the second half has grown."""
    held, start = list[float](), time.perf_counter()
    for part in range(PARTS):
        KINDS[kind](count // PARTS)
        gc.collect()
        held.append(resident())
        done = (part + 1) * (count // PARTS)
        seconds = time.perf_counter() - start
        print(f"{kind:8}{done:>12,} {held[-1]:8.1f} MiB {seconds / done * 1e6:7.2f} us each")
    found = held[-1] - held[PARTS // 2 - 1]
    print(f"{kind:8}{found:+.1f} MiB in the second half", flush=True)
    return found


def main() -> None:
    """Run, print, compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--ops", type=int, default=OPS)
    parser.add_argument("--only", nargs="+", choices=KINDS, default=[*KINDS])
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    counts = {"ops": chosen.ops, "sizes": chosen.calls // NEW}
    found = [grown(kind, counts.get(kind, chosen.calls)) for kind in chosen.only]
    sys.exit(max(found) > ALLOWED)


if __name__ == "__main__":
    main()
