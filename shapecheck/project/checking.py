"""Checks the modules of a project, in all processes."""

from __future__ import annotations

import ast
import gc
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from shapecheck import config, parallel
from shapecheck.analysis import NO_TENSORS, Coverage, Diagnostic, Options, mentions_tensors
from shapecheck.engine import Database, Store, Tally, Version, fingerprint
from shapecheck.project import codes, targets
from shapecheck.project.analysing import Analysis
from shapecheck.project.comments import ignores
from shapecheck.project.comments import settings as settings_in
from shapecheck.project.exchange import Exchange
from shapecheck.project.failures import failure
from shapecheck.project.findings import Finding, Outcome, stop
from shapecheck.project.folders import Folders
from shapecheck.project.modules import Module, Modules
from shapecheck.project.parsing import mistakes, parsed
from shapecheck.project.reading import Reader, UnreadableError
from shapecheck.project.relevance import functions_and_shapes
from shapecheck.project.reporting import findings
from shapecheck.project.settings import Settings
from shapecheck.project.sharding import Shard
from shapecheck.project.targets import Target, TargetError
from shapecheck.signatures import StubError

_RECURSION_LIMIT: Final = 2**14
# So many lines that have nothing to do with tensors cost what one costs that has.
_IDLE_LINES: Final = 30
_SOURCES: Final = "src"
_EMPTY: Final = ast.Module([], [])
_NOTHING: Final = Tally()


@dataclass(frozen=True, slots=True)
class _Task:
    """A module to check. `is_given`: it was asked for, and isn't there for an import alone."""

    module: Module
    path: str
    is_given: bool
    analysis: Analysis = field(compare=False)


@dataclass(frozen=True, slots=True)
class _Checked:
    """What is found in a module, with how much work. `is_read`: it is Python that can be read.

    `covered` is what is known of its tensors, None where mypy's plugin checked it, which doesn't
    count.
    """

    findings: list[Finding]
    is_read: bool = True
    tally: Tally = _NOTHING
    covered: Coverage | None = NO_TENSORS


def check(
    settings: Settings, shard: Shard, *, is_shared: bool = True
) -> tuple[list[Finding], Outcome]:
    """Check what the settings name; return what is found, by path and place, and how it went.

    `is_shared`: with what the team keeps, where the settings say so. Raises `TargetError` where
    what is to be checked isn't there.
    """
    outcome = Outcome(descriptions=codes.DESCRIPTIONS)
    try:
        own = _own_settings(settings)
    except config.ConfigError as error:
        place = settings.display(str(error.path))
        return [stop(place, error.message, error.line)], outcome
    options = Options(strict=own.strict, stubs=own.stubs, wrappers=own.wrappers)
    run = _Run(settings, options, config.sharing(own) if is_shared else None)
    tasks = sorted(run.tasks(), key=lambda task: (task.path, task.module.name))
    mine = [task for task in tasks if shard.has(task.module.name)]
    try:
        with _many_objects():
            run.take(mine)
            every = parallel.each(run.checked, mine, run.cost)
            run.give(task for task, one in zip(mine, every, strict=True) if one.tally.kept)
    except StubError as error:
        return [stop(settings.display(str(error.path)), error.reason, error.line)], outcome
    outcome.unread = sum(not one.is_read for one in every)
    outcome.checked = sum(
        one.is_read for task, one in zip(mine, every, strict=True) if task.is_given
    )
    outcome.is_complete = not outcome.unread
    if not outcome.checked and outcome.unread:
        outcome.unread = 0  # nothing is left to tell them from
    outcome.silent = run.silent(tasks)
    outcome.effort = run.effort(sum((one.tally for one in every), _NOTHING), len(mine))
    outcome.covered = Coverage.of_all(one.covered for one in every if one.covered is not None)
    outcome.uncounted = sum(one.covered is None for one in every)
    outcome.remarks += run.notes
    found = list(dict.fromkeys(finding for one in every for finding in one.findings))
    outcome.exit_code = int(any(finding.is_error for finding in found))
    if not outcome.is_complete:
        outcome.exit_code = 2
    return found, outcome


def _own_settings(settings: Settings) -> config.Config:
    """Return the project's own settings, which stand beside mypy's; raises `ConfigError`."""
    home = Path(settings.config_file).parent if settings.config_file else Path()
    return config.load(config.find(home))


class _Run:
    """What the modules of a run have in common."""

    def __init__(
        self, settings: Settings, options: Options, sharing: config.Sharing | None
    ) -> None:
        self._settings = settings
        self._options = options
        self._reader = Reader(settings)
        self._folders = Folders()
        self._store = _store(settings, options)
        self._exchange: Exchange | None = None
        if sharing is not None and self._store is not None:
            self._exchange = Exchange(self._store, sharing)

    @property
    def notes(self) -> list[str]:
        """What there is to say of what the team keeps."""
        return [] if self._exchange is None else self._exchange.notes

    def tasks(self) -> list[_Task]:
        """Find the modules to check, each of them once; raises `TargetError`."""
        settings = self._settings
        try:
            found = targets.find(settings, self._folders)
        except TargetError as error:
            if not error.is_name or settings.explicit_package_bases:
                raise
            settings = _by_path(settings)
            found = targets.find(settings, self._folders, any_name=True)
        tasks: dict[tuple[str, str], _Task] = {}
        for task in self._together(list(targets.each_once(found, settings.files)), settings):
            tasks.setdefault((os.path.abspath(task.module.path), task.module.name), task)  # noqa: PTH100
        return list(tasks.values())

    def _together(self, found: Iterable[Target], settings: Settings) -> Iterator[_Task]:
        """Yield the modules to check, those first that can be seen together.

        Where folders don't tell the names by which modules are imported, their paths do.
        """
        for group in targets.groups(found):
            modules = Modules(group, settings, self._folders, self._reader)
            can_name = settings.namespace_packages and not settings.explicit_package_bases
            followed = modules.followed(by_name=can_name)
            if modules.are_misnamed and can_name:
                paths, by_path = {target.path for target in group}, _by_path(settings)
                again = targets.find(by_path, self._folders, any_name=True)
                yield from self._together((one for one in again if one.path in paths), by_path)
                continue
            analysis = Analysis(modules, self._reader, self._options, self._store)
            for module in (*modules.given.values(), *followed):
                path = self._settings.display(module.path)
                yield _Task(module, path, module.name in modules.given, analysis)

    def cost(self, task: _Task) -> int:
        """Return about how many lines of tensors a module is worth."""
        source = self._reader.read(task.module.name, task.module.path)
        if source is None:
            return 0
        lines = source.text.count("\n")
        return lines if mentions_tensors(source.text) else lines // _IDLE_LINES

    def take(self, tasks: Iterable[_Task]) -> None:
        """Take what the team has of these modules."""
        if self._exchange is not None:
            self._exchange.take(_versions(tasks))

    def give(self, tasks: Iterable[_Task]) -> None:
        """Let the team have what was found of these modules."""
        if self._exchange is not None:
            self._exchange.give(_versions(tasks))

    def effort(self, tally: Tally, modules: int) -> str:
        """Return in words what there was to do for so many modules."""
        text = (
            f"analysed {tally.analysed} functions and other parts of {modules} modules; "
            f"{tally.known} of the modules were known"
        )
        if self._exchange is None:
            return text
        team = self._exchange.tally
        return f"{text}, {team.shared} of them from what is shared ({team.requests} requests)"

    def checked(self, task: _Task) -> _Checked:
        """Check one module; raises `StubError`."""
        before = task.analysis.tally
        found = self._checked(task)
        return replace(found, tally=task.analysis.tally - before)

    def _checked(self, task: _Task) -> _Checked:
        module = task.module
        try:
            source = self._reader.source(module.name, module.path)
        except UnreadableError as error:
            return _Checked([stop(task.path, str(error))], is_read=False)
        settings = settings_in(source.text, self._settings.of(module.name))
        comments = ignores(source.text)
        is_shown = not (settings.ignore_errors or comments.hide_all)
        known = task.analysis.known(module) if is_shown else None
        if known is not None and not known.said:
            shown = findings((), source, _EMPTY, comments, settings)
            return _Checked(shown, covered=known.covered)
        failed: Diagnostic | None = None
        try:
            tree = parsed(source)
        except (SyntaxError, ValueError) as error:
            wrong = mistakes(source, error)
            if wrong or not mentions_tensors(source.text):
                return _Checked(wrong, is_read=not wrong)
            tree, failed = _EMPTY, failure(source, error)
        if not is_shown:
            return _Checked([])
        if failed is not None:
            return _Checked(findings([failed], source, tree, comments, settings))
        record = task.analysis.analyse(module)
        shown = findings(record.said, source, tree, comments, settings)
        return _Checked(shown, covered=record.covered)

    def silent(self, tasks: Iterable[_Task]) -> int:
        """Count the functions in the files that were asked for; 0 where one says a shape."""
        functions = 0
        for task in tasks:
            source = self._reader.read(task.module.name, task.module.path)
            if source is not None and task.is_given:
                number, says_shape = functions_and_shapes(source.text)
                functions += number
                if says_shape:
                    return 0
        return functions


def _store(settings: Settings, options: Options) -> Store | None:
    """Return where what was found is kept: beside mypy's cache, where mypy's plugin keeps it."""
    if settings.cache_dir == os.devnull:
        return None
    folder = Path(settings.cache_dir, ".".join(map(str, settings.python_version)), "shapecheck")
    return Store(Database(folder), fingerprint(options))


def _versions(tasks: Iterable[_Task]) -> list[Version]:
    """Return the versions of modules, of those that can be read."""
    found = ((task.module.name, task.analysis.version(task.module)) for task in tasks)
    return [(name, version) for name, version in found if version is not None]


def _by_path(settings: Settings) -> Settings:
    """Return settings under which paths name the modules, from this folder on or from `src`."""
    has_sources = Path(_SOURCES).is_dir() and not Path(_SOURCES, "__init__.py").exists()
    paths = dict.fromkeys((*settings.mypy_path, *([_SOURCES] if has_sources else [])))
    return replace(settings, explicit_package_bases=True, mypy_path=tuple(paths))


@contextmanager
def _many_objects() -> Iterator[None]:
    """Have Python look for garbage rarely: what is made is trees and tables that stay."""
    before, limit = gc.get_threshold(), sys.getrecursionlimit()
    gc.set_threshold(3_000_000)
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    try:
        yield
    finally:
        gc.freeze()
        gc.unfreeze()  # all of it is old now: else it would be walked right here
        gc.set_threshold(*before)
        sys.setrecursionlimit(limit)
