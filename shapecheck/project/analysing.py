"""The analysis of one module of a run, as often as it is asked for."""

from __future__ import annotations

from shapecheck import analysis
from shapecheck.analysis import Diagnostic, Options, mentions_tensors
from shapecheck.project.definers import Definers
from shapecheck.project.failures import failure, unreadable
from shapecheck.project.modules import Host, Module, Modules
from shapecheck.project.reading import Reader
from shapecheck.project.relevance import is_library
from shapecheck.signatures import StubError


class Analysis:
    """Analyses modules of one group, which see each other as they were the first time."""

    def __init__(self, modules: Modules, reader: Reader, options: Options) -> None:
        self._modules = modules
        self._reader = reader
        self._options = options
        self._definers = Definers(modules)

    def analyse(self, module: str, path: str) -> list[Diagnostic]:
        """Return what is to be said of a module, before anything is ignored.

        A failure is a note. Raises `StubError`: without signatures there is no going on; and
        `SyntaxError` for a module that isn't Python.
        """
        one = Module(module, path)
        host = self._modules.host(one)
        source = self._reader.read(module, path)
        if source is None:
            return [unreadable()]
        if not mentions_tensors(source.text) and not self._imports_tensors(one, host):
            return []
        try:
            return analysis.analyze_module(source, host, self._options)
        except (StubError, SyntaxError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the other modules are checked
            return [failure(source, error)]

    def _imports_tensors(self, module: Module, host: Host) -> bool:
        """Does a name here come from a module, of the same project, that has to do with tensors?"""
        for name in self._definers.of(module, host):
            known = self._modules.known(name)
            if known is None or is_library(known.path):
                continue
            source = host.source(name)
            if source is not None and mentions_tensors(source.text):
                return True
        return False
