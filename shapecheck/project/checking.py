"""Checks the modules of a project, in all processes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from shapecheck import config, parallel
from shapecheck.analysis import Coverage, Options, get_ready, mentions_tensors
from shapecheck.engine import Database, Store, Tally, Version, fingerprint
from shapecheck.many_objects import many_objects
from shapecheck.project import codes
from shapecheck.project.exchange import Exchange
from shapecheck.project.failures import stub_error
from shapecheck.project.findings import Finding, Outcome, stop
from shapecheck.project.reading import Reader
from shapecheck.project.relevance import functions_and_shapes
from shapecheck.project.settings import Settings
from shapecheck.project.sharding import Shard
from shapecheck.project.tasks import Checked, Task, Tasks, checked, is_new

# So many lines that have nothing to do with tensors cost what one costs that has.
_IDLE_LINES: Final = 30
_NOTHING: Final = Tally()


def check(
    settings: Settings, shard: Shard, *, is_shared: bool = True
) -> tuple[list[Finding], Outcome]:
    """Check what the settings name; return what is found, by path and place, and how it went.

    `is_shared`: with what the team keeps, where the settings say so. Raises `TargetError` where
    what is to be checked isn't there.
    """
    outcome = Outcome(descriptions=codes.DESCRIPTIONS)
    try:
        own = own_settings(settings)
    except config.ConfigError as error:
        place = settings.display(str(error.path))
        return [stop(place, error.message, error.line)], outcome
    options = options_of(own)
    run = _Run(settings, options, config.sharing(own) if is_shared else None)
    tasks = sorted(run.tasks.find(), key=lambda task: (task.path, task.module.name))
    mine = [task for task in tasks if shard.has(task.module.name)]
    try:
        with many_objects():
            run.take(mine)
            run.get_ready(mine)
            every = parallel.each(run.checked, mine, run.cost)
            run.give(task for task, one in zip(mine, every, strict=True) if one.tally.kept)
    except stub_error() as error:
        return [stop(settings.display(str(error.path)), error.reason, error.line)], outcome
    outcome.unread = sum(not one.is_read for one in every)
    outcome.checked = sum(
        one.is_read for task, one in zip(mine, every, strict=True) if task.is_given
    )
    outcome.is_complete = not outcome.unread
    if not outcome.checked and outcome.unread:
        outcome.unread = 0  # nothing is left to tell them from
    outcome.silent = run.silent(tasks)
    outcome.hidden = sum(
        one.is_hidden for task, one in zip(mine, every, strict=True) if task.is_given
    )
    outcome.effort = run.effort(sum((one.tally for one in every), _NOTHING), len(mine))
    outcome.covered = Coverage.of_all(one.covered for one in every if one.covered is not None)
    outcome.uncounted = sum(one.covered is None for one in every)
    outcome.remarks += run.notes
    found = list(dict.fromkeys(finding for one in every for finding in one.findings))
    outcome.exit_code = int(any(finding.is_error for finding in found))
    if not outcome.is_complete:
        outcome.exit_code = 2
    return found, outcome


def own_settings(settings: Settings) -> config.Config:
    """Return the project's own settings, which stand beside mypy's; raises `ConfigError`."""
    home = Path(settings.config_file).parent if settings.config_file else Path()
    return config.load(config.find(home))


def options_of(own: config.Config) -> Options:
    """Return those of a project's settings that change what is said."""
    return Options(strict=own.strict, stubs=own.stubs, wrappers=own.wrappers)


class _Run:
    """What the modules of a run have in common."""

    def __init__(
        self, settings: Settings, options: Options, sharing: config.Sharing | None
    ) -> None:
        self._settings = settings
        self._reader = Reader(settings)
        self._store = store_of(settings, options)
        self.tasks = Tasks(settings, options, self._store, self._reader)
        self._exchange: Exchange | None = None
        if sharing is not None and self._store is not None:
            self._exchange = Exchange(self._store, sharing)

    @property
    def notes(self) -> list[str]:
        """What there is to say of what the team keeps."""
        return [] if self._exchange is None else self._exchange.notes

    def cost(self, task: Task) -> int:
        """Return about how many lines of tensors a module is worth."""
        source = self._reader.read(task.module.name, task.module.path)
        if source is None:
            return 0
        lines = source.text.count("\n")
        return lines if mentions_tensors(source.text) else lines // _IDLE_LINES

    def take(self, tasks: Iterable[Task]) -> None:
        """Take what the team has of these modules."""
        if self._exchange is not None:
            self._exchange.take(_versions(tasks))

    def get_ready(self, tasks: Sequence[Task]) -> None:
        """Import the analysis, if it is going to be asked of these modules."""
        new: Iterable[Task] = tasks
        if self._store is not None:
            lacking = {name for name, _ in self._store.lacking(_versions(tasks))}
            new = (one for one in tasks if one.module.name in lacking)
        if any(is_new(one, self._reader, self._settings) for one in new):
            get_ready()

    def give(self, tasks: Iterable[Task]) -> None:
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

    def checked(self, task: Task) -> Checked:
        """Check one module; raises `StubError`."""
        before = task.analysis.tally
        found = checked(task, self._reader, self._settings)
        return replace(found, tally=task.analysis.tally - before)

    def silent(self, tasks: Iterable[Task]) -> int:
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


def store_of(settings: Settings, options: Options) -> Store | None:
    """Return where what was found is kept: beside mypy's cache, where mypy's plugin keeps it."""
    if settings.cache_dir == os.devnull:
        return None
    folder = Path(settings.cache_dir, ".".join(map(str, settings.python_version)), "shapecheck")
    return Store(Database(folder), fingerprint(options))


def _versions(tasks: Iterable[Task]) -> list[Version]:
    """Return the versions of modules, of those that can be read."""
    found = ((task.module.name, task.analysis.version(task.module)) for task in tasks)
    return [(name, version) for name, version in found if version is not None]
