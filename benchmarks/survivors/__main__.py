"""The share of small changes of shapecheck's own source that its tests notice.

    make survivors SURVIVORS_ARGS="--package dims --count 60 --seed 1"
    make survivors SURVIVORS_ARGS="--package dims --count 60 --seed 1 --only 7,23"
    make survivors SURVIVORS_ARGS="--package dims --again printed.txt"

Each package is changed in one place at a time, `--count` of them, which the seed draws evenly over
its files. A change is killed if a test that is about the package fails, or no longer ends. Those
that survive are printed with their number, their line, and what became of it: a test is missing,
a line is needless, or the change makes no difference. `--only` tries some again by their numbers,
as long as the source is what it was, and `--again` those that survive in what was printed before.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from mutation.edits import Edit, parses  # noqa: E402

from survivors.changes import changes  # noqa: E402
from survivors.packages import PACKAGES, Package  # noqa: E402
from survivors.trials import Copy, Outcome  # noqa: E402

_SPARE_SECONDS = 20
"""So much longer than the tests of the unchanged source may those of a changed one take."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a file, by its path, whose text is given."""

    path: str
    text: str
    edit: Edit

    @property
    def what(self) -> str:
        """What is changed, whichever line it is in."""
        return f"[{self.edit.kind}] {self.edit.describe(self.text)}"

    def __str__(self) -> str:
        return f"{self.path}:{self.edit.line}: {self.what}"


def changes_of(package: Package, root: Path) -> list[Change]:
    """Return all changes of a package, of which a few can't be parsed."""
    found: list[Change] = []
    for path in package.files(root):
        text = (root / path).read_text(encoding="utf-8")
        found += [Change(path, text, edit) for edit in changes(text)]
    return found


def drawn(package: Package, root: Path, count: int, seed: int) -> list[Change]:
    """Return so many changes of a package, evenly over its lines."""
    found = changes_of(package, root)
    if len(found) > count:
        step = len(found) / count
        at = random.Random(seed)
        found = [found[int((index + at.random()) * step)] for index in range(count)]
    return [one for one in found if parses(one.edit.apply(one.text))]


def told(package: Package, root: Path, lines: Iterable[str]) -> list[Change]:
    """Return what was printed as survivors, if their lines are as they were."""
    printed = [line.partition(" survives: ")[2] for line in lines]
    wanted = {tuple(re.split(r":\d+: ", one.rstrip(), maxsplit=1)) for one in printed if one}
    return [one for one in changes_of(package, root) if (one.path, one.what) in wanted]


def durations(copy: Copy, name: str, package: Package, slowest: float) -> tuple[Outcome, float]:
    """Run the tests of the unchanged source; return how long each takes, and all that count."""
    before = copy.run(package.options, 600, {}, slowest, first=False)
    known = before.durations
    again = copy.run(package.options, 600, known, slowest)
    for failed in filter(None, (before.failed, again.failed)):
        raise SystemExit(f"{name}: {failed} fails with the source as it is")
    return before, again.seconds


def tried(
    copy: Copy, name: str, chosen: dict[int, Change], slowest: float, every: bool
) -> tuple[int, float]:
    """Try changes of a package; return how many survive, and the seconds that it took."""
    package = PACKAGES[name]
    baseline, seconds = durations(copy, name, package, slowest)
    limit = 2 * seconds + _SPARE_SECONDS
    print(f"{name}: {len(baseline.durations)} tests, {seconds:.0f} s", flush=True)
    survivors, used = 0, 0.0
    for number, change in chosen.items():
        copy.write(change.path, change.edit.apply(change.text))
        outcome = copy.run(package.options, limit, baseline.durations, slowest)
        copy.write(change.path, change.text)
        used += outcome.seconds
        survivors += not outcome.failed
        if not outcome.failed:
            print(f"  {number} survives: {change}", flush=True)
        elif every:
            print(f"  {number} killed by {outcome.failed}: {change}", flush=True)
    return survivors, used


def main(argv: Sequence[str] | None = None) -> int:
    """Change, test, and tell what survives."""
    parser = argparse.ArgumentParser(description="Find what no test notices.")
    parser.add_argument("--package", nargs="*", default=list(PACKAGES), choices=list(PACKAGES))
    parser.add_argument("--count", type=int, default=60, help="changes of each package (60)")
    parser.add_argument("--seed", type=int, default=1, help="which changes (1)")
    parser.add_argument("--only", default="", help="numbers of those to try, 3,17")
    parser.add_argument("--list", action="store_true", help="print the changes, and try none")
    parser.add_argument("--again", type=Path, help="what was printed: try what survived in it")
    parser.add_argument("--every", action="store_true", help="print what is killed, too")
    parser.add_argument(
        "--slowest", type=float, default=3, help="leave out tests of more seconds than this (3)"
    )
    args = parser.parse_args(argv)
    only = {int(number) for number in args.only.split(",") if number}
    folder = Path(tempfile.mkdtemp(prefix="survivors-", dir="/dev/shm" if _has_shm() else None))
    rows: list[tuple[str, int, int, float]] = []
    try:
        if not args.list:
            copy = Copy(ROOT, folder / "copy")
            copy.prepare()
        for name in args.package:
            found = drawn(PACKAGES[name], ROOT, args.count, args.seed)
            if args.again is not None:
                lines = args.again.read_text(encoding="utf-8").splitlines()
                found = told(PACKAGES[name], ROOT, lines)
            chosen = {at: one for at, one in enumerate(found) if not only or at in only}
            if args.list:
                print("\n".join(f"{at} {one}" for at, one in chosen.items()))
                continue
            start = time.monotonic()
            survivors, used = tried(copy, name, chosen, args.slowest, args.every)
            rows.append((name, len(chosen), len(chosen) - survivors, used))
            print(f"{name}: {time.monotonic() - start:.0f} s by the clock", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for name, count, killed, used in rows:
        print(
            f"{name:14} {killed:4} of {count:4} killed, {killed / max(count, 1):5.0%}, {used:.0f} s"
        )
    return 0


def _has_shm() -> bool:
    return Path("/dev/shm").is_dir()


if __name__ == "__main__":
    sys.exit(main())
