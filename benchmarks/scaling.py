"""How the time of the analysis grows: with the lines of one function, with the length of a chain.

    python benchmarks/scaling.py [--check]

`--check` fails where twice the lines take more than three times as long.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from shapecheck.analysis import Options, Source, analyze_module  # noqa: E402

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


class Nothing:
    """A host that has no other module."""

    def source(self, module: str) -> None:
        """There is none."""


def seconds(text: str) -> tuple[float, int]:
    """Return the time of one analysis and the number of things said."""
    start = time.perf_counter()
    found = analyze_module(Source("long", "long.py", text), Nothing(), Options())
    return time.perf_counter() - start, len(found)


PROGRAMS: dict[str, tuple[Callable[[int], str], tuple[int, ...]]] = {
    "straight lines": (straight, (1250, 2500, 5000)),
    "branches": (branching, (1250, 2500, 5000)),
    "loops": (loops, (500, 1000, 2000)),
    "chain of calls": (chain, (50, 100, 200)),
    "chain that branches": (lambda n: chain(n, 2), (50, 100, 200)),
}


def main() -> int:
    """Measure and print; with `--check`, fail where the growth is more than linear."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    seconds(straight(10))
    worst = 0.0
    for name, (program, sizes) in PROGRAMS.items():
        taken = [seconds(program(size)) for size in sizes]
        growth = taken[-1][0] / max(taken[-2][0], 1e-9)
        worst = max(worst, growth)
        shown = "  ".join(f"{n}: {t:.2f} s" for n, (t, _) in zip(sizes, taken, strict=True))
        print(f"{name:20} {shown}   twice as much takes {growth:.1f} times as long")
    return int(options.check and worst > TARGET)


if __name__ == "__main__":
    sys.exit(main())
