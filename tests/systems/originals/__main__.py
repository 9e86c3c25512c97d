"""Run the test suites of the systems that shapecheck comes from against shapecheck.

    python -m systems.originals FOLDER [SYSTEM ...] [--pytest "-k hello"]

FOLDER has a checkout of each, under the system's name; none of their code is here. Prints how many
tests pass, and of each that doesn't the reason. Ends with 1 where one fails that no reason is
given for, or passes though one is, and where a system's tests aren't there.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from repository import ROOT
from systems.originals.plugin import EXPECTED, UNEXPECTED, suite_of

SYSTEMS = tuple(
    sorted(
        path.stem
        for path in Path(__file__).parent.glob("*.py")
        if path.stem not in ("__main__", "inside", "plugin", "suites")
    )
)
PASSES = ("passed", EXPECTED, UNEXPECTED)
"""What a test comes to that does what its suite says of it."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m systems.originals")
    parser.add_argument("folder", type=Path)
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help=", ".join(SYSTEMS))
    parser.add_argument("--pytest", default="", help="more arguments of pytest's")
    given = parser.parse_args(arguments)
    told = [
        told_of(system, given.folder, shlex.split(given.pytest))
        for system in given.systems or SYSTEMS
    ]
    print(*(line for lines, _ in told for line in lines), sep="\n")
    return int(not all(fine for _, fine in told))


def told_of(system: str, folder: Path, arguments: list[str]) -> tuple[list[str], bool]:
    """Return what is printed of a system, and whether all is as its adapter says."""
    checkout = folder.resolve() / system
    if not checkout.is_dir():
        return [f"{system}: there is no {checkout}"], False
    left = suite_of(system).left
    outcomes = ran(system, checkout, arguments)
    skipped = [name for name, came in outcomes.items() if came == "skipped" and name not in left]
    run = {name: came for name, came in outcomes.items() if name not in skipped}
    failed = [name for name, came in run.items() if name not in left and came not in PASSES]
    passed = sum(name not in left and name not in failed for name in run)
    lines = [f"{system}: {passed} of {len(run)} tests pass"]
    counts = Counter(run.values())
    lines += [f"    {counts[what]} of these {what}" for what in PASSES[1:] if counts[what]]
    if skipped:
        lines.append(f"    the suite itself skips {len(skipped)} more")
    lines += [f"    {name} fails" for name in failed]
    wrong = bool(failed) or not run
    for name, why in left.items():
        if name not in run:
            continue
        lines.append(f"    {name}: {why.reason}")
        if why.line is not None:
            lines.append(f"        without `{why.line}` it has {run[name]}")
        if (run[name] == "passed") is (why.line is None):
            wrong = True
            lines.append(f"        which isn't so: it has {run[name]}")
    return lines, not wrong


def ran(system: str, checkout: Path, arguments: list[str]) -> dict[str, str]:
    """Run the tests of a system in a process of their own, and return what came of each."""
    tests = [str(checkout / test) for test in suite_of(system).tests]
    with tempfile.TemporaryDirectory(prefix="shapecheck-originals-") as scratch:
        written = Path(scratch) / "outcomes.json"
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist"]
        command += ["-c", os.devnull, f"--rootdir={checkout}", "-q", "--tb=short", "-W", "ignore"]
        command += ["-p", "systems.originals.plugin", f"--original={system}"]
        command += [f"--checkout={checkout}", f"--outcomes={written}", *arguments, *tests]
        paths = [str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        subprocess.run(command, check=False, env=environment, cwd=scratch)
        found: dict[str, str] = json.loads(written.read_text("utf-8")) if written.exists() else {}
    return found


if __name__ == "__main__":
    sys.exit(main())
