"""The modules of a project as the analysis sees them: on disk, or as they are to become."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from shapecheck.analysis import Source
from shapecheck.codemod.files import FileProblem, read


def module_of(path: Path) -> tuple[str, Path]:
    """Return the dotted name of a file's module, and the folder that the name starts from."""
    path = path.absolute()
    parts = [] if path.stem == "__init__" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder.parent != folder:
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts) or path.stem, folder


class ProjectHost:
    """Finds modules below one folder, and beside it in `src`; `changed` has texts by path.

    `asked` are the files of the modules that were asked for.
    """

    def __init__(self, root: Path, changed: Mapping[Path, str] | None = None) -> None:
        self.root = root
        self._changed = changed or {}
        self.asked: set[Path] = set()
        self._known: dict[str, Source | None] = {}

    def source(self, module: str) -> Source | None:
        """Return the source of a module by its dotted name, None where there is none to read."""
        if module not in self._known:
            self._known[module] = self._find(module)
        found = self._known[module]
        if found is not None:
            self.asked.add(Path(found.path))
        return found

    def known(self) -> Iterator[Source]:
        """Yield the sources that there were when they were asked for."""
        return (found for found in self._known.values() if found is not None)

    def _find(self, module: str) -> Source | None:
        parts = module.split(".")
        if not all(parts):
            return None
        for base in (self.root, self.root / "src", self.root.parent):
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
