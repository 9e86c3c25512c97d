"""Whether mypy's cache still has what is to be said of a module.

A run in which nothing has changed asks this of each module, and nothing else of the plugin: so
little is imported here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shapecheck.analysis import mentions_tensors
from shapecheck.engine import Told

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shapecheck.engine import Engine, ModuleRecord, Reported
    from shapecheck.engine.versions import Versions
    from shapecheck.mypy_plugin._engines import Engines
    from shapecheck.mypy_plugin._sources import MypyFiles

_IDLE: Final = "idle"
"""Stands for the digest of what is said of a module that has nothing to do with tensors."""


class Cached:
    """What mypy has in its cache of what was said of each module, as `reported` tells."""

    def __init__(self, engines: Engines, reported: Reported) -> None:
        self._engines = engines
        self._reported = reported

    def is_current(self, module: str, path: str) -> bool:
        """Whether what mypy has in its cache is still what is to be said of a module.

        Where something that it rests on has changed, that is found out: it mostly says the same.
        """
        told = self._reported.of(module)
        if told is None:
            return True
        files = self._engines.files(module, path)
        is_current = told.holds(files.version)
        if not is_current:
            versions = self._said_again(module, path, told)
            if versions is not None:
                self._reported.note(module, Told.of(told.digest, told.asked, versions))
                is_current = True
        self._note_files(files)
        return is_current

    def note(self, record: ModuleRecord, asked: Iterable[str], files: MypyFiles) -> None:
        """Take note of what is reported of a module.

        `asked` are the modules of which it was asked whether they have to do with tensors.
        """
        is_idle = not record.said and not record.has_parts
        versions = {**{name: files.version(name) for name in asked}, **record.versions}
        told = Told.of(_IDLE if is_idle else record.digest, asked, versions)
        if record.said and not record.has_parts:
            told = told.for_once()  # it failed, and may do better the next time
        self._reported.note(record.module, told)
        self._note_files(files)

    def forget(self, module: str) -> None:
        """Take note of a module of which mypy would drop what is reported."""
        self._reported.note(module, None)

    def _said_again(self, module: str, path: str, told: Told) -> Versions | None:
        """Return what the same rests on as was told; None where something else is to be said now.

        Something that it rested on has changed, and it may rest on other modules by now.
        """
        engine = self._engines.of(module, path)
        asked = {name: engine.files.version(name) for name in told.asked}
        is_about = any(is_about_tensors(engine, name) for name in asked)
        if told.digest == _IDLE:
            return None if is_about else {**asked, module: engine.files.version(module)}
        if told.asked and not is_about:
            return None
        record = engine.known(module)
        if record is None:
            return None
        if not engine.holds(record):
            if record.versions.get(module) != engine.files.version(module):
                return None  # mypy checks it again for that alone
            try:
                engine.record(module)
            except Exception:  # noqa: BLE001 - it fails again where that is told
                return None
        record = engine.known(module)
        return {**asked, **record.versions} if record and record.digest == told.digest else None

    def _note_files(self, files: MypyFiles) -> None:
        for module, file in files.new():
            self._reported.note_file(module, file)


def is_about_tensors(engine: Engine[MypyFiles], module: str) -> bool:
    """Whether the text of a module has to do with tensors."""
    source = engine.files.source(module)
    return source is not None and mentions_tensors(source.text)
