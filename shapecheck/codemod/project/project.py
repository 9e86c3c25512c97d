"""The modules of a project as the analysis sees them: on disk, or as they are to become."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from shapecheck.analysis import Source
from shapecheck.analysis.program.syntax import syntax
from shapecheck.analysis.study.study import defs
from shapecheck.codemod.project.files import FileProblem, read


def module_of(path: Path) -> tuple[str, Path]:
    """Return the dotted name of a file's module, and the folder that the name starts from."""
    path = path.absolute()
    parts = [] if path.stem == "__init__" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder.parent != folder:
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts) or path.stem, folder


_TOPS: Final = (".git", ".hg", "pyproject.toml", "setup.py", "setup.cfg")
"""A folder with one of these is the top of a project."""


def _roots(path: Path) -> Iterator[Path]:
    """Yield the folders that names of packages start from, for a file in one.

    A project's top may have an `__init__.py` by accident: what is in it is imported from there.
    """
    root = module_of(path)[1]
    if (path.parent / "__init__.py").is_file():
        yield root
    inside = path.absolute().relative_to(root).parents
    yield from (root / one for one in inside if one.parts and _is_top(root / one))


def _is_top(folder: Path) -> bool:
    return any((folder / top).exists() for top in _TOPS)


Name = tuple[str, str]
"""The path of a file and the qualified name of a function in it."""

Function = tuple[str, str, int]
"""A function: its file, its qualified name, and how many functions of that name are above it."""


class Project:
    """The files that are looked at together, as they are to become; each root has a host."""

    def __init__(self, texts: Mapping[Path, str]) -> None:
        self._texts = texts
        self._packages = sorted({folder for path in texts for folder in _roots(path)})
        self._hosts: dict[Path, ProjectHost] = {}
        self._functions: dict[str, dict[int, Function]] = {}

    def host(self, path: Path) -> ProjectHost:
        """Return what the modules are found with that a file imports."""
        root = module_of(path)[1]
        if root not in self._hosts:
            self._hosts[root] = ProjectHost(root, self._texts, self._packages)
        return self._hosts[root]

    def known(self) -> Iterator[Source]:
        """Yield the sources that there were when they were asked for."""
        return (found for host in self._hosts.values() for found in host.known())

    def function(self, path: str, line: int) -> Function | None:
        """Return the function of which the `def` is on a line of a file; None for a lambda."""
        if path not in self._functions:
            text = self._texts.get(Path(path))
            if text is None:
                text = next(one.text for one in self.known() if one.path == path)
            every = defs(syntax(Source(module_of(Path(path))[0], path, text)).tree)
            self._functions[path] = {node.lineno: (path, name, nth) for node, name, nth in every}
        return self._functions[path].get(line)

    def names(self, places: Iterable[tuple[str, int]]) -> frozenset[Name]:
        """Return the functions of which the `def` is at one of some places."""
        every = (self.function(*place) for place in places)
        return frozenset(one[:2] for one in every if one is not None)


class ProjectHost:
    """Finds modules as a program in one folder would, wherever in its project that lies.

    They are looked for in the folder, in those around it up to the project's top, in each one's
    `src`, then among `packages`, the folders of which packages are known. `changed` has texts by
    path; `consulted` are the functions of which annotations were read.
    """

    def __init__(
        self,
        root: Path,
        changed: Mapping[Path, str] | None = None,
        packages: Sequence[Path] = (),
    ) -> None:
        around = [root, *root.parents]
        tops = (at for at, one in enumerate(around) if _is_top(one))
        folders = around[: next(tops, 1) + 1]
        self._bases = [base for one in folders for base in (one, one / "src")]
        self._packages = [one for one in packages if one not in self._bases]
        self._changed = changed or {}
        self.consulted: set[tuple[str, int]] = set()
        self._known: dict[str, Source | None] = {}

    def source(self, module: str) -> Source | None:
        """Return the source of a module by its dotted name, None where there is none to read."""
        if module not in self._known:
            self._known[module] = self._find(module)
        return self._known[module]

    def known(self) -> Iterator[Source]:
        """Yield the sources that there were when they were asked for."""
        return (found for found in self._known.values() if found is not None)

    def _find(self, module: str) -> Source | None:
        parts = module.split(".")
        if not all(parts):
            return None
        packages = (one for one in self._packages if (one / parts[0] / "__init__.py").is_file())
        for base in (*self._bases, *packages):
            for path in (
                base.joinpath(*parts, "__init__.py"),
                base.joinpath(*parts).with_suffix(".py"),
            ):
                if path.is_file():
                    return self.read(module, path)
        return None

    def read(self, module: str, path: Path) -> Source | None:
        """Return the source of a file, None where it can't be read."""
        if path in self._changed:
            return Source(module, str(path), self._changed[path])
        try:
            return Source(module, str(path), read(path).text)
        except FileProblem:
            return None
