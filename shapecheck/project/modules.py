"""The modules of a run: those that are checked, and where the others lie."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from shapecheck.analysis import Source
from shapecheck.analysis.program.syntax import tree_of
from shapecheck.project import imports
from shapecheck.project.folders import ENDINGS, Folders, source_root
from shapecheck.project.libraries import is_followed
from shapecheck.project.reading import Reader
from shapecheck.project.relevance import hands_out_shapes, is_library
from shapecheck.project.search import Search, SearchPaths
from shapecheck.project.settings import NORMAL, SILENT, Settings
from shapecheck.project.targets import Target


@dataclass(frozen=True, slots=True)
class Module:
    """A module of the run. `is_silent`: it is read, and nothing is said of it."""

    name: str
    path: str
    is_silent: bool = False


class Modules:
    """The files that are checked together: each has a module name of its own.

    `are_misnamed`: one of them is imported by another name than the one it has.
    """

    def __init__(
        self, targets: Sequence[Target], settings: Settings, folders: Folders, reader: Reader
    ) -> None:
        self._settings = settings
        self._reader = reader
        self._folders = folders
        self.given = {target.module: Module(target.module, target.path) for target in targets}
        bases = dict.fromkeys(target.base for target in targets if target.base is not None)
        paths = SearchPaths.of(settings, (*reversed(bases), str(Path.cwd())))
        self._search = Search(paths, settings, folders)
        self.are_misnamed = self._search.shadows()
        self._known: dict[str, Module | None] = dict(self.given)
        self._hosts: dict[str, Host] = {}

    def followed(self, *, by_name: bool = False) -> list[Module]:
        """Return the other modules that are checked, for the given ones import them.

        `by_name`: nobody wants them where one is misnamed; then they aren't all looked for.
        """
        names = {os.path.abspath(one.path): one.name for one in self.given.values()}  # noqa: PTH100
        waiting = list(self.given.values())
        found: list[Module] = []
        seen = set(self.given)
        while waiting:
            module = waiting.pop()
            for name in self._imported(module):
                if name in seen:
                    continue
                seen.add(name)
                other = self.known(name)
                if other is None or is_library(other.path) or self._search.is_installed(other.path):
                    continue
                path = os.path.abspath(other.path)  # noqa: PTH100
                if names.setdefault(path, name) != name:
                    self.are_misnamed = True
                    if by_name:
                        return found
                    continue
                waiting.append(other)
                if not other.is_silent and path.endswith(ENDINGS):
                    found.append(other)
        return found

    def forget_places(self) -> None:
        """Look for all other modules anew: files may have come or gone."""
        self._search.forget()
        self.are_misnamed = self._search.shadows()
        self._known = dict(self.given)

    def known(self, name: str) -> Module | None:
        """Return a module as mypy would load it; None for one that isn't there, or is skipped."""
        if name not in self._known:
            self._known[name] = self._load(name)
        return self._known[name]

    def _load(self, name: str) -> Module | None:
        path = self._search.find(name)
        if path is None:
            return None
        settings = self._settings.of(name)
        follow = settings.follow_imports
        if path.endswith(".pyi") and not settings.follow_imports_for_stubs:
            follow = NORMAL
        if follow not in (NORMAL, SILENT):
            return None
        return Module(name, path, follow == SILENT or self._search.is_installed(path))

    def _imported(self, module: Module) -> Iterator[str]:
        """Yield the names of modules that a module needs, the packages it is in among them."""
        if "." not in Path(module.path).stem:
            yield from _above(module.name)
        source = self._reader.read(module.name, module.path)
        if source is None:
            return
        is_package = Path(module.path).name.startswith("__init__.")
        found = imports.perhaps(source.text, module.name, is_package=is_package)
        names = None if found is None else list(self._named(found))
        if names is not None and all(name in self.given for name in names if self._is_own(name)):
            yield from names
            return
        with suppress(SyntaxError, ValueError, RecursionError):
            tree = tree_of(source.text)
            found = imports.surely(tree, module.name, self._settings, is_package=is_package)
            yield from self._named(found)

    def _is_own(self, name: str) -> bool:
        """Whether a module may be one that is followed; a folder without a file is none."""
        module = self.known(name)
        if module is None or not module.path.endswith(ENDINGS):
            return False
        return not is_library(module.path)

    def _named(self, found: Iterable[imports.Imported]) -> Iterator[str]:
        for one in found:
            yield one.module
            yield from _above(one.module)
            inside = (f"{one.module}.{name}" for name in one.names)
            yield from (name for name in inside if self.known(name) is not None)

    def path(self, name: str, looker: Module) -> str | None:
        """Return where a module lies for one that imports it.

        One that isn't followed is found, nevertheless, in the folders that the looker's own name
        starts from.
        """
        module = self.known(name)
        if module is not None:
            return module.path
        parts = name.split(".")
        of_packages = self._search.libraries(parts[0])
        for root in (
            source_root(looker.name, looker.path),
            *self._settings.mypy_path,
            *of_packages,
        ):
            *above, last = parts
            folder = os.path.join(root, *above)  # noqa: PTH118
            for ending in ENDINGS:
                if self._folders.is_file(os.path.join(folder, last), f"__init__{ending}"):  # noqa: PTH118
                    return os.path.join(folder, last, f"__init__{ending}")  # noqa: PTH118
                if self._folders.is_file(folder, last + ending):
                    return os.path.join(folder, last + ending)  # noqa: PTH118
        return None

    def host(self, module: Module) -> Host:
        """Return what the analysis of a module asks for others."""
        root = source_root(module.name, module.path)
        if root not in self._hosts:
            self._hosts[root] = Host(self, module, self._reader)
        return self._hosts[root]


class Host:
    """Answers the analysis of modules of which the names start from the same folder."""

    def __init__(self, modules: Modules, looker: Module, reader: Reader) -> None:
        self._modules = modules
        self._looker = looker
        self._reader = reader
        self._found: dict[str, Source | None] = {}
        self._paths: dict[str, str | None] = {}
        self._versions: dict[str, tuple[Source, str]] = {}

    def source(self, module: str) -> Source | None:
        """Return the source of a module by its dotted name, or None where there is none to read."""
        if module not in self._found:
            self._found[module] = self._find(module)
        return self._found[module]

    def version(self, module: str) -> str | None:
        """Return what is another text where the module's source or its path is."""
        source = self.source(module)
        if source is None:
            return None
        known = self._versions.get(module)
        if known is None or known[0] is not source:
            version = f"{self._reader.digest(source)} {source.path}"
            known = self._versions[module] = source, version
        return known[1]

    def renew(self, *, are_places_new: bool) -> set[str]:
        """See all modules as the reader does now; return those that have changed, come or gone.

        Where they lie is found out again if `are_places_new`.
        """
        changed = set()
        if are_places_new:
            self._paths.clear()
        for module, known in self._found.items():
            found = self._find(module)
            if found is not known and found != known:
                changed.add(module)
                self._found[module] = found
        return changed

    def _find(self, module: str) -> Source | None:
        if module not in self._paths:
            self._paths[module] = self._modules.path(module, self._looker)
        path = self._paths[module]
        found = None if path is None else self._reader.read(module, path)
        if found is None or path is None or not is_library(path):
            return found
        size = len(found.text.encode("utf-8", errors="surrogatepass"))
        is_read = hands_out_shapes(path, found.text, size) or is_followed(path)
        return found if is_read else None


def _above(name: str) -> Iterator[str]:
    parts = name.split(".")
    yield from (".".join(parts[:length]) for length in range(1, len(parts)))
