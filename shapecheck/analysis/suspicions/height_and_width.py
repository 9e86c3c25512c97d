"""A width in front of a height, where an op takes the height first."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from typing import Final

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import OpCall, Suspicion, suspects
from shapecheck.analysis.program.syntax import called, elements, last_word, nodes_of
from shapecheck.analysis.suspicions.sources import argument, body, source_of

_TAKING: Final = "interpolate upsample adaptive_avg_pool2d adaptive_max_pool2d fold unfold"
_WIDTH: Final = re.compile(r"(?<![a-z])w(?:idth|id)?(?![a-z])", re.IGNORECASE)
_HEIGHT: Final = "h"


@suspects(*(f"torch.nn.functional.{name}" for name in _TAKING.split()))
def width_first(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect `size=(width, height)`, by the names of both."""
    second = {"fold": "output_size", "unfold": "kernel_size"}.get(
        call.name.rpartition(".")[2], "output_size" if "adaptive" in call.name else "size"
    )
    node = source_of(frame, argument(call.node, "input", second).get(second))
    parts = [] if node is None else elements(node) or []
    if len(parts) != 2:
        return None
    first, other = (_plain(last_word(part)) for part in parts)
    if not first or not other or first == other or _turned(first) != other:
        return None
    if _are_unpacked_so(frame, first, other):
        return None
    return Suspicion(
        f'"{call.label}" takes the height first, and "{frame.segment(parts[0])}" is a width',
        (f"({frame.segment(parts[1])}, {frame.segment(parts[0])}) is a height and a width",),
    )


def _are_unpacked_so(frame: Frame, first: str, other: str) -> bool:
    """Whether the function itself takes a shape apart with a width in front of a height."""
    for assigned in nodes_of(ast.Assign, body(frame)):
        if last_word(called(assigned.value)) in ("shape", "size"):
            for target in assigned.targets:
                names = [_plain(last_word(one)) for one in elements(target) or ()]
                if (first, other) in pairwise(names):
                    return True
    return False


def _plain(word: str) -> str:
    """Return a name with `w` and `h` for a width and a height."""
    return word.lower().replace("width", "w").replace("height", "h")


def _turned(word: str) -> str:
    """Return a name of a width as that of the height would be."""
    return re.sub(r"(?<![a-z])w(?![a-z])", "h", word)
