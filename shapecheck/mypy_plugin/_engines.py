"""The engines of a run: one for all modules that other modules are looked for in the same place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shapecheck.engine import Engine
from shapecheck.mypy_plugin._sources import MypyFiles
from shapecheck.project.folders import source_root

if TYPE_CHECKING:
    from shapecheck.analysis import Options
    from shapecheck.engine import Store
    from shapecheck.mypy_plugin._sources import ModuleFinder, SourceReader


class Engines:
    """Hands out the engine for a module; all of them keep what they find in one store.

    `stays`: the process does, and files will be edited, as in mypy's daemon.
    """

    def __init__(
        self,
        reader: SourceReader,
        finder: ModuleFinder,
        options: Options,
        store: Store | None,
        *,
        stays: bool = False,
    ) -> None:
        self._reader = reader
        self._finder = finder
        self._options = options
        self._store = store
        self._stays = stays
        self._engines: dict[str, Engine[MypyFiles]] = {}

    def of(self, module: str, path: str) -> Engine[MypyFiles]:
        """Return the engine for the check of a module."""
        root = source_root(module, path)
        if root not in self._engines:
            files = MypyFiles(self._reader, self._finder, (module, path))
            self._engines[root] = Engine(files, self._options, self._store, stays=self._stays)
        return self._engines[root]

    def renew(self) -> None:
        """See all files as they are now."""
        self._finder.forget()
        for engine in self._engines.values():
            engine.renew(engine.files.renew())
