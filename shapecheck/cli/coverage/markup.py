"""Source text as HTML: keywords and comments in colours, and around each tensor what is known."""

from __future__ import annotations

import html
import io
import keyword
import re
import tokenize
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from shapecheck.analysis import Seen
from shapecheck.cli._causes import in_words

_INDENT: Final = re.compile(r"^[ \t]+", re.MULTILINE)
_KINDS: Final = {tokenize.COMMENT: "c", tokenize.STRING: "q"}


@dataclass(frozen=True, slots=True)
class _Piece:
    """A range of the text, by position, and the tag around it."""

    start: int
    stop: int
    tag: str


def marked_up(text: str, seen: Iterable[Seen]) -> str:
    """Return source as HTML; what was seen is in elements with the class `s`.

    Their second class is the grade, `known`, `partial` or `unknown`, a third one, `begins`, stands
    where a shape got lost. `data-s` is the shape, `data-r` the reason in words. The indent of a
    line inside of one is in an element with the class `space`.
    """
    starts = _line_starts(text)
    shown = [_piece(one, starts) for one in seen]
    pieces = [*_tokens(text, starts), *shown, *_indents(text, shown, starts)]
    pieces = [piece for piece in pieces if piece.start < piece.stop <= len(text)]
    pieces.sort(key=lambda piece: (piece.start, -piece.stop))
    return "".join(_woven(text, pieces))


def _woven(text: str, pieces: Sequence[_Piece]) -> Iterator[str]:
    """Yield the text with its tags; a piece that would end outside of the one around it is left."""
    at = 0
    ends: list[int] = []
    for piece in pieces:
        while ends and ends[-1] <= piece.start:
            yield html.escape(text[at : ends[-1]], quote=False) + "</i>"
            at = ends.pop()
        if ends and piece.stop > ends[-1]:
            continue
        yield html.escape(text[at : piece.start], quote=False) + piece.tag
        at = piece.start
        ends.append(piece.stop)
    while ends:
        yield html.escape(text[at : ends[-1]], quote=False) + "</i>"
        at = ends.pop()
    yield html.escape(text[at:], quote=False)


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _at(starts: Sequence[int], line: int, column: int) -> int:
    return starts[min(max(line, 1), len(starts)) - 1] + column


def _piece(seen: Seen, starts: Sequence[int]) -> _Piece:
    span = seen.span
    classes = f"s {seen.grade}{' begins' if seen.begins else ''}"
    reason = f' data-r="{html.escape(in_words(seen.reason))}"' if seen.reason is not None else ""
    shape = "" if seen.shape is None else f' data-s="{html.escape(seen.shape)}"'
    return _Piece(
        _at(starts, span.line, span.column),
        _at(starts, span.end_line, span.end_column),
        f'<i class="{classes}"{shape}{reason}>',
    )


def _indents(text: str, shown: Iterable[_Piece], starts: Sequence[int]) -> Iterator[_Piece]:
    """Yield the indents of the lines that begin inside of a piece: nothing is to be seen there."""
    inside = {
        start
        for piece in shown
        for start in starts[bisect_right(starts, piece.start) : bisect_left(starts, piece.stop)]
    }
    for indent in _INDENT.finditer(text):
        if indent.start() in inside:
            yield _Piece(indent.start(), indent.end(), '<i class="space">')


def _tokens(text: str, starts: Sequence[int]) -> Iterator[_Piece]:
    """Yield what has a colour of its own; nothing more after what Python can't read."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            kind = _KINDS.get(token.type)
            if token.type == tokenize.NAME and keyword.iskeyword(token.string):
                kind = "w"
            if kind is not None:
                yield _Piece(
                    _at(starts, *token.start), _at(starts, *token.end), f'<i class="{kind}">'
                )
    except (tokenize.TokenError, SyntaxError):
        return
