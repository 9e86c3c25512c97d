"""The analysis of one module of a run, as often as it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection

from shapecheck.analysis import TEXT, Key, Look, Options, mentions_tensors
from shapecheck.engine import Engine, ModuleRecord, Store, Tally
from shapecheck.project.definers import Definers
from shapecheck.project.failures import failure, stub_error, unreadable
from shapecheck.project.modules import Host, Module, Modules
from shapecheck.project.reading import Reader
from shapecheck.project.relevance import is_library


def _has_looked(record: ModuleRecord) -> bool:
    """Whether it was asked if what a module imports has to do with tensors."""
    readings = () if record.readings is None else record.readings.keys
    return any(key == TEXT and name != record.module for name, key in readings)


class Analysis:
    """Analyses modules of one group, which see each other as they were the first time.

    `store` has what was said of them before. Where it `stays` for edits to come, it is told to
    `renew` what it sees.
    """

    def __init__(
        self,
        modules: Modules,
        reader: Reader,
        options: Options,
        store: Store | None,
        *,
        stays: bool = False,
        before_part: Callable[[], None] | None = None,
    ) -> None:
        self.modules = modules
        self._stays, self._before_part = stays, before_part
        self._reader = reader
        self._options = options
        self._store = store
        self._definers = Definers(modules)
        self._engines: dict[Host, Engine[Host]] = {}

    @property
    def tally(self) -> Tally:
        """What there was to do so far."""
        analysed = sum(engine.analysed for engine in self._engines.values())
        found = Tally() if self._store is None else self._store.tally
        return found + Tally(analysed)

    def version(self, module: Module) -> str | None:
        """Return in which version a module is; None where it can't be read."""
        return self._engine(module).files.version(module.name)

    def known(self, module: Module) -> ModuleRecord | None:
        """Return what is to be said of a module that says what it said before: it is Python.

        None for another one. Raises what `analyse` does.
        """
        engine = self._engine(module)
        record, source = engine.known(module.name), engine.files.source(module.name)
        version = engine.files.version(module.name)
        if record is None or source is None or record.versions.get(module.name) != version:
            return None
        if engine.holds(record):
            # Else it is a question of what it imports, which nobody has asked who hasn't read that.
            if mentions_tensors(source.text) or _has_looked(record) or not record.has_parts:
                return record
        return self.analyse(module)

    def analyse(self, module: Module) -> ModuleRecord:
        """Return what is to be said of a module that is Python, before anything is ignored.

        A failure is a note. Raises `StubError`: without signatures there is no going on.
        """
        engine = self._engine(module)
        source = engine.files.source(module.name)
        if source is None:
            return engine.without_parts(module.name, [unreadable()])
        reads: list[Key] = []
        if not mentions_tensors(source.text):
            is_about = self._imports_tensors(module, engine.files)
            reads = [(name, TEXT) for name in sorted(self._definers.consulted)]
            if not is_about:
                return engine.without_parts(module.name, [], reads, keep=True)
        try:
            return engine.record(module.name, reads)
        except (stub_error(), SyntaxError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the other modules are checked
            return engine.without_parts(module.name, [failure(source, error)])

    def look(self, module: Module, line: int) -> Look | None:
        """Return what an editor shows of the part of a module that has a line."""
        return self._engine(module).look(module.name, line)

    def read_for(self, module: Module) -> Collection[str]:
        """Return the names of the modules that what is known of one rests on."""
        record = self._engine(module).known(module.name)
        return () if record is None else record.versions.keys()

    def renew(self, *, are_places_new: bool) -> set[str]:
        """See modules as the reader does now; find them again where they may lie elsewhere.

        Returns those that have changed.
        """
        every = set[str]()
        if are_places_new:
            self.modules.forget_places()
        for engine in self._engines.values():
            changed = engine.files.renew(are_places_new=are_places_new)
            engine.renew(changed)
            self._definers.forget(None if are_places_new else changed)
            every |= changed
        return every

    def _engine(self, module: Module) -> Engine[Host]:
        host = self.modules.host(module)
        if host not in self._engines:
            self._engines[host] = Engine(
                host,
                self._options,
                self._store,
                stays=self._stays,
                counts=not self._stays,
                before_part=self._before_part,
            )
        return self._engines[host]

    def _imports_tensors(self, module: Module, host: Host) -> bool:
        """Does a name here come from a module, of the same project, that has to do with tensors?"""
        names = self._definers.of(module, host)
        self._definers.consulted.update(names)
        for name in names:
            known = self.modules.known(name)
            if known is None or is_library(known.path):
                continue
            source = host.source(name)
            if source is not None and mentions_tensors(source.text):
                return True
        return False
