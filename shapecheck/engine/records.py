"""What is kept of a module that was checked, and how it is written down.

Written down it is JSON: who reads it runs nothing, and what isn't as it should be is no record.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from array import array
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, TypeAlias, TypeVar

from shapecheck.analysis import (
    CAUSES,
    UNBOUND,
    Asked,
    Cause,
    Coverage,
    Diagnostic,
    Findings,
    Key,
    Led,
    Pace,
    Span,
)
from shapecheck.blame import Blame
from shapecheck.engine.versions import Versions

_T = TypeVar("_T")

_MOST: Final = 1_000_000
"""No line, no column and no number of steps is beyond this one."""

_DEEPEST: Final = 256
"""So many questions may stand within each other: calls are looked into less far than that."""

_KINDS: Final = ("operation", "broadcast", "unfit", "equal", "number")
_PARTS: Final = (None, "parameter", "result", "yielded", "field", "local")

Numbers: TypeAlias = "array[int]"
"""Which of the readings of a module: there are thousands of them for each part of a large one."""


def numbers(some: Iterable[int]) -> Numbers:
    """Return numbers of readings; raises OverflowError or TypeError for what can't be one."""
    return array("I", some)


_MOST_BYTES: Final = 64 << 20
"""What is longer than this is no record."""


def unzipped(content: bytes) -> str:
    """Return a text that was zipped; raises ValueError for anything else, and one without end."""
    try:
        return zlib.decompressobj().decompress(content, _MOST_BYTES).decode()
    except zlib.error as error:
        raise ValueError(f"not a record: {error}") from error


NOTHING: Final = Findings()


@dataclass(frozen=True, slots=True)
class PartRecord:
    """What is said of a part of a module, and what that rests on.

    `line` is its first line then, and `spelled` a digest of its lines as they are spelled: what is
    said moves with them. It is "" where nothing is said. `own` counts in the readings of the
    module's record, and `asked` in its questions; see `numbers`, and `analysis.RestsOn`, also for
    `room`. `covered` is what is known of its tensors, None where that wasn't counted. `steps`
    and `is_brief` are as in `analysis.Checked`.
    """

    key: str
    line: int
    spelled: str
    own: Numbers
    asked: Numbers
    findings: Findings
    covered: Coverage | None = None
    steps: int = 0
    is_brief: bool = False
    room: int = UNBOUND

    def moved(self, line: int) -> PartRecord:
        """Return it as it is where the part begins on another line."""
        if line == self.line:
            return self
        return replace(self, line=line, findings=self.findings.moved(line - self.line))


@dataclass(frozen=True, slots=True)
class Readings:
    """Pieces of source that were read, and a digest of what stood in each."""

    keys: tuple[Key, ...] = ()
    digests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grounds:
    """What the parts of a module rest on: pieces of source that were read, and what stood there.

    And the questions that were asked about them, each behind those that it asks itself.
    """

    readings: tuple[Key, ...] = ()
    digests: tuple[str, ...] = ()
    asked: tuple[Asked, ...] = ()
    parts: tuple[PartRecord, ...] = ()


class ModuleRecord:
    """What is said of a module, of each of its parts, and what that rests on.

    `versions` are those of all modules that were read, itself included, None for one that there
    isn't. What its parts rest on may be given as the `text` that is kept, or as that text `zipped`,
    to be read when somebody asks. `covered` is what is known of its tensors, None where that wasn't
    counted.
    """

    __slots__ = (
        "_grounds",
        "_text",
        "_zipped",
        "covered",
        "module",
        "said",
        "versions",
    )

    def __init__(
        self,
        module: str,
        versions: Versions,
        said: tuple[Diagnostic, ...],
        grounds: Grounds | None = None,
        text: str | None = None,
        covered: Coverage | None = None,
        zipped: bytes | None = None,
    ) -> None:
        self.module, self.versions, self.said = module, versions, said
        self.covered = covered
        self._grounds, self._text, self._zipped = grounds, text, zipped

    @property
    def grounds(self) -> Grounds | None:
        """What its parts rest on; None where what was kept can't be read."""
        if self._grounds is None and (self._text or self._zipped) is not None:
            try:
                self._grounds = _grounds_from_text(self.text)
            except ValueError:
                self._text = self._zipped = None
        return self._grounds

    @property
    def readings(self) -> Readings | None:
        """What was read for all its parts; None as `grounds` is.

        It is a small part of what was kept, and all that who wants to know if that holds asks for,
        once: many records are asked, and what each was made from would take much room.
        """
        if self._grounds is not None:
            return Readings(self._grounds.readings, self._grounds.digests)
        if (self._text or self._zipped) is not None:
            try:
                return _readings_from_text(self.text.partition("\n")[0])
            except ValueError:
                self._text = self._zipped = None
        return None

    @property
    def has_parts(self) -> bool:
        """Whether it was checked, part by part."""
        if self._grounds is None and (self._text or self._zipped) is not None:
            with suppress(ValueError):
                return not self.text.endswith(_NO_PARTS)
        return bool(self.grounds and self.grounds.parts)

    def has_read(self, keys: Collection[Key]) -> bool:
        """Whether all of these are among what it rests on."""
        return not keys or (self.readings is not None and {*keys} <= {*self.readings.keys})

    @property
    def text(self) -> str:
        """What its parts rest on, written down; raises ValueError where that can't be unzipped."""
        if self._text is None and self._zipped is not None:
            return unzipped(self._zipped)
        return self._text or _grounds_to_text(self._grounds or Grounds())

    @property
    def zipped(self) -> bytes:
        """The same as it takes little room; raises as `text` does."""
        return self._zipped or zlib.compress(self.text.encode(), 1)

    def keep_zipped(self) -> None:
        """Have what its parts rest on take little room from now on; raises as `text` does."""
        self._zipped = self.zipped
        self._grounds = self._text = None

    @property
    def said_text(self) -> str:
        """What is said of it, written down."""
        return json.dumps([_diagnostic(one) for one in self.said])

    @property
    def covered_text(self) -> str:
        """What is known of its tensors, written down."""
        return json.dumps(_coverage(self.covered))

    @property
    def digest(self) -> str:
        """A short text that is another one where something else is said."""
        return hashlib.blake2b(self.said_text.encode(), digest_size=12).hexdigest()

    def seen_with(self, versions: Versions) -> ModuleRecord:
        """Return it as it is where what was read of other modules is the same in these."""
        return ModuleRecord(
            self.module,
            versions,
            self.said,
            self._grounds,
            self._text,
            self.covered,
            self._zipped,
        )


# Written down -------------------------------------------------------------------------------------


def said_from_text(text: str) -> tuple[Diagnostic, ...]:
    """Read diagnostics; raises ValueError where they aren't as they should be."""
    return _checked(lambda: tuple(map(_read_diagnostic, json.loads(text))))


def covered_from_text(text: str) -> Coverage | None:
    """Read what is known of tensors; raises ValueError where it isn't as it should be."""
    return _checked(lambda: _read_coverage(json.loads(text)))


def versions_to_text(versions: Versions) -> str:
    """Write down which modules were read, and in which versions."""
    return json.dumps(versions)


def versions_from_text(text: str) -> Versions:
    """Read versions; raises ValueError where they aren't as they should be."""

    def read() -> Versions:
        found = json.loads(text).items()
        return {str(name): None if seen is None else str(seen) for name, seen in found}

    return _checked(read)


def _grounds_to_text(grounds: Grounds) -> str:
    readings = [[*key, what] for key, what in zip(grounds.readings, grounds.digests, strict=True)]
    places = {key: at for at, key in enumerate(grounds.readings)}
    numbered = {one: at for at, one in enumerate(grounds.asked)}
    questions = [
        [
            one.text,
            one.answer,
            one.pace,
            sorted(map(places.__getitem__, one.reads)),
            [numbered[inner] for inner in one.asks],
            _bounded(one.room),
            _bounded(one.more),
        ]
        for one in grounds.asked
    ]
    parts = [
        [
            one.key,
            one.line,
            one.spelled,
            [*one.own],
            [*one.asked],
            _findings(one.findings),
            _coverage(one.covered),
            one.steps,
            one.is_brief,
            _bounded(one.room),
        ]
        for one in grounds.parts
    ]
    return f"{json.dumps(readings)}\n{json.dumps([questions, parts])}"


_NO_PARTS: Final = ", []]"
"""The end of a text where nothing was checked."""


def _readings_from_text(text: str) -> Readings:
    def read() -> Readings:
        found = [(str(name), str(key), str(what)) for name, key, what in json.loads(text)]
        keys = tuple((name, key) for name, key, _ in found)
        return Readings(keys, tuple(what for _, _, what in found))

    return _checked(read)


def _grounds_from_text(text: str) -> Grounds:
    first, _, rest = text.partition("\n")
    readings = _readings_from_text(first)
    keys = readings.keys

    def read() -> Grounds:
        questions, parts = json.loads(rest)
        found = tuple(
            PartRecord(
                str(key),
                _number(line),
                str(spelled),
                numbers(own),
                numbers(told),
                _read_findings(what),
                _read_coverage(covered),
                _number(steps),
                bool(is_brief),
                _read_bounded(room),
            )
            for key, line, spelled, own, told, what, covered, steps, is_brief, room in parts
        )
        asked: list[Asked] = []
        depths: list[int] = []
        for question, answer, pace, reads, inner, room, more in questions:
            read = frozenset(map(keys.__getitem__, numbers(reads)))
            # Each is behind those that it asks itself, which there are then.
            asks = tuple(asked[_number(at)] for at in inner)
            depths.append(1 + max((depths[at] for at in inner), default=0))
            if depths[-1] > _DEEPEST:
                raise ValueError("more questions in each other than anybody asks")
            told = str(question), str(answer), _read_pace(pace)
            asked.append(Asked(*told, read, asks, _read_bounded(room), _read_bounded(more)))
        if any(max(part.own, default=-1) >= len(keys) for part in found):
            raise ValueError("a part rests on what isn't there")
        if any(max(part.asked, default=-1) >= len(asked) for part in found):
            raise ValueError("a part asks what isn't there")
        return Grounds(keys, readings.digests, tuple(asked), found)

    return _checked(read)


def _checked(read: Callable[[], _T]) -> _T:
    try:
        return read()
    except (LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(f"not a record: {error}") from error


def _diagnostic(one: Diagnostic) -> list[Any]:
    span = one.span
    # Lines of other modules may have moved when this is read.
    blame = None if one.blame is None else list(asdict(one.blame).values())[:-1]
    place = (span.line, span.column, span.end_line, span.end_column)
    return [*place, one.message, one.severity, one.code, blame]


def _read_diagnostic(said: Any) -> Diagnostic:
    *place, message, severity, code, blame = said
    if severity not in ("error", "warning", "note") or not isinstance(message, str):
        raise ValueError("not a diagnostic")
    about = None
    if blame is not None:
        kind, part, function, name, through, names, of_rank = blame
        if kind not in _KINDS or part not in _PARTS:
            raise ValueError("nothing to blame")
        lines = tuple(map(_number, through))
        said_of = (str(function), str(name), lines, tuple(map(str, names)), bool(of_rank))
        about = Blame(kind, part, *said_of)
    return Diagnostic(_read_span(place), message, severity, str(code), about)


def _read_span(place: Any) -> Span:
    line, column, end_line, end_column = map(_number, place)
    return Span(line, column, end_line, end_column)


def _number(value: Any) -> int:
    """Return a line or a column; raises ValueError for what can't be one."""
    if not isinstance(value, int) or not 0 <= value <= _MOST:
        raise ValueError("no line and no column")
    return value


def _bounded(steps: int) -> int | None:
    return None if steps >= UNBOUND else min(steps, _MOST)


def _read_bounded(steps: Any) -> int:
    return UNBOUND if steps is None else _number(steps)


def _read_pace(said: Any) -> Pace | None:
    return None if said is None else Pace(*map(_number, said))


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
    span = None if place is None else _read_span(place)
    lines = None if whole is None else (_number(whole[0]), _number(whole[1]))
    return Led(span, lines, str(key), _read_group(group))


def _read_group(said: Any) -> tuple[Diagnostic, ...]:
    found = tuple(map(_read_diagnostic, said))
    if not found:
        raise ValueError("nothing is said")
    return found


def _coverage(covered: Coverage | None) -> list[Any] | None:
    if covered is None:
        return None
    reasons = [[*_cause(cause), count] for cause, count in covered.reasons.items()]
    gives = None if covered.gives is None else _cause(covered.gives)
    return [covered.known, covered.partial, covered.unknown, reasons, gives]


def _cause(cause: Cause) -> list[str]:
    return [cause.kind, cause.subject]


def _read_coverage(said: Any) -> Coverage | None:
    if said is None:
        return None
    known, partial, unknown, reasons, gives = said
    why = {_read_cause(kind, subject): _number(count) for kind, subject, count in reasons}
    counts = _number(known), _number(partial), _number(unknown)
    return Coverage(*counts, why, None if gives is None else _read_cause(*gives))


def _read_cause(kind: Any, subject: Any) -> Cause:
    if kind not in CAUSES:
        raise ValueError("no cause")
    return Cause(kind, str(subject))
