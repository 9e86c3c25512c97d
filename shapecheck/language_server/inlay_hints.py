"""The shapes that are shown behind the names that a line assigns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from lsprotocol import types

from shapecheck.analysis import Look, Shown
from shapecheck.language_server.settings import InlayHints
from shapecheck.language_server.workspace import View

# `x = torch.zeros(2, 3)`, `x = y`: what is known without reading on.
_LITERAL: Final = re.compile(
    r"=\s*(?:\w+|[\w.]*\b(?:zeros|ones|empty|full|rand|randn|eye)\((?:\(?[\d\s,]*\)?)(?:,\s*\w+=[^()]*)?\))"
    r"\s*(?:#.*)?$"
)
# `q, k, v = `: the names that take a value apart.
_UNPACKED: Final = re.compile(r"\s*[(\[]?(?P<names>[\w*]+(?:\s*,\s*[\w*]+)+)[)\]]?\s*=(?!=)")


def inlay_hints(view: View, lines: tuple[int, int], settings: InlayHints) -> list[types.InlayHint]:
    """Return the hints on some lines, the last of them included."""
    return [] if not settings.enabled else list(_hints(view, *lines, settings.obvious))


def _hints(view: View, first: int, last: int, obvious: bool) -> Iterator[types.InlayHint]:
    for look in looks(view, first, last):
        shown = (one for one in look.shapes if one.binds and one.shape)
        names = [one for one in shown if first <= one.span.line <= last]
        names.sort(key=lambda one: (one.span.line, one.span.column))
        for line, some in groupby(names, key=lambda one: one.span.line):
            for one, label in _labels(view.text.line(line), [*some], obvious):
                yield types.InlayHint(
                    view.text.position(one.span.end_line, one.span.end_column),
                    label,
                    kind=types.InlayHintKind.Type,
                    padding_left=False,
                    padding_right=False,
                )


def _labels(line: str, names: list[Shown], obvious: bool) -> Iterator[tuple[Shown, str]]:
    """Yield what is shown behind which names of a line: once, where all that it unpacks are alike.

    Editors cut the hints of a line that has many of them.
    """
    target = _UNPACKED.match(line)
    if target is not None and len({one.shape for one in names}) == 1:
        written = [name.strip() for name in target["names"].split(",")]
        if written == [line[one.span.column : one.span.end_column] for one in names]:
            yield names[-1], f": each {names[-1].shape}"
            return
    for one in names:
        if obvious or target is not None or not _is_obvious(line, one):
            yield one, f": {one.shape}"


def looks(view: View, first: int, last: int) -> Iterator[Look]:
    """Yield what is known of the functions on some lines, and of what is outside of functions."""
    line, seen = max(first, 1), set[tuple[int, int]]()
    while line <= min(last, len(view.text.lines)):
        look = view.look(line)
        if look is not None and look.lines not in seen:
            seen.add(look.lines)
            yield look
        line = max(line, 0 if look is None else look.end) + 1


def _is_obvious(line: str, shown: Shown) -> bool:
    """Whether a line says the shape itself: by an annotation, or since it spells the sizes out."""
    after = line[shown.span.end_column :]
    return after.lstrip().startswith(":") or _LITERAL.match(after.lstrip()) is not None
