"""Checks a module for what is known of each of its expressions, not for what is wrong."""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from shapecheck.analysis.check import module as checking
from shapecheck.analysis.check.parts import check_watched, parts_of
from shapecheck.analysis.coverage import measure
from shapecheck.analysis.coverage import unread as looking
from shapecheck.analysis.coverage.watching import Watcher
from shapecheck.analysis.host import Body, Host, Source, Unread
from shapecheck.analysis.interpreter.budget import Effort
from shapecheck.analysis.options import Options


@checking.without_collecting
def look(source: Source, host: Host, options: Options) -> list[Body]:
    """Do what `analysis.inspect` says."""
    return _Apart(host).look(source, options)


def unread(source: Source, host: Host, options: Options) -> list[Unread]:
    """Do what `analysis.unread` says."""
    module = checking.program_of(host, options, source.name).module(source.name)
    return [] if module is None else looking.unread(module)


@mypyc_attr(native_class=False)  # programs refer to their hosts weakly
class _Apart:
    """A host of its own, so that nothing that another analysis found out is taken over."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def source(self, module: str) -> Source | None:
        """Ask the other host."""
        return self._host.source(module)

    def look(self, source: Source, options: Options) -> list[Body]:
        """Look at each expression, and be there for as long as that takes."""
        module = checking.begun(source, self, options)
        watcher = Watcher(module)
        effort = Effort()
        found = [check_watched(module, part, effort, watcher) for part in parts_of(module)]
        return measure.bodies(watcher.analysis(group for one in found for group in one.groups))
