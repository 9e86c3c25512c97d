"""What was reported to somebody who keeps diagnostics, as mypy's cache does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from shapecheck.engine.seals import opened, sealed
from shapecheck.engine.versions import digest
from shapecheck.made_from_files import Stamp

if TYPE_CHECKING:
    from collections.abc import Callable

    from shapecheck.engine.database import Database


class Told(NamedTuple):
    """What was reported of a module.

    `digest` is that of what was said. `asked` are the modules of which it was asked whether they
    have to do with tensors, `rests_on` those and all others that had a say in it, and `seen` a
    digest of their versions then: it is the same for as long as these are.
    """

    digest: str
    asked: tuple[str, ...]
    rests_on: tuple[str, ...]
    seen: str

    @classmethod
    def of(cls, said: str, asked: Iterable[str], versions: Mapping[str, str | None]) -> Told:
        """Return what was reported where the modules that it rests on have these versions."""
        rests_on = tuple(sorted(versions))
        return cls(said, tuple(asked), rests_on, _seen(rests_on, versions.__getitem__))

    def holds(self, version: Callable[[str], str | None]) -> bool:
        """Whether all that had a say in it is as it was; `version` returns that of a module."""
        return self.seen == _seen(self.rests_on, version)

    def for_once(self) -> Told:
        """Return what was reported where it doesn't hold any longer than that."""
        return self._replace(seen="")

    def to_text(self) -> str:
        """Return it as it is written down."""
        names = " ".join(self.asked), " ".join(self.rests_on)
        return sealed("\n".join((self.digest, *names, self.seen)))

    @staticmethod
    def from_text(text: object) -> Told:
        """Return what was written down; what is damaged holds of nothing."""
        try:
            said, asked, rests_on, seen = opened(text).split("\n")
        except ValueError:
            return Told("", (), (), "")
        return Told(said, tuple(asked.split()), tuple(rests_on.split()), seen)


def _seen(modules: Iterable[str], version: Callable[[str], str | None]) -> str:
    text = "\0".join([f"{module} {version(module) or ''}" for module in modules])
    return digest(text.encode(errors="surrogatepass"))


class File(NamedTuple):
    """Where a module was found, and what was read there.

    `stamp` tells whether the file is still the same, and is no file's where it had just been
    written, and may have been since. `hands_out` says whether a module of a library is worth
    reading.
    """

    path: str
    stamp: Stamp
    digest: str
    hands_out: bool

    def to_text(self) -> str:
        """Return it as it is written down."""
        fields = (*self.stamp, self.digest, int(self.hands_out), self.path)
        return sealed(" ".join(map(str, fields)))

    @staticmethod
    def from_text(text: object) -> File | None:
        """Return what was written down; None for what is damaged."""
        with suppress(ValueError):
            written, changed, size, of_text, hands_out, path = opened(text).split(" ", 5)
            stamp = int(written), int(changed), int(size)
            return File(path, stamp, of_text, hands_out == "1")
        return None


class Reported:
    """For each module what was last reported of it, and where modules were found.

    `maker` tells analyses apart, as for a `Store`: what another one has seen in files isn't known.
    Without a database it knows of nothing, and keeps nothing.
    """

    def __init__(self, database: Database | None, maker: str) -> None:
        self._database, self._maker = database, maker
        told = self._rows("SELECT module, told FROM reported")
        files = self._rows("SELECT module, file FROM files WHERE maker = ?", maker)
        self._told = {str(module): Told.from_text(text) for module, text in told}
        found = ((str(module), File.from_text(text)) for module, text in files)
        self._files = {module: file for module, file in found if file is not None}

    @property
    def token(self) -> str:
        """A text that is another one where nothing is known any more of what was reported."""
        return "" if self._database is None else self._database.token

    @property
    def files(self) -> Mapping[str, File]:
        """Where modules were found."""
        return self._files

    def of(self, module: str) -> Told | None:
        """Return what was reported of a module; None where nothing was asked for."""
        return self._told.get(module)

    def note(self, module: str, told: Told | None) -> None:
        """Take note of what is reported of a module."""
        if self._database is None or self._told.get(module) == told:
            return
        if told is None:
            del self._told[module]
            self._database.write("DELETE FROM reported WHERE module = ?", (module,))
        else:
            self._told[module] = told
            row = module, told.to_text()
            self._database.write("INSERT OR REPLACE INTO reported VALUES (?, ?)", row)

    def note_file(self, module: str, file: File) -> None:
        """Take note of where a module is."""
        if self._database is not None and self._files.get(module) != file:
            self._files[module] = file
            row = module, self._maker, file.to_text()
            self._database.write("INSERT OR REPLACE INTO files VALUES (?, ?, ?)", row)

    def _rows(self, query: str, *values: str) -> Iterable[tuple[object, ...]]:
        return [] if self._database is None else self._database.rows(query, values)
