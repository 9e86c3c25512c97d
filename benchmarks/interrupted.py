"""What is lost where a command that writes files is killed, finds no room, or runs twice at once.

    make interrupted INTERRUPTED_ARGS="[--times 200] [--seed 0] [--only NAME]"

`killed`: SIGKILL to the command and all its processes at a random moment, every other time within
the part of the run in which it writes. `full`: no file may become longer than a random number of
bytes. `twice`: two of the command at once. Afterwards each file must have the content that it had
or the one that it was to get, nothing may lie beside it, and the command, run again, must end with
what it ends with undisturbed. Prints a table; exit code 1 where anything was lost.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLAIN = '''import torch


def scale(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Scale.

    Args:
        x: shape (b, n, {size})
        w: shape ({size})
    """
    return x * w


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.line = torch.nn.Linear({size}, {size})

    def forward(self, x):  # (b, n, {size})
        b, n, d = x.shape
        return self.line(x).view(b * n, d)
'''
WRONG = "\n\ndef wrong() -> torch.Tensor:\n    return torch.ones(2, 3) @ torch.ones({size}, 3)\n"
FILES = 4
KEPT = ("__pycache__", ".mypy_cache", "kept")


@dataclass(frozen=True)
class Work:
    """A command, what it starts from, and what counts of what it ends with."""

    name: str
    command: list[str]
    prepare: list[str] | None = None
    reads: Callable[[Path], bytes] | None = None
    """What is compared instead of the files: of those that are no text of the user's."""


def python(*words: str) -> list[str]:
    """Return the command line of a module of the tool."""
    return [sys.executable, "-m", "shapecheck", *words]


CHECK = python("check", "--only-shapes", ".", "--", "--cache-dir", "kept")


def recorded(folder: Path) -> bytes:
    """Return what a record says, without how often: a run that was killed counts once more."""
    done = run(python("annotate", "--diff", "."), folder)
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done.stdout


def checked(folder: Path) -> bytes:
    """Return what a check prints that starts from what another has left."""
    done = run(CHECK, folder)
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done.stdout


WORKS = (
    Work("annotate --write", python("annotate", "--write", ".")),
    Work("strip --write", python("strip", "--write", "."), python("annotate", "--write", ".")),
    Work("init", python("init", "--write")),
    Work("record", python("record", "--", "main.py"), reads=recorded),
    Work(
        "check (its store)",
        CHECK,
        reads=checked,
    ),
)


@dataclass
class Tally:
    """How often something was done to a command, how often it had an effect, and what was lost."""

    times: int = 0
    hit: int = 0
    lost: list[str] = field(default_factory=list)


def run(
    command: list[str], folder: Path, most: int | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a folder; `most`: how many bytes a file may have."""

    def limit() -> None:
        if most is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    return subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, preexec_fn=limit, check=False
    )


def environment() -> dict[str, str]:
    """Return an environment in which nothing is kept between the runs."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def write_project(folder: Path) -> None:
    """Write what the commands work on."""
    folder.mkdir()
    calls = []
    for number in range(FILES):
        size = 8 + number
        text = PLAIN + (WRONG if number % 4 == 0 else "")
        (folder / f"part{number}.py").write_text(text.replace("{size}", str(size)), "utf-8")
        calls.append(f"part{number}.scale(torch.ones(2, 3, {size}), torch.ones({size}))")
        calls.append(f"part{number}.Layer()(torch.ones(2, 3, {size}))")
    imports = "".join(f"import part{number}\n" for number in range(FILES))
    (folder / "main.py").write_text(f"import torch\n{imports}\n" + "\n".join(calls) + "\n", "utf-8")


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder with their contents, those apart that the tool keeps."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not any(part in KEPT for part in path.parts)
        and not path.name.startswith(".shapecheck-record")
    }


class Bench:
    """One command: what it starts with, what it ends with, and when it writes."""

    def __init__(self, work: Work, scratch: Path) -> None:
        self.work = work
        self.before = scratch / "before"
        write_project(self.before)
        if work.prepare:
            run(work.prepare, self.before)
        self.scratch = scratch
        self.old = files_of(self.before)
        folder = self.fresh()
        started = time.time()
        done = run(work.command, folder)
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        self.seconds = time.time() - started
        self.new = files_of(folder)
        written = [
            path.stat().st_mtime - started
            for path in folder.rglob("*")
            if path.is_file() and path.stat().st_mtime >= started
        ]
        assert written, f"{work.name} writes nothing: {done.stderr.decode()[:500]}"
        self.writes = (max(0.0, min(written) - 0.05), max(written) + 0.05)
        self.reads = work.reads(folder) if work.reads else b""

    def fresh(self) -> Path:
        """Return a copy of what the command starts with."""
        folder = self.scratch / "copy"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.before, folder)
        return folder

    def problems(self, folder: Path) -> Iterator[str]:
        """Say what is lost or left over in a folder, then run the command again and look again."""
        for name, content in files_of(folder).items():
            if content not in (self.old.get(name), self.new.get(name)):
                yield f"{name}: {len(content)} bytes that are neither"
        yield from (f"{name}: gone" for name in self.old.keys() - files_of(folder).keys())
        done = run(self.work.command, folder)
        if b"Traceback" in done.stderr:
            yield done.stderr.decode().splitlines()[-1]
        other = set(files_of(folder).items()) ^ set(self.new.items())
        if other:
            yield f"again: {', '.join(sorted({name for name, _ in other}))[:200]}"
        if self.work.reads and self.work.reads(folder) != self.reads:
            yield "again: it reads otherwise"

    def killed(self, draw: random.Random, number: int) -> tuple[bool, list[str]]:
        """Kill the command at a random moment."""
        folder = self.fresh()
        moment = draw.uniform(0, self.seconds) if number % 2 else draw.uniform(*self.writes)
        process = subprocess.Popen(
            self.work.command,
            cwd=folder,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return process.returncode < 0, [*self.problems(folder)]

    def full(self, draw: random.Random, number: int) -> tuple[bool, list[str]]:
        """Let no file become longer than a random number of bytes."""
        folder = self.fresh()
        most = draw.choice((0, 1, 100, draw.randrange(2000), draw.randrange(100_000)))
        done = run(self.work.command, folder, most)
        told = [done.stderr.decode().splitlines()[-1]] if b"Traceback" in done.stderr else []
        return done.returncode != 0, [*told, *self.problems(folder)]

    def twice(self, draw: random.Random, number: int) -> tuple[bool, list[str]]:
        """Run two of the command at once, one a moment after the other."""
        folder = self.fresh()
        both = []
        for _ in range(2):
            both.append(
                subprocess.Popen(
                    self.work.command,
                    cwd=folder,
                    env=environment(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                )
            )
            time.sleep(draw.uniform(0, 0.1))
        errors = [process.communicate()[1] for process in both]
        told = [e.decode().splitlines()[-1] for e in errors if b"Traceback" in e]
        return True, [*told, *self.problems(folder)]


def main() -> int:
    """Print the table; 1 where anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    lost = 0
    print("| command | what happens to it | times | it was stopped | lost |\n|---|---|---|---|---|")
    for work in WORKS:
        if options.only not in work.name:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            bench = Bench(work, Path(scratch))
            for what in (bench.killed, bench.full, bench.twice):
                draw = random.Random(f"{options.seed} {work.name} {what.__name__}")
                tally = Tally()
                for number in range(options.times if what == bench.killed else options.times // 4):
                    stopped, problems = what(draw, number)
                    tally.times += 1
                    tally.hit += stopped
                    tally.lost += problems
                lost += len(tally.lost)
                cells = (work.name, what.__name__, tally.times, tally.hit, len(tally.lost))
                print(f"| {' | '.join(map(str, cells))} |", *tally.lost[:5], sep="\n  ", flush=True)
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main())
