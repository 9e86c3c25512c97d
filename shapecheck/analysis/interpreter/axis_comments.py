"""Comments that name the axes of what is assigned: `x, _ = self.rnn(x)  # batch, time, hidden`."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from shapecheck.analysis.annotations import prose
from shapecheck.analysis.interpreter.axis_names import is_untold, name_axis
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.program.reading import name_in_module
from shapecheck.dims import Untold
from shapecheck.shapes import Item, Run, Tensor
from shapecheck.spec import Axis, Name, Spec

_AROUND: Final = "<>{}"
_PLAINLY_ALL: Final = 3
"""As many axes as are plainly all that there are; `(n, width)` may leave out those in between."""


def name_by_comment(frame: Frame, node: ast.Assign, value: Value) -> None:
    """Let axes of which nothing is known be what a comment behind an assignment calls them.

    It has to agree with what is known in one name at least, at its place, and contradict nothing.
    What isn't said by the code is no more than what the axes are called, and how many there are.
    """
    if type(value) is not Tensor or frame.depth or frame.function is None:
        return
    if not any(map(_is_open, value.shape.dims)) or name_in_module(frame.function.node) is None:
        return
    frame.module.syntax.read("comments", frame.function.node)
    said = _shape_in(frame.module.lines.behind(node))
    if said is None:
        return
    facts = frame.state.facts
    items = facts.shape(value.shape).dims
    if not _agree(said, _beside(said, items)):
        return
    shape = facts.stretched(value.shape, count=len(said.entries))
    for entry, item in zip(said.entries, shape.dims, strict=False):
        if isinstance(entry, Axis) and isinstance(entry.expr, Name) and not isinstance(item, Run):
            name_axis(frame, entry.expr.id, item)


def _is_open(item: Item) -> bool:
    """Whether an item of a shape is as a parameter has it of which nobody says the shape."""
    if isinstance(item, Run):
        return isinstance(item.symbol.origin, Untold)
    return is_untold(item)


@lru_cache(maxsize=1024)
def _shape_in(comment: str) -> Spec | None:
    """Return the shape in a comment, in which each axis has a name of its own."""
    if not comment or len(comment) > prose.LONGEST:
        return None
    said, words = prose.comment(comment), comment.lstrip("# ")
    listed = prose.parse(words) if said is None and "," in words else None
    found = listed if said is None else said.result
    if found is None or found.groups or max(Counter(map(str, found.entries)).values()) > 1:
        return None
    return found


def _beside(said: Spec, items: Sequence[Item]) -> list[Item | None] | None:
    """Return what is known of each axis that is said; None where there can't be so many."""
    at = next((i for i, item in enumerate(items) if isinstance(item, Run)), None)
    if at is None:
        return [*items] if len(said.entries) == len(items) > 1 else None
    missing = len(said.entries) - len(items) + 1
    if missing < 0 or len(said.entries) < _PLAINLY_ALL:
        return None
    behind = items[at + 1 :]
    is_one = not any(isinstance(item, Run) for item in behind)
    return [*items[:at], *[None] * missing, *behind] if is_one else None


def _agree(said: Spec, beside: Sequence[Item | None] | None) -> bool:
    """Whether a name or number that is said is what stands there, and none stands elsewhere."""
    if beside is None:
        return False
    words = [_plain(entry) for entry in said.entries]
    known = ["" if item is None else _plain(item) for item in beside]
    for word, own, item in zip(words, known, beside, strict=True):
        is_number = word.isdigit() and isinstance(item, int)
        if word != own and (is_number or (word in known and not word.isdigit())):
            return False
    return any(word == own != "1" for word, own in zip(words, known, strict=True))


def _plain(size: object) -> str:
    """Return how a size is called, in small letters, whoever has it."""
    text = "".join(char for char in str(size).lower() if char not in _AROUND)
    return text.rpartition(".")[2] if text.replace(".", "_").isidentifier() else text
