"""Makes the syntax of an edited text with the nodes of the one before, where these say the same.

What was found out of a definition is known by its nodes. So a function or class with the same head
is the same node, which has another body where that has been edited; other statements, and those in
a function, are the same where they are spelled the same. All stand where they stand in the edited
text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from shapecheck.analysis.host import Source
from shapecheck.analysis.program.reading import said
from shapecheck.analysis.program.syntax import (
    Def,
    Lines,
    Syntax,
    forget_kept,
    is_def,
    keep_parsed,
    tree_of,
)


def grafted(before: Syntax, source: Source) -> Syntax:
    """Return the syntax of an edited source; that of the text before is of no use then.

    Parts of which the same is read are the same readings. Raises what `ast.parse` does.
    """
    tree = tree_of(source.text)
    for reading in before.readings.values():
        _ = reading.digest  # what was read before the nodes are others
    before.take_over()
    forget_kept()
    graft = _Graft(before.lines, Lines(source.text))
    tree.body = graft.statements(before.tree.body, tree.body)
    edited = Syntax(source, tree)
    for key, reading in before.readings.items():
        if edited.reading(key).digest == reading.digest:
            edited.keep(reading)
        else:
            reading.is_gone = True
    keep_parsed(edited)
    return edited


class _Graft:
    """Puts statements of one text in the place of those of another that say the same."""

    def __init__(self, before: Lines, after: Lines) -> None:
        self._before, self._after = before, after

    def statements(self, old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return the statements of a module or class, with old nodes where they say the same."""
        known: dict[tuple[str, ...], list[ast.stmt]] = {}
        for one in reversed(old):
            known.setdefault(_said(one, self._before), []).append(one)
        found: list[ast.stmt] = []
        for one in new:
            same = known.get(_said(one, self._after))
            found.append(self._placed(same.pop(), one) if same else one)
        return found

    def _placed(self, old: ast.stmt, new: ast.stmt) -> ast.stmt:
        """Return an old statement as it stands in the new text."""
        if isinstance(old, ast.ClassDef) and isinstance(new, ast.ClassDef):
            old.body = self.statements(old.body, new.body)
        elif is_def(old) and is_def(new):
            self._body(old, new)
        else:
            self._move(old, new)
            return old
        for one, other in zip(_parts(old, "body"), _parts(new, "body"), strict=True):
            self._move(one, other)
        _put(old, new)
        return old

    def _body(self, old: Def, new: Def) -> None:
        """Give a function the body that it has in the new text."""
        if _spelled(old.body, self._before) == _spelled(new.body, self._after):
            for one, other in zip(old.body, new.body, strict=True):
                self._move(one, other)
        else:
            old.body = self._edited(old.body, new.body)

    def _edited(self, old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return the statements of a body that is another one, with the old ones that are the same.

        What stands in them, as a function that is given out, is what it was.
        """
        known: dict[tuple[str, ...], list[ast.stmt]] = {}
        for one in reversed(old):
            known.setdefault((*_spelled([one], self._before),), []).append(one)
        found: list[ast.stmt] = []
        for one in new:
            same = known.get((*_spelled([one], self._after),))
            if same:
                self._move(same[-1], one)
            found.append(same.pop() if same else one)
        return found

    def _move(self, old: ast.AST, new: ast.AST) -> None:
        """Have old nodes stand where new ones do that say the same."""
        if self._stands(old, new):
            return
        waiting = [(old, new)]
        while waiting:
            one, other = waiting.pop()
            _put(one, other)
            waiting += zip(_parts(one), _parts(other), strict=True)

    def _stands(self, old: ast.AST, new: ast.AST) -> bool:
        """Whether a node and all in it stand where they stood before."""
        match old, new:
            case ast.stmt() | ast.expr(), ast.stmt() | ast.expr():
                first, last = old.lineno, old.end_lineno or old.lineno
                if (first, last) != (new.lineno, new.end_lineno):
                    return False
                lines = range(first, last + 1)
                return all(self._before[line] == self._after[line] for line in lines)
        return False


def _said(node: ast.stmt, lines: Lines) -> tuple[str, ...]:
    """Return what a statement says, of a definition its head."""
    is_definition = is_def(node) or isinstance(node, ast.ClassDef)
    return tuple(said(node, lines.spelled, is_definition, docstrings=True))


def _spelled(body: list[ast.stmt], lines: Lines) -> list[str]:
    return [*said(body, lines.spelled, docstrings=True)]


def _put(old: ast.AST, new: ast.AST) -> None:
    for name in old._attributes:
        setattr(old, name, getattr(new, name, None))


def _parts(node: ast.AST, but: str = "") -> Iterator[ast.AST]:
    """Yield the nodes right below a node, those in one field left out."""
    for name in node._fields:
        held = getattr(node, name, None)
        if isinstance(held, ast.AST):
            yield held
        elif isinstance(held, list) and name != but:
            yield from (one for one in held if isinstance(one, ast.AST))
