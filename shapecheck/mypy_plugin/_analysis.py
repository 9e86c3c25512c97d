"""Runs the analysis over one module after mypy has checked it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mypy.errors import CompileError
from mypy.nodes import Import, ImportFrom, MypyFile, TypeInfo

from shapecheck import analysis
from shapecheck.analysis import Diagnostic, Options, Source
from shapecheck.mypy_plugin._forgotten import Forgotten
from shapecheck.mypy_plugin._sources import Findings, MypyHosts
from shapecheck.project.comments import ignores
from shapecheck.project.failures import TOP, failure, unreadable
from shapecheck.project.relevance import is_library, mentions_tensors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shapecheck.mypy_plugin._dependencies import DependencyRecords
    from shapecheck.mypy_plugin._reporting import Reporter
    from shapecheck.mypy_plugin._sources import ModuleFinder, MypyHost, SourceReader
    from shapecheck.mypy_plugin._worker import Worker


class ModuleAnalysis:
    """The analysis of every module of one mypy run."""

    def __init__(
        self,
        options: Options,
        reader: SourceReader,
        finder: ModuleFinder,
        records: DependencyRecords,
        ahead: Worker | None,
        *,
        is_daemon: bool,
    ) -> None:
        self._options = options
        self._ahead = ahead
        self._is_daemon = is_daemon
        self._reader = reader
        self._finder = finder
        self._hosts = MypyHosts(reader, finder, is_daemon=is_daemon)
        self._records = records
        self._forgotten = Forgotten(finder, records, self._find) if is_daemon else None
        self._has_updated = False
        self._early: dict[str, Findings] = {}

    def expect(self, file: MypyFile) -> None:
        """Have a module that mypy has just parsed analysed ahead, where that may come in useful."""
        if self._ahead is None or is_library(file.path):
            return
        found = self._reader.read(file.fullname, file.path)
        if found is not None and mentions_tensors(found[0].text):
            self._ahead.submit(file.fullname, file.path)

    def run(self, file: MypyFile, reporter: Reporter) -> set[str]:
        """Analyse a module and report; return the modules whose source had a say in it."""
        findings = self._find(file)
        reporter.report(file, findings.diagnostics)
        self._records.save(file.fullname, findings.looked, findings.parts)
        if self._forgotten is not None:
            self._forgotten.keep(file, findings, reporter)
        return {name for name, version in findings.looked.items() if version is not None}

    def leave(self, file: MypyFile) -> None:
        """Take note of a module of which mypy would drop what is reported."""
        self._records.discard(file.fullname)
        if self._forgotten is not None:
            self._forgotten.drop(file.fullname)

    def report_forgotten(self, reporter: Reporter) -> None:
        """Report again what the daemon has forgotten, at the end of an update."""
        if self._forgotten is not None:
            # mypy looks at the module that it checks at the end of an update first in a build, too.
            self._has_updated = self._has_updated or self._forgotten.has_any
            self._forgotten.report(reporter)

    def _find(self, file: MypyFile) -> Findings:
        """Return what is to be said of a module: nothing where a comment at its top wants that.

        mypy takes such a module for one that is never reached.
        """
        findings, read = self._analysed(file), self._reader.read(file.fullname, file.path)
        if read is not None and ignores(read[0].text).hide_all:
            return replace(findings, diagnostics=[])
        return findings

    def _analysed(self, file: MypyFile) -> Findings:
        found = self._early.pop(file.fullname, None) or self._find_ahead(file)
        if found is not None:
            return found
        host = self._hosts.analysing(file.fullname, file.path)
        source = host.source(file.fullname)
        diagnostics: list[Diagnostic] = []
        if source is None:
            if any(mentions_tensors(name) for name in _imported_names(file)):
                diagnostics = [unreadable()]
        elif mentions_tensors(source.text) or self._imports_tensors(file, host):
            diagnostics = self._diagnostics(source, host)
        return host.found(diagnostics)

    def _find_ahead(self, file: MypyFile) -> Findings | None:
        """Return what was found ahead, provided that all it rests on is as mypy sees it."""
        if self._ahead is None:
            return None
        result = self._ahead.result(file.fullname, self._find_early)
        if result is None:
            return None
        host = self._hosts.analysing(file.fullname, file.path)
        for module in result.answers:
            host.source(module)
        if host.answers != result.answers:
            return None
        host.parts = result.parts
        return host.found(result.diagnostics)

    def _find_early(self, module: str) -> None:
        """Analyse a module that mypy will ask for later."""
        file = self._finder.modules.get(module)
        if file is None:
            return
        host = self._hosts.analysing(module, file.path)
        source = host.source(module)
        if source is not None:
            self._early[module] = host.found(self._diagnostics(source, host))

    def _imports_tensors(self, file: MypyFile, host: MypyHost) -> bool:
        """Does a name here come from a module, of the same project, that has to do with tensors?"""
        for module in _defining_modules(file):
            known = self._finder.modules.get(module)
            if known is None or is_library(known.path):
                continue
            source = host.source(module)
            if source is not None and mentions_tensors(source.text):
                return True
        return False

    def _diagnostics(self, source: Source, host: MypyHost) -> list[Diagnostic]:
        """Analyse one module; a failure of the analysis is a note, never mypy's crash."""
        from shapecheck.signatures import StubError

        try:
            return analysis.analyze_module(source, host, self._options)
        except StubError as error:
            where = f"{self._reader.display(str(error.path))}:{error.line}"
            # As after a syntax error, there is no going on; but an update would not survive it.
            if not self._has_updated:
                raise CompileError([f"{where}: error: {error.reason}"]) from error
            return [Diagnostic(TOP, f"signature file {where}: {error.reason}", "error")]
        except Exception as error:  # noqa: BLE001 - whatever it is, mypy must go on
            return [failure(source, error)]


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
