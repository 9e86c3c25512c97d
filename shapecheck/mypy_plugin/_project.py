"""The project that mypy checks, as far as the plugin cares: settings, problems, fingerprint."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mypy.modulefinder import get_search_dirs

from shapecheck import config
from shapecheck.mypy_plugin._versions import environment_problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy.options import Options

# What can't change a verdict; everything else in the package can.
_NOT_STATIC: Final = frozenset({"runtime", "named", "codemod", "cli", "parallel.py", "__main__.py"})


@dataclass(frozen=True, slots=True)
class Project:
    """The settings; why mypy can't go on, as one line of its output; where packages are installed.

    The fingerprint stands for all that changes verdicts besides the code itself: the settings, the
    user's signature files, and shapecheck's own source. mypy keeps it with each module in its
    cache, and checks the module again when it is another.
    """

    settings: config.Config
    problem: str | None
    packages: tuple[str, ...]
    fingerprint: str


def read_project(options: Options) -> Project:
    """Look at the project and its environment, once per mypy run."""
    settings, problem = config.Config(), None
    try:
        settings = config.load(config.find(_home(options)))
    except config.ConfigError as error:
        problem = f"{_relative(error.path)}:{error.line}: error: {error.message}"
    others, site_packages = get_search_dirs(options.python_executable)
    if problem is None:
        found = environment_problem((*site_packages, *others))
        problem = found and f"{options.config_file or 'mypy'}: error: {found}"
    return Project(settings, problem, tuple(site_packages), _fingerprint(settings))


def _home(options: Options) -> Path:
    """Return the folder of mypy's configuration, where the project's own is looked for."""
    return Path(options.config_file).parent if options.config_file else Path()


def _relative(path: Path) -> str:
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _fingerprint(settings: config.Config) -> str:
    digest = hashlib.blake2b(repr(settings).encode(), digest_size=16)
    for path in _verdict_files(settings):
        try:
            content = path.read_bytes()
        except OSError as error:
            content = repr(error).encode()
        digest.update(f"\0{path.name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _verdict_files(settings: config.Config) -> Iterator[Path]:
    package = Path(__file__).parents[1]
    for child in sorted(package.iterdir()):
        if child.name not in _NOT_STATIC:
            yield from _files(child)
    # Signature files: inside an installed package, beside a checked-out one.
    if (package.parent / "pyproject.toml").is_file():
        yield from _files(package.parent / "stubs")
    for folder in settings.stubs:
        yield from _files(Path(folder))


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    for parent, folders, names in os.walk(path):
        folders.sort()
        yield from (Path(parent, name) for name in sorted(names) if name.endswith((".py", ".pyi")))
