"""Small projects that mypy checks with the plugin, most of them with a stand-in for the analysis.

mypy takes 20 s for its first look at torch. So a cache is made, once per machine, and each project
starts from a copy of it. It serves every project whose options are the same but for sections of
single modules: `[mypy-<module>]`. A project without torch starts from a smaller one.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CACHE = ROOT / ".cache" / "tests-mypy-plugin"

SETTINGS = "[mypy]\nplugins = shapecheck.mypy_plugin\ncache_dir = cache\n"
STRICT = "strict = True\nuntyped_calls_exclude = torch\n"
WARM_UP = {
    "strict": "import einops, jaxtyping, torch, torch.nn.functional\n",
    "torch": "import einops, jaxtyping, numpy, torch, torch.nn.functional\n",
    "plain": "import re, typing\n",
}


@dataclass
class Project:
    """A folder with modules, and mypy to check them."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def write(self, files: dict[str, str]) -> None:
        """Write files by their paths in the project."""
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python in the project."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            check=False,
        )

    def run(self, *arguments: str, module: str = "mypy") -> subprocess.CompletedProcess[str]:
        """Run mypy, or another program of Python, in the project.

        mypy gives up when its workers take 3 s to start, as they do on a busy machine.
        """
        for _ in range(5):
            done = self.python("-m", module, *arguments)
            if "Failed to establish connection with worker" not in done.stdout:
                break
        return done

    def check(self, *arguments: str) -> dict[str, list[str]]:
        """Run mypy; return for each file what it printed, without the file's name."""
        done = self.run(*(arguments or (".",)))
        assert done.returncode in (0, 1), done.stdout + done.stderr
        assert not done.stderr, done.stderr
        return by_file(done.stdout)


def by_file(printed: str) -> dict[str, list[str]]:
    """Sort mypy's output by file: files, unlike lines, come in the order of its work."""
    lines = defaultdict(list)
    for line in printed.splitlines():
        name, colon, rest = line.partition(":")
        if colon and name.endswith((".py", ".pyi")):
            lines[name].append(rest)
    return dict(lines)


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package: an edit while tests run would be a new version of it."""
    folder = tmp_path_factory.mktemp("package")
    shutil.copytree(ROOT / "shapecheck", folder / "shapecheck")
    shutil.copytree(ROOT / "stubs", folder / "shapecheck" / "_stubs")
    return folder


@pytest.fixture(scope="session")
def fake_package(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with the stand-in for the analysis; mypy's workers get that too."""
    folder = tmp_path_factory.mktemp("fake_package")
    shutil.copytree(package, folder, dirs_exist_ok=True)
    shutil.copy(HERE / "fake_analysis.py", folder / "shapecheck" / "analysis" / "__init__.py")
    return folder


@pytest.fixture(scope="session")
def warm_cache(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Give a mypy cache in which torch is, or a plain one."""
    CACHE.mkdir(parents=True, exist_ok=True)

    @cache
    def make(kind: str) -> Path:
        project = Project(tmp_path_factory.mktemp("warm_up"), {"PYTHONPATH": str(package)})
        settings = SETTINGS.replace("= cache", f"= {CACHE / kind}")
        settings += STRICT if kind == "strict" else ""
        project.write({"mypy.ini": settings, "warm_up.py": WARM_UP[kind]})
        with _alone(CACHE / "lock"):
            done = project.run("warm_up.py")
        assert done.returncode == 0, done.stdout + done.stderr
        return CACHE / kind

    return make


@pytest.fixture(scope="session")
def new_project(
    package: Path,
    fake_package: Path,
    warm_cache: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., Project]:
    """Make a project out of files; `fake` puts the stand-in into the place of the analysis."""

    def make(
        files: dict[str, str], *, fake: bool = True, strict: bool = False, settings: str = ""
    ) -> Project:
        folder = tmp_path_factory.mktemp("project")
        kind = (
            "torch"
            if any("import torch" in text or "from torch" in text for text in files.values())
            else "plain"
        )
        kind = "strict" if strict else kind
        shutil.copytree(warm_cache(kind), folder / "cache")
        project = Project(folder, {"PYTHONPATH": str(fake_package if fake else package)})
        project.write({"mypy.ini": SETTINGS + (STRICT if strict else "") + settings, **files})
        return project

    return make


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Let one of several parallel test processes in at a time."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
