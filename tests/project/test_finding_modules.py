"""Files are named, and modules found, as mypy does both, in folders of all kinds."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Final

import pytest
from mypy.find_sources import InvalidSourceList, create_source_list
from mypy.fscache import FileSystemCache
from mypy.modulefinder import FindModuleCache
from mypy.modulefinder import SearchPaths as MypyPaths
from mypy.options import Options

from shapecheck.project.folders import Folders, source_root
from shapecheck.project.search import Search, SearchPaths
from shapecheck.project.settings import Settings
from shapecheck.project.targets import TargetError, find

NAMES: Final = "a b c ab a-b c.d __init__ node_modules .h a-stubs".split()
ENDINGS: Final = (".py", ".py", ".pyi", ".txt")


def grow(folder: Path, random: Random, depth: int = 3) -> None:
    """Put files and folders of a few names into a folder."""
    folder.mkdir(exist_ok=True)
    for name in random.sample(NAMES, random.randint(1, 5)):
        if depth and random.random() < 0.55 and name != "__init__":
            grow(folder / name, random, depth - 1)
        else:
            (folder / f"{name}{random.choice(ENDINGS)}").write_text("")
    if random.random() < 0.4:
        (folder / "__init__.py").write_text("")
    if random.random() < 0.2:
        (folder / "py.typed").write_text(random.choice(["", "partial\n"]))


def settings_of(random: Random) -> Settings:
    """Return settings that have to do with where files are."""
    namespaces = random.random() < 0.7
    return Settings(
        files=tuple(random.sample([".", "a", "a/b", "a.py", "c/a.pyi"], random.randint(1, 2))),
        exclude=tuple(random.sample(["^a/b", r"c\.py$", "/ab/"], random.randint(0, 2))),
        mypy_path=tuple(random.sample(["b", "a/c", "lib"], random.randint(0, 2))),
        namespace_packages=namespaces,
        explicit_package_bases=namespaces and random.random() < 0.4,
    )


def options_of(settings: Settings) -> Options:
    """Return mypy's options that say the same."""
    options = Options()
    options.exclude = [*settings.exclude]
    options.mypy_path = [*settings.mypy_path]
    options.namespace_packages = settings.namespace_packages
    options.explicit_package_bases = settings.explicit_package_bases
    return options


@pytest.mark.parametrize("seed", range(60))
def test_files_and_their_names(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same files, in the same order, with the same names, below the same folders."""
    random = Random(seed)
    grow(tmp_path, random)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MYPYPATH", raising=False)
    settings = settings_of(random)
    assert found_by_us(settings) == found_by_mypy(settings)


def found_by_us(settings: Settings) -> object:
    """Return the files that we find, or why not."""
    try:
        return [(one.path, one.module, one.base) for one in find(settings, Folders())]
    except TargetError as error:
        return str(error)


def found_by_mypy(settings: Settings) -> object:
    """Return the files that mypy finds, or why not."""
    try:
        found = create_source_list(settings.files, options_of(settings), FileSystemCache())
    except InvalidSourceList as error:
        return str(error)
    return [(one.path, one.module, one.base_dir) for one in found]


@pytest.mark.parametrize("seed", range(60))
def test_where_modules_lie(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same file for each name, or none; in the user's folders and among packages."""
    random = Random(seed)
    folders = [tmp_path / name for name in ("one", "two", "site", "more")]
    for folder in folders:
        grow(folder, random)
        for package in folder.iterdir():
            if package.is_dir() and random.random() < 0.5:
                (package / "py.typed").write_text("")
    monkeypatch.chdir(tmp_path)
    settings = replace(Settings(), namespace_packages=random.random() < 0.7)
    one, two, site, more = map(str, folders)
    theirs = FindModuleCache(
        MypyPaths((two,), (one,), (site, more), ()), FileSystemCache(), options_of(settings)
    )
    ours = Search(SearchPaths((one, two), (site, more)), settings, Folders())
    parts = ["a", "b", "c", "ab"]
    names = [*parts, *(f"{x}.{y}" for x in parts for y in parts)]
    names += [f"{name}.{random.choice(parts)}" for name in names if "." in name]
    found = {name: theirs.find_module(name, fast_path=True) for name in names}
    files = {name: path for name, path in found.items() if isinstance(path, str)}
    assert {name: path for name in names if (path := ours.find(name)) is not None} == files


@pytest.mark.parametrize(
    ("module", "path", "root"),
    [
        ("m", "m.py", "."),
        ("m", "./m.py", "."),
        ("m", "/m.pyi", "/"),
        ("p.m", "p/m.py", "."),
        ("p.m", "src/p/m.py", "src"),
        ("p.m", "../src//p/./m.py", "../src"),
        ("p.q", "/src/p/q/__init__.py", "/src"),
        ("p", ".hidden/p/__init__.pyi", ".hidden"),
        ("p.q.m", "m.py", "."),
    ],
)
def test_where_a_dotted_name_starts(module: str, path: str, root: str) -> None:
    assert source_root(module, path.replace("/", os.sep)) == root.replace("/", os.sep)
