"""From one text of a file to the next: where what was said of the one stands in the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shapecheck.analysis import Span


@dataclass(frozen=True, slots=True)
class Shift:
    """The lines that two texts have in common: so many at the top, and so many at the bottom."""

    top: int
    bottom: int
    before: int
    after: int

    @staticmethod
    def of(before: Sequence[str], after: Sequence[str]) -> Shift:
        """Return what lines of one text and of the next have in common."""
        most = min(len(before), len(after))
        top = 0
        while top < most and before[top] == after[top]:
            top += 1
        bottom = 0
        while bottom < most - top and before[-1 - bottom] == after[-1 - bottom]:
            bottom += 1
        return Shift(top, bottom, len(before), len(after))

    def back(self, line: int) -> int | None:
        """Return which line of the first text a line of the second was; None for an edited one."""
        return self._line(line, self.after, self.before)

    def span(self, span: Span) -> Span | None:
        """Return where a span of the first text stands in the second; None where it was edited."""
        first = self._line(span.line, self.before, self.after)
        last = self._line(span.end_line, self.before, self.after)
        if first is None or last is None or last - first != span.end_line - span.line:
            return None
        return replace(span, line=first, end_line=last)

    def _line(self, line: int, here: int, there: int) -> int | None:
        if line <= self.top:
            return line
        if line > here - self.bottom:
            return line + there - here
        return None
