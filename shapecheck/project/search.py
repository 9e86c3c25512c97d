"""Where the modules lie that are imported, as mypy looks for them."""

from __future__ import annotations

import os
import shutil
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from shapecheck.project.folders import ENDINGS, Folders, join
from shapecheck.project.libraries import is_about_torch
from shapecheck.project.settings import Settings

_TYPED: Final = "py.typed"
_STUBS: Final = "-stubs"
# What mypy has types of by itself; in place of packages that are installed, not of the user's own.
_STANDARD: Final = sys.stdlib_module_names | {"mypy_extensions", "typing_extensions", "_typeshed"}
# Those that mypy can't do without, or have in another place.
CORE: Final = (
    "builtins",
    "typing",
    "types",
    "typing_extensions",
    "mypy_extensions",
    "_typeshed",
    "_collections_abc",
    "collections",
    "sys",
    "abc",
)


_Way: TypeAlias = tuple[str, bool, list[str]]
"""A folder, whether each below it on the way has to be a package, and the names on the way."""


@dataclass(frozen=True, slots=True)
class SearchPaths:
    """The folders that modules are imported from: the user's own first, then installed packages."""

    own: tuple[str, ...]
    packages: tuple[str, ...]

    @staticmethod
    def of(settings: Settings, bases: Sequence[str]) -> SearchPaths:
        """Return them for files below some folders, in the order in which mypy looks."""
        own = (*settings.mypy_path, *bases)
        packages = () if settings.packages_of is None else package_folders(settings.packages_of)
        return SearchPaths(tuple(map(os.path.abspath, own)), packages)


class Search:
    """Finds the file of a module by its name, or the folder that is a namespace package."""

    def __init__(self, paths: SearchPaths, settings: Settings, folders: Folders) -> None:
        self._paths = paths
        self._settings = settings
        self._folders = folders
        self._found: dict[str, str | None] = {}

    def find(self, module: str) -> str | None:
        """Return the path of a module; None where there is none, or only one without types."""
        if module not in self._found:
            self._found[module] = self._find(module)
        return self._found[module]

    def forget(self) -> None:
        """Look for each module anew."""
        self._found.clear()

    def shadows(self) -> bool:
        """Whether a file of the user's has the name of a module that mypy can't do without."""
        return any(self._own_standard(name) is not None for name in CORE)

    def is_installed(self, path: str) -> bool:
        """Whether a path lies in a folder of installed packages."""
        return any(path.startswith(join(folder, "")) for folder in self._paths.packages)

    def libraries(self, package: str) -> list[str]:
        """Return the folders in which a package is installed that is about torch, typed or not."""
        return [
            folder
            for folder in self._with(package, self._paths.packages)
            if is_about_torch(folder, package)
        ]

    def _find(self, module: str) -> str | None:
        parts = module.split(".")
        if not all(parts):
            return None
        if parts[0] in _STANDARD:
            return self._own_standard(module)
        top = parts[0]
        own: list[_Way] = [(folder, True, parts) for folder in self._with(top, self._paths.own)]
        stubs: list[_Way] = []
        typed: list[_Way] = []
        # A package of stubs by itself has the name of the package among its files.
        in_stubs = [top + _STUBS, *parts[1:]] if len(parts) > 1 else parts
        for folder in self._with(top, self._paths.packages):
            if self._folders.is_folder(folder, top + _STUBS):
                is_partial = self._is_partial(join(folder, top + _STUBS))
                stubs.append((folder, not is_partial, in_stubs))
                if is_partial:
                    typed.append((folder, True, parts))
            verified = self._typed(module, folder, parts)
            if verified is not None:
                typed.append((folder, verified, parts))
        return self._first([*own, *stubs, *typed])

    def _with(self, name: str, folders: Iterable[str]) -> Iterator[str]:
        """Yield the folders in which something has a name, or the name of its stubs."""
        for folder in folders:
            stems = self._folders.stems(folder)
            if name in stems or (name + _STUBS in stems and folder in self._paths.packages):
                yield folder

    def _own_standard(self, module: str) -> str | None:
        """Return a module of the user's that has the name of one of Python's.

        It must be one beyond doubt to come before Python's own. Of those nothing is returned: in
        mypy's types of them no shape is said.
        """
        parts = module.split(".")
        every = (self._candidates(folder, parts) for folder in self._paths.own)
        return next((path for one in every for path, above in one if path and all(above)), None)

    def _is_partial(self, stubs: str) -> bool:
        """Whether a package of stubs is completed by the package that they are about."""
        if not self._folders.is_file(stubs, _TYPED):
            return False
        try:
            return Path(stubs, _TYPED).read_text(encoding="utf-8").strip() == "partial"
        except (OSError, UnicodeError):
            return False

    def _typed(self, module: str, folder: str, parts: list[str]) -> bool | None:
        """Whether a package says that it has types, and each folder in it is to be a package.

        None where it says nothing, and isn't followed nevertheless.
        """
        there, is_plausible = folder, False
        for at, part in enumerate(parts):
            inside = join(there, part)
            if self._folders.is_file(inside, _TYPED):
                return at == 0
            is_folder = self._folders.is_folder(there, part)
            is_plausible |= is_folder or self._folders.is_file(there, f"{part}.py")
            if not is_folder:
                break
            there = inside
        if is_plausible and self._settings.of(module).follow_untyped_imports:
            return False
        return None

    def _first(self, ways: Iterable[_Way]) -> str | None:
        """Return the first file, else what is in the most packages."""
        near: list[tuple[int, str]] = []
        for folder, verified, parts in ways:
            for path, above in self._candidates(folder, parts):
                if path is not None and (not verified or all(above)):
                    return path
                outside = next(
                    (at for at, is_package in enumerate(above) if is_package), len(above)
                )
                near.append((len(above) - outside, path or join(folder, "/".join(parts))))
        if not self._settings.namespace_packages or not near:
            return None
        most = max(packages for packages, _ in near)
        return next(path for packages, path in near if packages == most)

    def _candidates(self, folder: str, parts: list[str]) -> Iterator[tuple[str | None, list[bool]]]:
        """Yield what may be a module in a folder, and which folders above it are packages.

        None for a folder that is a package for want of another.
        """
        above: list[bool] = []
        for part in parts[:-1]:
            if not self._folders.is_folder(folder, part):
                return
            folder = join(folder, part)
            above.append(self._folders.init_file(folder) is not None)
        name = parts[-1]
        inside = join(folder, name)
        if self._folders.is_file(join(folder, name + _STUBS), "__init__.pyi"):
            yield join(inside + _STUBS, "__init__.pyi"), above
        if self._folders.is_folder(folder, name):
            has_init = False
            for ending in ENDINGS:
                if self._folders.is_file(inside, f"__init__{ending}"):
                    has_init = True
                    yield join(inside, f"__init__{ending}"), above
            if not has_init:
                yield None, above
        for ending in ENDINGS:
            if self._folders.is_file(folder, name + ending):
                yield inside + ending, above


@cache
def package_folders(python: str) -> tuple[str, ...]:
    """Return the folders of packages that are installed for a Python, not its own library.

    Another Python than this one is named by the settings of a project: it isn't run.
    """
    if python == sys.executable:
        return tuple(_package_folders())
    return tuple(dict.fromkeys(_beside(Path(shutil.which(python) or python))))


_INSTALLED: Final = (
    "lib/python3*/site-packages",
    "lib64/python3*/site-packages",
    "Lib/site-packages",
    "lib/python3*/dist-packages",
)
"""Where packages are, from the folder on that a Python is installed in."""


def _beside(python: Path, *, is_home: bool = False) -> Iterator[str]:
    """Yield the folders of packages beside a Python, and those that the files in them name.

    `is_home`: a virtual environment has been made of it, and there is no other behind it.
    """
    prefix = python.absolute().parent.parent
    for pattern in _INSTALLED:
        for folder in sorted(prefix.glob(pattern)):
            yield str(folder)
            for named in sorted(folder.glob("*.pth")):
                lines = _lines_of(named)
                paths = (str(folder / line) for line in lines)
                yield from filter(os.path.isdir, paths)
    parts = (line.partition("=") for line in _lines_of(prefix / "pyvenv.cfg"))
    settings = {key.strip(): value.strip() for key, _, value in parts}
    is_shared = settings.get("include-system-site-packages", "").lower() == "true"
    if is_shared and "home" in settings and not is_home:
        yield from _beside(Path(settings["home"], "python"), is_home=True)


def _lines_of(file: Path) -> list[str]:
    try:
        return [line for line in file.read_text("utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeError):
        return []


def _package_folders() -> Iterator[str]:
    own = sysconfig.get_path("stdlib")
    version = f"python{sys.version_info.major}{sys.version_info.minor}.zip"
    archive = os.path.join(sys.base_exec_prefix, sys.platlibdir, version)  # noqa: PTH118
    left_out = {own, os.path.join(own, "lib-dynload"), archive, str(Path.cwd())}  # noqa: PTH118
    # The first one is that of the program, or the current folder.
    paths = [os.path.abspath(path) for path in sys.path[1:]]  # noqa: PTH100
    yield from (path for path in paths if path not in left_out)
    if site.ENABLE_USER_SITE:
        yield site.getusersitepackages()
    yield from site.getsitepackages()
