"""The modules of one folder, over texts that aren't saved, in an engine that stays for edits."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from shapecheck import config
from shapecheck.analysis import Look, Options, Source, Span
from shapecheck.language_server.documents import split
from shapecheck.language_server.shifts import Shift
from shapecheck.project import imports
from shapecheck.project.checking import options_of, own_settings
from shapecheck.project.configuration import read
from shapecheck.project.findings import Finding, stop
from shapecheck.project.parsing import is_python, mistakes
from shapecheck.project.reading import Reader
from shapecheck.project.targets import TargetError
from shapecheck.project.tasks import Task, Tasks, checked
from shapecheck.project.trees import parsed_text
from shapecheck.signatures import StubError

CONFIGURATION: Final = ("pyproject.toml", "mypy.ini", ".mypy.ini", "setup.cfg")
"""The names of files in which settings stand: where one changes, a program begins anew."""

_SETTINGS_OF_RUNS: Final = ("files", "packages", "modules")


@contextmanager
def in_folder(folder: str) -> Iterator[None]:
    """Do something where a command line in that folder would: paths and settings start from it."""
    before = os.getcwd()  # noqa: PTH109
    if before != folder:
        os.chdir(folder)
    try:
        yield
    finally:
        if before != folder:
            os.chdir(before)


class Program:
    """What is said of the modules of a folder.

    `is_whole`: the folder is a project; else each file in it stands for itself. Every path is
    absolute. All but the making of one is done in the one thread that does the work. `before_part`:
    see `Engine`.
    """

    def __init__(
        self, root: str, *, is_whole: bool, before_part: Callable[[], None] | None = None
    ) -> None:
        self.root = root
        self.is_whole = is_whole
        self._before_part = before_part
        self._texts: dict[str, str] = {}
        self._broken: dict[str, str] = {}
        self._found: dict[Task, list[Finding]] = {}
        self._stale: set[Task] = set()
        self._has_other_imports = False
        self._begin()

    def _begin(self) -> None:
        """Read the settings, and find the modules that they name."""
        self.problem: Finding | None = None
        self._alone: dict[str, Tasks] = {}
        self._found.clear()
        with in_folder(self.root):
            configured = read(None)
            self.remarks = configured.remarks
            self.settings = configured.settings
            self.options = Options()
            try:
                self.options = options_of(own_settings(self.settings))
            except config.ConfigError as error:
                self.problem = stop(str(error.path.absolute()), error.message, error.line)
            self._reader = Reader(self.settings, self._texts)
            self._whole = self._new_tasks() if self.is_whole else None
            self._find()

    def _new_tasks(self, *paths: str) -> Tasks:
        settings = self.settings
        if paths:
            settings = replace(settings, files=paths, packages=(), modules=())
        return Tasks(
            settings,
            self.options,
            None,
            self._reader,
            stays=True,
            before_part=self._before_part,
        )

    def _find(self) -> None:
        """Find the modules to check, and what is known of them from before."""
        self._has_other_imports = False
        self._tasks: dict[str, list[Task]] = {}
        if self._whole is not None:
            try:
                for task in self._whole.find():
                    self._add(task)
            except TargetError:
                pass  # each file that is opened stands for itself
        for path, alone in [*self._alone.items()]:
            if path in self._tasks:
                del self._alone[path]
            else:
                self._find_alone(path, alone)
        every = [task for some in self._tasks.values() for task in some]
        analyses = {task: task.analysis for task in self._found}
        known = {task for task in every if analyses.get(task) is task.analysis}
        self._stale = {task for task in every if task in self._stale or task not in known}
        self._found = {task: self._found[task] for task in known}

    def _find_alone(self, path: str, alone: Tasks) -> None:
        try:
            for task in alone.find():
                if os.path.abspath(task.module.path) == path:  # noqa: PTH100
                    self._add(task)
        except TargetError:
            self._tasks[path] = []

    def _add(self, task: Task) -> None:
        self._tasks.setdefault(os.path.abspath(task.module.path), []).append(task)  # noqa: PTH100

    # What the editor has -------------------------------------------------------------------------

    def edit(self, path: str, text: str) -> None:
        """Take a file for a text, as long as that is Python; if not, see `findings`."""
        with in_folder(self.root):
            self._know(path)
            before = self._text(path)
            if before == text and path not in self._broken:
                self._texts[path] = text
                return
            if before is not None and not is_python(text) and is_python(before):
                self._broken[path] = text
                return
            self._broken.pop(path, None)
            self._texts[path] = text
            self._renew([path])
            if before is None or self._imports(path, before) != self._imports(path, text):
                self._has_other_imports = True

    def close(self, path: str) -> None:
        """Take a file for what is on the disk."""
        self._broken.pop(path, None)
        if self._texts.pop(path, None) is not None:
            with in_folder(self.root):
                self._renew([path])

    def look_at_disk(self, *, are_settings_new: bool = False) -> None:
        """See what has changed on the disk: other texts, and files that have come or gone."""
        if are_settings_new:
            self._begin()
            return
        with in_folder(self.root):
            self._renew(None)
            self._find()

    def _know(self, path: str) -> None:
        """Have a file checked by itself that isn't among those of the project."""
        if path not in self._tasks and path not in self._alone:
            self._alone[path] = self._new_tasks(path)
            self._find_alone(path, self._alone[path])
            self._stale |= {one for one in self._tasks.get(path, ()) if one not in self._found}

    def _renew(self, paths: list[str] | None) -> None:
        every = [*self._alone.values(), *([] if self._whole is None else [self._whole])]
        changed = set[str]().union(*(one.renew(paths) for one in every))
        for task in self._found:
            if not changed.isdisjoint(task.analysis.read_for(task.module)):
                self._stale.add(task)
        for path in paths or ():
            self._stale.update(self._tasks.get(path, ()))
        if (
            paths is None
        ):  # of what can't be read, or isn't Python, no module is known to have changed
            self._stale |= {task for task in self._found if not task.analysis.read_for(task.module)}

    def _text(self, path: str) -> str | None:
        source = self.source(path)
        return None if source is None else source.text

    def _imports(self, path: str, text: str) -> list[imports.Imported] | None:
        task = next(iter(self._tasks.get(path, ())), None)
        name = "" if task is None else task.module.name
        found = imports.perhaps(text, name, is_package=Path(path).stem == "__init__")
        if found is None:
            tree = parsed_text(text)
            found = (
                []
                if tree is None
                else imports.surely(
                    tree, name, self.settings, is_package=Path(path).stem == "__init__"
                )
            )
        return list(found)

    # What is said --------------------------------------------------------------------------------

    def paths(self) -> list[str]:
        """Return the files that are checked."""
        return sorted(self._tasks)

    def stale(self) -> list[str]:
        """Return the files of which something else may be said than was said last."""
        with in_folder(self.root):
            if self._has_other_imports:
                self._find()
            return sorted({os.path.abspath(task.module.path) for task in self._stale})  # noqa: PTH100

    def has(self, path: str) -> bool:
        """Whether a file is one of those that are checked."""
        return path in self._tasks

    def findings(self, path: str) -> list[Finding]:
        """Return what is said of a file: as `check --only-shapes` does, of the text as it is now.

        Of a text that isn't Python that is said, and what was said before of the lines that are the
        same. Raises what `before_part` does.
        """
        with in_folder(self.root):
            self._know(path)
            found = [one for task in self._tasks.get(path, ()) for one in self._said(task)]
            broken = self._broken.get(path)
            if broken is not None:
                found = [*self._mistakes(path, broken)[:1], *self._moved(path, broken, found)]
            return list(dict.fromkeys(found))

    def _said(self, task: Task) -> list[Finding]:
        if task in self._stale or task not in self._found:
            try:
                self._found[task] = checked(task, self._reader, self.settings).findings
            except StubError as error:
                self.problem = stop(str(error.path.absolute()), error.reason, error.line)
                self._found[task] = []
            self._stale.discard(task)
        return self._found[task]

    def _mistakes(self, path: str, text: str) -> list[Finding]:
        try:
            ast.parse(text)
        except (SyntaxError, ValueError) as error:
            source = Source("", self.settings.display(path), text)
            return mistakes(source, error)
        return []

    def _moved(self, path: str, text: str, found: Iterable[Finding]) -> Iterator[Finding]:
        shift = self.shift(path, text)
        for one in found:
            span = shift.span(span_of(one))
            if span is not None:
                yield replace(
                    one,
                    line=span.line,
                    end_line=span.end_line,
                )

    def shift(self, path: str, text: str) -> Shift:
        """Return what a text has in common with the last one of a file that was Python."""
        return Shift.of(split(self._text(path) or ""), split(text))

    def source(self, path: str) -> Source | None:
        """Return the text of a file that its findings are of: the last one that was Python."""
        task = next(iter(self._tasks.get(path, ())), None)
        with in_folder(self.root):
            if task is None:
                return None
            return self._reader.read(task.module.name, task.module.path)

    def look(self, path: str, line: int) -> Look | None:
        """Return what is known of the part of a file that has a line, of `source`."""
        task = next(iter(self._tasks.get(path, ())), None)
        if task is None:
            return None
        with in_folder(self.root):
            try:
                return task.analysis.look(task.module, line)
            except (SyntaxError, StubError):
                return None


class Programs:
    """The programs of the folders that are open, and of files outside of them."""

    def __init__(
        self, folders: Iterable[str], before_part: Callable[[], None] | None = None
    ) -> None:
        self.folders = [os.path.abspath(one) for one in folders]  # noqa: PTH100
        self._before_part = before_part
        self._programs: dict[str, Program] = {}

    def of(self, path: str) -> Program:
        """Return the program of a file: of the innermost folder that is open, or of its project."""
        root, is_whole = self._root(path)
        if root not in self._programs:
            self._programs[root] = Program(root, is_whole=is_whole, before_part=self._before_part)
        return self._programs[root]

    def anew(self) -> Programs:
        """Return those of the same folders, of which nothing is known yet."""
        return Programs(self.folders, self._before_part)

    def every(self) -> Mapping[str, Program]:
        """Return the programs that there are, by their folders."""
        return self._programs

    def _root(self, path: str) -> tuple[str, bool]:
        around = [one for one in self.folders if Path(path).is_relative_to(one)]
        if around:
            return max(around, key=len), True
        parents = Path(path).parents
        of_project = (
            str(one) for one in parents if any((one / name).is_file() for name in CONFIGURATION)
        )
        found = next(of_project, None)
        return (str(parents[0]), False) if found is None else (found, False)


def span_of(finding: Finding) -> Span:
    """Return where a finding stands: of one on a whole line, all of that."""
    column = max(finding.column, 0)
    line, end_line = max(finding.line, 1), max(finding.end_line, finding.line, 1)
    return Span(line, column, end_line, finding.end_column if finding.end_column >= 0 else 1000)
