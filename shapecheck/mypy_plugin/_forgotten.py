"""What mypy's daemon has forgotten of our errors is reported again.

The daemon drops all errors before it updates a module, and calls for the analysis of that module
alone; for one that is deleted it calls no one. When all is updated, it checks again what it is to
(see `have_checked`): always a small module of Python's own, too. When it comes to that one, all
others are as they will be shown.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from shapecheck.mypy_plugin._names import ALWAYS_CHECKED, ALWAYS_CHECKED_TYPE
from shapecheck.mypy_plugin._rechecking import have_checked
from shapecheck.project.relevance import is_library

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy.errors import Errors
    from mypy.nodes import MypyFile
    from mypy.options import Options
    from mypy.plugin import AnalyzeTypeContext
    from mypy.typeanal import TypeAnalyser
    from mypy.types import Type

    from shapecheck.engine import ModuleRecord
    from shapecheck.mypy_plugin._reporting import Reporter
    from shapecheck.mypy_plugin._sources import ModuleFinder

_PACKAGE: Final = "shapecheck.mypy_plugin"
# mypy's own number for a dependency that isn't an import.
_PRIORITY: Final = 10


@dataclass(frozen=True, slots=True)
class _Kept:
    """What the analysis of a module last said, and the module's options then."""

    record: ModuleRecord
    options: Options


class Forgotten:
    """What is known of each module, for a daemon that forgets it."""

    def __init__(
        self,
        finder: ModuleFinder,
        holds: Callable[[MypyFile, ModuleRecord], bool],
        find: Callable[[MypyFile], ModuleRecord],
    ) -> None:
        self._finder = finder
        self._holds = holds
        self._find = find
        self._kept: dict[str, _Kept] = {}

    @property
    def has_any(self) -> bool:
        """Has any module been analysed?"""
        return bool(self._kept)

    def keep(self, file: MypyFile, record: ModuleRecord, reporter: Reporter) -> None:
        """Keep what was found in a module that the daemon has just updated."""
        self._kept[file.fullname] = _Kept(record, reporter.module_options(file))
        self._ask(reporter.errors)

    def drop(self, module: str) -> None:
        """Keep nothing of a module."""
        self._kept.pop(module, None)

    def report(self, reporter: Reporter) -> None:
        """Report what is known of each module whose errors are gone.

        A module is analysed again where something that it looked at has changed.
        """
        self._ask(reporter.errors)
        if reporter.errors.is_blockers():
            _go_on(reporter.errors)
            return
        for name, kept in list(self._kept.items()):
            file = self._finder.modules.get(name)
            if file is None:
                del self._kept[name]
            elif not reporter.has_reported(file):
                if not self._holds(file, kept.record):
                    kept = _Kept(self._find(file), kept.options)
                    self._kept[name] = kept
                reporter.report(file, kept.record.said, kept.options)
        reporter.join()

    def _ask(self, errors: Errors) -> None:
        """Have the daemon come back at the end of its next update."""
        file = self._finder.modules.get(ALWAYS_CHECKED)
        if file is not None:
            have_checked(errors, file.path, ALWAYS_CHECKED, ALWAYS_CHECKED)


def dependencies() -> list[tuple[int, str, int]]:
    """Return what each module of the project depends on, so that the daemon has it loaded."""
    return [(_PRIORITY, ALWAYS_CHECKED, -1)]


def same_type(ctx: AnalyzeTypeContext) -> Type:
    """Return the type that mypy would."""
    return cast("TypeAnalyser", ctx.api).named_type(ALWAYS_CHECKED_TYPE)


class Beginning(NamedTuple):
    """The fingerprint with which a run of mypy begins, and where it finds modules."""

    fingerprint: str
    finder: ModuleFinder


def restart_where_needed(now: Beginning, began: list[Beginning], *, is_daemon: bool) -> None:
    """Have the daemon start again where it can't go on from how it `began`.

    That is where this isn't the fingerprint that it started with, and where a module's file has
    made way for another one: it goes on with the module that is gone, if it has seen the other file
    before. Before each run the daemon makes a plugin, and compares the versions that the plugins'
    modules have; that of ours is changed.
    """
    if is_daemon:
        began[:] = [now]
        return
    for before in began:
        if before.fingerprint != now.fingerprint or _has_moved(before.finder):
            setattr(sys.modules[_PACKAGE], "__version__", f"not {before.fingerprint}")  # noqa: B010


def _has_moved(finder: ModuleFinder) -> bool:
    """Is the file of a module of the project gone, and is there another one for it?"""
    paths = (file.path for file in finder.modules.values() if not is_library(file.path))
    gone = (path for path in paths if path and not os.path.exists(path))  # noqa: PTH110 - of all
    return any(other.exists() for path in gone for other in _others(Path(path)))


def _others(path: Path) -> Iterator[Path]:
    """Yield where Python looks for the same module."""
    base = path.parent if path.stem == "__init__" else path.with_suffix("")
    for name in (base / "__init__", base):
        yield from (name.with_suffix(".pyi"), name.with_suffix(".py"))


def _go_on(errors: Errors) -> None:
    """Let the daemon say once more, and say nothing else, that it can't parse a file.

    It skips such a file where it had never seen it before, takes the errors that it has said of it
    for new ones, and would end with an internal error.
    """
    errors.flushed_files.difference_update(errors.has_blockers)
    errors.has_blockers.clear()
