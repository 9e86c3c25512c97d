"""Says what the analysis says, and asks it only of the parts for which something has changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from shapecheck import analysis
from shapecheck.analysis import NO_TENSORS, Coverage, Diagnostic, Host, Look, Options, Source
from shapecheck.engine.records import (
    Grounds,
    Key,
    ModuleRecord,
    Numbers,
    PartRecord,
    Versions,
    numbers,
)
from shapecheck.engine.store import Store

if TYPE_CHECKING:
    from shapecheck.analysis.check.module import Checking


class Files(Host, Protocol):
    """What the engine asks of the world: the texts of modules, and in which version they are.

    It sees each module as it was the first time, until `Engine.renew` is told otherwise.
    """

    def version(self, module: str) -> str | None:
        """Return what is another text where the module's source is; None where there is none.

        That of its content comes first, then a space and its path.
        """
        ...


F = TypeVar("F", bound=Files)


class Engine(Generic[F]):
    """Checks modules of one program, with what is known of them from before.

    `store` keeps it for other processes. What is said never depends on what was kept. Where the
    process `stays` for edits to come, an edit costs less and the process takes more memory. Where
    it `counts`, records say what is known of tensors. `before_part` is called before each part of a
    module is checked; what it raises ends that, until somebody begins again. `analysed` counts the
    parts of modules that the analysis was asked of.
    """

    def __init__(
        self,
        files: F,
        options: Options,
        store: Store | None = None,
        *,
        stays: bool = False,
        counts: bool = False,
        before_part: Callable[[], None] | None = None,
    ) -> None:
        self.files = files
        self.analysed = 0
        self._options = options
        self._store = store
        self._stays, self._counts, self._before_part = stays, counts, before_part
        self._records: dict[str, ModuleRecord] = {}
        self._looks: dict[tuple[str, str], Look] = {}
        self._lookings: dict[str, Checking] = {}
        self._digests: dict[str, tuple[Source | None, dict[str, str]]] = {}

    def check(self, module: str) -> Sequence[Diagnostic]:
        """Return what is said of a module, as `analysis.analyze_module` does.

        Raises what that raises, and LookupError where there is no such module.
        """
        return self.record(module).said

    def record(self, module: str) -> ModuleRecord:
        """Return what is said of a module and what that rests on; raises what `check` does."""
        known = self.known(module)
        if known is not None and self.holds(known):
            return self._records[module]
        record = self._checked_again(module, known)
        self.adopt(record)
        return record

    def known(self, module: str) -> ModuleRecord | None:
        """Return what was last said of a module, whether or not it holds."""
        found = self._records.get(module)
        if found is None and self._store is not None:
            version = self.files.version(module)
            found = self._store.find(module, version)
            if found is not None and found.versions.get(module) == version:
                if not _is_inside(found.said, self.files.source(module)):
                    return None
            if found is not None:
                self._records[module] = found
        return found

    def holds(self, record: ModuleRecord) -> bool:
        """Whether what is known of a module is what would be said of it now.

        Where other modules have changed, but nothing that was read of them, that is noted.
        """
        changed = self._changed(record)
        if changed:
            if record.module in changed or self._stale(record, changed) != set():
                return False
            record = record.seen_with(self._versions(record.versions))
            if self._store is not None:
                self._store.note_versions(record)
        self._records[record.module] = record
        return True

    def look(self, module: str, line: int) -> Look | None:
        """Return what an editor shows of the part of a module that has a line.

        What is outside of all functions is one part, too. None where nothing is to be analysed.
        Raises what `check` does.
        """
        source = self.files.source(module)
        if source is None or not analysis.mentions_tensors(source.text):
            return None
        checking = self._lookings.get(module)
        if checking is None:
            checking = analysis.begin(source, self.files, self._options, stays=self._stays)
            self._lookings[module] = checking
        inside = (one for one in checking.parts if one.lines[0] <= line <= one.lines[1])
        part = next(inside, checking.parts[-1])
        if (module, part.key) not in self._looks:
            self._looks[module, part.key] = checking.look(part)
        return self._looks[module, part.key]

    def is_of_now(self, record: ModuleRecord) -> bool:
        """Whether a record is of all modules as they are now, to the letter."""
        return not self._changed(record)

    def adopt(self, record: ModuleRecord, *, keep: bool = True) -> None:
        """Take what was found of a module as it is now, here or by another process."""
        self._records[record.module] = record
        if keep and self._store is not None:
            self._store.keep(record)

    def without_parts(
        self,
        module: str,
        said: Sequence[Diagnostic],
        rests_on: Collection[Key] = (),
        *,
        keep: bool = False,
    ) -> ModuleRecord:
        """Return a record of a module that isn't checked, and take it for what is known of it.

        `keep` it for others where `rests_on` is all that nothing is said for.
        """
        digests = tuple(self._digest(*key) for key in rests_on)
        versions = self._versions([module, *(name for name, _ in rests_on)])
        record = ModuleRecord(
            module, versions, tuple(said), Grounds(tuple(rests_on), digests), covered=NO_TENSORS
        )
        self.adopt(record, keep=keep)
        return record

    def renew(self, modules: Collection[str]) -> None:
        """Take note that modules have changed, have come or have gone."""
        if not modules:
            return
        analysis.renew(self.files, modules)
        self._looks.clear()
        self._lookings.clear()
        for name in modules:
            self._digests.pop(name, None)

    def _changed(self, record: ModuleRecord) -> set[str]:
        version = self.files.version
        return {name for name, seen in record.versions.items() if version(name) != seen}

    def _versions(self, modules: Iterable[str]) -> Versions:
        return {name: self.files.version(name) for name in modules}

    def _stale(self, record: ModuleRecord, changed: Collection[str]) -> set[int] | None:
        """Return which of the readings of a record aren't what they were; None for all."""
        grounds = record.grounds
        if grounds is None:
            return None
        return {
            at
            for at, (module, key) in enumerate(grounds.readings)
            if module in changed and self._digest(module, key) != grounds.digests[at]
        }

    def _digest(self, module: str, key: str) -> str:
        """Return what stands in a part of a module."""
        source = self.files.source(module)
        known = self._digests.get(module)
        if known is None or known[0] is not source:
            known = self._digests[module] = (source, {})
        found = known[1].get(key)
        if found is None:
            try:
                found = analysis.digest_of(source, key)
            except KeyError:  # of a record that may be anyone's
                found = ""
            known[1][key] = found
        return found

    def _checked_again(self, module: str, known: ModuleRecord | None) -> ModuleRecord:
        """Check the parts of a module for which something has changed."""
        source = self.files.source(module)
        if source is None:
            raise LookupError(module)
        checking = analysis.begin(
            source, self.files, self._options, stays=self._stays, counts=self._counts
        )
        before = (known and known.grounds) or Grounds()
        kept = {} if known is None else self._kept(known)
        digests: dict[Key, str] = {}
        places: dict[Key, int] = {}
        parts: list[PartRecord] = []
        for part in checking.parts:
            record = kept.get(part.key)
            if record is not None and record.is_brief == checking.effort.is_spent:
                moved = record.moved(part.lines[0])
                is_same = not record.spelled or record.spelled == checking.spelled(part.lines)
                if is_same and _is_inside(moved.findings.said, source):
                    on = {before.readings[at]: before.digests[at] for at in record.rests_on}
                    rests_on = _numbered(on, places, digests)
                    parts.append(replace(moved, rests_on=rests_on))
                    checking.effort.taken += record.steps
                    continue
            if self._before_part is not None:
                self._before_part()
            found = checking.check(part)
            self.analysed += 1
            spelled = checking.spelled(part.lines) if found.findings else ""
            rests_on = _numbered(found.rests_on, places, digests)
            parts.append(
                PartRecord(
                    part.key,
                    part.lines[0],
                    spelled,
                    rests_on,
                    found.findings,
                    found.covered,
                    found.steps,
                    found.is_brief,
                )
            )
        checking.end()
        return ModuleRecord(
            module,
            self._versions(sorted({module, *(name for name, _ in digests)})),
            tuple(analysis.merged(one.findings for one in parts)),
            Grounds(tuple(digests), tuple(digests.values()), tuple(parts)),
            covered=_covered(parts),
        )

    def _kept(self, known: ModuleRecord) -> dict[str, PartRecord]:
        """Return the parts of which all is as it was that was read for them."""
        stale = self._stale(known, self._changed(known))
        if stale is None or known.grounds is None:
            return {}
        return {one.key: one for one in known.grounds.parts if stale.isdisjoint(one.rests_on)}


def _covered(parts: Sequence[PartRecord]) -> Coverage | None:
    """Return what is known in all parts, None where that wasn't counted in one."""
    counted = [(one.key, one.covered) for one in parts if one.covered is not None]
    return analysis.covered(counted) if len(counted) == len(parts) else None


def _is_inside(said: Iterable[Diagnostic], source: Source | None) -> bool:
    """Whether what is said in a record, which may be anyone's, is said of lines that there are."""
    lines = {line for one in said for line in (one.span.line, one.span.end_line)} - {0, 1}
    if not lines:
        return True
    return source is not None and min(lines) > 0 and max(lines) <= len(source.text.splitlines())


def _numbered(rests_on: dict[Key, str], places: dict[Key, int], digests: dict[Key, str]) -> Numbers:
    """Return the numbers of readings, among those of the whole module."""
    digests.update(rests_on)
    return numbers(places.setdefault(key, len(places)) for key in rests_on)
