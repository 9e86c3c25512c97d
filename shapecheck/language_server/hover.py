"""What is shown under the mouse: the shape of an expression, where its names are from, its op."""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from lsprotocol import types

from shapecheck.analysis import Look, Shown, Span
from shapecheck.language_server.annotation_texts import NAME, DimensionTexts, Mention
from shapecheck.language_server.workspace import View
from shapecheck.project.buffers import innermost

_LONGEST: Final = 60
_OWN_SIZE: Final = re.compile(r"<[^<>]+>")
_ITS_ORIGIN: Final = "a size of the instance, or of an `int` argument"


Explain: TypeAlias = "Callable[[str, tuple[str, ...]], list[str] | None]"
"""Gives the lines about an op of a name, by these folders of signature files; None for nothing."""


def hover(view: View, position: types.Position, explain: Explain) -> types.Hover | None:
    """Return what is known of what stands at a position; `explain` tells of an op."""
    line, column = view.place(position)
    mention = view.dimensions.at(line, column)
    if mention is not None:
        return _shown(view, mention.span, _dimension(view.dimensions, mention))
    look = view.look(line)
    if look is None:
        return None
    shape = innermost(look.shapes, line, column)
    op = innermost(look.ops, line, column)
    parts: list[str] = []
    if shape is not None:
        parts += _shape(view, look, shape)
    if op is not None and (shape is None or shape.span.holds(op.span)):
        parts += _op(explain(op.name, view.program.options.stubs))
    place = shape or op
    return _shown(view, place.span, parts) if parts and place is not None else None


def _shown(view: View, span: Span, parts: Iterable[str]) -> types.Hover:
    content = types.MarkupContent(types.MarkupKind.Markdown, "\n\n".join(parts))
    return types.Hover(content, view.range(span))


def _shape(view: View, look: Look, shown: Shown) -> Iterator[str]:
    """Yield the shape of an expression, since when it has it, and where its names are from."""
    written = " ".join(view.text.cut(shown.span).split())
    if len(written) > _LONGEST:
        written = f"{written[:_LONGEST]}…"
    said = " ".join(filter(None, (shown.shape or "of a shape that isn't known", shown.dtype)))
    yield f"```text\n{written}: {said}\n```"
    notes = []
    if shown.since is not None and not shown.binds:
        notes.append(f"since line {shown.since}")
    origins: defaultdict[str, list[str]] = defaultdict(list)
    for name in dict.fromkeys(NAME.findall(_OWN_SIZE.sub("", shown.shape))):
        origin = _origin(view.dimensions, look, name)
        if origin is not None:
            origins[origin].append(name)
    if sizes := dict.fromkeys(_OWN_SIZE.findall(shown.shape)):
        origins[_ITS_ORIGIN] = [*sizes]
    for origin, names in origins.items():
        notes.append(f"{', '.join(f'`{name}`' for name in names)}: {origin}")
    if notes:
        yield "\n".join(f"- {note}" for note in notes)


def _op(told: list[str] | None) -> Iterator[str]:
    """Yield what is told of an op: its name, its signatures, and what is in them."""
    title, *blocks = "\n".join(told or ()).strip().split("\n\n")
    if title:
        yield f"`{title}`"
    for language, block in zip(("python", "text"), blocks, strict=False):
        yield f"```{language}\n{textwrap.dedent(block)}\n```"


def _origin(dimensions: DimensionTexts, look: Look, name: str) -> str | None:
    """Return where a dimension got its name from, in the function at hand."""
    first, last = look.lines
    for one in dimensions.mentions:
        if one.name == name and first <= one.span.line <= last:
            return f"{one.place}, line {one.span.line}"
    if name in dimensions.objects:
        return f"the dimension of line {dimensions.objects[name].line}"
    return None


def _dimension(dimensions: DimensionTexts, mention: Mention) -> Iterator[str]:
    """Yield what a dimension name in an annotation stands for, and where else it does."""
    home = dimensions.home(mention)
    name = getattr(home, "name", "")
    yield f"```text\n{mention.name}: a dimension{f' of {name}' if name else ''}\n```"
    places = dict.fromkeys(f"{one.place}, line {one.span.line}" for one in dimensions.same(mention))
    if mention.name in dimensions.objects:
        yield f"- the variable of line {dimensions.objects[mention.name].line}"
    yield "\n".join(f"- {place}" for place in places)
