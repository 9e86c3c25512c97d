"""What the cells of a notebook have done so far, as the text of one module.

A module is read as a whole, whatever ran when: the last definition of a name is the one. So what
rests on a definition that has been replaced isn't known any more, nor is what was bound in a way
that can't be read: those names stand for `UNKNOWN`, about which nothing is ever said.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from shapecheck.project.trees import parsed_text

UNKNOWN: Final = "__unknown__"
_Place: TypeAlias = "tuple[int, int]"
"""The number of a cell, and a line in it, both from 1; the cell 0 is none."""

_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_IMPORTS: Final = (ast.Import, ast.ImportFrom)
_INNER: Final = (
    *_DEFINITIONS,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Whole lines of a cell, with the statements on them.

    `binds` are the names that have another value after them, `mentions` those that they read, and
    `alters` those whose values they may change. `means`: what the names are that they define or
    import, in an order; it is empty where they do more than that.
    """

    cell: int
    line: int
    lines: tuple[str, ...]
    binds: frozenset[str]
    mentions: frozenset[str]
    alters: frozenset[str]
    means: tuple[tuple[str, str], ...]

    @property
    def stays(self) -> bool:
        """Whether it defines or imports, and does no more."""
        return bool(self.means)


class Past:
    """The statements that have run, in that order, and what is unknown since."""

    def __init__(self) -> None:
        self._pieces: list[_Piece] = []

    @property
    def names(self) -> frozenset[str]:
        """The names that are bound in what has run."""
        return frozenset().union(*(piece.binds for piece in self._pieces))

    def bound_by(self, cell: int) -> frozenset[str]:
        """Return the names that the statements of one cell have bound."""
        mine = (piece.binds for piece in self._pieces if piece.cell == cell)
        return frozenset().union(*mine)

    @property
    def length(self) -> int:
        """How many lines there are that do more than to define and to import."""
        return sum(len(piece.lines) for piece in self._pieces if not piece.stays)

    def before(self, text: str) -> Past:
        """Return the past as what a cell may rest on that defines some names anew."""
        found = Past()
        found._pieces = [*_without(self._pieces, _pieces(0, text))]
        return found

    def reached(self, text: str) -> frozenset[str]:
        """Return the names of all that a cell may call, at any depth; not what it defines alone."""
        coming = [*_pieces(0, text)]
        found = {name for piece in coming if not piece.stays for name in piece.mentions}
        size = -1
        while len(found) != size:
            size = len(found)
            for piece in (*self._pieces, *coming):
                if not piece.binds.isdisjoint(found):
                    found |= piece.mentions
        return frozenset(found)

    def text(self) -> str:
        """Return the text of the module; each line has its end."""
        return "".join(f"{line}\n" for piece in self._pieces for line in piece.lines)

    def places(self) -> list[_Place]:
        """Return where each line of the text stands."""
        return [
            (piece.cell, piece.line + at)
            for piece in self._pieces
            for at in range(len(piece.lines))
        ]

    def add(
        self,
        number: int,
        text: str,
        failed_at: int | None = None,
        unaltered: Collection[str] = (),
    ) -> None:
        """Add a cell that has run, up to the line that failed.

        `unaltered` are names of which is known that what failed has left their values as they were.
        """
        every = [*_pieces(number, text)]
        ran = [one for one in every if failed_at is None or one.line + len(one.lines) <= failed_at]
        self._pieces = [*_without(self._pieces, ran), *ran]
        if len(ran) < len(every):
            broken = every[len(ran)]
            altered = (broken.alters & _variables(self._pieces)).difference(unaltered)
            self.forget(broken.binds | altered)

    def forget(self, names: Iterable[str]) -> None:
        """Take note that nothing is known of what some names stand for now."""
        known = frozenset(names)
        if known:
            self._pieces = [*_without(self._pieces, [_unknown(known)]), _unknown(known)]

    def shorten(self, length: int) -> None:
        """Forget what the first statements have bound, so that the text stays short."""
        excess = self.length - length
        bound: set[str] = set()
        kept, rest = [], [*self._pieces]
        while excess > 0 and rest:
            piece = rest.pop(0)
            if piece.stays:
                kept.append(piece)
            else:
                bound |= piece.binds
                excess -= len(piece.lines)
        unknown = [_unknown(frozenset(bound))] if bound else []
        self._pieces = [*kept, *unknown, *rest]


def _unknown(names: frozenset[str]) -> _Piece:
    line = " = ".join((*sorted(names), UNKNOWN))
    return _Piece(0, 1, (line,), names, frozenset(), frozenset(), ())


def _without(past: list[_Piece], coming: Iterable[_Piece]) -> Iterator[_Piece]:
    """Yield what has run as far as it still holds where some pieces are to come."""
    replaced = _replaced(past, [*coming])
    tainted, variables = _resting_on(past, replaced), _variables(past)
    for piece in past:
        if piece.stays:
            if piece.binds.isdisjoint(replaced):
                yield piece
            elif piece.binds - replaced:
                yield _unknown(piece.binds - replaced)
        elif piece.mentions.isdisjoint(tainted) and piece.binds.isdisjoint(replaced):
            yield piece
        elif lost := piece.binds | piece.alters & variables:
            yield _unknown(lost)


def _replaced(past: list[_Piece], coming: list[_Piece]) -> frozenset[str]:
    """Return the names of definitions that others are to replace, or that replace a variable."""
    before = {name: dict(piece.means).get(name) for piece in past for name in piece.binds}
    after = {name: dict(piece.means).get(name) for piece in coming for name in piece.binds}
    return frozenset(
        name
        for name, meaning in after.items()
        if name in before
        and (meaning is not None or before[name] is not None)
        and meaning != before[name]
    )


def _resting_on(past: list[_Piece], names: frozenset[str]) -> frozenset[str]:
    """Return some names, and those of all that has to do with what they stood for."""
    found, size, variables = set(names), -1, _variables(past)
    while names and len(found) != size:
        size = len(found)
        for piece in past:
            if not piece.mentions.isdisjoint(found):
                found |= piece.binds | piece.alters & variables
    return frozenset(found)


def _variables(past: list[_Piece]) -> frozenset[str]:
    """Return the names that stand for something else than a module, a function or a class."""
    return frozenset().union(*(piece.binds for piece in past if not piece.stays))


def _pieces(number: int, text: str) -> Iterator[_Piece]:
    """Yield the lines of a cell, divided where one statement ends and another begins."""
    tree = parsed_text(text)
    lines = text.split("\n")
    waiting: list[ast.stmt] = []
    for statement in () if tree is None else tree.body:
        if waiting and _first_line(statement) > (waiting[-1].end_lineno or 0):
            yield _piece(number, lines, waiting)
            waiting = []
        waiting.append(statement)
    if waiting:
        yield _piece(number, lines, waiting)


def _piece(number: int, lines: list[str], statements: list[ast.stmt]) -> _Piece:
    first, last = _first_line(statements[0]), statements[-1].end_lineno or 0
    return _Piece(
        number,
        first,
        tuple(lines[first - 1 : last]),
        frozenset(name for one in statements for name in _bound(one)),
        frozenset(name for one in statements for name in _read(one)),
        frozenset(name for one in statements for name in _altered(one)),
        means=_meanings(lines[first - 1 : last], statements),
    )


def _meanings(lines: list[str], statements: list[ast.stmt]) -> tuple[tuple[str, str], ...]:
    """Return what is defined, by its text, and what is imported, by where it is from."""
    if not all(isinstance(one, (*_DEFINITIONS, *_IMPORTS)) for one in statements):
        return ()
    found: dict[str, str] = {}
    for one in statements:
        match one:
            case ast.Import(names=names):
                for alias in names:
                    whole = alias.name if alias.asname else alias.name.partition(".")[0]
                    found[alias.asname or whole] = whole
            case ast.ImportFrom(module=module, names=names, level=level):
                for alias in names:
                    found[alias.asname or alias.name] = f"{'.' * level}{module or ''}.{alias.name}"
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                found[name] = "\n".join(lines)
    return tuple(found.items())


def _first_line(statement: ast.stmt) -> int:
    lines = [statement.lineno]
    if isinstance(statement, _DEFINITIONS):
        lines += [one.lineno for one in statement.decorator_list]
    return min(lines)


def _here(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what stands in a statement itself, not in functions and classes inside of it."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _INNER):
            yield child
        else:
            yield from _here(child)


def _bound(statement: ast.stmt) -> Iterator[str]:
    inside = [statement] if isinstance(statement, _DEFINITIONS) else _here(statement)
    for node in inside:
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.alias(name=name, asname=other) if name != "*":
                yield other or name.partition(".")[0]
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield name
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield name
    for node in ast.walk(statement):
        if isinstance(node, ast.NamedExpr) and isinstance(node.target, ast.Name):
            yield node.target.id  # of a comprehension, too


def _read(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id


def _altered(statement: ast.stmt) -> Iterator[str]:
    """Yield the names of what is written into, called a method of, or called for its effects."""
    for node in ast.walk(statement):
        match node:
            case (
                ast.Attribute(ctx=ast.Store() | ast.Del())
                | ast.Subscript(ctx=ast.Store() | ast.Del())
            ):
                yield from _root(node)
            case ast.Call(func=ast.Attribute(value=owner)):
                yield from _root(owner)
            case ast.Expr(value=ast.Call(args=args, keywords=keywords)):
                for one in (*args, *(keyword.value for keyword in keywords)):
                    yield from _root(one)


def _root(node: ast.expr) -> Iterator[str]:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id
