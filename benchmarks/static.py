"""How much the plugin adds to mypy: wall time with and without it, side by side.

The example models are repeated, each copy under a name of its own, to at least 20,000 lines. Both
runs have torch in their cache and check the copies from scratch; they alternate, and the ratio is
taken pair by pair. With the plugin, mypy uses a second core where there is one: the same again with
a single core for both runs. The analysis' own speed is that of a run without mypy.

    python benchmarks/static.py [--lines 20000] [--rounds 5] [--check] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = 1.3
CONFIGS = {
    "plain": "[mypy]\nstrict = True\nuntyped_calls_exclude = torch\n",
    "plugin": "[mypy]\nstrict = True\nplugins = shapecheck.mypy_plugin\n",
}


def models() -> list[Path]:
    """Return the example models."""
    return [p for p in sorted((ROOT / "examples").glob("*.py")) if p.stem != "demo"]


def write_copies(folder: Path, lines: int) -> int:
    """Write copies of the models until there are so many lines; return how many there are."""
    total = number = 0
    while total < lines:
        for path in models():
            text = path.read_text("utf-8")
            (folder / f"{path.stem}_{number}.py").write_text(text, "utf-8")
            total += text.count("\n")
        number += 1
    return total


def run_mypy(kind: str, folder: Path, cache: Path, cores: set[int] | None = None) -> float:
    """Return the seconds that one run of mypy over the folder takes, on all cores or on some."""
    config = folder.parent / f"{kind}.ini"
    config.write_text(CONFIGS[kind], "utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(config)]
    command += ["--cache-dir", str(cache), str(folder)]
    pin = None if cores is None else partial(os.sched_setaffinity, 0, cores)
    start = time.perf_counter()
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, preexec_fn=pin
    )
    seconds = time.perf_counter() - start
    if done.returncode > 1 or (kind == "plugin" and done.returncode):
        sys.exit(f"mypy failed ({kind}):\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return seconds


def analysis_seconds(folder: Path) -> float:
    """Return the seconds that the analysis alone takes over the folder, in a new process."""
    program = (
        "import sys, time, pathlib\n"
        "from shapecheck.analysis import Options, Source, analyze_module\n"
        "class Nothing:\n"
        "    def source(self, module): return None\n"
        "host = Nothing()\n"
        "texts = [(p.stem, p.read_text()) for p in pathlib.Path(sys.argv[1]).glob('*.py')]\n"
        "start = time.perf_counter()\n"
        "for stem, text in texts:\n"
        "    analyze_module(Source(stem, stem + '.py', text), host, Options())\n"
        "print(time.perf_counter() - start)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def measure(lines: int, rounds: int) -> dict[str, float]:
    """Return the medians of all that is measured."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "copies"
        folder.mkdir()
        total = write_copies(folder, lines)
        caches = {kind: Path(name) / f"cache-{kind}" for kind in CONFIGS}
        warm = Path(name) / "warm"
        warm.mkdir()
        for path in models():
            shutil.copy(path, warm)
        for kind, cache in caches.items():
            run_mypy(kind, warm, cache)
        machines: dict[str, set[int] | None] = {"all": None}
        if hasattr(os, "sched_getaffinity"):
            machines["one"] = {min(os.sched_getaffinity(0))}
        times: dict[tuple[str, str], list[float]] = defaultdict(list)
        for _ in range(rounds):
            for machine, cores in machines.items():
                for kind, cache in caches.items():
                    fresh = Path(name) / "fresh"
                    shutil.copytree(cache, fresh)  # torch is in it, the copies are not
                    times[machine, kind].append(run_mypy(kind, folder, fresh, cores))
                    shutil.rmtree(fresh)
        ratios = {
            machine: statistics.median(
                with_it / without
                for without, with_it in zip(
                    times[machine, "plain"], times[machine, "plugin"], strict=True
                )
            )
            for machine in machines
        }
        alone = statistics.median(analysis_seconds(folder) for _ in range(rounds))
    return {
        "lines": total,
        "mypy_seconds": statistics.median(times["all", "plain"]),
        "plugin_seconds": statistics.median(times["all", "plugin"]),
        "ratio": ratios["all"],
        "one_core_ratio": ratios.get("one", float("nan")),
        "analysis_seconds": alone,
        "analysis_lines_per_second": total / alone,
    }


def main() -> int:
    """Measure and print; with `--check`, fail where the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = measure(options.lines, options.rounds)
    print(f"lines checked                {found['lines']:>10.0f}")
    print(f"mypy alone                   {found['mypy_seconds']:>10.2f} s")
    print(f"mypy with the plugin         {found['plugin_seconds']:>10.2f} s")
    print(f"ratio, pair by pair          {found['ratio']:>10.2f}   (target: at most {TARGET})")
    print(f"  on a single core           {found['one_core_ratio']:>10.2f}")
    print(f"the analysis alone           {found['analysis_seconds']:>10.2f} s")
    print(f"  lines per second           {found['analysis_lines_per_second']:>10.0f}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2), "utf-8")
    return int(options.check and found["ratio"] > TARGET)


if __name__ == "__main__":
    sys.exit(main())
