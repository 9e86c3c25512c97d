"""What the text of a module tells of it before it is parsed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from unicodedata import is_normalized

from shapecheck.analysis.host import Source
from shapecheck.analysis.program.reading import NOTED, Reading


class Unparsed:
    """A source of which the text alone may tell that it doesn't bind a name.

    It does where the word doesn't stand where Python binds names, be it code or not.
    """

    def __init__(self, source: Source) -> None:
        self._name, self._text = source.name, source.text
        # A parser reads identifiers in their normal form, in which the text needn't spell them.
        usual = "\r" not in source.text and is_normalized("NFKC", source.text)
        self._tells = usual and not _STARRED.search(source.text)
        self._absent: dict[str, Reading] = {}

    def leaves_out(self, name: str) -> bool:
        """Whether the text tells that nothing in it binds a global name; that is noted as read."""
        if name not in self._absent:
            if not self._tells or self._may_bind(name):
                return False
            self._absent[name] = Reading(self._name, f"name {name}", _says_nothing)
        NOTED.readings.add(self._absent[name])
        return True

    def _may_bind(self, name: str) -> bool:
        text = self._text
        at = text.find(name)
        while at >= 0:
            end = at + len(name)
            line = text.rfind("\n", 0, at) + 1
            before = text[line:at].strip(" \t\f")
            if not before and text.endswith("\\\n", 0, line):
                return True
            if any(one.search(before) and other.match(text, end) for one, other in _BOUND):
                return True
            at = text.find(name, end)
        return False


_STARRED: Final = re.compile(r"import[\s\\(]*\*")
_SPACE: Final = r"[ \t\f]*"
_BOUND: Final = tuple(
    (re.compile(before), re.compile(_SPACE + after, re.MULTILINE))
    for before, after in (
        (r"(?:^|[;,(\[*:]|\b(?:def|class|import|as|for|type))$", r"(?:[^\w \t\f'\".]|$|in\b)"),
        (r"(?:\bimport|,)$", r"[.\\]"),
        (r"=$", r"[=\\]"),
    )
)
"""What stands before and behind a name on its line where a statement binds it."""


def _says_nothing() -> Iterator[str]:
    """Yield what `says_name` does of a name that isn't bound."""
    yield "reassigned: 0, *: False"
