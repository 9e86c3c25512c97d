"""What the plugin adds to mypy, and what the engine costs by itself, on a repository.

    python benchmarks/costs.py REPOSITORY FOLDER [--edited FILE] [--rounds 5] [--json FILE]

All that is compared runs in turn, in one go: mypy without the plugin and with it, cold (torch and
numpy in its cache, no module of the repository), with nothing changed, with one body edited in
FILE, and the same in its daemon; `check --only-shapes` cold and warm. Seconds are CPU seconds of
all processes, the median of the rounds; memory is the largest process'. mypy's daemon fails, by
itself, over folders of modules that have no `__init__.py`.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from corpus.run import CONFIGS, OPTIONS

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = (
    "import torch\nimport torch.nn.functional\nimport numpy\nimport jaxtyping\nimport einops\n"
)
# Those of the options that say which modules there are.
FINDING = ("--follow-imports", "--namespace-packages", "--explicit-package-bases")
# Processes that mypy leaves behind, the plugin's second one, become this one's own (Linux).
MEMORY = """
import ctypes, os, resource, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    while True:
        os.wait()
except ChildProcessError:
    pass
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(done.returncode)
"""


@dataclass
class Costs:
    """What one way cost, round by round: CPU seconds, wall seconds, MiB."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)

    def medians(self) -> tuple[float, float, float]:
        """Return the median of each."""
        return tuple(statistics.median(one) for one in (self.cpu, self.wall, self.memory))


class Measured:
    """The ways to check a repository, and what each has cost so far."""

    def __init__(self, repository: Path, folder: str, edited: Path, scratch: Path) -> None:
        self.repository, self.folder, self.edited, self.scratch = (
            repository,
            folder,
            edited,
            scratch,
        )
        self.costs: dict[str, Costs] = {}
        self.texts = edited.read_text("utf-8"), with_another_body(edited.read_text("utf-8"))
        for kind, text in CONFIGS.items():
            (scratch / f"{kind}.ini").write_text(text, "utf-8")
        (scratch / "libraries.py").write_text(LIBRARIES, "utf-8")
        for kind in CONFIGS:
            self._run(
                self._mypy(kind, scratch / f"libraries-{kind}", str(scratch / "libraries.py"))
            )

    def round(self) -> None:
        """Measure each way once."""
        for kind in CONFIGS:
            cache = self.scratch / f"cache-{kind}"
            shutil.rmtree(cache, ignore_errors=True)
            shutil.copytree(self.scratch / f"libraries-{kind}", cache)
            command = self._mypy(kind, cache, self.folder)
            self._note(f"cold {kind}", command)
            self._note(f"warm {kind}", command)
            with self._edit():
                self._note(f"edit {kind}", command)
        for kind in CONFIGS:
            self._daemon(kind)
        cache = self.scratch / "cache-alone"
        shutil.rmtree(cache, ignore_errors=True)
        alone = [sys.executable, "-m", "shapecheck", "check", "--only-shapes", self.folder]
        finding = (one for one in OPTIONS if one.startswith(FINDING))
        alone += ["--", f"--cache-dir={cache}", *finding]
        self._note("cold alone", alone)
        self._note("warm alone", alone)
        with self._edit():
            self._note("edit alone", alone)

    def _daemon(self, kind: str) -> None:
        status = self.scratch / f"status-{kind}.json"
        daemon = [sys.executable, "-m", "mypy.dmypy", f"--status-file={status}"]
        config = f"--config-file={self.scratch / f'{kind}.ini'}"
        cache = f"--cache-dir={self.scratch / f'cache-{kind}'}"
        # The daemon knows no other way to follow imports.
        options = [one.replace("=silent", "=normal") for one in OPTIONS]
        run = [*daemon, "run", "--", config, cache, *options, self.folder]
        try:
            self._run(run)
            pid = json.loads(status.read_text("utf-8"))["pid"]
            for _ in range(3):
                with self._edit():
                    begin, wall = _cpu(pid), time.perf_counter()
                    self._run(run)
                    self._add(f"daemon {kind}", _cpu(pid) - begin, time.perf_counter() - wall, 0)
                self._run(run)
        except FileNotFoundError:
            print(f"the daemon ({kind}) has ended by itself")
        finally:
            subprocess.run([*daemon, "stop"], cwd=self.repository, capture_output=True, check=False)

    def _mypy(self, kind: str, cache: Path, target: str) -> list[str]:
        config = f"--config-file={self.scratch / f'{kind}.ini'}"
        return [sys.executable, "-m", "mypy", config, f"--cache-dir={cache}", *OPTIONS, target]

    def _edit(self) -> Edited:
        return Edited(self.edited, *self.texts)

    def _note(self, way: str, command: list[str]) -> None:
        before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        printed = self._run([sys.executable, "-c", MEMORY, *command])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self._add(way, cpu, time.perf_counter() - wall, int(printed) / 1024)

    def _add(self, way: str, cpu: float, wall: float, memory: float) -> None:
        costs = self.costs.setdefault(way, Costs())
        for series, value in zip(
            (costs.cpu, costs.wall, costs.memory), (cpu, wall, memory), strict=True
        ):
            series.append(value)

    def _run(self, command: list[str]) -> str:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            command,
            cwd=self.repository,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in (0, 1):
            sys.exit(f"{command} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout


class Edited:
    """A file that has another text for a while."""

    def __init__(self, path: Path, before: str, after: str) -> None:
        self._path, self._before, self._after = path, before, after

    def __enter__(self) -> None:
        self._path.write_text(self._after, "utf-8")

    def __exit__(self, *_: object) -> None:
        self._path.write_text(self._before, "utf-8")


def with_another_body(text: str) -> str:
    """Return a text with one more statement in the body of its first function that has several."""
    functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
    function = next(one for one in functions if len(one.body) > 1)
    last = function.body[-1]
    lines = text.split("\n")
    lines.insert(last.lineno - 1, f"{' ' * last.col_offset}unused = 1")
    return "\n".join(lines)


def _cpu(pid: int) -> float:
    """Return the CPU seconds that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def table(costs: dict[str, Costs]) -> list[str]:
    """Return the figures as lines."""
    lines = ["way             CPU s   wall s     MiB"]
    for way, one in costs.items():
        cpu, wall, memory = one.medians()
        lines.append(f"{way:14} {cpu:6.2f}  {wall:6.2f}  {memory:6.0f}")
    for what in ("cold", "warm", "edit", "daemon"):
        if f"{what} plain" not in costs or f"{what} plugin" not in costs:
            continue
        plain, plugin = costs[f"{what} plain"].medians(), costs[f"{what} plugin"].medians()
        ratios = [new / old if old else 0 for old, new in zip(plain, plugin, strict=True)]
        said = (
            f"{one:.2f}x {name}"
            for one, name in zip(ratios, ("CPU", "wall", "memory"), strict=True)
        )
        lines.append(f"{what}: plugin / plain {', '.join(said)}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("repository", type=Path)
    parser.add_argument("folder", help="what is checked, from the repository on")
    parser.add_argument("--edited", type=Path, help="the file in which a body is edited")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    repository = options.repository.resolve()
    edited = (
        repository / options.edited if options.edited else _largest(repository / options.folder)
    )
    with tempfile.TemporaryDirectory() as scratch:
        measured = Measured(repository, options.folder, edited, Path(scratch))
        for _ in range(options.rounds):
            measured.round()
    print(f"{repository.name}: {edited.relative_to(repository)} edited, {options.rounds} rounds")
    print("\n".join(table(measured.costs)))
    if options.json is not None:
        options.json.write_text(json.dumps({way: vars(one) for way, one in measured.costs.items()}))


def _largest(folder: Path) -> Path:
    size: Callable[[Path], int] = lambda path: path.stat().st_size  # noqa: E731
    return max(folder.rglob("*.py"), key=size)


if __name__ == "__main__":
    main()
