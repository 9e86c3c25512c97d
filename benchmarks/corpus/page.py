"""Writes the page that says what was found in each member of the corpus: results.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from run import Member

HEADS = (
    "repository", "commit", "lines", "reports", "bug", "annotation", "ours", "open", "mended",
    "mypy's", "added", "removed",
)  # fmt: skip
INTRO = """\
# What was found in the corpus

Written by `make corpus`; what a column means is in [README.md](README.md). Every report was read in
the source and judged, with a sentence each in [triage.toml](triage.toml). The last three columns
are of the last run with mypy, which may be an older one, and empty where there was none.

"""
Judged = dict[str, tuple[str, str]]


def page(
    members: Iterable[Member],
    results: dict[str, Any],
    judged: Judged,
    key: Callable[[str, str], str],
) -> str:
    """Return the page: the members that use a dialect of shape annotations, then the others."""
    parts = [INTRO]
    for title, annotated in (("With shape annotations", True), ("Without", False)):
        chosen = [m for m in members if m.annotated is annotated and m.name in results]
        rows = [_row(member, results[member.name], judged, key) for member in chosen]
        if not rows:
            continue
        parts += [f"## {title}: {len(rows)}\n\n", _table(rows), "\n"]
    return "".join(parts).rstrip() + "\n"


def _row(
    member: Member, result: dict[str, Any], judged: Judged, key: Callable[[str, str], str]
) -> list[str]:
    reports = [key(member.name, one) for one in (*result["reports"], *result["mypy_only"])]
    verdicts = [judged.get(report, ("open", ""))[0] for report in reports]
    gone = [
        entry
        for entry, (verdict, _) in judged.items()
        if entry.split("/")[0] == member.name and verdict == "ours" and entry not in reports
    ]
    ran = result["plugin"] > 0
    of_mypy = result["errors"], len(result["added"]), len(result["removed"])
    return [
        f"[{member.name}]({member.url})",
        member.commit[:10],
        str(result["lines"]),
        str(len(reports)),
        *(str(verdicts.count(verdict)) for verdict in ("bug", "annotation", "ours", "open")),
        str(len(gone)),
        *(str(n) if ran else "" for n in of_mypy),
    ]


def _table(rows: list[list[str]]) -> str:
    total = [
        "all",
        "",
        *(str(sum(int(row[at] or 0) for row in rows)) for at in range(2, len(HEADS))),
    ]
    aligned = ["---" if at < 2 else "---:" for at in range(len(HEADS))]
    return "".join(f"| {' | '.join(row)} |\n" for row in (HEADS, aligned, *rows, total))
