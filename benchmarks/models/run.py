"""Runs models that nobody here wrote, with names and without, and says what differs.

    python benchmarks/models/run.py FAMILY ... [--only WORD ...] [--most N] [--jobs N]
                                    [--json PATH] [--device D]

FAMILY is transformers, timm, torchvision or vit_pytorch, each of which has to be installed. Its
models are made small and at random, as far as they can be. Each is called and differentiated twice
without names: where that gives the same, once more with the names of what it is given, `batch`,
`time`, `height`. What it gives, its gradients, what it raises and its warnings must be the same
then. Two traces, of other sizes, say which axes keep a name of the input's, and whether any gets
another one where sizes are others. The ratio is that of the processor time of a call, with names
and without, warm.

The exit status is 1 where the names change anything.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gc
import json
import multiprocessing
import os
import statistics
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import torch
from families import ANOTHER, FAMILIES, FIRST, OTHERS, Inputs, Model, Sizes, axes_of, inputs_of
from torch import Tensor, nn
from torch.utils import _pytree as pytree

import shapecheck
from shapecheck.runtime.tracing.model import Trace
from shapecheck.runtime.tracing.records import OpRecord, TensorRecord

ROUNDS: Final = 5
LONGEST: Final = 60.0
"""Seconds that a model may take."""


@dataclass(slots=True)
class Outcome:
    """What came of a model.

    `skipped` is why it was left out, `differs` what the names changed. Of `axes` that follow an
    input's size, `kept` have a name; `renamed` are the ops some of whose names go by sizes, `lost`
    those that drop a name that what they were given had. `ratio` is of processor time.
    """

    name: str
    skipped: str = ""
    differs: list[str] = field(default_factory=list)
    axes: int = 0
    kept: int = 0
    renamed: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    ratio: float = 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Plain)
    parser.add_argument("families", nargs="+", choices=FAMILIES, metavar="FAMILY")
    parser.add_argument("--only", nargs="+", default=(), help="models with one of these words")
    parser.add_argument("--most", type=int, help="no more models than these of each family")
    parser.add_argument("--json", type=Path, help="write what came of each model there")
    parser.add_argument("--seconds", type=float, help="begin with no model of a family after these")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1, help="models that run at once")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # what cuBLAS needs to be deterministic
    failed, told = False, {}
    for family in arguments.families:
        models = [
            model
            for model in FAMILIES[family]()
            if not arguments.only or any(word in model.name for word in arguments.only)
        ]
        chosen = models[: arguments.most]
        outcomes = []
        for outcome in each(chosen, arguments.device, arguments.jobs, arguments.seconds):
            outcomes.append(outcome)
            say(outcome)
        order = {model.name: at for at, model in enumerate(chosen)}
        outcomes.sort(key=lambda outcome: order[outcome.name])
        summarize(family, outcomes)
        failed |= any(outcome.differs for outcome in outcomes)
        told[family] = list(map(plainly, outcomes))
        if arguments.json is not None:
            arguments.json.write_text(json.dumps(told, indent=1))
    return int(failed)


def plainly(outcome: Outcome) -> dict[str, Any]:
    """Return what came of a model as JSON has it."""
    return {one.name: getattr(outcome, one.name) for one in dataclasses.fields(outcome)}


class _Plain(argparse.RawDescriptionHelpFormatter):
    """Keeps the description as it is written."""


def say(outcome: Outcome) -> None:
    if outcome.skipped:
        print(f"{outcome.name}: skipped, {outcome.skipped}", flush=True)
        return
    share = f"{100 * outcome.kept / outcome.axes:.0f} %" if outcome.axes else "none"
    print(f"{outcome.name}: {share} of {outcome.axes} axes, {outcome.ratio:.2f}x", flush=True)
    for line in outcome.differs:
        print(f"  DIFFERS: {line}", flush=True)
    for told, ops in (("named by sizes", outcome.renamed), ("dropped", outcome.lost)):
        if ops:
            print(f"  {told}: {', '.join(f'{n} {c}' for n, c in ops.most_common(6))}", flush=True)


def summarize(family: str, outcomes: Sequence[Outcome]) -> None:
    run = [outcome for outcome in outcomes if not outcome.skipped]
    print(f"\n{family}: {len(run)} models ran, {len(outcomes) - len(run)} were skipped")
    if not run:
        return
    axes, kept = sum(one.axes for one in run), sum(one.kept for one in run)
    ratios = sorted(one.ratio for one in run)
    print(f"  changed by names: {sum(1 for one in run if one.differs)}")
    print(f"  named by sizes: {sum(1 for one in run if one.renamed)}")
    print(f"  axes of an input's size: {axes:,}, with a name {100 * kept / max(axes, 1):.1f} %")
    below = sum(1 for one in run if one.kept < 0.95 * one.axes)
    print(f"  models with less than 95 %: {below}")
    print(
        f"  processor time of a warm call: median {statistics.median(ratios):.2f}x, "
        f"a tenth more than {ratios[len(ratios) * 9 // 10]:.2f}x, most {ratios[-1]:.2f}x"
    )
    for told, ops in (
        ("dropped most by", sum((one.lost for one in run), Counter[str]())),
        ("named by sizes most by", sum((one.renamed for one in run), Counter[str]())),
        ("skipped for", Counter(one.skipped for one in outcomes if one.skipped)),
    ):
        if ops:
            print(f"  {told}: {', '.join(f'{n} ({c})' for n, c in ops.most_common(8))}")
    print(flush=True)


def each(
    models: Sequence[Model], device: str, processes: int, seconds: float | None = None
) -> Iterator[Outcome]:
    """Yield what comes of models, each in a process of its own; begin with none after so long."""
    until = time.monotonic() + (float("inf") if seconds is None else seconds)
    context = multiprocessing.get_context("fork" if device == "cpu" else "spawn")
    waiting, running = list(reversed(models)), list[_Running]()
    try:
        while waiting or running:
            if time.monotonic() > until:
                waiting.clear()
            while waiting and len(running) < processes:
                running.append(_Running(waiting.pop(), device, context))
            for one in [*running]:
                outcome = one.outcome()
                if outcome is not None:
                    running.remove(one)
                    yield outcome
            time.sleep(0.01)
    finally:
        for one in running:
            one.process.kill()


class _Running:
    """A process in which a model runs."""

    def __init__(self, model: Model, device: str, context: Any) -> None:
        self.model = model
        self.until = time.monotonic() + LONGEST
        self.connection, there = context.Pipe(duplex=False)
        self.process = context.Process(target=_run, args=(model, device, there))
        self.process.start()
        there.close()

    def outcome(self) -> Outcome | None:
        """Return what came of it; None while it runs."""
        if self.connection.poll():
            with contextlib.suppress(EOFError):
                found: Outcome = self.connection.recv()
                self.process.join()
                return found
        if self.process.is_alive() and time.monotonic() < self.until:
            return None
        late = self.process.is_alive()
        self.process.kill()
        self.process.join()
        return Outcome(self.model.name, "too long" if late else "its process ended")


def _run(model: Model, device: str, connection: Connection) -> None:
    torch.set_num_threads(1)
    if device != "cpu":  # whose kernels may add up in any order
        torch.use_deterministic_algorithms(True, warn_only=True)
    gc.disable()
    connection.send(judged(model, device))


def judged(model: Model, device: str) -> Outcome:
    """Run a model with names and without."""
    outcome = Outcome(model.name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            torch.manual_seed(0)
            made = model.make().to(device)
        except Exception as error:  # noqa: BLE001 - it is told
            outcome.skipped = f"can't be made: {type(error).__name__}"
            return outcome
        given = next((one for one in inputs_of(made, FIRST, device) if runs(made, one)), None)
    if given is None:
        outcome.skipped = "no inputs fit"
        return outcome
    annotations = axes_of(given)
    plain, again = step(made, given), step(made, given)
    if plain.differences(again):
        outcome.skipped = "not the same twice"
        return outcome
    with shapecheck.watch(made, annotations):
        outcome.differs = plain.differences(step(made, given))
    if not outcome.differs:
        try:
            look(made, annotations, given, device, outcome)
        except Exception as error:  # noqa: BLE001 - it is told
            outcome.differs = [f"a trace raises {type(error).__name__}: {_short(error)}"]
        outcome.ratio = ratio(made, annotations, given)
    return outcome


@dataclass(slots=True)
class Step:
    """What a call gives: tensors, how they are held, gradients, what it raises, its warnings."""

    tensors: list[Tensor] = field(default_factory=list)
    holding: str = ""
    gradients: dict[str, Tensor] = field(default_factory=dict)
    raised: str = ""
    warned: Counter[str] = field(default_factory=Counter)

    def differences(self, other: Step) -> list[str]:
        found = []
        if self.raised != other.raised:
            found.append(
                f"raises {other.raised or 'nothing'} in place of {self.raised or 'nothing'}"
            )
        elif self.holding != other.holding:
            found.append(f"gives {other.holding[:200]} in place of {self.holding[:200]}")
        elif not all(map(_same, self.tensors, other.tensors)):
            found.append("gives other numbers")
        elif self.gradients.keys() != other.gradients.keys():
            found.append("other parameters get gradients")
        elif not all(_same(one, other.gradients[name]) for name, one in self.gradients.items()):
            found.append("gives other gradients")
        if self.warned != other.warned:
            found.append(f"warns {other.warned - self.warned or 'less'}")
        return found


def _same(one: Tensor, other: Tensor) -> bool:
    alike = type(one) is type(other) and one.shape == other.shape and one.dtype == other.dtype
    return alike and torch.equal(torch.nan_to_num(one), torch.nan_to_num(other))


def step(model: nn.Module, inputs: Inputs) -> Step:
    """Call a model and differentiate what it gives."""
    found = Step()
    model.zero_grad(set_to_none=True)
    torch.manual_seed(1)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            result = model(**inputs)
            leaves, holding = pytree.tree_flatten(_plain(result))
            found.tensors = [one for one in leaves if isinstance(one, Tensor)]
            others = [one for one in leaves if not isinstance(one, Tensor)]
            found.holding = f"{type(result).__name__} {holding} {_described(others)}"
            loss = [one.float().mean() for one in found.tensors if one.requires_grad]
            if loss:
                torch.stack(loss).sum().backward()
            named = model.named_parameters()
            found.gradients = {n: p.grad.clone() for n, p in named if p.grad is not None}
            found.tensors = [one.detach().clone() for one in found.tensors]
        except Exception as error:  # noqa: BLE001 - it is told
            found.raised = f"{type(error).__name__}: {_short(error)}"
    found.warned = Counter(f"{one.category.__name__}: {one.message}"[:200] for one in warned)
    return found


def _plain(result: Any) -> Any:
    return dict(result) if isinstance(result, Mapping) else result


def _described(others: Sequence[Any]) -> str:
    numbers = (int, float, str, bool, type(None))
    return str([one if isinstance(one, numbers) else type(one).__name__ for one in others])


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def look(
    model: nn.Module,
    annotations: Mapping[str, str],
    given: Inputs,
    device: str,
    outcome: Outcome,
) -> None:
    """See which axes keep names, and whether they are the same for other sizes.

    An axis follows an input where it has another size for one of other sizes, but for those whose
    size goes by the numbers in the input. Where the model then takes another way, those count that
    have the size of an input's.
    """
    model.eval()
    first = list(traced(model, annotations, given).ops())
    third = next(compared(model, annotations, given, device, first, (ANOTHER,)), first)
    second = next(compared(model, annotations, given, device, first, OTHERS), None)
    for op, other, alike in zip(first, second or first, third, strict=True):
        operands = [
            axis
            for tensors in zip(op.operands, other.operands, alike.operands, strict=False)
            for axis in following(*tensors)
        ]
        for left, right, same in zip(op.results, other.results, alike.results, strict=False):
            names = following(left, right, same)
            outcome.axes += len(names)
            outcome.kept += len(names) - names.count(None)
            if None in names and None not in operands:
                outcome.lost[f"{op.name} {op.file.rpartition('/')[2]}:{op.line}"] += 1
            if any(a != b for a, b in zip(left.names, right.names, strict=False) if settled(a, b)):
                outcome.renamed[f"{op.name} {op.file.rpartition('/')[2]}:{op.line}"] += 1


def settled(*names: str | None) -> bool:
    """Whether these are names that leave no number open: `<_>` may be another one for each size."""
    return all(name is not None and "<_>" not in name for name in names)


def following(one: TensorRecord, other: TensorRecord, same: TensorRecord) -> list[str | None]:
    """Return the names of the axes that follow an input.

    The other tensor is of inputs of other sizes, the last of the same sizes, with other numbers.
    """
    sizes = (FIRST.batch, FIRST.time)
    return [
        name
        for name, size, another, alike in zip(
            one.names, one.shape, other.shape, same.shape, strict=False
        )
        if size == alike and (size in sizes if one is other else size != another)
    ]


def compared(
    model: nn.Module,
    annotations: Mapping[str, str],
    given: Inputs,
    device: str,
    first: Sequence[OpRecord],
    others: Sequence[Sizes],
) -> Iterator[list[OpRecord]]:
    """Yield the ops for other inputs, where these are the same ops."""
    for sizes in others:
        for other in inputs_of(model, sizes, device):
            if other.keys() == given.keys() and runs(model, other):
                found = list(traced(model, annotations, other).ops())
                if [op.function for op in found] == [op.function for op in first]:
                    yield found


def traced(model: nn.Module, annotations: Mapping[str, str], given: Inputs) -> Trace:
    torch.manual_seed(1)
    with shapecheck.watch(model, annotations), torch.no_grad():
        return shapecheck.trace(model)(**given)


def ratio(model: nn.Module, annotations: Mapping[str, str], given: Inputs) -> float:
    """Return the processor time of a warm call with names, by that of one without."""
    model.eval()
    watch = shapecheck.watch(model, annotations)
    watch.remove()
    with torch.no_grad():
        pairs = []
        for _ in range(ROUNDS + 1):
            without = _seconds(lambda: model(**given))
            with shapecheck.watch(model, annotations):
                model(**given)
                pairs.append((_seconds(lambda: model(**given)), without))
    return min(one for one, _ in pairs[1:]) / min(one for _, one in pairs[1:])


def _seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.process_time() - start


def runs(model: nn.Module, inputs: Inputs) -> bool:
    """Whether a model takes these inputs, without names."""
    torch.manual_seed(1)
    try:
        with torch.no_grad():
            model(**inputs)
    except Exception:  # noqa: BLE001 - others are tried
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
