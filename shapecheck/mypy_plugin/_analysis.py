"""Says what is wrong in one module after mypy has checked it."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from mypy.errors import CompileError
from mypy.nodes import Import, ImportFrom, MypyFile, TypeInfo

from shapecheck.analysis import TENSORS, Diagnostic, Source, mentions_tensors
from shapecheck.many_objects import lasting_objects
from shapecheck.mypy_plugin._cached import is_about_tensors
from shapecheck.mypy_plugin._forgotten import Forgotten
from shapecheck.project.comments import ignores
from shapecheck.project.failures import TOP, failure, unreadable
from shapecheck.project.relevance import is_library

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shapecheck.engine import Engine, ModuleRecord
    from shapecheck.mypy_plugin._cached import Cached
    from shapecheck.mypy_plugin._engines import Engines
    from shapecheck.mypy_plugin._reporting import Reporter
    from shapecheck.mypy_plugin._sources import ModuleFinder, MypyFiles, SourceReader
    from shapecheck.mypy_plugin._worker import Worker


class ModuleAnalysis:
    """The analysis of every module of one mypy run.

    `cached` is told what mypy's cache has of what is said of each, `ahead` is asked first.
    """

    def __init__(
        self,
        reader: SourceReader,
        finder: ModuleFinder,
        engines: Engines,
        cached: Cached,
        ahead: Worker | None,
        *,
        is_daemon: bool,
    ) -> None:
        self._ahead = ahead
        self._reader = reader
        self._finder = finder
        self._engines = engines
        self._cached = cached
        self._forgotten = Forgotten(finder, self._holds, self._find) if is_daemon else None
        self._has_updated = False
        self._asked: dict[str, list[str]] = {}

    def expect(self, file: MypyFile) -> None:
        """Have a module that mypy has just parsed analysed ahead, where that may come in useful."""
        if self._ahead is None or is_library(file.path):
            return
        found = self._reader.read(file.fullname, file.path)
        if found is not None and mentions_tensors(found[0].text):
            length = len(found[0].text)

            def unknown() -> int:
                # Of one that has been edited most is as it was.
                known = self._engines.of(file.fullname, file.path).known(file.fullname)
                return length if known is None else 0

            self._ahead.submit(file.fullname, file.path, unknown)

    def run(self, file: MypyFile, reporter: Reporter) -> None:
        """Analyse a module and report."""
        record = self._find(file)
        reporter.report(file, record.said)
        files = self._engines.files(file.fullname, file.path)
        self._cached.note(record, self._asked.get(record.module, ()), files)
        if self._forgotten is not None:
            self._forgotten.keep(file, record, reporter)

    def leave(self, file: MypyFile) -> None:
        """Take note of a module of which mypy would drop what is reported."""
        self._cached.forget(file.fullname)
        if self._forgotten is not None:
            self._forgotten.drop(file.fullname)

    def report_forgotten(self, reporter: Reporter) -> None:
        """Report again what the daemon has forgotten, at the end of an update."""
        if self._forgotten is not None:
            # mypy looks at the module that it checks at the end of an update first in a build, too.
            self._has_updated = self._has_updated or self._forgotten.has_any
            if not reporter.has_reported_any():
                # mypy hands out its modules before it updates one, but where it deletes one it
                # doesn't.
                self._engines.renew()
            self._forgotten.report(reporter)

    def _holds(self, file: MypyFile, record: ModuleRecord) -> bool:
        """Whether what was said of a module would be said now."""
        return self._engines.of(file.fullname, file.path).holds(record)

    def _find(self, file: MypyFile) -> ModuleRecord:
        module = file.fullname
        engine = self._engines.of(module, file.path)
        if self._forgotten is not None and not Path(file.path).exists():
            # `dmypy check` goes on with a stub that is gone where there is a module beside it.
            return engine.without_parts(module, [])
        self._take_what_was_found_ahead(engine, module)
        source = engine.files.source(module)
        if source is None:
            is_about = any(mentions_tensors(name) for name in _imported_names(file))
            return engine.without_parts(module, [unreadable()] if is_about else [])
        if ignores(source.text).hide_all:
            return engine.without_parts(module, [])  # mypy takes it for one that is never reached
        self._asked.pop(module, None)
        if not mentions_tensors(source.text):
            asked = self._asked[module] = sorted(self._defining(file))
            if not any(is_about_tensors(engine, name) for name in asked):
                return engine.without_parts(module, [], [(name, TENSORS) for name in asked])
        return self._record(engine, source)

    def _take_what_was_found_ahead(self, engine: Engine[MypyFiles], module: str) -> None:
        """Take what the second process has found, provided that it saw what is seen here."""
        if self._ahead is None:
            return
        record = self._ahead.result(module, self._find_early)
        if record is not None and engine.is_of_now(record):
            engine.adopt(record, keep=False)

    def _find_early(self, module: str) -> None:
        """Analyse a module that mypy will ask for later."""
        file = self._finder.modules.get(module)
        if file is None:
            return
        engine = self._engines.of(module, file.path)
        source = engine.files.source(module)
        if source is not None:
            self._record(engine, source)

    def _defining(self, file: MypyFile) -> Iterator[str]:
        """Yield the modules of the project in which names are defined that a module imports."""
        for module in _defining_modules(file):
            known = self._finder.modules.get(module)
            if known is not None and not is_library(known.path):
                yield module

    def _record(self, engine: Engine[MypyFiles], source: Source) -> ModuleRecord:
        """Analyse one module; a failure of the analysis is a note, never mypy's crash."""
        from shapecheck.signatures import StubError

        try:
            # In a process that stays, garbage that counts as old would be much after many edits.
            with lasting_objects() if self._forgotten is None else nullcontext():
                return engine.record(source.name)
        except StubError as error:
            where = f"{self._reader.display(str(error.path))}:{error.line}"
            # As after a syntax error, there is no going on; but an update would not survive it.
            if not self._has_updated:
                raise CompileError([f"{where}: error: {error.reason}"]) from error
            said = Diagnostic(TOP, f"signature file {where}: {error.reason}", "error")
        except Exception as error:  # noqa: BLE001 - whatever it is, mypy must go on
            said = failure(source, error)
        return engine.without_parts(source.name, [said])


def _imported_names(file: MypyFile) -> Iterator[str]:
    for statement in file.imports:
        if isinstance(statement, Import):
            yield from (name for name, _ in statement.ids)
        elif isinstance(statement, ImportFrom):
            yield statement.id


def _defining_modules(file: MypyFile) -> list[str]:
    """Return where the imported names of a module are defined, through re-exports."""
    modules: dict[str, None] = {}
    for symbol in file.names.values():
        node = symbol.node
        if isinstance(node, MypyFile):
            modules[node.fullname] = None
        elif isinstance(node, TypeInfo):
            modules[node.module_name] = None
        elif node is not None and node.fullname:
            modules[node.fullname.rpartition(".")[0]] = None
    modules.pop(file.fullname, None)
    return list(modules)
