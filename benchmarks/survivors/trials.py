"""Tests run in forks of one process, over a copy of the repository in which one file is changed.

That process has imported what takes long, but nothing of shapecheck. A fork imports the changed
source, as the processes do that a test starts.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

_COPIED: Final = (
    "shapecheck tests stubs docs examples benchmarks pyproject.toml README.md Makefile "
    "CONTRIBUTING.md CHANGELOG.md hatch_build.py"
).split()
_IMPORTED: Final = (
    "hypothesis _hypothesis_pytestplugin numpy torch torch.nn torch.func torch.testing jaxtyping "
    "einops beartype functorch.dim mypy.build libcst"
).split()
_MOST_MEMORY: Final = 8 << 30


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run of tests ended: the first test that failed, '' where none did.

    `seconds` are those of the processor, `durations` those of each test by the clock.
    """

    failed: str
    seconds: float
    durations: dict[str, float] = field(default_factory=dict)


class _Watching:
    """A plugin of pytest: runs quick tests first, and notes what fails and how long all take."""

    def __init__(self, durations: dict[str, float], slowest: float) -> None:
        self.known, self.slowest = durations, slowest
        self.durations: dict[str, float] = {}
        self.failed = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.known:
            items[:] = [one for one in items if self.known.get(one.nodeid, 0) <= self.slowest]
            items.sort(key=lambda one: self.known.get(one.nodeid, 0))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        before = self.durations.get(report.nodeid, 0)
        self.durations[report.nodeid] = before + report.duration
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid or "collection"


class Copy:
    """A copy of the repository, in which files are changed for the time of a trial."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder = folder
        self._times = int(time.time())
        folder.mkdir(parents=True)
        for name in _COPIED:
            source = root / name
            if source.is_dir():
                left = shutil.ignore_patterns(".git", "node_modules", ".mypy_cache")
                shutil.copytree(source, folder / name, symlinks=True, ignore=left)
            else:
                shutil.copy2(source, folder / name)

    def write(self, path: str, text: str) -> None:
        """Give a file a text, and a time that it never had: bytecode is found by that."""
        self._times += 2
        file = self.folder / path
        file.write_text(text, encoding="utf-8")
        os.utime(file, (self._times, self._times))

    def prepare(self) -> None:
        """Import what takes long, and have forks import shapecheck from here."""
        os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        os.environ["PYTHONPATH"] = os.pathsep.join(map(str, (self.folder, self.folder / "tests")))
        os.environ["TMPDIR"] = str(self.folder.parent)
        os.chdir(self.folder)
        sys.path[:0] = [str(self.folder), str(self.folder / "tests")]
        for name in _IMPORTED:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        sharing: Any = importlib.import_module("sharing")
        sharing.compiled = lambda folder: None  # takes seconds, and helps several processes
        gc.collect()
        gc.freeze()
        assert not any(name.split(".")[0] == "shapecheck" for name in sys.modules)

    def run(
        self,
        tests: Sequence[str],
        limit: float,
        durations: dict[str, float],
        slowest: float,
        first: bool = True,
    ) -> Outcome:
        """Run tests in a fork, until the `first` fails; a fork that takes too long is ended."""
        said = self.folder.parent / "outcome.json"
        said.unlink(missing_ok=True)
        before = _used()
        child = os.fork()
        if not child:
            self._become(tests, limit, _Watching(durations, slowest), said, first)
        status = _wait(child, 4 * limit + 60)
        seconds = _used() - before
        if said.exists():
            found = json.loads(said.read_text(encoding="utf-8"))
            return Outcome(found["failed"], seconds, found["durations"])
        return Outcome(f"ended by {status}", seconds)

    def _become(
        self,
        tests: Sequence[str],
        limit: float,
        watching: _Watching,
        said: Path,
        first: bool,
    ) -> None:
        """Be the process that runs the tests."""
        code = 1
        try:
            os.setsid()
            most = int(limit)
            resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
            resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
            with (self.folder.parent / "output.txt").open("w") as output:
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
            options = "-q -p no:cacheprovider -p no:xdist -p no:randomly".split()
            options += ["-x"] if first else []
            code = pytest.main([*options, *tests], plugins=[watching])
            failed = watching.failed or ("" if code in (0, 5) else f"pytest ended with {code}")
            said.write_text(json.dumps({"failed": failed, "durations": watching.durations}))
        finally:
            os._exit(int(code != 0))


def _used() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _wait(child: int, seconds: float) -> str:
    """Wait for a process, which is killed with all that it started once its time is over."""
    end = time.monotonic() + seconds
    status = ""
    while not status:
        done, code = os.waitpid(child, os.WNOHANG)
        if done:
            status = f"signal {os.WTERMSIG(code)}" if os.WIFSIGNALED(code) else "itself"
        elif time.monotonic() > end:
            status = "the clock"
        else:
            time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    if status == "the clock":
        os.waitpid(child, 0)
    return status
