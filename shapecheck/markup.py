"""Text as HTML shows it: nothing in it is markup, and nothing in it is hidden."""

from __future__ import annotations

import html
import re
from typing import Final

# What is invisible, turns the direction of what follows, or begins a line where none begins.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff"
    "\ud800-\udfff]"
)


def escaped(text: str) -> str:
    """Return text for a place in a page, be it between tags or in an attribute.

    Characters that can't be seen, or that turn others around, stand there as Python writes them.
    """
    return html.escape(_HIDDEN.sub(lambda found: ascii(found[0])[1:-1], text))
