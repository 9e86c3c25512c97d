"""Says what the analysis says, and asks it only of the parts for which something has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final, Protocol

from shapecheck.analysis import Diagnostic, Host, Options, Source
from shapecheck.analysis.check.module import begin, merged, renew, without_collecting
from shapecheck.analysis.check.parts import Findings, Part, check, parts_of
from shapecheck.analysis.program.reading import Reading
from shapecheck.analysis.program.syntax import Lines, syntax
from shapecheck.engine.records import (
    EXISTENCE,
    Key,
    ModuleRecord,
    PartRecord,
    moves_with,
)
from shapecheck.engine.store import Store

_TEXT: Final = "text "
"""The key of all that stands in a module."""


class Files(Host, Protocol):
    """What the engine asks of the world: the texts of modules, and in which version they are."""

    def version(self, module: str) -> str | None:
        """Return what is another text where the module's source is; None where there is none."""
        ...


class Engine:
    """Checks modules of one program, with what is known of them from before.

    `store` keeps it for other processes. What is said never depends on what was kept.
    """

    def __init__(self, files: Files, options: Options, store: Store | None = None) -> None:
        self._files = files
        self._options = options
        self._store = store
        self._records: dict[str, ModuleRecord] = {}
        self._digests: dict[str, tuple[Source | None, dict[str, str]]] = {}

    def check(self, module: str) -> Sequence[Diagnostic]:
        """Return what is said of a module, as `analysis.analyze_module` does.

        Raises SyntaxError, and LookupError where there is no such module.
        """
        return self.record(module).said

    def record(self, module: str) -> ModuleRecord:
        """Return what is said of a module and what that rests on; raises what `check` does."""
        known = self.known(module)
        if known is not None and self.holds(known):
            return self._records[module]
        record = self._checked_again(module, known)
        self._adopt(record)
        return record

    def known(self, module: str) -> ModuleRecord | None:
        """Return what was last said of a module, whether or not it holds."""
        found = self._records.get(module)
        if found is None and self._store is not None:
            found = self._store.find(module, self._files.version(module))
            if found is not None:
                self._records[module] = found
        return found

    def holds(self, record: ModuleRecord) -> bool:
        """Whether what is known of a module is what would be said of it now.

        Where others have changed, but nothing that was read of them, that is noted.
        """
        changed = self._changed(record)
        if not changed:
            return True
        if record.module in changed or self._stale(record, changed):
            return False
        record = self._records[record.module] = replace(
            record, versions=self._versions(record.versions)
        )
        if self._store is not None:
            self._store.note_versions(record)
        return True

    def adopt(self, record: ModuleRecord) -> bool:
        """Take what another process has found; return whether it holds here."""
        if self._changed(record):
            return False
        self._adopt(record)
        return True

    def renew(self, modules: Collection[str]) -> None:
        """Take note that modules have changed, have come or have gone."""
        renew(self._files, modules)
        for name in modules:
            self._digests.pop(name, None)

    def _adopt(self, record: ModuleRecord) -> None:
        self._records[record.module] = record
        if self._store is not None:
            self._store.keep(record)

    def _changed(self, record: ModuleRecord) -> set[str]:
        version = self._files.version
        return {name for name, seen in record.versions.items() if version(name) != seen}

    def _versions(self, modules: Iterable[str]) -> dict[str, str | None]:
        return {name: self._files.version(name) for name in modules}

    def _stale(self, record: ModuleRecord, changed: Collection[str]) -> set[int]:
        """Return which of the readings of a record aren't what they were."""
        return {
            at
            for at, (module, key) in enumerate(record.readings)
            if module in changed and self._digest(module, key) != record.digests[at]
        }

    def _digest(self, module: str, key: str) -> str:
        """Return what stands in a part of a module; "" where the module can't be read."""
        source = self._files.source(module)
        known = self._digests.get(module)
        if known is None or known[0] is not source:
            known = self._digests[module] = (source, {})
        found = known[1].get(key)
        if found is None:
            found = known[1][key] = _digest(source, key)
        return found

    @without_collecting
    def _checked_again(self, module: str, known: ModuleRecord | None) -> ModuleRecord:
        """Check the parts of a module of which something has changed."""
        source = self._files.source(module)
        if source is None:
            raise LookupError(module)
        parsed = begin(source, self._files, self._options)
        kept = self._kept(known)
        readings: dict[Key, str] = {}
        numbers: dict[Key, int] = {}
        parts: list[PartRecord] = []

        def number(key: Key, digest: str) -> int:
            readings[key] = digest
            return numbers.setdefault(key, len(numbers))

        for part in parts_of(parsed):
            record = kept.get(part.key)
            if record is not None and known is not None:
                moved = _in_place(record, part, parsed.lines)
                if moved is not None:
                    on = ((known.readings[at], known.digests[at]) for at in record.rests_on)
                    rests_on = tuple(number(key, digest) for key, digest in on)
                    parts.append(replace(moved, rests_on=rests_on))
                    continue
            findings, grounds = check(parsed, part)
            made = _record(part, parsed.lines, findings)
            if findings and not made.spelled:
                grounds.add(parsed.syntax.reading(_TEXT))
            on = ((_key(one), self._said(one)) for one in grounds if not isinstance(one, tuple))
            rests_on = tuple(number(key, digest) for key, digest in on)
            parts.append(replace(made, rests_on=rests_on))
        parsed.program.memo.trim()
        parsed.program.memory.trim()
        modules = sorted({module, *(name for name, _ in readings)})
        return ModuleRecord(
            module,
            self._versions(modules),
            tuple(readings),
            tuple(readings.values()),
            tuple(parts),
            tuple(merged(one.findings for one in parts)),
        )

    def _said(self, ground: str | Reading) -> str:
        return ground.digest if isinstance(ground, Reading) else self._digest(ground, EXISTENCE)

    def _kept(self, known: ModuleRecord | None) -> dict[str, PartRecord]:
        """Return the parts of which all is as it was that was read for them."""
        if known is None:
            return {}
        stale = self._stale(known, self._changed(known))
        return {one.key: one for one in known.parts if stale.isdisjoint(one.rests_on)}


def _digest(source: Source | None, key: str) -> str:
    if source is None:
        return "absent" if key == EXISTENCE else ""
    try:
        parsed = syntax(source)
    except (SyntaxError, ValueError, RecursionError):
        return "unreadable" if key == EXISTENCE else ""
    if key == EXISTENCE:
        return "package" if source.path.endswith("__init__.py") else "module"
    return parsed.reading(key).digest


def _key(ground: str | Reading) -> Key:
    if isinstance(ground, Reading):
        return ground.module, ground.key
    return ground, EXISTENCE


def _record(part: Part, lines: Lines, findings: Findings) -> PartRecord:
    """Return what is said of a part; the caller knows what that rests on."""
    moves = bool(findings) and moves_with(findings, part.lines)
    return PartRecord(part.key, part.lines[0], _spelled(part, lines) if moves else "", (), findings)


def _in_place(record: PartRecord, part: Part, lines: Lines) -> PartRecord | None:
    """Return what was said of a part as it is said where that is now; None where it can't be."""
    if record.spelled and record.spelled != _spelled(part, lines):
        return None
    return record.moved(part.lines[0])


def _spelled(part: Part, lines: Lines) -> str:
    """Return a digest of the lines of a part as they are spelled."""
    first, last = part.lines
    text = "\n".join(lines[number] for number in range(first, last + 1))
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=12).hexdigest()
