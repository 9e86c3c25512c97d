"""How long it takes until the signatures and the plugin are there, each in processes of its own.

Cold: every signature file is parsed. From the cache: the index that an earlier start left is read;
what a signature says is parsed when it is first used, so that the time to use all is told, too.

    python benchmarks/loading.py [--rounds 9] [--check]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INDEX = """
from shapecheck.signatures import shipped
from shapecheck.signatures.index import files
begin()
files(shipped(), keep={keep})
"""
ALL = """
from shapecheck.signatures import table
begin()
found = table()
for library in ("torch", "einops", "einx", "opt_einsum", "torchvision"):
    for name in found.names(library):
        found.signature(name)
"""
PLUGIN = """
begin()
import shapecheck.mypy_plugin
assert "torch" not in sys.modules
"""
MEASURED = {
    "all signatures, cold": (INDEX.format(keep=False), 150),
    "all signatures, from the cache": (INDEX.format(keep=True), 30),
    "each signature used once": (ALL, None),
    "import of the plugin, without torch": (PLUGIN, 200),
}


def milliseconds(program: str) -> float:
    """Return how long a program takes from `begin()` to its end, in a new process."""
    start = "import sys, time\ndef begin():\n    global start\n    start = time.perf_counter()\n"
    end = "print((time.perf_counter() - start) * 1000)\n"
    done = subprocess.run(
        [sys.executable, "-c", start + program + end],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def main() -> int:
    """Measure, print, and return 1 if a time is above its target and that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--check", action="store_true", help="fail above a target")
    options = parser.parse_args()
    failed = False
    for title, (program, target) in MEASURED.items():
        milliseconds(program)
        median = statistics.median(milliseconds(program) for _ in range(options.rounds))
        failed = failed or (target is not None and median > target)
        told = "" if target is None else f"   (target: at most {target})"
        print(f"{title:36} {median:6.1f} ms{told}")
    return int(failed and options.check)


if __name__ == "__main__":
    sys.exit(main())
