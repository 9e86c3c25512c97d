"""What is kept of a module that was checked, and how it is written down.

Written down it is JSON: who reads it runs nothing, and what isn't as it should be is no record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, TypeAlias, TypeVar

from shapecheck.analysis import Diagnostic, Span
from shapecheck.analysis.check.parts import Findings, Led
from shapecheck.blame import Blame

_T = TypeVar("_T")

Key: TypeAlias = tuple[str, str]
"""What was read: a module and a part of it, by the key of its `Reading`."""

EXISTENCE: Final = ""
"""The key of what a module is at all: whether there is one, and of which kind."""

NOTHING: Final = Findings()


@dataclass(frozen=True, slots=True)
class PartRecord:
    """What is said of a part of a module, and what that rests on.

    `line` is its first line then, and `spelled` a digest of its lines as they are spelled: what is
    said moves with them. It is "" where nothing is said, which stands nowhere, and where what is
    said is of other lines, too; then all of the module's text is among what it rests on.
    `rests_on` counts in the readings of the module's record.
    """

    key: str
    line: int
    spelled: str
    rests_on: tuple[int, ...]
    findings: Findings

    def moved(self, line: int) -> PartRecord:
        """Return it as it is where the part begins on another line."""
        if line == self.line:
            return self
        found = _moved(self.findings, line - self.line) if self.findings else self.findings
        return replace(self, line=line, findings=found)


@dataclass(frozen=True, slots=True)
class ModuleRecord:
    """What is said of a module, of each of its parts, and what that rests on.

    `versions` are those of all modules that were read, itself included, None for one that there
    isn't. `readings` are the parts of them that were read, `digests` what stood there.
    """

    module: str
    versions: dict[str, str | None]
    readings: tuple[Key, ...]
    digests: tuple[str, ...]
    parts: tuple[PartRecord, ...]
    said: tuple[Diagnostic, ...]


def moves_with(findings: Findings, lines: tuple[int, int]) -> bool:
    """Whether all that is said of a part is said of its own lines, so that it moves with them."""
    first, last = lines
    spans = [one.span for group in findings.groups for one in group]
    for led in findings.led:
        spans += [one.span for one in led.said]
        spans += [] if led.span is None else [led.span]
        if led.whole is not None and not (first <= led.whole[0] and led.whole[1] <= last):
            return False
    said = [one for group in _all(findings) for one in group]
    # Which lines a message speaks of isn't known here: those that speak of any stay.
    is_still = any("line" in one.message or (one.blame and one.blame.through) for one in said)
    return not is_still and all(first <= one.line and one.end_line <= last for one in spans)


def _all(findings: Findings) -> list[tuple[Diagnostic, ...]]:
    return [*findings.groups, *(led.said for led in findings.led)]


def _moved(findings: Findings, by: int) -> Findings:
    def span(one: Span) -> Span:
        return replace(one, line=one.line + by, end_line=one.end_line + by)

    def group(some: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
        return tuple(replace(one, span=span(one.span)) for one in some)

    def led(one: Led) -> Led:
        place = None if one.span is None else span(one.span)
        whole = None if one.whole is None else (one.whole[0] + by, one.whole[1] + by)
        return Led(place, whole, one.key, group(one.said))

    return Findings(tuple(map(group, findings.groups)), tuple(map(led, findings.led)))


# Written down -------------------------------------------------------------------------------------


def said_to_text(said: Sequence[Diagnostic]) -> str:
    """Write diagnostics down."""
    return json.dumps([_diagnostic(one) for one in said])


def said_from_text(text: str) -> tuple[Diagnostic, ...]:
    """Read diagnostics; raises ValueError where they aren't as they should be."""
    return _checked(lambda: tuple(map(_read_diagnostic, json.loads(text))))


def parts_to_text(record: ModuleRecord) -> str:
    """Write down what is said of the parts of a module, and what that rests on."""
    readings = [[*key, digest] for key, digest in zip(record.readings, record.digests, strict=True)]
    parts = [
        [one.key, one.line, one.spelled, one.rests_on, _findings(one.findings)]
        for one in record.parts
    ]
    return json.dumps([readings, parts])


def record_from_text(
    module: str, versions: dict[str, str | None], said: tuple[Diagnostic, ...], text: str
) -> ModuleRecord:
    """Read what is said of the parts of a module; raises ValueError where it isn't as it should."""

    def read() -> ModuleRecord:
        readings, parts = json.loads(text)
        keys = tuple((str(name), str(key)) for name, key, _ in readings)
        digests = tuple(str(digest) for _, _, digest in readings)
        found = tuple(
            PartRecord(str(key), int(line), str(spelled), tuple(map(int, on)), _read_findings(what))
            for key, line, spelled, on, what in parts
        )
        if any(not 0 <= at < len(keys) for part in found for at in part.rests_on):
            raise ValueError("a part rests on what isn't there")
        return ModuleRecord(module, versions, keys, digests, found, said)

    return _checked(read)


def _checked(read: Callable[[], _T]) -> _T:
    try:
        return read()
    except (TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise ValueError(f"not a record: {error}") from error


def _diagnostic(one: Diagnostic) -> list[Any]:
    span = one.span
    blame = None if one.blame is None else list(asdict(one.blame).values())
    place = (span.line, span.column, span.end_line, span.end_column)
    return [*place, one.message, one.severity, one.code, blame]


def _read_diagnostic(said: Any) -> Diagnostic:
    *place, message, severity, code, blame = said
    if severity not in ("error", "note") or not isinstance(message, str):
        raise ValueError("not a diagnostic")
    about = None
    if blame is not None:
        kind, part, function, name, through = blame
        about = Blame(kind, part, function, name, tuple(map(int, through)))
    return Diagnostic(Span(*map(int, place)), message, severity, str(code), about)


def _findings(found: Findings) -> list[Any] | None:
    if not found:
        return None
    groups = [list(map(_diagnostic, group)) for group in found.groups]
    return [groups, [_led(one) for one in found.led]]


def _led(one: Led) -> list[Any]:
    span = one.span
    place = span and (span.line, span.column, span.end_line, span.end_column)
    return [place, one.whole, one.key, list(map(_diagnostic, one.said))]


def _read_findings(said: Any) -> Findings:
    if said is None:
        return NOTHING
    groups, led = said
    return Findings(tuple(map(_read_group, groups)), tuple(map(_read_led, led)))


def _read_led(said: Any) -> Led:
    place, whole, key, group = said
    span = None if place is None else Span(*map(int, place))
    return Led(span, None if whole is None else (whole[0], whole[1]), str(key), _read_group(group))


def _read_group(said: Any) -> tuple[Diagnostic, ...]:
    return tuple(map(_read_diagnostic, said))
