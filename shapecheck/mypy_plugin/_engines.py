"""The engines of a run: one for all modules that other modules are looked for in the same place."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from shapecheck.mypy_plugin._sources import MypyFiles
from shapecheck.project.folders import source_root

if TYPE_CHECKING:
    from collections.abc import Callable

    from shapecheck.analysis import Options
    from shapecheck.engine import Engine, Store
    from shapecheck.mypy_plugin._sources import ModuleFinder, SourceReader


class Engines:
    """Hands out the engine for a module; all of them keep what they find in one store.

    There is none before somebody asks for one: a run with nothing new asks for versions of files,
    and nothing else. `store` opens what is kept. `stays`: the process does, and files will be
    edited, as in mypy's daemon.
    """

    def __init__(
        self,
        reader: SourceReader,
        finder: ModuleFinder,
        options: Options,
        store: Callable[[], Store | None],
        *,
        stays: bool = False,
    ) -> None:
        self._reader = reader
        self._finder = finder
        self._options = options
        self._open = store
        self._stays = stays
        self._files: dict[str, MypyFiles] = {}
        self._engines: dict[str, Engine[MypyFiles]] = {}

    def of(self, module: str, path: str) -> Engine[MypyFiles]:
        """Return the engine for the check of a module."""
        root = source_root(module, path)
        found = self._engines.get(root)
        if found is None:
            from shapecheck.engine import Engine  # late, as is the store

            files = self.files(module, path)
            found = Engine(files, self._options, self._store, stays=self._stays)
            self._engines[root] = found
        return found

    def files(self, module: str, path: str) -> MypyFiles:
        """Return the files that the check of a module sees."""
        root = source_root(module, path)
        found = self._files.get(root)
        if found is None:
            found = self._files[root] = MypyFiles(self._reader, self._finder, (module, path))
        return found

    def renew(self) -> None:
        """See all files as they are now."""
        self._finder.forget()
        for root, files in [*self._files.items()]:
            if root in self._engines:
                self._engines[root].renew(files.renew())
            else:
                del self._files[root]

    @cached_property
    def _store(self) -> Store | None:
        return self._open()
