"""Small projects that mypy checks with the plugin, most of them with a stand-in for the analysis.

mypy takes 20 s for its first look at torch. So a cache is made, once per machine, is brought up to
date once for all processes of a test run, and each project starts from a copy of it. It serves
every project whose options are the same but for sections of single modules: `[mypy-<module>]`. A
project without torch starts from a smaller one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from mypy.main import define_options
from mypy.options import PER_MODULE_OPTIONS
from sharing import Shared, alone, compiled

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CACHE = ROOT / ".cache" / "tests-mypy-plugin"

TYPED_CALLS = "[tool.shapecheck]\ntyped_calls = true\n"
SETTINGS = "[mypy]\nplugins = shapecheck.mypy_plugin\ncache_dir = cache\n"
WARM_UP = {
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
        """Run Python in the project, without what a person has set for all projects."""
        home = {name: str(self.folder) for name in ("HOME", "XDG_CONFIG_HOME")}
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env={**os.environ, **home, **self.environment},
            capture_output=True,
            text=True,
            check=False,
        )

    def run(self, *arguments: str, module: str = "mypy") -> subprocess.CompletedProcess[str]:
        """Run mypy, or another program of Python, in the project.

        mypy gives up when its workers take 3 s to start, as they do on a busy machine.
        """
        for _ in range(50):
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
def package(shared: Shared) -> Path:
    """A folder with a copy of the package: an edit while tests run would be a new version of it."""

    def make(folder: Path) -> None:
        shutil.copytree(ROOT / "shapecheck", folder / "shapecheck")
        for compiled_modules in ROOT.glob("shapecheck_compiled__mypyc.*"):
            shutil.copy(compiled_modules, folder)
        shutil.copytree(ROOT / "stubs", folder / "shapecheck" / "_stubs", dirs_exist_ok=True)
        compiled(folder)

    return shared("package", make)


@pytest.fixture(scope="session")
def fake_package(package: Path, shared: Shared) -> Path:
    """The same with the stand-in for the analysis; mypy's workers get that too."""

    def make(folder: Path) -> None:
        shutil.copytree(package, folder, dirs_exist_ok=True)
        shutil.copy(HERE / "fake_analysis.py", folder / "shapecheck" / "analysis" / "__init__.py")

    return shared("fake_package", make)


@pytest.fixture(scope="session")
def warm_cache(package: Path, shared: Shared) -> Callable[[str], Path]:
    """Give a mypy cache in which torch is, or a plain one."""

    def make(kind: str, folder: Path) -> None:
        CACHE.mkdir(parents=True, exist_ok=True)
        project = Project(folder, {"PYTHONPATH": str(package)})
        settings = SETTINGS.replace("= cache", f"= {CACHE / kind}")
        project.write({"mypy.ini": settings, "warm_up.py": WARM_UP[kind]})
        with alone(CACHE / "lock"):
            done = project.run("warm_up.py")
            assert done.returncode == 0, done.stdout + done.stderr
            shutil.copytree(CACHE / kind, folder / "cache")

    return lambda kind: shared(f"warm_{kind}", partial(make, kind)) / "cache"


def strict(modules: Iterable[str]) -> str:
    """Return settings that check some modules as `mypy --strict` does, and torch as ever."""
    *_, flags = define_options()
    lines = [(f"{name} = {value}\n", name in PER_MODULE_OPTIONS) for name, value in flags]
    whole = "".join(line for line, of_modules in lines if not of_modules)
    own = "".join(line for line, of_modules in lines if of_modules)
    return f"{whole}[mypy-{','.join(modules)}]\n{own}"


@pytest.fixture(scope="session")
def new_project(
    package: Path,
    fake_package: Path,
    warm_cache: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., Project]:
    """Make a project out of files; `fake` puts the stand-in into the place of the analysis.

    A project without files has torch in its cache: nothing says what a test will write.
    """

    def make(files: dict[str, str], *, fake: bool = True, settings: str = "") -> Project:
        folder = tmp_path_factory.mktemp("project")
        texts = files.values()
        plain = files and not any("import torch" in one or "from torch" in one for one in texts)
        shutil.copytree(warm_cache("plain" if plain else "torch"), folder / "cache")
        project = Project(folder, {"PYTHONPATH": str(fake_package if fake else package)})
        project.write({"mypy.ini": SETTINGS + settings, **files})
        return project

    return make
