"""What each side finds of the bugs seeded in the examples, and what only one of them finds.

Every bug is looked for by the analysis, by mypy with the plugin if asked for, and by running the
model with `@shapecheck` on and with it off. The exit status is 0 only if the marks in
`examples/bugs` say the same.

    python benchmarks/agreement.py [--mypy] [--markdown] [MODEL ...]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from seeded_bugs import MODELS, Bug, Ran, analyzed, bugs, errors, run  # noqa: E402

COLUMNS = ("bugs", "static", "run time", "both", "same line", "other error", "torch alone")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found of one bug: by the analysis, with the checks on, and without any."""

    bug: Bug
    said: list[tuple[int, str]]
    ran: Ran
    bare: Ran
    mypy: bool | None

    @property
    def static(self) -> bool:
        """Whether the analysis reports an error."""
        return bool(self.said)

    @property
    def both(self) -> bool:
        """Whether both sides report it with an error of ours."""
        return self.static and self.ran.ours

    @property
    def wrong_marks(self) -> list[str]:
        """Say in what the bug's own file is wrong."""
        bug, found = self.bug, []
        if self.static == bool(bug.static):
            found.append(f"static: {self.said[0][1] if self.said else 'nothing'}")
        if bool(self.ran.error) == bool(bug.runtime):
            found.append(f"runtime: {self.ran.error or 'nothing'}")
        if (bool(self.ran.error) and not self.ran.ours) != bool(bug.other_error):
            found.append(f"other_error: {self.ran.error} {self.ran.text}")
        if bool(self.bare.error) != (bug.seen_by == "torch"):
            found.append(f"seen_by: without checks {self.bare.error or 'nothing'}")
        if self.mypy is not None and self.mypy != self.static:
            found.append(f"mypy {'finds' if self.mypy else 'misses'} it, the analysis not so")
        return found


def judge(models: Sequence[str], mypy: bool) -> list[Verdict]:
    """Look for every bug of the models."""
    chosen = bugs(*models)
    sources = {bug.module: bug.source for bug in chosen}
    with tempfile.TemporaryDirectory(prefix="shapecheck-agreement-") as name:
        folder = Path(name)
        full = run(sources, folder / "full")
        off = run(sources, folder / "off", mode="off")
        by_mypy = found_by_mypy(folder / "full", list(sources)) if mypy else None
    return [
        Verdict(
            bug,
            errors(analyzed(bug.source)),
            full[bug.module],
            off[bug.module],
            None if by_mypy is None else bug.module in by_mypy,
        )
        for bug in chosen
    ]


def found_by_mypy(folder: Path, modules: list[str]) -> set[str]:
    """Return the modules of which mypy with the plugin says something about shapes."""
    config = folder / "mypy.ini"
    config.write_text("[mypy]\nplugins = shapecheck.mypy_plugin\nuntyped_calls_exclude = torch\n")
    options = [f"--config-file={config}", f"--cache-dir={ROOT / '.mypy_cache'}", "--strict"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *(f"{module}.py" for module in modules)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode > 1:
        sys.exit(done.stdout + done.stderr)
    lines = (line for line in done.stdout.splitlines() if ": error:" in line and "[shape" in line)
    return {line.partition(".py:")[0] for line in lines}


def counts(verdicts: list[Verdict]) -> list[int]:
    """Return the numbers of a row of the table."""
    return [
        len(verdicts),
        sum(v.static for v in verdicts),
        sum(v.ran.ours for v in verdicts),
        sum(v.both for v in verdicts),
        sum(v.both and v.ran.line in [line for line, _ in v.said] for v in verdicts),
        sum(bool(v.ran.error) and not v.ran.ours for v in verdicts),
        sum(bool(v.bare.error) for v in verdicts),
    ]


def table(
    rows: Mapping[str, Sequence[object]],
    markdown: bool,
    columns: Sequence[str] = COLUMNS,
    first: str = "model",
) -> list[str]:
    """Lay the rows out."""
    heads = [first, *columns]
    cells = [[name, *map(str, row)] for name, row in rows.items()]
    if markdown:
        ruled = [heads, ["---", *["--:"] * len(columns)], *cells]
        return ["| " + " | ".join(row) + " |" for row in ruled]
    widths = [max(len(row[i]) for row in [heads, *cells]) for i in range(len(heads))]
    return [
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [heads, *cells]
    ]


def listing(title: str, verdicts: list[Verdict], field: str) -> None:
    """Print the bugs of a kind with the reasons that their files give."""
    if verdicts:
        print(f"\n{title}")
    for v in verdicts:
        print(
            f"  {v.bug.id}: {v.bug.description}\n      {getattr(v.bug, field) or 'no reason given'}"
        )


def main() -> int:
    """Print the table and the lists."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help="of all models by default")
    parser.add_argument("--mypy", action="store_true", help="ask mypy too, not the analysis alone")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    options = parser.parse_args()
    if unknown := set(options.models) - set(MODELS):
        parser.error(f"no such model: {', '.join(sorted(unknown))}")
    start = time.perf_counter()
    verdicts = judge(options.models, options.mypy)
    rows = {
        model: counts([v for v in verdicts if v.bug.model == model])
        for model in options.models or MODELS
    }
    print("\n".join(table({**rows, "all": counts(verdicts)}, options.markdown)))
    print(
        "\nstatic: an error of the analysis. run time: a ShapeError with @shapecheck on.\n"
        "other error: torch, einops or Python stop the model first. torch alone: without checks."
    )
    missed = [v for v in verdicts if not v.static]
    listing("Found at run time only", [v for v in missed if v.ran.error], "static")
    unseen = [v for v in verdicts if not v.ran.error]
    listing("Found statically only", [v for v in unseen if v.static], "runtime")
    listing("Found by neither", [v for v in unseen if not v.static], "static")
    others = [v for v in verdicts if v.ran.error and not v.ran.ours]
    listing("At run time stopped by another error", others, "other_error")
    wrong = [(v.bug.id, said) for v in verdicts for said in v.wrong_marks]
    for name, said in wrong:
        print(f"\nWRONG MARK {name}: {said}")
    print(f"\n{time.perf_counter() - start:.0f} s")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
