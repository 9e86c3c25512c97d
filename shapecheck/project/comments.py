"""What comments in a file say to mypy: which errors to ignore, and what holds for the module."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from shapecheck.project.configuration import in_comment
from shapecheck.project.settings import ModuleSettings

_MENTIONED: Final = re.compile(r"#\s*type:\s*\S.*ignore|#\s*type:\s*ignore")
# A string, or a comment; what is in a string is no comment.
_TOKEN: Final = re.compile(
    r'"""(?:\\.|[^\\])*?"""'
    r"|'''(?:\\.|[^\\])*?'''"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])*'"
    r"|(?P<comment>#[^\n]*)",
    re.DOTALL,
)
_IGNORE: Final = r"\s*type:\s*ignore\s*(?:\[(?P<codes>[^\]#]*)\]\s*)?(?:#.*)?"
# Alone, or after a type that stands in a comment.
_ALONE: Final = re.compile(rf"#{_IGNORE}")
_AFTER: Final = re.compile(rf"#\s*type:\s*[^#]*#{_IGNORE}")
_SETTING: Final = "# mypy: "
_QUOTED: Final = re.compile(r'((?:"[^"]*"|[^,"])*),?')


_LEADING: Final = re.compile(r"(?:[ \t\f]*(?:#[^\n]*)?\r?\n)*")


@dataclass(frozen=True, slots=True)
class Comments:
    """The lines on which errors are ignored, each with the codes; without codes all are.

    `above`: the line of the first comment before any statement, which is about the module.
    """

    ignored: Mapping[int, tuple[str, ...]]
    above: int | None = None

    @property
    def hide_all(self) -> bool:
        """Whether nothing in the module is to be said."""
        return self.above is not None and not self.ignored[self.above]

    def at(self, line: int) -> tuple[str, ...] | None:
        """Return the codes that are ignored on a line: empty for all, None for none."""
        return None if line == self.above else self.ignored.get(line)

    def hides(self, code: str, covering: str | None, line: int) -> bool:
        """Whether a comment on a line hides an error with a code, or the one that covers it."""
        codes = self.at(line)
        return codes is not None and (not codes or code in codes or covering in codes)


@lru_cache(maxsize=256)  # it keeps the texts
def ignores(text: str) -> Comments:
    """Find the comments that hide errors in a module."""
    found: dict[int, tuple[str, ...]] = {}
    if _MENTIONED.search(text) is None:
        return Comments(found)
    line, at = 1, 0
    for token in _TOKEN.finditer(text):
        comment = token["comment"]
        if comment is None or "ignore" not in comment:
            continue
        line, at = line + text.count("\n", at, token.start()), token.start()
        said = _ALONE.fullmatch(comment.rstrip("\r")) or _AFTER.fullmatch(comment.rstrip("\r"))
        if said is not None:
            codes = (code.strip() for code in (said["codes"] or "").split(","))
            found[line] = tuple(code for code in codes if code)
    leading = _LEADING.match(text)
    last = text.count("\n", 0, leading.end()) if leading is not None else 0
    is_above = found and min(found) <= last
    return Comments(found, min(found) if is_above else None)


def settings(text: str, every: ModuleSettings) -> ModuleSettings:
    """Return what holds for a module where comments, `# mypy: ignore-errors`, say otherwise."""
    if _SETTING not in text:
        return every
    lines = (line.rstrip("\r") for line in text.split("\n") if line.startswith(_SETTING))
    for line in lines:
        every = every.changed(in_comment(dict(_entries(line.removeprefix(_SETTING)))))
    return every


def _entries(line: str) -> Iterator[tuple[str, str]]:
    """Yield names and values: `ignore-errors, disable-error-code="shape-dtype, shape"`."""
    for entry in _QUOTED.findall(line):
        name, equals, value = entry.partition("=")
        if name.strip():
            yield (
                name.strip().replace("-", "_"),
                value.strip().replace('"', "") if equals else "True",
            )
