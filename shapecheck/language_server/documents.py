"""Texts as an editor has them: edited in ranges, whose columns count in units of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from lsprotocol import types

from shapecheck.analysis import Span

# Other than `str.splitlines` has it, and as Python's parser and the protocol do.
_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_UTF16: Final = types.PositionEncodingKind.Utf16
_UTF8: Final = types.PositionEncodingKind.Utf8


def split(text: str) -> list[str]:
    """Return the lines of a text, without their ends; after the last end there is one more."""
    return _LINE_END.split(text)


@dataclass(frozen=True, slots=True)
class Text:
    """A text with its lines. The editor counts columns in units of `encoding`."""

    text: str
    lines: tuple[str, ...]
    encoding: str = _UTF16

    @staticmethod
    def of(text: str, encoding: str = _UTF16) -> Text:
        """Return a text, divided into lines."""
        return Text(text, tuple(split(text)), encoding)

    def column(self, position: types.Position) -> int:
        """Return the column of a position, in characters: at most the end of its line."""
        line = self.line(position.line + 1)
        if self.encoding == _UTF8:
            return len(
                line.encode("utf-8", "replace")[: position.character].decode("utf-8", "ignore")
            )
        if self.encoding != _UTF16:
            return min(position.character, len(line))
        units = 0
        for at, character in enumerate(line):
            if units >= position.character:
                return at
            units += 2 if ord(character) > 0xFFFF else 1
        return len(line)

    def position(self, line: int, column: int) -> types.Position:
        """Return the position of a column, in characters, of a line that is counted from 1."""
        before = self.line(line)[: max(column, 0)]
        if self.encoding == _UTF8:
            units = len(before.encode("utf-8", "replace"))
        elif self.encoding == _UTF16:
            units = len(before) + sum(ord(character) > 0xFFFF for character in before)
        else:
            units = len(before)
        return types.Position(max(line - 1, 0), units)

    def range(self, span: Span) -> types.Range:
        """Return the range that a span is."""
        return types.Range(
            self.position(span.line, span.column), self.position(span.end_line, span.end_column)
        )

    def line(self, number: int) -> str:
        """Return a line, counted from 1; "" where there is none."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def cut(self, span: Span) -> str:
        """Return what stands in a span."""
        if span.line == span.end_line:
            return self.line(span.line)[span.column : span.end_column]
        first = self.line(span.line)[span.column :]
        middle = self.lines[span.line : span.end_line - 1]
        return "\n".join((first, *middle, self.line(span.end_line)[: span.end_column]))

    def edited(self, changes: Iterable[types.TextDocumentContentChangeEvent]) -> Text:
        """Return the text after some changes, each of which is of the text after the one before."""
        found = self
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                start, end = found._offset(change.range.start), found._offset(change.range.end)
                text = found.text[:start] + change.text + found.text[end:]
            else:
                text = change.text
            found = Text.of(text, self.encoding)
        return found

    def _offset(self, position: types.Position) -> int:
        """Return how many characters come before a position."""
        at = 0
        for number, end in enumerate(_LINE_END.finditer(self.text)):
            if number == position.line:
                break
            at = end.end()
        else:
            if position.line >= len(self.lines):
                return len(self.text)
        return at + self.column(position)
