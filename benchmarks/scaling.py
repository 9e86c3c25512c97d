"""How time and memory of the analysis grow: with what stands in a program, and with an edit of it.

    python benchmarks/scaling.py [--check] [--pathological [NAME ...]]

Each program is analysed at three sizes, each the double of the one before, in a process of its own.
What is printed is CPU seconds, MiB on top of what an empty program takes, and the power of the size
with which each grows from the first to the last; for edits, the CPU milliseconds of one edit of one
body, the median of twenty. `--check` fails where twice the size takes more than three times as
long, or an edit more than twice as long in four times the program.

`--pathological`: the programs of `pathological.py`, or those whose names hold one of the words
given, through `check --only-shapes`, `coverage` and `annotate`. Marked is what grows faster than
with the size to the power of 1.1, takes more than 10 s or more than 1 GB, or ends in a traceback.
"""

from __future__ import annotations

import argparse
import gc
import math
import os
import resource
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

import pathological  # noqa: E402

from shapecheck.analysis import Options, Source, analyze_module  # noqa: E402
from shapecheck.cli import main as command  # noqa: E402
from shapecheck.engine import Engine  # noqa: E402

T = TypeVar("T")
R = TypeVar("R")

HEAD = "import torch\nfrom torch import Tensor\nfrom shapecheck import Float\n\n\n"
TARGET = 3.0
COMMANDS = (("check", "--only-shapes"), ("coverage",), ("annotate",))
MOST_POWER, MOST_SECONDS, MOST_MEMORY = 1.1, 10.0, 1024.0
PATIENCE = 30
"""After so many seconds of a processor a command is ended."""
LEAST_SECONDS, LEAST_MEMORY = 0.25, 16.0
"""What is less counts as much: of that, most is what any program takes."""


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
    parser.add_argument("--pathological", nargs="*", metavar="NAME")
    options = parser.parse_args()
    if options.pathological is not None:
        return hard(options.pathological)
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


def hard(words: Sequence[str]) -> int:
    """Measure the commands on programs that nobody writes; return 1 where one takes too much."""
    chosen = [
        one for one in pathological.PROGRAMS if not words or any(word in one for word in words)
    ]
    wrong = 0
    for line in COMMANDS:
        run(line, pathological.HEAD + "x = torch.zeros(2)\n", warm=True)
    gc.freeze()
    for line in COMMANDS:
        empty = run(line, pathological.HEAD)
        for name in chosen:
            program, least = pathological.PROGRAMS[name]
            sizes = (least, 2 * least, 4 * least)
            found = [run(line, program(size)) for size in sizes]
            taken = [max(one[0] - empty[0], LEAST_SECONDS) for one in found]
            memory = [max(one[1] - empty[1], LEAST_MEMORY) for one in found]
            powers = _power(taken), _power(memory)
            is_wrong = max(powers) > MOST_POWER or any(one[2] for one in found)
            is_wrong |= max(taken) > MOST_SECONDS or max(memory) > MOST_MEMORY
            wrong += is_wrong
            shown = "  ".join(
                f"{n}: {one[0] - empty[0]:5.2f} s {one[1] - empty[1]:5.0f} MiB"
                for n, one in zip(sizes, found, strict=True)
            )
            mark = "  <-" if is_wrong else ""
            print(
                f"{line[0]:9} {name:32} {shown}   "
                f"n^{powers[0]:.2f} CPU, n^{powers[1]:.2f} memory{mark}",
                flush=True,
            )
    print(f"{wrong} of {len(chosen) * len(COMMANDS)} take too much")
    return int(wrong > 0)


def run(line: Sequence[str], text: str, warm: bool = False) -> tuple[float, float, bool]:
    """Run a command on a program; return CPU seconds, MiB, and whether it fails inside.

    It runs in a process of its own, and with `warm` in this one, which then has loaded all of it.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "program.py").write_text(text, "utf-8")
        said = Path(folder, "said")
        process = 0 if warm else os.fork()
        if process:
            _, status, used = os.wait4(process, 0)
            text = said.read_text("utf-8", errors="replace")
            is_wrong = os.WIFSIGNALED(status) or "Traceback" in text or "internal error" in text
            return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, is_wrong
        here, kept = Path.cwd(), (os.dup(1), os.dup(2))
        output = os.open(said, os.O_CREAT | os.O_WRONLY)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(folder)
        if not warm:
            resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))
        try:
            command([*line, "program.py"])
        except BaseException:  # noqa: BLE001  # it is told
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        if not warm:
            os._exit(0)
        os.chdir(here)
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)
        return 0.0, 0.0, False


def _apart(work: Callable[[T], R], given: T) -> R:
    """Return what a process of its own gives, so that each begins with as much memory."""
    with get_context("fork").Pool(1) as pool:
        return pool.apply(work, (given,))


def _power(costs: list[float]) -> float:
    """Return the power of the size with which costs grow, over two doublings."""
    return math.log2(costs[-1] / costs[0]) / 2


if __name__ == "__main__":
    sys.exit(main())
