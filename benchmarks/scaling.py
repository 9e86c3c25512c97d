"""How time and memory of the analysis grow: with what stands in a program, and with an edit of it.

    python benchmarks/scaling.py [--check]

Each program is analysed at three sizes, each the double of the one before, in a process of its own.
What is printed is CPU seconds, MiB on top of what an empty program takes, and the power of the size
with which each grows from the first to the last; for edits, the CPU milliseconds of one edit of one
body, the median of twenty. `--check` fails where twice the size takes more than three times as
long, or an edit more than twice as long in four times the program.
"""

from __future__ import annotations

import argparse
import math
import resource
import statistics
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from shapecheck.analysis import Options, Source, analyze_module  # noqa: E402
from shapecheck.engine import Engine  # noqa: E402

T = TypeVar("T")
R = TypeVar("R")

HEAD = "import torch\nfrom torch import Tensor\nfrom shapecheck import Float\n\n\n"
TARGET = 3.0


def straight(lines: int) -> str:
    """Return one function of so many lines without branches, and an error in the last one."""
    kinds = (
        "    x = x @ w",
        "    y = torch.relu(x)",
        "    x = x + y.mean(dim=-1, keepdim=True)",
        "    z{} = torch.cat([x, y], dim=0)[:, :4]",
    )
    body = [kinds[line % len(kinds)].format(line % 100) for line in range(lines)]
    head = 'def long(x: Float[Tensor, "b d"], w: Float[Tensor, "d d"]) -> Float[Tensor, "b d"]:'
    return "\n".join([*HEAD.splitlines(), head, *body, "    return x.mT", ""])


def branching(lines: int) -> str:
    """Return one function of so many lines, a third of them conditions."""
    body = [
        f"    if flags[{line}]:\n        x = x * 2\n    y{line % 50} = x + 1"
        for line in range(lines // 3)
    ]
    head = 'def long(x: Float[Tensor, "b d"], flags: list[bool]) -> Float[Tensor, "b d"]:'
    return "\n".join([*HEAD.splitlines(), head, *body, "    return x", ""])


def loops(lines: int) -> str:
    """Return one function of so many lines, a half of them loops."""
    body = ["    for _ in range(n):\n        x = torch.cat([x, x])" for _ in range(lines // 2)]
    head = 'def long(x: Float[Tensor, "b d"], n: int) -> Tensor:'
    return "\n".join([*HEAD.splitlines(), head, *body, "    return x", ""])


def chain(length: int, calls: int = 1) -> str:
    """Return functions without annotations, each of which calls the next so many times."""
    functions = [
        f"def f{i}(x):\n    return {' + '.join([f'f{i + 1}(x + 1)'] * calls)}"
        for i in range(length)
    ]
    last = f"def f{length}(x):\n    return x * 2"
    script = "f0(torch.zeros(2, 3))"
    return HEAD + "\n\n\n".join([*functions, last, script]) + "\n"


def functions(count: int) -> str:
    """Return so many annotated functions, each of which calls one without annotations."""
    one = (
        "def helper{0}(x, n):\n    y = torch.cat([x, x], dim=-1)\n    return y[:, :n]\n\n\n"
        'def f{0}(x: Float[Tensor, "b d"]) -> Float[Tensor, "b 4"]:\n'
        "    z = helper{0}(x, 4)\n    return torch.relu(z) + 1\n\n\n"
    )
    return HEAD + "".join(one.format(at) for at in range(count // 2))


def classes(count: int) -> str:
    """Return so many modules of torch, each of which has the one before."""
    one = (
        "class Net{0}(nn.Module):\n    def __init__(self, dim):\n        super().__init__()\n"
        "        self.up = nn.Linear(dim, 4 * dim)\n        self.down = nn.Linear(4 * dim, dim)\n"
        "        self.before = {1}\n\n    def forward(self, x):\n"
        "        return self.down(self.up(x)) + x\n\n\n"
    )
    made = (f"Net{at - 1}(8)" if at % 5 else "None" for at in range(count))
    return f"{HEAD}from torch import nn\n\n\n" + "".join(map(one.format, range(count), made))


class Folder:
    """Modules of twenty functions, each of which imports one of the module before."""

    def __init__(self, functions: int) -> None:
        self.sources = {}
        for at in range(functions // 20):
            text = HEAD
            if at:
                text += f"from m{at - 1} import f0 as before\n\n\n"
            for number in range(20):
                body = "before(x)" if at and not number else "x.relu()"
                text += f"def f{number}(x):\n    return {body}\n\n\n"
            text += 'def main(x: Float[Tensor, "b d"]) -> Float[Tensor, "b d"]:\n    return f0(x)\n'
            self.put(f"m{at}", text)

    def put(self, name: str, text: str) -> None:
        """Give a module a text."""
        self.sources[name] = Source(name, f"{name}.py", text)

    def source(self, module: str) -> Source | None:
        """Return a module."""
        return self.sources.get(module)

    def version(self, module: str) -> str | None:
        """Return what is another text for another text of a module."""
        source = self.source(module)
        return source and source.text


def edits(functions: int) -> float:
    """Return the CPU milliseconds of one edit of one body in a program of so many functions."""
    files = Folder(functions)
    engine = Engine(files, Options(), stays=True)
    for name in files.sources:
        engine.check(name)
    name = f"m{functions // 40}"
    text, taken = files.sources[name].text, []
    for at in range(20):
        start = time.process_time()
        files.put(name, text.replace("x.relu()", f"x.relu() + {at}", 1))
        engine.renew([name])
        for one in files.sources:
            engine.check(one)
        taken.append(1000 * (time.process_time() - start))
    return statistics.median(taken)


class Nothing:
    """A host that has no other module."""

    def source(self, module: str) -> None:
        """There is none."""


def costs(text: str) -> tuple[float, float]:
    """Return the CPU seconds of one analysis, and the most MiB that the process has had."""
    start = time.process_time()
    analyze_module(Source("long", "long.py", text), Nothing(), Options())
    taken = time.process_time() - start
    return taken, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


PROGRAMS: dict[str, tuple[Callable[[int], str], tuple[int, ...]]] = {
    "straight lines": (straight, (1250, 2500, 5000)),
    "branches": (branching, (1250, 2500, 5000)),
    "loops": (loops, (500, 1000, 2000)),
    "chain of calls": (chain, (50, 100, 200)),
    "chain that branches": (lambda n: chain(n, 2), (50, 100, 200)),
    "functions": (functions, (500, 1000, 2000)),
    "classes": (classes, (250, 500, 1000)),
}
EDITED = (500, 1000, 2000)


def main() -> int:
    """Measure and print; with `--check`, fail where the growth is more than linear."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    costs(straight(10))
    worst = 0.0
    for name, (program, sizes) in PROGRAMS.items():
        _, empty = _apart(costs, HEAD)
        found = [_apart(costs, program(size)) for size in sizes]
        taken = [max(cpu, 1e-9) for cpu, _ in found]
        memory = [max(most - empty, 0.1) for _, most in found]
        worst = max(worst, taken[-1] / taken[-2])
        shown = "  ".join(
            f"{n}: {t:5.2f} s {m:5.1f} MiB" for n, t, m in zip(sizes, taken, memory, strict=True)
        )
        print(f"{name:20} {shown}   n^{_power(taken):.2f} CPU, n^{_power(memory):.2f} memory")
    taken = [_apart(edits, size) for size in EDITED]
    shown = "  ".join(f"{n}: {t:5.1f} ms" for n, t in zip(EDITED, taken, strict=True))
    print(f"{'an edit':20} {shown}   n^{_power(taken):.2f}")
    return int(options.check and (worst > TARGET or taken[-1] > 2 * taken[0]))


def _apart(work: Callable[[T], R], given: T) -> R:
    """Return what a process of its own gives, so that each begins with as much memory."""
    with get_context("fork").Pool(1) as pool:
        return pool.apply(work, (given,))


def _power(costs: list[float]) -> float:
    """Return the power of the size with which costs grow, over two doublings."""
    return math.log2(costs[-1] / costs[0]) / 2


if __name__ == "__main__":
    sys.exit(main())
