"""The modules that a run is about, and what is found in each of them."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeAlias

from shapecheck.analysis import NO_TENSORS, Coverage, Diagnostic, Options, mentions_tensors
from shapecheck.engine import Store, Tally
from shapecheck.project import targets
from shapecheck.project.analysing import Analysis
from shapecheck.project.comments import Comments, ignores
from shapecheck.project.comments import settings as settings_in
from shapecheck.project.failures import failure
from shapecheck.project.findings import Finding, stop
from shapecheck.project.folders import Folders
from shapecheck.project.modules import Module, Modules
from shapecheck.project.parsing import mistakes, parsed
from shapecheck.project.reading import Reader, UnreadableError
from shapecheck.project.reporting import ask_for_tree, findings
from shapecheck.project.settings import ModuleSettings, Settings
from shapecheck.project.targets import Target, TargetError

_SOURCES: Final = "src"
_EMPTY: Final = ast.Module([], [])
_NOTHING: Final = Tally()


@dataclass(frozen=True, slots=True)
class Task:
    """A module to check. `is_given`: it was asked for, and isn't there for an import alone."""

    module: Module
    path: str
    is_given: bool
    analysis: Analysis = field(compare=False)


@dataclass(frozen=True, slots=True)
class Checked:
    """What is found in a module, with how much work. `is_read`: it is Python that can be read.

    `is_hidden`: it has to do with tensors, and a setting or a comment hides all errors in it.
    `covered` is what is known of its tensors, None where mypy's plugin checked it, which doesn't
    count.
    """

    findings: list[Finding]
    is_read: bool = True
    is_hidden: bool = False
    tally: Tally = _NOTHING
    covered: Coverage | None = NO_TENSORS


_Analyses: TypeAlias = dict[tuple[Target, ...], Analysis]


class Tasks:
    """Finds the modules that settings name. Those that see each other share an analysis.

    It is the same one as long as these are the same files. `stays`, `before_part`: see `Engine`.
    """

    def __init__(
        self,
        settings: Settings,
        options: Options,
        store: Store | None,
        reader: Reader,
        *,
        stays: bool = False,
        before_part: Callable[[], None] | None = None,
    ) -> None:
        self._settings = settings
        self._options = options
        self._store = store
        self._reader = reader
        self._stays, self._before_part = stays, before_part
        self._folders = Folders()
        self._known: _Analyses = {}

    def find(self) -> list[Task]:
        """Return them, each of them once; raises `TargetError`."""
        settings = self._settings
        try:
            found = targets.find(settings, self._folders)
        except TargetError as error:
            if not error.is_name or settings.explicit_package_bases:
                raise
            settings = _by_path(settings)
            found = targets.find(settings, self._folders, any_name=True)
        before, self._known = self._known, {}
        tasks: dict[tuple[str, str], Task] = {}
        given = list(targets.each_once(found, settings.files))
        for task in self._together(given, settings, before):
            tasks.setdefault((os.path.abspath(task.module.path), task.module.name), task)  # noqa: PTH100
        return list(tasks.values())

    def renew(self, paths: Iterable[str] | None = None) -> set[str]:
        """See files as they are now: those with some paths, or all, with what lies in folders.

        Returns the modules that have changed.
        """
        self._reader.forget(paths)
        if paths is None:
            self._folders.forget()
        every = (one.renew(are_places_new=paths is None) for one in self._known.values())
        return set[str]().union(*every)

    def _together(
        self,
        found: Iterable[Target],
        settings: Settings,
        before: _Analyses,
    ) -> Iterator[Task]:
        """Yield the modules to check, those first that can be seen together.

        Where folders don't tell the names by which modules are imported, their paths do.
        """
        for group in targets.groups(found):
            analysis = before.get(tuple(group))
            if analysis is None:
                modules = Modules(group, settings, self._folders, self._reader)
                analysis = Analysis(
                    modules,
                    self._reader,
                    self._options,
                    self._store,
                    stays=self._stays,
                    before_part=self._before_part,
                )
            modules = analysis.modules
            can_name = settings.namespace_packages and not settings.explicit_package_bases
            followed = modules.followed(by_name=can_name)
            if modules.are_misnamed and can_name:
                paths, by_path = {target.path for target in group}, _by_path(settings)
                again = targets.find(by_path, self._folders, any_name=True)
                mine = (one for one in again if one.path in paths)
                yield from self._together(mine, by_path, before)
                continue
            self._known[tuple(group)] = analysis
            for module in (*modules.given.values(), *followed):
                path = self._settings.display(module.path)
                yield Task(module, path, module.name in modules.given, analysis)


def is_new(task: Task, reader: Reader, settings: Settings) -> bool:
    """Whether a module of which nothing is known is one to analyse."""
    source = reader.read(task.module.name, task.module.path)
    if source is None or not mentions_tensors(source.text):
        return False
    return _is_shown(settings_in(source.text, settings.of(task.module.name)), ignores(source.text))


def _is_shown(settings: ModuleSettings, comments: Comments) -> bool:
    return not (settings.ignore_errors or comments.hide_all)


def checked(task: Task, reader: Reader, settings: Settings) -> Checked:
    """Check one module; raises `StubError`."""
    module = task.module
    try:
        source = reader.source(module.name, module.path)
    except UnreadableError as error:
        return Checked([stop(task.path, str(error))], is_read=False)
    settings_here = settings_in(source.text, settings.of(module.name))
    comments = ignores(source.text)
    is_shown = _is_shown(settings_here, comments)
    known = task.analysis.known(module) if is_shown else None
    if known is not None and not ask_for_tree(known.said):
        shown = findings(known.said, source, _EMPTY, comments, settings_here)
        return Checked(shown, covered=known.covered)
    failed: Diagnostic | None = None
    try:
        tree = parsed(source, is_known=known is not None)
    except (SyntaxError, ValueError) as error:
        wrong = mistakes(source, error)
        if wrong or not mentions_tensors(source.text):
            return Checked(wrong, is_read=not wrong)
        tree, failed = _EMPTY, failure(source, error)
    if not is_shown:
        return Checked([], is_hidden=mentions_tensors(source.text))
    if failed is not None:
        return Checked(findings([failed], source, tree, comments, settings_here))
    record = task.analysis.analyse(module) if known is None else known
    shown = findings(record.said, source, tree, comments, settings_here)
    return Checked(shown, covered=record.covered)


def _by_path(settings: Settings) -> Settings:
    """Return settings under which paths name the modules, from this folder on or from `src`."""
    has_sources = Path(_SOURCES).is_dir() and not Path(_SOURCES, "__init__.py").exists()
    paths = dict.fromkeys((*settings.mypy_path, *([_SOURCES] if has_sources else [])))
    return replace(settings, explicit_package_bases=True, mypy_path=tuple(paths))
