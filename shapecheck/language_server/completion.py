"""The dimension names that may be meant inside the text of an annotation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from lsprotocol import types

from shapecheck.language_server.annotation_texts import NAME
from shapecheck.language_server.workspace import View

# Of what stands before: an open text in brackets, behind a comma, or one that is all there is.
_OPEN: Final = re.compile(r"""\b(?P<head>[\w.]+)\[[^\[\]"']*(?P<quote>["'])(?P<text>[^"']*)\Z""")
_CLAIM: Final = re.compile(
    r"""\b(?P<head>assert_shape|named)\([^"']*,\s*(?P<quote>["'])(?P<text>[^"']*)\Z"""
)
_TEXT: Final = re.compile(
    r"""\b(?!Literal\b)\w+\[[^\[\]"']*["']([^"'\n]*)["']"""
    r"""|(?:assert_shape|named)\([^"'\n]*,\s*["']([^"'\n]*)["']|\bdims\s*\(?=?\s*["']([^"'\n]*)["']"""
)
_WORD: Final = re.compile(r"\w*\Z")
_SPECIAL: Final = ("Literal",)


def completion(view: View, position: types.Position) -> list[types.CompletionItem]:
    """Return the names for the place at hand, those of the same signature first.

    Nothing where the place isn't inside the text of an annotation: other servers know better.
    """
    line, column = view.place(position)
    before = view.text.line(line)[:column]
    found = _OPEN.search(before) or _CLAIM.search(before)
    if found is None or found["head"].rpartition(".")[2] in _SPECIAL:
        return []
    if found["text"].count("{") > found["text"].count("}"):
        return []
    word = _WORD.search(before)
    start = column - len(word[0]) if word is not None else column
    place = types.Range(view.text.position(line, start), position)
    items: dict[str, types.CompletionItem] = {}
    for rank, (detail, names) in enumerate(_names(view, line, start)):
        for name in names:
            items.setdefault(
                name,
                types.CompletionItem(
                    name,
                    kind=types.CompletionItemKind.TypeParameter,
                    detail=detail,
                    sort_text=f"{rank}{len(items):04}",
                    text_edit=types.TextEdit(place, name),
                ),
            )
    return list(items.values())


def _names(view: View, line: int, column: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the names of the signature, the class and the file, each with what they are of."""
    lines = list(view.text.lines)
    text = lines[line - 1]
    lines[line - 1] = text[:column] + _WORD_AHEAD.sub("", text[column:])
    head = _around(lines, line, ("def", "async"))
    if head is not None:
        yield "in this function", _in_lines(lines[head - 1 : _end(lines, head)])
    cls = _around(lines, head or line, ("class",))
    if cls is not None:
        first = cls
        while first > 1 and lines[first - 2].lstrip().startswith("@"):
            first -= 1
        yield "in this class", _in_lines(lines[first - 1 : _end(lines, cls)])
    yield "in this file", _in_lines(lines)


_WORD_AHEAD: Final = re.compile(r"\A\w*")


def _around(lines: list[str], line: int, keywords: tuple[str, ...]) -> int | None:
    """Return the line of the innermost definition of a kind around a line, or on it."""
    indent = _indent(lines[line - 1])
    for number in range(line, 0, -1):
        text = lines[number - 1]
        if not text.strip():
            continue
        is_head = text.split(None, 1)[0] in keywords
        if is_head and (number == line or _indent(text) < indent):
            return number
        if is_head or not text.lstrip().startswith((")", "]")):
            indent = min(indent, _indent(text)) if number != line else indent
    return None


def _end(lines: list[str], head: int) -> int:
    """Return the last line of a definition, told by how far it is indented."""
    indent, last = _indent(lines[head - 1]), head
    for number in range(head + 1, len(lines) + 1):
        text = lines[number - 1]
        if (
            text.strip()
            and _indent(text) <= indent
            and not text.lstrip().startswith((")", "]", "#"))
        ):
            break
        last = number
    return last


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _in_lines(lines: list[str]) -> list[str]:
    texts = ("".join(filter(None, found.groups())) for found in _TEXT.finditer("\n".join(lines)))
    names = (name for text in texts for name in NAME.findall(re.sub(r"\{[^}]*\}", "", text)))
    return [*dict.fromkeys(name for name in names if not name.startswith("_"))]
