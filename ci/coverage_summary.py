"""Writes, as Markdown, of how many tensors the shape is known, and what a change does to that.

    python ci/coverage_summary.py head.json base.json

Both are what `shapecheck coverage --output json` prints; the second, of the base branch, may be
missing. Of the files stand there those that have changed, the largest loss first.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

MOST_FILES: Final = 20
NOTHING: Final[dict[str, int]] = {"tensors": 0, "known": 0, "functions": 0, "annotated": 0}


def share(counts: dict[str, Any]) -> str:
    """Return of how many tensors the shape is known: `67 % (4 of 6)`."""
    known, tensors = counts["known"], counts["tensors"]
    return f"{100 * known // tensors} % ({known} of {tensors})" if tensors else "no tensors"


def difference(head: dict[str, Any], base: dict[str, Any]) -> float:
    """Return by how many percentage points the share has grown."""
    here, there = (
        100 * one["known"] / one["tensors"] if one["tensors"] else 0.0 for one in (head, base)
    )
    return here - there


def summary(head: dict[str, Any], base: dict[str, Any] | None) -> str:
    """Return the summary of a job."""
    total = head["total"]
    lines = [
        "### Shapes",
        "",
        f"The shapes of {share(total)} tensor expressions are known; "
        f"{total['annotated']} of {total['functions']} functions with tensors say theirs.",
    ]
    if base is None:
        return "\n".join(lines)
    change = difference(total, base["total"])
    lines += [
        "",
        f"On the base branch: {share(base['total'])}. The change is {change:+.1f} points.",
    ]
    changed = [
        (difference(here, there), name, here, there)
        for name in head["files"].keys() | base["files"].keys()
        for here, there in [(of(head, name), of(base, name))]
        if share(here) != share(there)
    ]
    if changed:
        lines += ["", "| file | base | here | |", "|---|---|---|---|"]
    for grown, name, here, there in sorted(changed, key=lambda one: one[:2])[:MOST_FILES]:
        lines.append(f"| `{name}` | {share(there)} | {share(here)} | {grown:+.1f} |")
    if len(changed) > MOST_FILES:
        lines += ["", f"and {len(changed) - MOST_FILES} more files"]
    return "\n".join(lines)


def of(measured: dict[str, Any], name: str) -> dict[str, Any]:
    """Return what was measured of a file, nothing where there is none."""
    found: dict[str, Any] = measured["files"].get(name, NOTHING)
    return found


def read(path: Path) -> dict[str, Any] | None:
    """Return what was measured, None where that didn't come to its end."""
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found


def main(head: str, base: str) -> int:
    """Print the summary."""
    measured = read(Path(head))
    if measured is None:
        print("### Shapes\n\n`shapecheck coverage` couldn't read the code.")
        return 0
    print(summary(measured, read(Path(base))))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
