"""Writes docs/messages.md: the programs, what is said of them here, and what was measured.

PYTHONPATH=benchmarks python -m messages.page
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from .cases import Bug, bugs, groups, measured
from .ours import analysed, ran

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "messages.md"
NOTHING: Final = "nothing"
HEAD: Final = Path(__file__).with_name("head.md")

Row = Callable[[Bug], str]


def code(text: str) -> str:
    """Return one line as code that can stand in a table."""
    fence = "``" if "`" in text else "`"
    pad = " " if fence == "``" else ""
    return f"{fence}{pad}{text}{pad}{fence}".replace("|", "\\|")


def cell(lines: Sequence[str]) -> str:
    """Return lines as one cell of a table."""
    return "<br>".join(code(line) for line in lines if line)


def statically(bug: Bug) -> str:
    """Return the cell of what the analysis says."""
    return cell(analysed(bug.ours.wrong)) or NOTHING


def at_run_time(bug: Bug) -> str:
    """Return the cell of what `@shapecheck` says, where that isn't what the analysis does."""
    found = ran(bug, checked=True)
    if found.error is None:
        return NOTHING
    if not found.ours:
        return "nothing before the op's own error"
    first = found.error.splitlines()[0].strip()
    same = any(first in line for line in analysed(bug.ours.wrong))
    also = ran(bug, checked=True, equal=True)
    where = "" if also.ours else ", not where all sizes are equal"
    return f"{'the same' if same else code(first)}{where}"


def by_torch(bug: Bug) -> str:
    """Return the cell of what torch raises."""
    said = measured()["said"][bug.title]["torch"]
    if said["wrong"] is None:
        return NOTHING
    where = "" if said["equal"] else ", nothing where all sizes are equal"
    return f"{cell([line.strip() for line in said['wrong'].splitlines()])}{where}"


def by(tool: str) -> Row:
    """Return what gives the cell of another tool."""

    def row(bug: Bug) -> str:
        said = measured()["said"][bug.title][tool]
        lines = [line for one in said["wrong"] for line in one.splitlines()]
        also = " (of the corrected program too)" if said["wrong"] and said["right"] else ""
        note = bug.pyrefly_note if tool == "pyrefly" and not lines else None
        return (cell(lines) or (f"{NOTHING}: {note}" if note else NOTHING)) + also

    return row


ROWS: Final[Mapping[str, Row]] = {
    "shapecheck": statically,
    "at run time": at_run_time,
    "torch": by_torch,
    "torchtyc": by("torchtyc"),
    "pyrefly": by("pyrefly"),
}


def section(number: int, bug: Bug) -> str:
    """Return what the page says of one mistake."""
    rows = "\n".join(f"| {name} | {row(bug)} |" for name, row in ROWS.items())
    return (
        f"### {number}. {bug.title}\n\n```python\n{bug.ours.wrong}```\n\n| | |\n|---|---|\n{rows}\n"
    )


def found_by(bug: Bug) -> dict[str, bool]:
    """Return who says anything of a mistake."""
    said = measured()["said"][bug.title]
    return {
        "shapecheck": bool(analysed(bug.ours.wrong)),
        "at run time": ran(bug, checked=True).ours,
        "torch": said["torch"]["wrong"] is not None,
        "torch, equal sizes": said["torch"]["equal"] is not None,
        "torchtyc": bool(said["torchtyc"]["wrong"]),
        "pyrefly": bool(said["pyrefly"]["wrong"]),
    }


def head() -> str:
    """Return the page's beginning: how it was made, and who says how much."""
    found = {bug.title: found_by(bug) for bug in bugs()}
    columns = next(iter(found.values()))
    tally = (str(sum(one[name] for one in found.values())) for name in columns)
    unsaid = [f'"{title}"' for title, one in found.items() if not any(one.values())]
    also = {tool: false_alarms(tool) for tool in ("torchtyc", "pyrefly")}
    right = "Of the corrected programs " + "; ".join(
        f"{tool} reports {', '.join(names) or 'none'}" for tool, names in also.items()
    )
    return HEAD.read_text("utf-8").format(
        count=len(found),
        measured="; ".join(
            f"{', '.join(measured()['versions'][tool])} on {date}"
            for tool, date in measured()["dates"].items()
        ),
        right=f"{right}; shapecheck reports none.",
        tally=" | ".join(("said something", *tally)),
        unsaid=f" Nobody says anything of {' and '.join(unsaid)}." if unsaid else "",
    )


def false_alarms(tool: str) -> list[str]:
    """Return the corrected programs that a tool reports."""
    said = measured()["said"]
    return [f'"{bug.title}"' for bug in bugs() if said[bug.title][tool]["right"]]


def page() -> str:
    """Return the whole page."""
    parts, number = [head()], 0
    for group in groups():
        parts.append(f"## {group.title}\n")
        for bug in group.bugs:
            number += 1
            parts.append(section(number, bug))
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
