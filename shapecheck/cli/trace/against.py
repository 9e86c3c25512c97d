"""What differs between two traces: ops that came or went, and shapes that are others."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final, Literal, TextIO

from rich.text import Text

from shapecheck.cli._commands import CommandError
from shapecheck.cli._console import console_on
from shapecheck.markup import escaped
from shapecheck.runtime.tracing.model import Trace
from shapecheck.runtime.tracing.records import memory_text

_COLORS: Final = {"+": "green", "-": "red", "~": "yellow"}
_CLASSES: Final = {"+": "came", "-": "gone", "~": "other"}
_NONE: Final = "no op differs"


@dataclass(frozen=True, slots=True)
class Step:
    """An op in a trace: in which module, its name, and what it gives in words."""

    module: str
    name: str
    gives: str

    def __str__(self) -> str:
        return f"{self.module}: {self.name}" if self.module else self.name


@dataclass(frozen=True, slots=True)
class Run:
    """What two traces are compared by."""

    steps: tuple[Step, ...]
    parameters: int
    allocated: int


def run_of(trace: Trace) -> Run:
    """Return what a trace is compared by."""
    return _run(trace.as_dict())


def read(path: Path) -> Run:
    """Return that of a trace which `--output json` has written; raises `CommandError`."""
    try:
        found = json.loads(path.read_text("utf-8"))
        return _run(found)
    except OSError as error:
        raise CommandError(f"can't read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise CommandError(
            f"{path} is no trace: `shapecheck trace ... --output json > {path}` writes one"
        ) from None


def _run(record: dict[str, Any]) -> Run:
    ops = list(_ops(record))
    allocated = sum(one["allocated"] for op in ops for one in op["results"])
    return Run(tuple(map(_step, ops)), record["parameters"], allocated)


def _ops(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for call in record["calls"]:
        if "calls" in call:
            yield from _ops(call)
        else:
            yield call


def _step(op: dict[str, Any]) -> Step:
    gives = ", ".join(map(_shape, op["results"]))
    error = str(op.get("error", "")).partition("\n")[0]
    return Step(op["module"], op["name"], f"fails: {error}" if error else gives)


def _shape(tensor: dict[str, Any]) -> str:
    pairs = zip(tensor["names"], tensor["shape"], strict=True)
    sizes = " ".join(str(size) if name is None else f"{name}={size}" for name, size in pairs)
    return f"({sizes}) {tensor['dtype']}"


@dataclass(frozen=True, slots=True)
class Difference:
    """An op that has come (`+`), gone (`-`), or gives something else (`~`), and what it gives."""

    mark: Literal["+", "-", "~"]
    step: Step
    gives: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs from one run to another, and how much there is of all in both."""

    differences: tuple[Difference, ...]
    totals: str


def compared(before: Run, after: Run) -> Comparison:
    """Compare two runs."""
    totals = (
        f"parameters {before.parameters:,} -> {after.parameters:,}; results "
        f"{memory_text(before.allocated)} -> {memory_text(after.allocated)}; ops "
        f"{len(before.steps):,} -> {len(after.steps):,}"
    )
    return Comparison(tuple(_differences(before.steps, after.steps)), totals)


def print_comparison(comparison: Comparison, stream: TextIO, *, color: bool) -> None:
    """Print a line for each op that differs, and how much there is of all in both."""
    console = console_on(stream, color=color)
    for one in comparison.differences:
        console.print(Text(f"{one.mark} {one.step}  {one.gives}", _COLORS[one.mark]))
    if not comparison.differences:
        console.print(_NONE)
    console.print(comparison.totals, highlight=False)


def comparison_markup(comparison: Comparison) -> str:
    """Return the same as a section of a page."""
    rows = [
        f'<li class="{_CLASSES[one.mark]}"><b>{one.mark}</b> {escaped(str(one.step))} '
        f"<code>{escaped(one.gives)}</code></li>"
        for one in comparison.differences
    ]
    listed = f'<ul class="differences" tabindex="0">{"".join(rows)}</ul>'
    every = listed if rows else f"<p>{_NONE}</p>"
    return f"<h2>What differs</h2>\n{every}\n<p>{escaped(comparison.totals)}</p>\n"


def _differences(before: Sequence[Step], after: Sequence[Step]) -> Iterator[Difference]:
    keys = [[(one.module, one.name) for one in steps] for steps in (before, after)]
    for what, i, k, j, m in SequenceMatcher(a=keys[0], b=keys[1], autojunk=False).get_opcodes():
        if what == "equal":
            for old, new in zip(before[i:k], after[j:m], strict=True):
                if old.gives != new.gives:
                    yield Difference("~", new, f"{old.gives} -> {new.gives}")
            continue
        yield from (Difference("-", one, one.gives) for one in before[i:k])
        yield from (Difference("+", one, one.gives) for one in after[j:m])
