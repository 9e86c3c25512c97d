"""What was reported to somebody who keeps diagnostics, as mypy's cache does."""

from __future__ import annotations

from collections.abc import Mapping

from shapecheck.engine.database import Database


class Reported:
    """For each module the digest of what was last reported of it, and where modules were found.

    Without a database it knows of nothing, and keeps nothing.
    """

    def __init__(self, database: Database | None) -> None:
        self._database = database
        self._said = self._read("SELECT module, digest FROM reported")
        self.paths: Mapping[str, str] = self._read("SELECT module, path FROM paths")

    @property
    def token(self) -> str:
        """A text that is another one where nothing is known any more of what was reported."""
        return "" if self._database is None else self._database.token

    def of(self, module: str) -> str | None:
        """Return the digest of what was reported of a module; None where none was asked for."""
        return self._said.get(module)

    def note(self, module: str, digest: str | None) -> None:
        """Take note of what is reported of a module."""
        if self._database is None or self._said.get(module) == digest:
            return
        if digest is None:
            del self._said[module]
            self._database.write("DELETE FROM reported WHERE module = ?", (module,))
        else:
            self._said[module] = digest
            self._database.write("INSERT OR REPLACE INTO reported VALUES (?, ?)", (module, digest))

    def note_paths(self, paths: Mapping[str, str]) -> None:
        """Take note of where modules are."""
        new = {name: path for name, path in paths.items() if self.paths.get(name) != path}
        if new and self._database is not None:
            self.paths = {**self.paths, **new}
            for row in new.items():
                self._database.write("INSERT OR REPLACE INTO paths VALUES (?, ?)", row)

    def _read(self, query: str) -> dict[str, str]:
        rows = [] if self._database is None else self._database.rows(query, ())
        return {str(row[0]): str(row[1]) for row in rows}
