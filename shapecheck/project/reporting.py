"""From the diagnostics of a module to what is shown of them, as mypy would show them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from shapecheck.analysis import Diagnostic, Source, Span
from shapecheck.project import codes
from shapecheck.project.comments import Comments
from shapecheck.project.findings import REVEALED, Finding
from shapecheck.project.settings import ModuleSettings

# A note that stands alone has the code of mypy's `reveal_type`, so that it hides when that does.
_LONE_NOTE: Final = "misc"
_ERROR: Final = "error"
_SAID: Final = frozenset((_ERROR, "warning"))
_REVEAL: Final = "reveal_type"
_SYNTAX: Final = "syntax"


@dataclass(slots=True)
class _Said:
    """An error, a warning or a note on its own, with the notes that belong to it."""

    span: Span
    message: str
    severity: str
    code: str
    notes: list[str] = field(default_factory=list)


def ask_for_tree(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether `findings` looks into the tree of the module for these."""
    return any(one.message.startswith(REVEALED) for one in diagnostics)


def findings(
    diagnostics: Iterable[Diagnostic],
    source: Source,
    tree: ast.Module,
    comments: Comments,
    settings: ModuleSettings,
) -> list[Finding]:
    """Return what is shown of a module, by position."""
    said = [
        one
        for one in _with_notes(diagnostics, source, tree)
        if not _is_hidden(one, comments, settings)
    ]
    said.sort(key=lambda one: (one.span.line, one.span.column))
    shown = list(_each_once(said))
    _tell_other_codes(shown, comments)
    told = [_finding(one, source.path) for one in _joined(shown)]
    return [*_misplaced(source, comments), *told]


def _misplaced(source: Source, comments: Comments) -> Iterator[Finding]:
    """Say that a comment on the whole module can't name codes, in mypy's words."""
    if comments.above is not None:
        line, names = comments.above, ", ".join(comments.ignored[comments.above])
        message = (
            "Type ignore with error code is not supported for modules; use "
            f'`# mypy: disable-error-code="{names}"`'
        )
        yield Finding(source.path, line, 0, line, 1, message, (), _SYNTAX, _ERROR)


def _with_notes(
    diagnostics: Iterable[Diagnostic], source: Source, tree: ast.Module
) -> Iterator[_Said]:
    """Yield errors and warnings with the notes that have their span, and the other notes."""
    error: _Said | None = None
    for one in diagnostics:
        if one.severity in _SAID:
            if error is not None:
                yield error
            code = one.code if one.code in codes.DESCRIPTIONS else codes.SHAPE
            error = _Said(one.span, one.message, one.severity, code)
            continue
        if error is not None and one.span == error.span:
            error.notes.append(one.message)
            continue
        if error is not None:
            yield error
            error = None
        code = one.code if codes.parent(one.code) else _LONE_NOTE
        yield _Said(_place(one, source, tree), one.message, one.severity, code)
    if error is not None:
        yield error


def _place(note: Diagnostic, source: Source, tree: ast.Module) -> Span:
    """Return where a note on its own stands: of `reveal_type(x)` at the `x`, as mypy's own note."""
    span = note.span
    if note.message.startswith(REVEALED):
        lines = source.text.split("\n")
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args and _is_reveal(node.func):
                if _span(node, lines) == span:
                    return _span(node.args[0], lines)
    return Span(span.line, span.column, span.line, span.column + 1)


def _span(node: ast.expr, lines: Sequence[str]) -> Span:
    """Return the span of an expression, whose columns Python counts in bytes."""
    end_line, end_offset = node.end_lineno or node.lineno, node.end_col_offset or 0
    start = lines[node.lineno - 1].encode()[: node.col_offset].decode()
    end = lines[end_line - 1].encode()[:end_offset].decode()
    return Span(node.lineno, len(start), end_line, len(end))


def _is_reveal(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)
    return name == _REVEAL


def _is_hidden(said: _Said, comments: Comments, settings: ModuleSettings) -> bool:
    """Whether a code isn't shown, or a comment on any line of the span hides it."""
    if not settings.shows(said.code):
        return True
    last = said.span.end_line if said.severity in _SAID else said.span.line
    covering = codes.parent(said.code)
    lines = range(said.span.line, max(last, said.span.line) + 1)
    return any(comments.hides(said.code, covering, line) for line in lines)


def _each_once(shown: Sequence[_Said]) -> Iterator[_Said]:
    """Leave out what was said on the same line before, with its notes."""
    seen: set[tuple[int, str, str]] = set()
    for said in shown:
        key = said.span.line, said.severity, said.message
        if key not in seen:
            seen.add(key)
            yield said


def _tell_other_codes(shown: Iterable[_Said], comments: Comments) -> None:
    """Say, once a line, where a comment ignores something, but not the error that is there."""
    told: set[tuple[int, str]] = set()
    for said in shown:
        ignored = comments.at(said.span.line)
        if ignored and said.severity == _ERROR and (said.span.line, said.code) not in told:
            told.add((said.span.line, said.code))
            said.notes.insert(
                0,
                f'Error code "{said.code}" not covered by "type: ignore[{", ".join(ignored)}]" '
                "comment",
            )


def _joined(shown: Iterable[_Said]) -> Iterator[_Said]:
    """Yield errors and notes; a note where an error is is one of the error's notes."""
    errors: dict[tuple[int, int], _Said] = {}
    found: list[_Said] = []
    for said in shown:
        place = said.span.line, said.span.column
        if said.severity != _ERROR and place in errors:
            errors[place].notes.append(said.message)
            continue
        if said.severity == _ERROR:
            errors[place] = said
        found.append(said)
    yield from found


def _finding(said: _Said, path: str) -> Finding:
    span = said.span
    end_line = max(span.end_line, span.line)
    end_column = span.end_column
    if end_line == span.line and end_column <= span.column:
        end_column = span.column + 1
    return Finding(
        path,
        span.line,
        span.column,
        end_line,
        end_column,
        said.message,
        tuple(line for note in said.notes for line in note.split("\n")),
        said.code,
        said.severity,
    )
