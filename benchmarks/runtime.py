"""What the run time costs: a call's boundary, and each op inside of a decorated function.

    python benchmarks/runtime.py [--check] [--json FILE]

All variants take turns, many times over, in one run; the medians are compared. `--check` fails
where a target is missed: the boundary adds at most 0.3x of what jaxtyping with beartype adds, and
an op in full mode adds at most 3x of what an empty torch function mode adds, and an operation by
name at most 5 microseconds to what it costs by position.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import beartype
import jaxtyping
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from shapecheck import Float, named, shapecheck

BOUNDARY_TARGET = 0.3
OP_TARGET = 3.0
NAMED_TARGET = 5.0
FLOATS = frozenset((torch.float16, torch.bfloat16, torch.float32, torch.float64))


class EmptyMode(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def with_mode(mode: str, function: Callable[..., Any]) -> Callable[..., Any]:
    os.environ["SHAPECHECK"] = mode
    try:
        return shapecheck(function)
    finally:
        del os.environ["SHAPECHECK"]


def call_variants() -> dict[str, Callable[[], object]]:
    """One function of three tensors and a result, checked in each way."""
    x, w, y = torch.randn(2, 3, 4), torch.randn(4, 5), torch.randn(2, 5)
    out = torch.randn(2, 3, 5)

    def bare(
        x: Float[Tensor, "b n d"], w: Float[Tensor, "d m"], y: Float[Tensor, "b m"]
    ) -> Float[Tensor, "b n m"]:
        return out

    def by_hand(x: Tensor, w: Tensor, y: Tensor) -> Tensor:
        b, n, d = x.shape
        d1, m = w.shape
        b1, m1 = y.shape
        if d1 != d or b1 != b or m1 != m:
            raise TypeError
        if x.dtype not in FLOATS or w.dtype not in FLOATS or y.dtype not in FLOATS:
            raise TypeError
        result = bare(x, w, y)
        b2, n2, m2 = result.shape
        if b2 != b or n2 != n or m2 != m or result.dtype not in FLOATS:
            raise TypeError
        return result

    def arithmetic(
        x: Float[Tensor, "b n d"], w: Float[Tensor, "d n+2"], y: Float[Tensor, "b m"]
    ) -> Float[Tensor, "b n m"]:
        return out

    def variadic(
        x: Float[Tensor, "*b n d"], w: Float[Tensor, "d m"], y: Float[Tensor, "*b m"]
    ) -> Float[Tensor, "*b n m"]:
        return out

    @jaxtyping.jaxtyped(typechecker=beartype.beartype)
    def theirs(
        x: jaxtyping.Float[Tensor, "b n d"],
        w: jaxtyping.Float[Tensor, "d m"],
        y: jaxtyping.Float[Tensor, "b m"],
    ) -> jaxtyping.Float[Tensor, "b n m"]:
        return out

    functions = {
        "bare": bare,
        "by hand": by_hand,
        "boundary": with_mode("boundary", bare),
        "boundary, n+2": with_mode("boundary", arithmetic),
        "boundary, *b": with_mode("boundary", variadic),
        "full": with_mode("full", bare),
        "jaxtyping+beartype": theirs,
    }
    return {name: (lambda f=f: f(x, w, y)) for name, f in functions.items()}


OPS: dict[str, Callable[[Tensor, Tensor], object]] = {
    "add": lambda x, y: x + y,
    "matmul": lambda x, y: x @ y,
    "reshape": lambda x, y: x.reshape(2, 2, 4),
    "softmax": lambda x, y: F.softmax(x, dim=-1),
    "linear": F.linear,
    "getitem": lambda x, y: x[:, None],
    "cat": lambda x, y: torch.cat((x, y), dim=1),
}


def op_variants(op: Callable[[Tensor, Tensor], object], n: int) -> dict[str, Callable[[], object]]:
    """One op `n` times over: plain, under an empty mode, and in a decorated function."""
    x, y = torch.randn(4, 4), torch.randn(4, 4)

    def loop(x: Tensor, y: Tensor) -> None:
        for _ in range(n):
            op(x, y)

    def annotated(x: Float[Tensor, "a b"], y: Float[Tensor, "a b"]) -> None:
        for _ in range(n):
            op(x, y)

    def transposed(x: Float[Tensor, "a b"], y: Float[Tensor, "b c"]) -> None:
        for _ in range(n):
            op(x, y)

    def weight(x: Float[Tensor, "a b"], y: Float[Tensor, "c b"]) -> None:
        for _ in range(n):
            op(x, y)

    fitting = {"matmul": transposed, "linear": weight}
    name = next(name for name, one in OPS.items() if one is op)
    full = with_mode("full", fitting.get(name, annotated))

    def empty() -> None:
        with EmptyMode():
            loop(x, y)

    return {"bare": lambda: loop(x, y), "empty mode": empty, "full": lambda: full(x, y)}


Pair = tuple[Callable[[Tensor, Tensor], object], Callable[[Tensor, Tensor], object]]
NAMED: dict[str, Pair] = {
    "sum": (lambda x, y: named.sum(x, "b"), lambda x, y: torch.sum(x, 1)),
    "softmax": (lambda x, y: named.softmax(x, "b"), lambda x, y: torch.softmax(x, 1)),
    "order": (lambda x, y: named.order(x, "b a"), lambda x, y: x.permute(1, 0)),
    "dot": (lambda x, y: named.dot(x, y, "b"), lambda x, y: torch.einsum("ab,bc->ac", x, y)),
    "get": (lambda x, y: named.get(x, "b", 0), lambda x, y: x.select(1, 0)),
    "stack": (lambda x, y: named.stack(x, f="a b"), lambda x, y: x.flatten()),
    "split": (lambda x, y: named.split(x, b="p q", p=2), lambda x, y: x.unflatten(1, (2, 2))),
    "rename": (lambda x, y: named.rename(x, c="b"), lambda x, y: x.view_as(x)),
    "cat": (lambda x, y: named.cat((x, x), "b"), lambda x, y: torch.cat((x, x), 1)),
}


def named_variants(name: str, n: int) -> dict[str, Callable[[], object]]:
    """One operation `n` times over, by name and by position, in a decorated function and not."""
    x, y = named(torch.randn(4, 4), "a b"), named(torch.randn(4, 4), "b c")
    variants: dict[str, Callable[[], object]] = {}
    for op, told in zip(NAMED[name], (", name", ""), strict=True):

        def loop(x: Float[Tensor, "a b"], y: Float[Tensor, "b c"], op: Any = op) -> None:
            for _ in range(n):
                op(x, y)

        inside = with_mode("full", loop)
        variants[f"outside{told}"] = lambda loop=loop: loop(x, y)
        variants[f"inside{told}"] = lambda inside=inside: inside(x, y)
    return variants


def microseconds(
    variants: dict[str, Callable[[], object]], rounds: int, repeat: int, inner: int = 1
) -> dict[str, float]:
    """Return the median time of each variant; they take turns."""
    times: dict[str, list[float]] = {name: [] for name in variants}
    for run in variants.values():
        run()
    for _ in range(rounds):
        for name, run in variants.items():
            start = time.perf_counter()
            for _ in range(repeat):
                run()
            times[name].append((time.perf_counter() - start) / (repeat * inner) * 1e6)
    return {name: statistics.median(taken) for name, taken in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="fail where a target is missed")
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    parser.add_argument("--rounds", type=int, default=200)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    missed: list[str] = []

    calls = microseconds(call_variants(), chosen.rounds, 40)
    theirs = calls["jaxtyping+beartype"] - calls["bare"]
    print("One call, three tensors and a result (microseconds)")
    print(f"  {'':22}{'per call':>10}{'added':>10}{'of jaxtyping+beartype':>24}")
    for name, taken in calls.items():
        added = taken - calls["bare"]
        print(f"  {name:22}{taken:10.2f}{added:10.2f}{added / theirs:23.2f}x")
    share = (calls["boundary"] - calls["bare"]) / theirs
    if share > BOUNDARY_TARGET:
        missed.append(f"the boundary adds {share:.2f}x of jaxtyping+beartype")

    print("\nOne op on 4x4 tensors (microseconds)")
    heads = f"{'bare':>8}{'empty mode':>12}{'full':>8}{'empty adds':>12}{'full adds':>11}"
    print(f"  {'':10}{heads}")
    ops: dict[str, dict[str, float]] = {}
    ratios: list[float] = []
    n = 50
    for name, op in OPS.items():
        taken = ops[name] = microseconds(op_variants(op, n), chosen.rounds, 1, n)
        empty, full = taken["empty mode"] - taken["bare"], taken["full"] - taken["bare"]
        ratios.append(full / empty)
        print(
            f"  {name:10}{taken['bare']:8.2f}{taken['empty mode']:12.2f}{taken['full']:8.2f}"
            f"{empty:12.2f}{full:11.2f}{full / empty:7.2f}x"
        )
    ratio = statistics.median(ratios)
    print(f"  median: full mode adds {ratio:.2f}x of what an empty mode adds")
    if ratio > OP_TARGET:
        missed.append(f"full mode adds {ratio:.2f}x of an empty mode")

    print("\nOne operation by name, and by position, on 4x4 tensors (microseconds)")
    print(f"  {'':10}{'position':>10}{'name':>8}{'adds':>8}{'inside':>10}{'name':>8}{'adds':>8}")
    by_name: dict[str, dict[str, float]] = {}
    costs: list[float] = []
    for name in NAMED:
        taken = by_name[name] = microseconds(named_variants(name, n), chosen.rounds, 1, n)
        outside, inside = (
            taken[f"{where}, name"] - taken[where] for where in ("outside", "inside")
        )
        costs += [outside, inside]
        print(
            f"  {name:10}{taken['outside']:10.2f}{taken['outside, name']:8.2f}{outside:8.2f}"
            f"{taken['inside']:10.2f}{taken['inside, name']:8.2f}{inside:8.2f}"
        )
    cost = statistics.median(costs)
    print(f"  median: a name adds {cost:.2f} microseconds")
    if cost > NAMED_TARGET:
        missed.append(f"an operation by name adds {cost:.2f} microseconds")

    if chosen.json:
        report = {"calls": calls, "ops": ops, "boundary_share": share, "op_ratio": ratio}
        report["named"] = by_name
        chosen.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    for text in missed:
        print(f"missed: {text}", file=sys.stderr)
    return 1 if missed and chosen.check else 0


if __name__ == "__main__":
    raise SystemExit(main())
