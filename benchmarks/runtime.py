"""What the run time costs: a call's boundary, ops in full mode and by name, a training step.

    python benchmarks/runtime.py [--check] [--json FILE] [--rounds N] [--steps N]

All variants take turns, many times over, in one run. What is compared is the least processor time
of each: whatever else the machine does only adds to it. Training steps are too long to be left
alone even once: there it is the median of what the rounds say, each by itself. `--check` fails
where one of the `TARGETS` is missed. dltype is measured where it is installed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import operator
import os
import runpy
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import beartype
import jaxtyping
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from shapecheck import Float, ShapeError, named, shapecheck
from shapecheck import names as carried_names
from shapecheck.runtime.naming.lookup import Lookup

try:
    import dltype
except ImportError:  # not one of the development dependencies
    dltype = None

TARGETS = {
    "boundary": 0.1,  # of what jaxtyping with beartype adds, three tensors and a result
    "forms": 2.0,  # of the boundary: arithmetic, groups, {self.n}
    "failing": 1000.0,  # microseconds
    "op": 2.0,  # of what an empty mode adds, each op
    "op, added": 4.0,  # microseconds
    "ops, outside": 1.1,  # where names are carried there, of those inside of a decorated function
    "calls, outside": 1.3,  # that leave a state behind, likewise
    "by name": 5.0,  # microseconds that an operation by name adds to one by position, the median
    "step, full": 1.15,  # of the time without shapecheck
    "step, boundary": 1.02,
}
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


PARAMETERS = {
    1: (("x", "b n d"),),
    3: (("x", "b n d"), ("w", "d m"), ("y", "b m")),
    8: (
        *(("x", "b n d"), ("w", "d m"), ("y", "b m"), ("u", "n m"), ("v", "b d")),
        *(("s", "n d"), ("t", "m n"), ("z", "b n")),
    ),
}
SIZES = {"b": 2, "n": 3, "d": 4, "m": 5}


def source(count: int, checker: str) -> str:
    """Return a function of some tensors and a result, annotated, or checked by hand."""
    parameters = PARAMETERS[count]
    names = ", ".join(name for name, _ in parameters)
    result = "b n d" if count == 1 else "b n m"
    if checker == "beartype":
        annotated = ", ".join(f"{name}: Tensor" for name, _ in parameters)
        return f"def call({annotated}) -> Tensor: return OUT"
    if checker != "by hand":
        annotated = ", ".join(f"{name}: {hint(text, checker)}" for name, text in parameters)
        return f"def call({annotated}) -> {hint(result, checker)}: return OUT"
    lines = [f"def call({names}):"]
    known: set[str] = set()
    for name, text in (*parameters, ("OUT", result)):
        axes = text.split()
        taken = [axis if axis not in known else f"{name}_{axis}" for axis in axes]
        lines.append(f"    {', '.join(taken)} = {name}.shape")
        again = [f"{name}_{axis} != {axis}" for axis in axes if axis in known]
        wrong = " or ".join([*again, f"{name}.dtype not in FLOATS"])
        lines.append(f"    if {wrong}: raise TypeError")
        known.update(axes)
    return "\n".join([*lines, "    return OUT"])


def hint(text: str, checker: str) -> str:
    if checker == "dltype":
        return f'Annotated[Tensor, dltype.FloatTensor["{text}"]]'
    return f'{"jaxtyping." if checker == "jaxtyping" else ""}Float[Tensor, "{text}"]'


def call_variants(count: int) -> dict[str, Callable[[], object]]:
    """One function of some tensors and a result, checked in each way."""
    tensors = [torch.randn([SIZES[axis] for axis in text.split()]) for _, text in PARAMETERS[count]]
    out = torch.randn(2, 3, 4 if count == 1 else 5)
    space = {**globals(), "OUT": out, "Annotated": Annotated}

    def made(checker: str) -> Any:
        exec(source(count, checker), space)
        return space["call"]

    functions = {
        "bare": made("shapecheck"),
        "by hand": made("by hand"),
        "boundary": with_mode("boundary", made("shapecheck")),
        "full": with_mode("full", made("shapecheck")),
        "beartype, no shapes": beartype.beartype(made("beartype")),
        "jaxtyping+beartype": jaxtyping.jaxtyped(typechecker=beartype.beartype)(made("jaxtyping")),
    }
    if dltype is not None:
        functions["dltype"] = dltype.dltyped()(made("dltype"))
    return {name: (lambda f=f: f(*tensors)) for name, f in functions.items()}


class Owner:
    m = 5

    def own(
        self, x: Float[Tensor, "b n d"], w: Float[Tensor, "d {self.m}"], y: Float[Tensor, "b m"]
    ) -> Float[Tensor, "b n {self.m}"]:
        return OUT


def arithmetic(
    x: Float[Tensor, "b n d"], w: Float[Tensor, "d n+2"], y: Float[Tensor, "b m"]
) -> Float[Tensor, "b n m"]:
    return OUT


def variadic(
    x: Float[Tensor, "*b n d"], w: Float[Tensor, "d m"], y: Float[Tensor, "*b m"]
) -> Float[Tensor, "*b n m"]:
    return OUT


def plain(
    x: Float[Tensor, "b n d"], w: Float[Tensor, "d m"], y: Float[Tensor, "b m"]
) -> Float[Tensor, "b n m"]:
    return OUT


OUT = torch.randn(2, 3, 5)


def form_variants() -> dict[str, Callable[[], object]]:
    """One call with three tensors, in more demanding forms of annotation; and one that fails."""
    x, w, y = torch.randn(2, 3, 4), torch.randn(4, 5), torch.randn(2, 5)
    owner = Owner()
    own = with_mode("boundary", Owner.own)
    checked = with_mode("boundary", plain)
    sums, groups = with_mode("boundary", arithmetic), with_mode("boundary", variadic)

    def failing() -> None:
        with contextlib.suppress(ShapeError):
            checked(x, w, x)

    return {
        "bare": lambda: plain(x, w, y),
        "names": lambda: checked(x, w, y),
        "n+2": lambda: sums(x, w, y),
        "*b": lambda: groups(x, w, y),
        "{self.m}": lambda: own(owner, x, w, y),
        "failing call": failing,
    }


LINEAR, NORM = nn.Linear(4, 4), nn.LayerNorm(4)
OPS: dict[str, Callable[[Tensor, Tensor], object]] = {
    "add": lambda x, y: x + y,
    "mul by 2.0": lambda x, y: x * 2.0,
    "relu": lambda x, y: F.relu(x),
    "matmul": lambda x, y: x @ y,
    "reshape": lambda x, y: x.reshape(2, 2, 4),
    "softmax": lambda x, y: F.softmax(x, dim=-1),
    "linear": F.linear,
    "x[:, None]": lambda x, y: x[:, None],
    "x[0]": lambda x, y: x[0],
    "cat": lambda x, y: torch.cat((x, y), dim=1),
    "einsum": lambda x, y: torch.einsum("ab,bc->ac", x, y),
    "conv1d": F.conv1d,
    "Linear()": lambda x, y: LINEAR(x),
    "LayerNorm()": lambda x, y: NORM(x),
}
SECOND = {"matmul": "b c", "einsum": "b c", "linear": "c b", "conv1d": "c a 1"}


def op_variants(name: str, n: int) -> dict[str, Callable[[], object]]:
    """One op `n` times over: plain, under an empty mode, and in a decorated function."""
    x, y, op = torch.randn(4, 4), torch.randn(4, 4), OPS[name]
    if name == "conv1d":
        y = y[:, :, None]

    def loop(x: Tensor, y: Tensor) -> None:
        for _ in range(n):
            op(x, y)

    def annotated(x: Tensor, y: Tensor) -> None:
        for _ in range(n):
            op(x, y)

    annotated.__annotations__ = {
        "x": Float[Tensor, "a b"],
        "y": Float[Tensor, SECOND.get(name, "a b")],
    }
    full = with_mode("full", annotated)

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


def outside_variants(n: int) -> dict[str, Callable[[], object]]:
    """A block's ops, and calls of it, `n` times over: where names are carried outside and inside.

    The calls leave a state behind that the next one takes up.
    """
    x, w = named(torch.randn(16, 64), "b d"), named(torch.randn(64, 64), "d e")

    def ops(x: Float[Tensor, "b d"], w: Float[Tensor, "d e"]) -> None:
        for _ in range(n):
            y = torch.relu(x @ w)
            (y - y.mean(1, keepdim=True)).reshape(y.shape[0], 4, -1).transpose(0, 1)

    class Block(nn.Module):
        @shapecheck
        def forward(self, x: Float[Tensor, "b d"], w: Float[Tensor, "d e"]) -> Float[Tensor, "b e"]:
            y = torch.relu(x @ w)
            self.state = torch.tanh(getattr(self, "state", y) + y)
            return self.state * 2

    block, other = Block(), Block()

    def calls(x: Float[Tensor, "b d"], w: Float[Tensor, "d e"], block: nn.Module = block) -> None:
        for _ in range(n):
            block(x, w)

    def carried(function: Callable[..., object], *args: object) -> None:
        with carried_names():
            function(*args)

    inside, inside_calls = with_mode("full", ops), with_mode("full", calls)
    return {
        "ops, inside": lambda: inside(x, w),
        "ops, outside": lambda: carried(ops, x, w),
        "calls, inside": lambda: inside_calls(x, w),
        "calls, outside": lambda: carried(calls, x, w, other),
    }


def step_variants() -> dict[str, Callable[[], object]]:
    """One training step of a GPT in each mode: batch 8, context 256, width 384, 6 layers."""
    variants: dict[str, Callable[[], object]] = {}
    for mode in ("off", "boundary", "full"):
        os.environ["SHAPECHECK"] = mode
        module = runpy.run_path(str(Path(__file__).parents[1] / "examples/gpt.py"))
        del os.environ["SHAPECHECK"]
        config = module["GPTConfig"](
            block_size=256, vocab_size=65, n_layer=6, n_head=6, n_embd=384, bias=False
        )
        model = module["GPT"](config)
        tokens = torch.randint(65, (8, 256))

        def step(model: nn.Module = model, tokens: Tensor = tokens) -> None:
            model.zero_grad()
            model(tokens, tokens)[1].backward()

        variants[mode] = step
    return variants


def in_turns(
    variants: dict[str, Callable[[], object]], rounds: int, repeat: int, inner: int = 1
) -> dict[str, list[float]]:
    """Return the processor time of each variant in each round, in microseconds.

    Each round begins with another variant.
    """
    times: dict[str, list[float]] = {name: [] for name in variants}
    order = list(variants.items())
    for _, run in order:
        run()
    for _ in range(rounds):
        order.append(order.pop(0))
        for name, run in order:
            start = time.process_time()
            for _ in range(repeat):
                run()
            times[name].append((time.process_time() - start) / (repeat * inner) * 1e6)
    return times


def microseconds(
    variants: dict[str, Callable[[], object]], rounds: int, repeat: int, inner: int = 1
) -> dict[str, float]:
    """Return the least processor time of each variant; they take turns."""
    times = in_turns(variants, rounds, repeat, inner)
    return {name: min(taken) for name, taken in times.items()}


def table(title: str, times: dict[str, float], base: str, per: str) -> dict[str, float]:
    """Print what each variant adds to `bare`, as a share of what one of them adds; return that."""
    print(f"\n{title} (microseconds)")
    print(f"  {'':22}{'per call':>10}{'added':>10}{per:>24}")
    whole = times[base] - times["bare"]
    shares = {name: (taken - times["bare"]) / whole for name, taken in times.items()}
    for name, taken in times.items():
        print(f"  {name:22}{taken:10.2f}{taken - times['bare']:10.2f}{shares[name]:23.2f}x")
    return shares


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="fail where a target is missed")
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--steps", type=int, default=15, help="training steps; 0 leaves them out")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    report: dict[str, dict[str, float]] = {}
    found: list[tuple[str, str, float]] = []

    for count in PARAMETERS:
        times = microseconds(call_variants(count), chosen.rounds, 40)
        title = f"One call, {count} tensor{'s' * (count > 1)} and a result"
        shares = table(title, times, "jaxtyping+beartype", "of jaxtyping+beartype")
        report[title] = times
        if count == 3:
            found.append(("boundary", "the boundary, of jaxtyping+beartype", shares["boundary"]))

    report["forms"] = times = microseconds(form_variants(), chosen.rounds, 40)
    shares = table("Forms of annotation, three tensors, the boundary", times, "names", "of names")
    found += [("forms", form, shares[form]) for form in ("n+2", "*b", "{self.m}")]
    found.append(("failing", "a failing call, microseconds", times["failing call"]))

    how = "in Python: there was no C compiler" if Lookup is None else "compiled"
    print(f"\nOne op on 4x4 tensors (microseconds); look-ups are {how}")
    heads = f"{'bare':>8}{'empty mode':>12}{'full':>8}{'empty adds':>12}{'full adds':>11}"
    print(f"  {'':12}{heads}")
    n = 50
    for name in OPS:
        taken = report[name] = microseconds(op_variants(name, n), chosen.rounds, 1, n)
        empty, full = taken["empty mode"] - taken["bare"], taken["full"] - taken["bare"]
        found += [("op", name, full / empty), ("op, added", name, full)]
        print(
            f"  {name:12}{taken['bare']:8.2f}{taken['empty mode']:12.2f}{taken['full']:8.2f}"
            f"{empty:12.2f}{full:11.2f}{full / empty:7.2f}x"
        )

    print("\nOne operation by name, and by position, on 4x4 tensors (microseconds)")
    print(f"  {'':10}{'position':>10}{'name':>8}{'adds':>8}{'inside':>10}{'name':>8}{'adds':>8}")
    costs: list[float] = []
    for name in NAMED:
        taken = report[f"by name: {name}"] = microseconds(
            named_variants(name, n), chosen.rounds, 1, n
        )
        outside, inside = (
            taken[f"{where}, name"] - taken[where] for where in ("outside", "inside")
        )
        costs += [outside, inside]
        print(
            f"  {name:10}{taken['outside']:10.2f}{taken['outside, name']:8.2f}{outside:8.2f}"
            f"{taken['inside']:10.2f}{taken['inside, name']:8.2f}{inside:8.2f}"
        )
    found.append(("by name", "the median, microseconds", statistics.median(costs)))
    print(f"  median: a name adds {statistics.median(costs):.2f} microseconds")

    report["outside"] = times = microseconds(outside_variants(n), chosen.rounds, 1, n)
    print("\nNames outside of calls: five ops, and a call that leaves a state (microseconds)")
    for what in ("ops", "calls"):
        within, without = times[f"{what}, inside"], times[f"{what}, outside"]
        found.append((f"{what}, outside", "of those inside", without / within))
        print(f"  {what:8}inside{within:8.2f}   outside{without:8.2f}{without / within:7.2f}x")

    if chosen.steps:
        steps = in_turns(step_variants(), chosen.steps, 1)
        report["step"] = {mode: min(taken) for mode, taken in steps.items()}
        print("\nA training step of a GPT: batch 8, context 256, width 384, 6 layers (ms)")
        for mode, taken in steps.items():
            ratio = statistics.median(map(operator.truediv, taken, steps["off"]))
            print(f"  {mode:10}{min(taken) / 1000:10.1f}{ratio:9.3f}x")
            if mode != "off":
                found.append((f"step, {mode}", "of the time when off", ratio))

    if chosen.json:
        chosen.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    missed = [one for one in found if one[2] > TARGETS[one[0]]]
    for target, what, value in missed:
        print(f"over the target: {target}, {what}: {value:.3f} > {TARGETS[target]}")
    return 1 if missed and chosen.check else 0


if __name__ == "__main__":
    raise SystemExit(main())
