"""Says what the analysis says, and asks it only of the parts for which something has changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from shapecheck import analysis
from shapecheck.analysis import (
    NO_TENSORS,
    UNBOUND,
    Asked,
    Coverage,
    Diagnostic,
    Host,
    Key,
    Look,
    Options,
    Recall,
    RestsOn,
    Source,
)
from shapecheck.engine.records import (
    Grounds,
    ModuleRecord,
    Numbers,
    PartRecord,
    numbers,
)
from shapecheck.engine.store import Store
from shapecheck.engine.versions import Versions

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
        self._is_alone = stays and store is None
        self._records: dict[str, ModuleRecord] = {}
        self._looks: dict[tuple[str, str], Look] = {}
        self._lookings: dict[str, Checking] = {}
        self._digests: dict[str, tuple[Source | None, dict[str, str]]] = {}
        self._again: dict[tuple[str, str], RestsOn | None] = {}
        self._found_stale: dict[str, tuple[ModuleRecord, set[int] | None]] = {}
        self._edits = 0
        self._edited: dict[str, int] = {}
        self._of_now: dict[str, tuple[ModuleRecord, int]] = {}

    def check(self, module: str) -> Sequence[Diagnostic]:
        """Return what is said of a module, as `analysis.analyze_module` does.

        Raises what that raises, and LookupError where there is no such module.
        """
        return self.record(module).said

    def record(self, module: str, reads: Collection[Key] = ()) -> ModuleRecord:
        """Return what is said of a module and what that rests on; raises what `check` does.

        `reads` is what who asks has read to know that it is to be checked: that counts, too.
        """
        known = self.known(module)
        if known is not None and self.holds(known) and known.has_read(reads):
            return self._records[module]
        noted = _Noted({key: self._digest(*key) for key in reads}, is_whole=self._is_alone)
        if self._is_alone:
            record = known and self._still_said(known, noted)
            record = record or self._checked_again(module, known, {}, None, noted)
        else:
            asking = self._asking(module, known)
            kept = asking.kept()
            record = known and self._holding_on(known, kept, noted)
            record = record or self._checked_again(module, known, kept, asking.recall, noted)
        self.adopt(record)
        return record

    def known(self, module: str) -> ModuleRecord | None:
        """Return what was last said of a module, whether or not it holds."""
        found = self._records.get(module)
        if found is None and self._store is not None:
            version = self.files.version(module)
            found = self._store.find(module, version)
            if found is not None and found.said and found.versions.get(module) == version:
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
            if record.module in changed or self._stale(record) != set():
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
            if not self._stays:
                record.keep_zipped()  # what many modules rest on takes more room than these
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
        self._edits += 1
        self._edited.update(dict.fromkeys(modules, self._edits))
        self._looks.clear()
        self._lookings.clear()
        self._again.clear()
        self._found_stale.clear()
        for name in modules:
            self._digests.pop(name, None)

    def _changed(self, record: ModuleRecord) -> set[str]:
        """Return which modules that were read for a record have changed since.

        It was of all of them once, after so many edits, or nobody knows yet.
        """
        seen, version = record.versions, self.files.version
        known, edits = self._of_now.get(record.module, (None, 0))
        looked_at = [one for one, at in self._edited.items() if at > edits and one in seen]
        changed = {
            one for one in (looked_at if known is record else seen) if version(one) != seen[one]
        }
        if not changed:
            self._of_now[record.module] = record, self._edits
        return changed

    def _versions(self, modules: Iterable[str]) -> Versions:
        return {name: self.files.version(name) for name in modules}

    def _stale(self, record: ModuleRecord) -> set[int] | None:
        """Return which of the readings of a record aren't what they were; None for all."""
        known = self._found_stale.get(record.module)
        if known is None or known[0] is not record:
            known = self._found_stale[record.module] = record, self._find_stale(record)
        return known[1]

    def _find_stale(self, record: ModuleRecord) -> set[int] | None:
        readings, changed = record.readings, self._changed(record)
        if readings is None:
            return None
        return {
            at
            for at, (module, key) in enumerate(readings.keys)
            if module in changed and self._digest(module, key) != readings.digests[at]
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

    def _holding_on(
        self, known: ModuleRecord, kept: Mapping[str, RestsOn], noted: _Noted
    ) -> ModuleRecord | None:
        """Return what is known of a module that is as it was, if all its parts are `kept`."""
        parts = self._parts_of_now(known)
        if not parts or len(kept) < len(parts):
            return None
        return self._noted_again(known, noted, [noted.part(one, kept[one.key]) for one in parts])

    def _still_said(self, known: ModuleRecord, noted: _Noted) -> ModuleRecord | None:
        """Return what is known of a module that is as it was, if the analysis knows all of it."""
        parts = self._parts_of_now(known)
        places = ((one.key, one.is_brief) for one in parts)
        rests_on = parts and analysis.still_said(self.files, self._options, known.module, places)
        if not rests_on:
            return None
        noted.part(parts[0], rests_on)
        return self._noted_again(known, noted, parts)

    def _parts_of_now(self, known: ModuleRecord) -> Sequence[PartRecord]:
        """Return the parts of a record of a module that has the same text still, else none."""
        is_same = known.versions.get(known.module) == self.files.version(known.module)
        return known.grounds.parts if is_same and known.grounds is not None else ()

    def _noted_again(
        self, known: ModuleRecord, noted: _Noted, parts: Sequence[PartRecord]
    ) -> ModuleRecord:
        """Return a record that says what another one does, with what it rests on by now."""
        return ModuleRecord(
            known.module,
            self._versions(noted.modules(known.module)),
            known.said,
            noted.grounds(tuple(parts)),
            covered=known.covered,
        )

    def _checked_again(
        self,
        module: str,
        known: ModuleRecord | None,
        kept: Mapping[str, RestsOn],
        recalls: Recall | None,
        noted: _Noted,
    ) -> ModuleRecord:
        """Check the parts of a module that aren't `kept`."""
        source = self.files.source(module)
        if source is None:
            raise LookupError(module)
        before = (known and known.grounds) or Grounds()
        records = {one.key: one for one in before.parts if one.key in kept}
        # Where this ends early, the analysis knows of parts what no record says.
        self._records.pop(module, None)
        checking = analysis.begin(
            source,
            self.files,
            self._options,
            stays=self._stays,
            counts=self._counts,
            keeps=self._store is not None,
            recalls=recalls,
        )
        parts: list[PartRecord] = []
        for part in checking.parts:
            record = records.get(part.key)
            if record is not None and record.is_brief == checking.effort.is_spent:
                moved = record.moved(part.lines[0])
                is_same = not record.spelled or record.spelled == checking.spelled(part.lines)
                if is_same and _is_inside(moved.findings.said, source):
                    parts.append(noted.part(moved, kept[part.key]))
                    checking.effort.taken += record.steps
                    continue
            if self._before_part is not None:
                self._before_part()
            found = checking.check(part)
            self.analysed += 1
            spelled = checking.spelled(part.lines) if found.findings else ""
            new = PartRecord(
                part.key,
                part.lines[0],
                spelled,
                *_NOTHING_READ,
                found.findings,
                found.covered,
                found.steps,
                found.is_brief,
            )
            parts.append(noted.part(new, found.rests_on))
        checking.end()
        return ModuleRecord(
            module,
            self._versions(noted.modules(module)),
            tuple(analysis.merged(one.findings for one in parts)),
            noted.grounds(tuple(parts)),
            covered=_covered(parts),
        )

    def _asking(self, module: str, known: ModuleRecord | None) -> _Asking:
        """Return what finds out which answers in a record of a module are still right."""
        again = partial(self._asked_again, module)
        stale = None if known is None else self._stale(known)
        grounds = None if known is None else known.grounds
        if grounds is None or stale is None:
            return _Asking(Grounds(), {}, again)
        now = {key: self._digest(*key) for key in (grounds.readings[at] for at in stale)}
        return _Asking(grounds, now, again)

    def _asked_again(self, module: str, question: str, recalls: Recall) -> RestsOn | None:
        """Ask a question that the check of a module had, once for all that had it."""
        key = module.partition(".")[0], question
        if key not in self._again:
            self._again[key] = analysis.ask_again(
                self.files, self._options, module, question, recalls
            )
        return self._again[key]


class _Asking:
    """Finds out which questions of a record have the answers that they had.

    They have where nothing that has been `touched` was read for them, and are asked `again` if they
    or those that they ask haven't: what is answered the same ends it. It may take some steps more
    or fewer, if who asks has room for them. `touched` says what stands there now.
    """

    def __init__(
        self,
        grounds: Grounds,
        touched: Mapping[Key, str],
        again: Callable[[str, Recall], RestsOn | None],
    ) -> None:
        self._grounds, self._touched, self._again = grounds, touched, again
        self._digests = {**dict(zip(grounds.readings, grounds.digests, strict=True)), **touched}
        self._known: dict[Asked, Asked | None] = {}
        self._by_text: dict[str, Asked] | None = None
        # Those for which something touched was read, and those that may take other steps by now.
        self._stale, self._unsure = set[Asked](), set[Asked]()
        for one in grounds.asked:
            is_stale = not one.reads.isdisjoint(touched.keys())
            if is_stale or not self._stale.isdisjoint(one.asks):
                self._stale.add(one)
            if one in self._stale or one.more or not self._unsure.isdisjoint(one.asks):
                self._unsure.add(one)

    def kept(self) -> dict[str, RestsOn]:
        """Return what the parts rest on that have the same to say as before, by their keys."""
        readings, every, found = self._grounds.readings, self._grounds.asked, {}
        for part in self._grounds.parts:
            own = frozenset(readings[at] for at in part.own)
            if not own.isdisjoint(self._touched.keys()):
                continue
            asked = self._all_now([every[at] for at in part.asked], part.room)
            if asked is not None:
                found[part.key] = RestsOn(self._digests, own, asked, part.room)
        return found

    def recall(self, question: str) -> RestsOn | None:
        """Return what a question rests on, if it must have the answer that it had."""
        if self._by_text is None:
            self._by_text = {one.text: one for one in self._grounds.asked}
        asked = self._by_text.get(question)
        if asked is None or asked in self._unsure:
            return None
        return RestsOn(self._digests, frozenset(), (asked,), UNBOUND)

    def _all_now(self, asked: Sequence[Asked], room: int) -> tuple[Asked, ...] | None:
        """Return questions as they are asked by now; None where one has another answer.

        Or where there isn't `room` for the steps more or fewer that they take.
        """
        found, more = [], 0
        for one in asked:
            now = self._now(one)
            if now is None:
                return None
            more += now.more
            if more > room:
                return None
            found.append(now)
        return tuple(found)

    def _now(self, asked: Asked) -> Asked | None:
        if asked not in self._stale:
            return asked
        if asked not in self._known:
            self._known[asked] = self._find(asked)
        return self._known[asked]

    def _find(self, asked: Asked) -> Asked | None:
        inner = self._all_now(asked.asks, asked.room)
        if inner is not None and asked.reads.isdisjoint(self._touched):
            # What has no room for any has been asked again, and may take others by itself.
            more = asked.more if asked.room == 0 else 0
            if asked.pace is not None and not more:
                more = asked.pace.later(sum(one.more for one in inner))
            is_same = inner == asked.asks and more == asked.more
            return asked if is_same else replace(asked, asks=inner, more=more)
        rests_on = self._again(asked.text, self.recall)
        if rests_on is None:
            return None
        (found,) = rests_on.asked
        if found.answer != asked.answer:
            return None
        if asked.pace is not None and found.pace is not None:
            if not asked.pace.is_near(found.pace):
                return None
            more = asked.pace.more(found.pace)
            if more:
                # What it took when all was asked goes on to count: a few more each time would
                # become many. So it is asked again when any that it asks takes others than now.
                found = replace(found, pace=asked.pace, room=0, more=more)
        self._digests |= rests_on.digests
        return found


_NOTHING_READ: Final = (numbers(()), numbers(()))


class _Noted:
    """Takes note of what the parts of a module rest on, for all of it once.

    `digests` are of what all of it rests on. If it `is_whole`, nobody asks that of a single part.
    """

    def __init__(self, digests: Mapping[Key, str], *, is_whole: bool = False) -> None:
        self._is_whole = is_whole
        self._digests = {**digests}
        self._places = {key: at for at, key in enumerate(digests)}
        self._numbers: dict[Asked, int] = {}

    def part(self, record: PartRecord, rests_on: RestsOn) -> PartRecord:
        """Return the record of a part that rests on this."""
        own = self._at(rests_on.own, rests_on)
        if self._is_whole:
            return record
        for one in rests_on.asked:
            self._number(one, rests_on)
        asked = numbers(self._numbers[one] for one in rests_on.asked)
        return replace(record, own=own, asked=asked, room=rests_on.room)

    def _number(self, asked: Asked, rests_on: RestsOn) -> None:
        """Give a question a number behind those that it asks itself."""
        if asked not in self._numbers:
            self._at(asked.reads, rests_on)
            for inner in asked.asks:
                self._number(inner, rests_on)
            self._numbers[asked] = len(self._numbers)

    def _at(self, keys: Iterable[Key], rests_on: RestsOn) -> Numbers:
        """Return the numbers of some pieces of source, which get one the first time."""
        places, digests = self._places, rests_on.digests
        for key in keys:
            if key not in places:
                places[key] = len(places)
                self._digests[key] = digests[key]
        return numbers(map(places.__getitem__, keys))

    def modules(self, module: str) -> list[str]:
        """Return the modules of which something was read, one of them this one."""
        return sorted({module, *(name for name, _ in self._digests)})

    def grounds(self, parts: tuple[PartRecord, ...]) -> Grounds:
        """Return what all parts rest on."""
        keys = tuple(self._places)
        return Grounds(keys, tuple(self._digests[key] for key in keys), tuple(self._numbers), parts)


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
