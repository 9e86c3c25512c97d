"""The documented examples of the systems that shapecheck comes from, and what is found in them.

Each program of `tests/systems/programs` is analysed and executed, and so is each of its wrong
variants. The exit status is 0 only if the programs are clean and both sides find every variant.
The second table has a row for each example.

    python benchmarks/origins.py [--markdown]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from agreement import table  # noqa: E402
from systems.programs import (  # noqa: E402
    SYSTEMS,
    examples,
    running,
    source,
    static,
    variants,
)

COLUMNS = (
    "examples",
    "static false alarms",
    "run-time false alarms",
    "wrong variants",
    "static",
    "run time",
    "both",
    "same line",
)


def row(system: str) -> tuple[list[int], list[str]]:
    """Return the numbers of a system, and what wasn't found of its variants."""
    missed: list[str] = []
    found = {"static": 0, "running": 0, "both": 0, "line": 0}
    for variant in variants(system):
        said, ended = static(variant.text), running(variant.text)
        found["static"] += bool(said)
        found["running"] += ended is not None
        found["both"] += bool(said) and ended is not None
        found["line"] += ended is not None and ended.line in [line for line, _ in said]
        if not said or ended is None:
            side = "statically" if not said else "at run time"
            missed.append(f"{variant.id} isn't found {side}: {variant.wrong}")
    alarms = [len(static(source(system))), int(running(source(system)) is not None)]
    return [len(examples(system)), *alarms, len(variants(system)), *found.values()], missed


EACH = ("clean", "right", "wrong variants", "static", "run time")


def each(system: str) -> dict[str, list[str]]:
    """Return the rows of a system's examples: what is said of each, and of its wrong variants."""
    said = [line for line, _ in static(source(system))]
    right = running(source(system)) is None
    found: dict[str, list[str]] = {}
    for name, lines in examples(system).items():
        own = [variant for variant in variants(system) if variant.line in lines]
        counts = (
            len(own),
            sum(bool(static(variant.text)) for variant in own),
            sum(running(variant.text) is not None for variant in own),
        )
        clean = not any(line in lines for line in said)
        found[f"{system}: `{name}`"] = [*("yes" if ok else "no" for ok in (clean, right))]
        found[f"{system}: `{name}`"] += map(str, counts)
    return found


def rows() -> tuple[dict[str, list[int]], list[str]]:
    """Return the table's rows by system, and all that wasn't found."""
    found: dict[str, list[int]] = {}
    missed: list[str] = []
    for system in SYSTEMS:
        found[system], left = row(system)
        missed += left
    found["all"] = [sum(column) for column in zip(*found.values(), strict=True)]
    return found, missed


def printed(found: dict[str, list[int]], markdown: bool = False) -> list[str]:
    """Return the lines of both tables."""
    by_example = {name: row for system in SYSTEMS for name, row in each(system).items()}
    return [
        *table(found, markdown, COLUMNS, "system"),
        "",
        *table(by_example, markdown, EACH, "example"),
    ]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    options = parser.parse_args()
    found, missed = rows()
    print("\n".join(printed(found, options.markdown)))
    print("\n".join(missed))
    return int(bool(missed) or any(found["all"][1:3]))


if __name__ == "__main__":
    sys.exit(main())
