"""Source text as HTML: keywords and comments in colours, and around each tensor what is known."""

from __future__ import annotations

import ast
import io
import keyword
import re
import tokenize
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from shapecheck.analysis import Seen
from shapecheck.cli._causes import in_words
from shapecheck.markup import escaped
from shapecheck.project.findings import Finding
from shapecheck.project.trees import parsed_text

_INDENT: Final = re.compile(r"^[ \t]+", re.MULTILINE)
_KINDS: Final = {tokenize.COMMENT: "c", tokenize.STRING: "q"}


@dataclass(frozen=True, slots=True)
class _Piece:
    """A range of the text, by position, and the tag around it."""

    start: int
    stop: int
    tag: str


def marked_up(text: str, seen: Iterable[Seen], errors: Iterable[Finding] = ()) -> str:
    """Return source as HTML; what was seen is in elements with the class `s`.

    Their second class is the grade, `known`, `partial` or `unknown`; of others, `begins` stands
    where a shape got lost, and `told` where the shape is to be read beside the code. `data-s` is
    the shape, `data-r` the reason in words. The indent of a line inside of one is in an element
    with the class `space`. What is wrong in a line stands below it, in an `ins`.
    """
    starts = _line_starts(text)
    told = _told(text, starts)
    shown = [_piece(one, starts, told) for one in seen]
    pieces = [*_tokens(text, starts), *shown, *_indents(text, shown, starts)]
    pieces = [piece for piece in pieces if piece.start < piece.stop <= len(text)]
    pieces.sort(key=lambda piece: (piece.start, -piece.stop))
    return _with_errors("".join(_woven(text, pieces)), errors)


def _with_errors(markup: str, errors: Iterable[Finding]) -> str:
    """Put what is wrong below the lines in which it is."""
    below: dict[int, str] = {}
    for one in errors:
        said = escaped("\n".join(lines_of(one)))
        below[one.line] = f'{below.get(one.line, "")}<ins class="{one.severity}">{said}</ins>'
    lines = markup.split("\n")
    found = [line + "\n" + below.get(number, "") for number, line in enumerate(lines, 1)]
    return "".join(found) if len(lines) in below else "".join(found)[:-1]


def lines_of(finding: Finding) -> list[str]:
    """Return what is said of something wrong, line by line."""
    code = f"  [{finding.code}]" if finding.code else ""
    said = f"{finding.severity}: {finding.message}{code}"
    return [said, *(f"  note: {note}" for note in finding.notes)]


def _told(text: str, starts: Sequence[int]) -> set[tuple[int, int]]:
    """Return from where to where the expressions stand whose shapes are worth a place in the line.

    They are those that are given to a name, or that a function returns.
    """
    tree = parsed_text(text)
    if tree is None:
        return set()
    lines = [line.encode() for line in text.split("\n")]

    def at(line: int, column: int) -> int:
        return _at(starts, line, len(lines[line - 1][:column].decode(errors="replace")))

    return {
        (at(value.lineno, value.col_offset), at(value.end_lineno, value.end_col_offset))
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return)
        and (value := node.value) is not None
        and not isinstance(value, ast.Name | ast.Constant)
        and value.end_lineno is not None
        and value.end_col_offset is not None
    }


def _woven(text: str, pieces: Sequence[_Piece]) -> Iterator[str]:
    """Yield the text with its tags; a piece that would end outside of the one around it is left."""
    at = 0
    ends: list[int] = []
    for piece in pieces:
        while ends and ends[-1] <= piece.start:
            yield escaped(text[at : ends[-1]]) + "</i>"
            at = ends.pop()
        if ends and piece.stop > ends[-1]:
            continue
        yield escaped(text[at : piece.start]) + piece.tag
        at = piece.start
        ends.append(piece.stop)
    while ends:
        yield escaped(text[at : ends[-1]]) + "</i>"
        at = ends.pop()
    yield escaped(text[at:])


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _at(starts: Sequence[int], line: int, column: int) -> int:
    return starts[min(max(line, 1), len(starts)) - 1] + column


def _piece(seen: Seen, starts: Sequence[int], told: Collection[tuple[int, int]]) -> _Piece:
    span = seen.span
    start, stop = _at(starts, span.line, span.column), _at(starts, span.end_line, span.end_column)
    is_told = (start, stop) in told and seen.shape is not None
    classes = f"s {seen.grade}{' begins' if seen.begins else ''}{' told' if is_told else ''}"
    reason = f' data-r="{escaped(in_words(seen.reason))}"' if seen.reason is not None else ""
    shape = "" if seen.shape is None else f' data-s="{escaped(seen.shape)}"'
    return _Piece(
        start,
        stop,
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
