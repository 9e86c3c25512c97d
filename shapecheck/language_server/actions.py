"""Edits that an editor offers: an error ignored, what a note proposes, annotations written."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from io import StringIO
from typing import Any, Final

from lsprotocol import types

from shapecheck.analysis import Span
from shapecheck.analysis.program.syntax import is_def, parsed_expression
from shapecheck.language_server.diagnostics import SINCE, SOURCE
from shapecheck.language_server.documents import Text, split
from shapecheck.language_server.programs import span_of
from shapecheck.language_server.workspace import View
from shapecheck.project.comments import ignores
from shapecheck.project.findings import Finding
from shapecheck.project.trees import parsed_text

_PROPOSED: Final = re.compile(r'^"(?P<edit>.+)"(?: as (?P<role>[\w ]+))? would (?:give .*|fit)$')
_IGNORED: Final = re.compile(r"#\s*type:\s*ignore\[(?P<codes>[^\]]*)\]")
_SPACES: Final = re.compile(r"\s+")
_KIND_OF_ANNOTATING: Final = types.CodeActionKind.RefactorRewrite


@dataclass(frozen=True, slots=True)
class Edit:
    """What stands in a span, and what is to stand there."""

    span: Span
    text: str


def actions(
    view: View, range_: types.Range, context: types.CodeActionContext
) -> list[types.CodeAction]:
    """Return the edits that are offered at a range."""
    lines = range_.start.line + 1, range_.end.line + 1
    here = [one for one in view.findings() if _meets(one, lines)]
    found: list[types.CodeAction] = []
    for finding in here:
        mine = [one for one in context.diagnostics if _is_of(one, finding)]
        found += _quick_fixes(view, finding, mine)
    return [*found, *_annotating(view, lines[0])]


def _meets(finding: Finding, lines: tuple[int, int]) -> bool:
    return finding.line <= lines[1] and max(finding.end_line, finding.line) >= lines[0]


def _is_of(diagnostic: types.Diagnostic, finding: Finding) -> bool:
    is_ours = diagnostic.source == SOURCE and diagnostic.code == finding.code
    return is_ours and diagnostic.message.startswith(finding.message)


def _quick_fixes(
    view: View, finding: Finding, diagnostics: list[types.Diagnostic]
) -> Iterator[types.CodeAction]:
    if finding.code is None or finding.code.partition("-")[0] != "shape":
        return
    if finding.severity == "note":
        return
    kind, answered = types.CodeActionKind.QuickFix, diagnostics or None
    for note in finding.notes:
        if (finding, note) not in view.tried:
            view.tried[finding, note] = proposed(view, finding, note)
        edit = view.tried[finding, note]
        if isinstance(edit, Edit):
            shown = _SPACES.sub(" ", edit.text)
            yield types.CodeAction(
                f"Write `{shown}`", kind, answered, is_preferred=True, edit=_edited(view, edit)
            )
    ignoring = ignored(view.text, finding.line, finding.code)
    if ignoring is not None:
        title = f"Ignore `{finding.code}` on this line"
        yield types.CodeAction(title, kind, answered, edit=_edited(view, ignoring))


def _edited(view: View, *edits: Edit) -> types.WorkspaceEdit:
    made = [types.TextEdit(view.range(one.span), one.text) for one in edits]
    return types.WorkspaceEdit(changes={view.uri: made})


# An error that is ignored ------------------------------------------------------------------------


def ignored(text: Text, line: int, code: str) -> Edit | None:
    """Return the edit that ignores an error on a line; None where no comment can stand there."""
    content = text.line(line)
    known = _IGNORED.search(content)
    if known is not None:
        start, end = known.span("codes")
        edit = Edit(Span(line, start, line, end), f"{known['codes']}, {code}")
    else:
        comment = _comment(text, line)
        end = len(content.rstrip()) if comment is None else comment
        until = len(content) if comment is None else comment
        ignoring = f"# type: ignore[{code}]"
        # One behind another comment isn't seen.
        said = f"  {ignoring}" if comment is None else f"{ignoring}  "
        edit = Edit(Span(line, end, line, until), said)
    after = applied(text, edit)
    codes = ignores(after).ignored.get(line)
    is_python = parsed_text(after) is not None
    return edit if codes is not None and code in codes and is_python else None


def _comment(text: Text, line: int) -> int | None:
    """Return the column at which a comment begins on a line, None where there is none."""
    if "#" not in text.line(line):
        return None
    with suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(StringIO("\n".join(text.lines)).readline):
            if token.type == tokenize.COMMENT and token.start[0] == line:
                return token.start[1]
            if token.start[0] > line:
                break
    return None


def applied(text: Text, edit: Edit) -> str:
    """Return a text after an edit."""
    span, lines = edit.span, text.lines
    before = "\n".join((*lines[: span.line - 1], lines[span.line - 1][: span.column]))
    after = (lines[span.end_line - 1][span.end_column :], *lines[span.end_line :])
    return before + edit.text + "\n".join(after)


# What a note proposes ----------------------------------------------------------------------------


def proposed(view: View, finding: Finding, note: str) -> Edit | None:
    """Return the edit that a note proposes, tried: the error is gone by it, and no other comes.

    A note has the text that an operand, or all of an expression, would have to be.
    """
    said = _PROPOSED.match(note)
    tree = parsed_text(view.text.text) if said is not None else None
    if said is None or tree is None or view.known is not view.text:
        return None
    before = view.findings()
    for edit in _places(view, tree, finding, said["edit"], said["role"]):
        if is_better(view, applied(view.text, edit), finding, before):
            return edit
    return None


def is_better(view: View, text: str, finding: Finding, before: Iterable[Finding]) -> bool:
    """Whether a finding is gone in another text of a document, and nothing else is said."""
    known = {_said(one) for one in before}
    try:
        view.program.edit(view.path, text)
        after = {_said(one) for one in view.program.findings(view.path)}
    finally:
        view.program.edit(view.path, view.text.text)
    return _said(finding) not in after and after <= known


def _said(finding: Finding) -> tuple[int, str, str | None]:
    return finding.line, finding.message, finding.code


def _places(
    view: View, tree: ast.Module, finding: Finding, text: str, role: str | None
) -> Iterator[Edit]:
    """Yield where a text may be meant to stand: for what it is an edit of, the nearest first.

    That is in what is wrong, else in what was assigned to one of its operands.
    """
    span = span_of(finding)
    candidates = _expressions(view.text, tree, span)
    if role is not None:
        candidates = _of_role(candidates, role, span)
    given = [one for line in _lines_told(finding) for one in _assigned(view.text, tree, line)]
    wanted = _plain(text)
    for some in (candidates, given):
        for place, node in sorted(some, key=lambda one: -_similarity(view, one[0], wanted)):
            if _similarity(view, place, wanted) > 0:
                yield Edit(place, f"({text})" if _needs_brackets(node, text) else text)


def _expressions(text: Text, tree: ast.AST, within: Span) -> list[tuple[Span, ast.expr]]:
    found = [(_span(text, node), node) for node in ast.walk(tree) if isinstance(node, ast.expr)]
    return [(span, node) for span, node in found if within.holds(span)]


def _lines_told(finding: Finding) -> list[int]:
    """Return since which lines the operands of a finding are what they are."""
    found = (SINCE.search(note) for note in finding.notes)
    return [int(said["line"]) for said in found if said is not None]


def _assigned(text: Text, tree: ast.Module, line: int) -> list[tuple[Span, ast.expr]]:
    """Return the expressions in what a line assigns."""
    return [
        one
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.lineno == line and node.value
        for one in _expressions(text, node.value, _span(text, node.value))
    ]


def _of_role(
    candidates: list[tuple[Span, ast.expr]], role: str, span: Span
) -> list[tuple[Span, ast.expr]]:
    """Return the operand on one side, where both have the same text."""
    for place, node in candidates:
        if place == span and isinstance(node, ast.BinOp):
            side = node.left if role.startswith("left") else node.right
            return [one for one in candidates if one[1] is side]
    return []


def _similarity(view: View, place: Span, wanted: str) -> int:
    """Return how much of a text is kept by the edit of what stands at a place; 0 for none."""
    written = _plain(view.text.cut(place))
    bare = written.removeprefix("(").removesuffix(")")
    if written == wanted or not written:
        return 0
    if wanted.startswith((written, f"({written})", f"({bare})")):
        return len(written)
    if written.endswith(")") and wanted.startswith(written[:-1]):  # one more argument
        return len(written) - 1
    pieces = re.split(r"([@*+/-]|,)", written)  # operands that are exchanged
    if len(pieces) == 3 and "".join(reversed(pieces)) == wanted:
        return len(written)
    # One method in the place of another: `x.transpose(1, 2)`, `x.permute(0, 2, 1)`.
    head = written.rpartition(".")[0]
    return len(head) if head and wanted.startswith(f"{head}.") else 0


def _plain(text: str) -> str:
    return _SPACES.sub("", text)


def _needs_brackets(node: ast.expr, text: str) -> bool:
    try:
        written = parsed_expression(text)
    except SyntaxError:
        return False
    return isinstance(written, ast.BinOp) and not isinstance(node, ast.BinOp)


def _span(text: Text, node: ast.expr) -> Span:
    """Return the span of an expression, whose columns Python counts in bytes."""
    end_line = node.end_lineno or node.lineno
    start = len(text.line(node.lineno).encode()[: node.col_offset].decode(errors="replace"))
    end = len(text.line(end_line).encode()[: node.end_col_offset].decode(errors="replace"))
    return Span(node.lineno, start, end_line, end)


# Annotations -------------------------------------------------------------------------------------


def _annotating(view: View, line: int) -> Iterator[types.CodeAction]:
    """Yield the action that annotates a function, whose edits are found when it is chosen."""
    tree = parsed_text(view.text.text)
    around = function_at(tree, line) if tree is not None else None
    if around is None or "torch" not in view.text.text or not view.is_saved:
        return
    first, last, name = around
    data = {"uri": view.uri, "lines": [first, last]}
    title = f"Annotate `{name}`: from comments, docstrings and what its code shows"
    yield types.CodeAction(title, _KIND_OF_ANNOTATING, data=data)


def function_at(tree: ast.Module, line: int) -> tuple[int, int, str] | None:
    """Return the lines and the name of the function in whose head a line is."""
    for node in ast.walk(tree):
        if is_def(node) and node.lineno <= line < max(node.body[0].lineno, node.lineno + 1):
            decorators = (one.lineno for one in node.decorator_list)
            first = min((node.lineno, *decorators))
            return first, node.end_lineno or node.lineno, node.name
    return None


def annotated(view: View, lines: tuple[int, int]) -> types.WorkspaceEdit | None:
    """Return the edits by which the function on some lines is annotated; None where none is."""
    done = subprocess.run(
        [sys.executable, "-m", "shapecheck.language_server.annotating", view.path],
        cwd=view.program.root,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().rpartition("\n")[2])
    after: Any = json.loads(done.stdout)
    if not isinstance(after, str):
        return None
    edits = list(edits_between(view.text, after, lines))
    is_any = any(lines[0] <= one.span.line <= lines[1] for one in edits)
    return _edited(view, *edits) if is_any else None


def edits_between(before: Text, after: str, lines: tuple[int, int]) -> Iterator[Edit]:
    """Yield the edits from one text to another on some lines, and those of imports."""
    new = split(after)
    matcher = SequenceMatcher(None, before.lines, new, autojunk=False)
    for tag, first, last, begin, end in matcher.get_opcodes():
        if tag == "equal":
            continue
        is_import = all(_is_import(line) for line in (*before.lines[first:last], *new[begin:end]))
        if is_import or (lines[0] <= first + 1 and last <= lines[1]):
            text = "".join(f"{line}\n" for line in new[begin:end])
            yield Edit(Span(first + 1, 0, last + 1, 0), text)


def _is_import(line: str) -> bool:
    return not line.strip() or line.startswith(("import ", "from "))
