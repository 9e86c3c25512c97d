"""The files to check, and the names of their modules, as mypy finds them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shapecheck.project import gitignore, grouping
from shapecheck.project.folders import ENDINGS, Folders, join
from shapecheck.project.search import Search, SearchPaths
from shapecheck.project.settings import Settings

_LEFT_OUT: Final = ("__pycache__", "site-packages", "node_modules")
_SCRIPT: Final = "__main__"


class TargetError(Exception):
    """What was to be checked can't be: why. `is_name`: for how a folder is called."""

    def __init__(self, message: str, *, is_name: bool = False) -> None:
        super().__init__(message)
        self.is_name = is_name


@dataclass(frozen=True, slots=True)
class Target:
    """A file to check; `base` is the folder that the name of its module starts from."""

    path: str
    module: str
    base: str | None


def find(settings: Settings, folders: Folders, *, any_name: bool = False) -> list[Target]:
    """Find all that the settings name, else all in this folder.

    Under `any_name` a folder of a name that Python can't import is no package, whatever is in it.
    Raises `TargetError` where something isn't there, or can't be named.
    """
    if settings.packages or settings.modules:
        return list(_Packages(settings, folders).targets())
    return list(_Finder(settings, folders, any_name).targets(settings.files or (".",)))


def each_once(targets: Iterable[Target], named: Sequence[str]) -> Iterator[Target]:
    """Leave out files that links lead to again, and links in folders that lead nowhere."""
    seen: set[str] = set()
    for target in targets:
        path = os.path.realpath(target.path)
        if path not in seen and (target.path in named or Path(path).exists()):
            seen.add(path)
            yield target


def groups(targets: Iterable[Target]) -> list[list[Target]]:
    """Divide the files into groups that can be checked together."""
    return grouping.groups(targets, lambda one: one.base, lambda one: one.module)


class _Finder:
    """Finds files in folders, and names their modules by the folders that they are in."""

    def __init__(self, settings: Settings, folders: Folders, any_name: bool) -> None:
        self._settings = settings
        self._folders = folders
        self._any_name = any_name
        self._excluded = Excluded(settings)
        self._bases = None
        if settings.explicit_package_bases:
            self._bases = {os.path.abspath(one) for one in (*settings.mypy_path, ".")}  # noqa: PTH100
        self._named: dict[str, tuple[str, str] | None] = {}

    def targets(self, paths: Iterable[str]) -> Iterator[Target]:
        for path in map(os.path.normpath, paths):
            if path.endswith(ENDINGS):
                yield self._target(path)
            elif Path(path).is_dir():
                found = list(self._in_folder(path))
                if not found:
                    raise TargetError(f"There are no .py[i] files in directory '{path}'")
                yield from found
            else:
                is_module = self._settings.scripts_are_modules
                yield Target(path, Path(path).name if is_module else _SCRIPT, None)

    def _in_folder(self, folder: str) -> Iterator[Target]:
        seen: set[str] = set()
        listing = self._folders.listing(folder)
        for name in sorted(listing, key=_order):
            path = os.path.join(folder, name)  # noqa: PTH118 - as mypy writes it
            is_folder = listing[name]
            if name in _LEFT_OUT or name.startswith("."):
                continue
            if self._excluded(path, is_folder=is_folder):
                continue
            stem, ending = os.path.splitext(name)  # noqa: PTH122
            if is_folder:
                inside = list(self._in_folder(path))
                if inside:
                    seen.add(name)
                yield from inside
            elif ending in ENDINGS and stem not in seen:
                seen.add(stem)
                yield self._target(path)

    def _target(self, path: str) -> Target:
        folder, name = os.path.split(os.path.abspath(path))  # noqa: PTH100
        stem = next(name.removesuffix(one) for one in ENDINGS if name.endswith(one)) or name
        package, base = self._package(folder) or ("", folder)
        if stem == "__init__":
            return Target(path, package or _SCRIPT, base)
        return Target(path, _joined(package, stem), base)

    def _package(self, folder: str) -> tuple[str, str] | None:
        """Return the package that a folder is, and where that starts; None if nothing says it."""
        if folder not in self._named:
            self._named[folder] = self._find_package(folder)
        return self._named[folder]

    def _find_package(self, folder: str) -> tuple[str, str] | None:
        if self._bases is not None and folder in self._bases:
            return "", folder
        parent, name = os.path.split(folder)
        name = name.removesuffix("-stubs")
        init = self._folders.init_file(folder)
        if init is not None:
            if not name.isidentifier():
                if self._any_name:
                    return None
                message = f"{name} contains {init} but is not a valid Python package name"
                raise TargetError(message, is_name=True)
            above, base = self._package(parent) or ("", parent)
            return _joined(above, name), base
        if not name.isidentifier() or not parent or not self._settings.namespace_packages:
            return None
        found = self._package(parent)
        return None if found is None else (_joined(found[0], name), found[1])


class _Packages:
    """Finds modules and packages by their names."""

    def __init__(self, settings: Settings, folders: Folders) -> None:
        self._settings = settings
        self._folders = folders
        self._excluded = Excluded(settings)
        here = str(Path.cwd())
        self._search = Search(SearchPaths.of(settings, (here,)), settings, folders)

    def targets(self) -> Iterator[Target]:
        for package in self._settings.packages:
            found = list(self._below(package))
            if not found:
                raise TargetError(f"Can't find package '{package}'")
            yield from found
        for module in self._settings.modules:
            path = self._search.find(module)
            if path is None:
                raise TargetError(f'Cannot find module "{module}"')
            yield Target(path, module, None)

    def _below(self, module: str) -> Iterator[Target]:
        path = self._search.find(module)
        if path is None:
            return
        if Path(path).is_dir():
            folder = path
        else:
            yield Target(path, module, None)
            folder, name = os.path.split(path)
            if not name.startswith("__init__."):
                return
        seen: set[str] = set()
        listing = self._folders.listing(folder)
        for name in sorted(listing):
            inside = join(folder, name)
            stem, ending = os.path.splitext(name)  # noqa: PTH122
            if name in _LEFT_OUT or name.startswith("."):
                continue
            if self._excluded(inside, is_folder=listing[name]):
                continue
            if listing[name]:
                is_package = self._folders.init_file(inside) is not None
                if is_package or self._settings.namespace_packages:
                    seen.add(name)
                    yield from self._below(f"{module}.{name}")
            elif ending in ENDINGS and "." not in stem and stem not in {"__init__", *seen}:
                seen.add(stem)
                yield from self._below(f"{module}.{stem}")


class Excluded:
    """Whether a file or folder is left out when a folder is looked through."""

    def __init__(self, settings: Settings) -> None:
        try:
            self._patterns = [re.compile(one) for one in settings.exclude]
        except re.error as error:
            raise TargetError(
                f"The exclude {error.pattern!r} is an invalid regular expression, because: {error}"
            ) from None
        self._asks_git = settings.exclude_gitignore

    def __call__(self, path: str, *, is_folder: bool) -> bool:
        """Whether it is."""
        if self._patterns:
            shown = os.path.relpath(path).replace(os.sep, "/") + ("/" if is_folder else "")
            if any(pattern.search(shown) for pattern in self._patterns):
                return True
        return self._asks_git and gitignore.matches(path, is_folder=is_folder)


def _order(name: str) -> tuple[bool, int, str]:
    """Sort a folder first, then the stub of a module and the module; `__init__` before all."""
    base, ending = os.path.splitext(name)  # noqa: PTH122
    if ending in ENDINGS:
        return base != "__init__", ENDINGS.index(ending), base
    return base != "__init__", -1, name


def _joined(package: str, name: str) -> str:
    return f"{package}.{name}" if package else name
