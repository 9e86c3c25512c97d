"""Source text as it is shown to people: the lines of files, and what of them is marked."""

from __future__ import annotations

import tokenize
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from rich.cells import cell_len

_MOST_LINES: Final = 6
_WIDEST: Final = 120
_BEFORE: Final = 40
_TAB: Final = 4


@dataclass(frozen=True, slots=True)
class Marked:
    """One line of source for a terminal, with a part of it marked.

    `number` is None for an ellipsis. `before`, `marked` and `after` are the text, `indent` how many
    cells of a terminal `before` takes, and `width` how many `marked` does.
    """

    number: int | None
    before: str
    marked: str
    after: str

    @property
    def indent(self) -> int:
        """Return the number of cells before the mark."""
        return cell_len(self.before)

    @property
    def width(self) -> int:
        """Return the number of cells that are marked, at least one."""
        return max(cell_len(self.marked), 1)


@lru_cache(maxsize=64)
def lines_of(path: str) -> tuple[str, ...]:
    """Return the lines of a file as Python decodes them; none where it can't be read."""
    if not Path(path).is_file():  # a pipe waits for ever
        return ()
    try:
        with tokenize.open(path) as file:
            return tuple(file.read().split("\n"))
    except (OSError, SyntaxError, UnicodeError, LookupError):
        return ()


def marked(path: str, line: int, column: int, end_line: int, end_column: int) -> list[Marked]:
    """Return the lines of a span, each with what lies in the span marked, but not too many.

    Lines count from 1 and columns from 0; the end is exclusive. Empty where the file has no such
    line (a message on a file as a whole, or the file has changed).
    """
    lines = lines_of(path)
    if not 1 <= line <= len(lines):
        return []
    last = min(max(end_line, line), len(lines))
    found = []
    for number in range(line, last + 1):
        text = lines[number - 1]
        indent = len(text) - len(text.lstrip())
        start = max(column, 0) if number == line else indent
        stop = end_column if number == last and end_column > 0 else len(text.rstrip())
        if stop <= indent:  # mypy has no column of an import
            start, stop = indent, len(text.rstrip())
        found.append(_cut(number, text, min(start, len(text)), stop))
    if len(found) > _MOST_LINES:
        found = [*found[: _MOST_LINES - 2], Marked(None, "", "", ""), found[-1]]
    return found


def _cut(number: int, text: str, start: int, stop: int) -> Marked:
    """Divide a line in three; of a very long one, keep what surrounds the mark."""
    before, middle, after = text[:start], text[start : max(stop, start)], text[max(stop, start) :]
    if len(text) > _WIDEST:
        if len(before) > _BEFORE:
            before = "…" + before[-_BEFORE:]
        room = max(_WIDEST - len(before), _BEFORE)
        if len(middle) > room:
            middle, after = middle[:room] + "…", ""
        elif len(after) > room - len(middle):
            after = after[: room - len(middle)] + "…"
    return Marked(number, shown(before), shown(middle), shown(after))


def shown(text: str) -> str:
    """Replace what would move the cursor of a terminal, or be a command to it."""
    return "".join(
        character if character.isprintable() else " " * _TAB if character == "\t" else " "
        for character in text
    )
