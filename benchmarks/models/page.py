"""Writes results.md from what came of models, as `run.py --json` has written it.

    python benchmarks/models/page.py JSON ... [--said TEXT]

`--said` is what the models ran on. Of a model that is in several files the last counts.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

PAGE: Final = Path(__file__).with_name("results.md")
HEADS: Final = (
    "family", "models", "left out", "changed", "names by sizes", "axes", "with a name",
    "models below 95 %", "median", "a tenth above", "most",
)  # fmt: skip
Told = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("json", nargs="+", type=Path)
    parser.add_argument("--said", default="")
    arguments = parser.parse_args()
    families: dict[str, dict[str, Told]] = {}
    for path in arguments.json:
        for family, outcomes in json.loads(path.read_text()).items():
            families.setdefault(family, {}).update((one["name"], one) for one in outcomes)
    found = {family: [*outcomes.values()] for family, outcomes in families.items()}
    PAGE.write_text("\n".join(page(found, arguments.said)) + "\n")


def page(families: dict[str, list[Told]], said: str) -> Iterator[str]:
    """Yield the lines of the page."""
    yield "# What names do to models that nobody here wrote\n"
    yield f"Written by `page.py` from what `make models` found. {said}\n".rstrip() + "\n"
    yield (
        "`changed` are the models whose results, gradients, exceptions or warnings are others with "
        "names, `names by sizes` those where an axis is called something else for inputs of other "
        "sizes. `axes` are those of all results of ops whose sizes follow an input's. The last "
        "three columns are the processor time of a warm call, by that of one without names.\n"
    )
    yield from table(HEADS, [row(family, told) for family, told in families.items()])
    for family, told in families.items():
        ran = [one for one in told if not one["skipped"]]
        yield f"\n## {family}\n"
        changed = [one for one in ran if one["differs"]]
        for one in changed:
            yield f"- {one['name']}: {one['differs'][0]}"
        yield "" if changed else "No model is changed.\n"
        below = [one for one in ran if one["kept"] < 0.95 * one["axes"]]
        rows = [(one["name"], share(one), most(one["lost"])) for one in below]
        yield f"Below 95 %: {len(below)}, with the ops that drop a name first.\n"
        yield from table(("model", "axes with a name", "dropped by"), rows)
        renamed = [(one["name"], most(one["renamed"])) for one in ran if one["renamed"]]
        if renamed:
            yield (
                "\nNames that are others for other sizes. None is false: axes without names are "
                "their sizes in what merges them, as in `(batch 2 2)`, and nothing is said of an "
                "axis of which one is left.\n"
            )
            yield from table(("model", "ops"), renamed)


def row(family: str, told: Sequence[Told]) -> tuple[object, ...]:
    ran = [one for one in told if not one["skipped"]]
    ratios = sorted(one["ratio"] for one in ran if one["ratio"])
    axes, kept = (sum(one[part] for one in ran) for part in ("axes", "kept"))
    return (
        *(family, len(ran), len(told) - len(ran)),
        sum(1 for one in ran if one["differs"]),
        sum(1 for one in ran if one["renamed"]),
        *(f"{axes:,}", f"{100 * kept / max(axes, 1):.1f} %"),
        sum(1 for one in ran if one["kept"] < 0.95 * one["axes"]),
        f"{statistics.median(ratios):.2f}x",
        f"{ratios[len(ratios) * 9 // 10]:.2f}x",
        f"{ratios[-1]:.2f}x",
    )


def share(told: Told) -> str:
    return f"{100 * told['kept'] / max(told['axes'], 1):.0f} % of {told['axes']}"


def most(ops: dict[str, int]) -> str:
    largest = sorted(ops.items(), key=lambda item: -item[1])[:3]
    return ", ".join(f"{op} ({count})" for op, count in largest) or "-"


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "|" + " --- |" * len(heads)
    for cells in rows:
        yield f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main()
