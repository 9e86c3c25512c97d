"""What comments in a file say to mypy: which errors to ignore, and what holds for the module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Comments:
    """The lines on which errors are ignored, each with the codes; without codes all are."""

    ignored: Mapping[int, tuple[str, ...]]

    def hides(self, code: str, covering: str | None, line: int) -> bool:
        """Whether a comment on a line hides an error with a code, or the one that covers it."""
        codes = self.ignored.get(line)
        return codes is not None and (not codes or code in codes or covering in codes)


def ignores(text: str, body: list[ast.stmt]) -> Comments:
    """Find the comments that hide errors in a module, of which the statements are given.

    One above the first statement is about the module as a whole, and hides no error of ours.
    """
    found: dict[int, tuple[str, ...]] = {}
    if _MENTIONED.search(text) is not None:
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
        if found and body and (first := min(found)) < _line(body[0]):
            del found[first]
    return Comments(found)


def _line(statement: ast.stmt) -> int:
    """Return the line that a statement begins on, its decorators included."""
    decorators = getattr(statement, "decorator_list", [])
    return decorators[0].lineno if decorators else statement.lineno


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
