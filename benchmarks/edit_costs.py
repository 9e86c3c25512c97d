"""What an edit of a random body costs a process that stays: an editor's engine, or mypy's daemon.

    python benchmarks/edit_costs.py engine REPOSITORY FOLDER [--edits 200] [--seed 0]
    python benchmarks/edit_costs.py daemon REPOSITORY FOLDER [--edits 200] [--seed 0]

Each edit puts a statement into a function and is asked about, then it is taken back, and that is
asked about: all that may be said otherwise by then is asked for. Seconds are CPU seconds of the
process. `daemon` does the same edits without the plugin and with it. The repository is copied, so
that nothing in it is touched.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from corpus.run import CONFIGS, OPTIONS

ROOT = Path(__file__).resolve().parent.parent
Ask: TypeAlias = Callable[[Path, str], float]
"""Puts a text into a file and asks what is said now; returns the seconds that it took."""


def edits(folder: Path, count: int, seed: int) -> Iterator[tuple[Path, str, str]]:
    """Yield files with their texts, each with another one in which a body has a statement more."""
    draw = random.Random(seed)
    places: list[tuple[Path, int, int]] = []
    for path in sorted(folder.rglob("*.py")):
        nodes = ast.walk(ast.parse(path.read_text("utf-8")))
        functions = (one for one in nodes if isinstance(one, ast.FunctionDef) and one.body[1:])
        lasts = (one.body[-1] for one in functions)
        places += [(path, one.lineno, one.col_offset) for one in lasts]
    for number in range(count):
        path, line, column = draw.choice(places)
        text = path.read_text("utf-8")
        lines = text.split("\n")
        lines.insert(line - 1, f"{' ' * column}unused_{number} = 1")
        yield path, text, "\n".join(lines)


def costs(folder: Path, count: int, seed: int, ask: Ask) -> list[float]:
    """Return the seconds that each edit took, and each that took it back."""
    found: list[float] = []
    for path, before, after in edits(folder, count, seed):
        found += [ask(path, after), ask(path, before)]
        print(f"{len(found) // 2}: {path.relative_to(folder)} {found[-2]:.3f} {found[-1]:.3f}")
    return found


def in_engine(repository: Path, folder: str, count: int, seed: int) -> list[float]:
    """Ask an editor's program, which looks for garbage between two edits, as an editor has it."""
    from shapecheck.language_server.programs import Program

    program = Program(str(repository / folder), is_whole=True)
    for path in program.stale():
        program.findings(path)
    gc.set_threshold(3_000_000)
    gc.collect()
    gc.freeze()

    def ask(path: Path, text: str) -> float:
        gc.collect()
        begin = time.process_time()
        program.edit(str(path), text)
        for one in program.stale():
            program.findings(one)
        return time.process_time() - begin

    return costs(repository / folder, count, seed, ask)


def in_daemon(repository: Path, folder: str, count: int, seed: int, kind: str) -> list[float]:
    """Ask mypy's daemon, `plain` or with the `plugin`."""
    with tempfile.TemporaryDirectory() as scratch:
        status, config = Path(scratch) / "status.json", Path(scratch) / "mypy.ini"
        config.write_text(CONFIGS[kind], "utf-8")
        daemon = [sys.executable, "-m", "mypy.dmypy", f"--status-file={status}"]
        options = [one.replace("=silent", "=normal") for one in OPTIONS]
        files = [f"--config-file={config}", f"--cache-dir={scratch}/cache"]
        run = [*daemon, "run", "--", *files, *options, folder]
        environment = {**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", str(ROOT))}

        def do(command: list[str]) -> None:
            done = subprocess.run(
                command, cwd=repository, env=environment, capture_output=True, check=False
            )
            if done.returncode not in (0, 1):
                sys.exit(f"{command} failed:\n{done.stdout.decode()}{done.stderr.decode()}")

        def ask(path: Path, text: str) -> float:
            path.write_text(text, "utf-8")
            begin = seconds(pid)
            do(run)
            return seconds(pid) - begin

        try:
            do(run)
            pid = json.loads(status.read_text("utf-8"))["pid"]
            return costs(repository / folder, count, seed, ask)
        finally:
            subprocess.run([*daemon, "stop"], cwd=repository, capture_output=True, check=False)


def seconds(pid: int) -> float:
    """Return the CPU seconds that a process has taken (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def quantiles(found: list[float]) -> tuple[float, float, float]:
    """Return the median of seconds, and what nine and 19 in twenty don't take."""
    cuts = statistics.quantiles(found, n=20, method="inclusive")
    return statistics.median(found), cuts[17], cuts[18]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("what", choices=("engine", "daemon"))
    parser.add_argument("repository", type=Path)
    parser.add_argument("folder", help="what is checked, from the repository on")
    parser.add_argument("--edits", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / options.repository.resolve().name
        shutil.copytree(options.repository, copy, ignore=shutil.ignore_patterns(".*"))
        given = copy, options.folder, options.edits, options.seed
        if options.what == "engine":
            found = {"engine": in_engine(*given)}
        else:
            found = {kind: in_daemon(*given, kind) for kind in CONFIGS}
    for what, taken in found.items():
        middle, most, nearly_all = (1000 * one for one in quantiles(taken))
        print(f"{what}: median {middle:.0f}, p90 {most:.0f}, p95 {nearly_all:.0f} ms")
    if options.what == "daemon":
        plain, plugin = (quantiles(one) for one in found.values())
        print(
            f"plugin / plain: median {plugin[0] / plain[0]:.2f}x, p95 {plugin[2] / plain[2]:.2f}x"
        )


if __name__ == "__main__":
    main()
