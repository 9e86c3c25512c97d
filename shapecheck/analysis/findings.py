"""What is said of the parts of a module, and how that is put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from shapecheck.analysis.host import Cause, Coverage, Diagnostic, Span

Group: TypeAlias = tuple[Diagnostic, ...]
"""An error with the notes that belong to it, or a note of its own."""

Lines: TypeAlias = tuple[int, int]
"""The first and the last line of something."""


@dataclass(frozen=True, slots=True)
class Led:
    """An error inside of a call that a part makes, said where nothing else is said of the place.

    `span` is where in the same module it goes wrong, `whole` the lines of the function around that
    whose annotations answer for all of it; of an error in another module they are None. What has
    been said with the same `key` isn't said again.
    """

    span: Span | None
    whole: Lines | None
    key: str
    said: Group

    def is_among(self, groups: Iterable[Group]) -> bool:
        """Whether something is said already of the place where it goes wrong."""
        if self.span is None:
            return False
        if self.said[0].severity == "warning":
            return any(group[0].span == self.span for group in groups)
        return blamed(groups, self.span, self.whole)


@dataclass(frozen=True, slots=True)
class Findings:
    """What is said of a part: errors and notes, and what the calls in it lead to."""

    groups: tuple[Group, ...] = ()
    led: tuple[Led, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.groups or self.led)

    @property
    def said(self) -> list[Diagnostic]:
        """All that may be said."""
        return [one for group in (*self.groups, *(led.said for led in self.led)) for one in group]

    def moved(self, by: int) -> Findings:
        """Return them as they are so many lines further down."""
        if not (by and self):
            return self

        def span(one: Span) -> Span:
            return replace(one, line=one.line + by, end_line=one.end_line + by)

        def group(some: Group) -> Group:
            return tuple(replace(one, span=span(one.span)) for one in some)

        def led(one: Led) -> Led:
            place = None if one.span is None else span(one.span)
            whole = None if one.whole is None else (one.whole[0] + by, one.whole[1] + by)
            return Led(place, whole, one.key, group(one.said))

        return Findings(tuple(map(group, self.groups)), tuple(map(led, self.led)))


def blamed(groups: Iterable[Group], span: Span, whole: Lines | None) -> bool:
    """Whether there is an error at a span, or anywhere on the lines that answer for it."""
    first, last = whole or (0, -1)
    return any(
        group[0].severity == "error"
        and (group[0].span == span or first <= group[0].span.line <= last)
        for group in groups
    )


def in_order(groups: Iterable[Group]) -> list[Diagnostic]:
    """Return diagnostics by position, each error followed by its notes."""
    by_place = sorted(groups, key=lambda group: (group[0].span.line, group[0].span.column))
    return [diagnostic for group in by_place for diagnostic in group]


def merged(found: Iterable[Findings]) -> list[Diagnostic]:
    """Put together what is said of the parts of a module, each thing once, by position."""
    groups: dict[object, Group] = {}
    every = [one for one in found if one]
    for one in every:
        for group in one.groups:
            groups.setdefault((group[0].span, group[0].message), group)
    told: set[object] = set()
    for one in every:
        for led in one.led:
            key = led.key if led.span is None else led.span
            if key not in told and not led.is_among(groups.values()):
                told.add(key)
                groups.setdefault((led.said[0].span, led.said[0].message), led.said)
    return in_order(groups.values())


NO_TENSORS: Final = Coverage()


def covered(parts: Iterable[tuple[str, Coverage]]) -> Coverage:
    """Put together what is known in the parts of a module, each with its key.

    What isn't known because a function's result isn't, is so for the reason that this one has.
    """
    parts = list(parts)
    found = Coverage.of_all(one for _, one in parts)
    gives = {key: one.gives for key, one in parts if one.gives is not None}
    reasons: Counter[Cause] = Counter()
    for cause, count in found.reasons.items():
        reasons[_first(cause, gives)] += count
    return replace(found, reasons=reasons)


def _first(cause: Cause, gives: Mapping[str, Cause]) -> Cause:
    seen = {cause}
    while cause.kind == "function":
        names = (cause.subject, f"{cause.subject}.forward", f"{cause.subject}.__call__")
        found = next((gives[name] for name in names if name in gives), cause)
        if found in seen:
            break
        seen.add(found)
        cause = found
    return cause
