"""The expressions where sizes or bounds are passed, and the readings that they are made of."""

from __future__ import annotations

import ast
import dis
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Final, TypeGuard

from shapecheck.ops.outer_products import bindings
from shapecheck.runtime.source import (
    FUNCTIONS,
    expression_at,
    function_of,
    is_ours,
    own_syntax,
    span_at,
)

Assigned = tuple[ast.expr, int | None]
"""What a variable gets: an expression, and which item of it, None for all of it."""


@dataclass(frozen=True, eq=False, slots=True)
class CallPlace:
    """A call in the source, or an index: what is given, and which readings its sizes come from.

    `call` is None in our own code, which is given what the user wrote.

    `reads` are the offsets in the bytecode at which each reading may stand, `index` says which
    expression is which. `values` are the local variables that are assigned once, or once in each
    branch, with the place of each among what is assigned, and `params` parameters that never are.
    """

    call: ast.Call | ast.Subscript | None
    reads: tuple[tuple[int, ...], ...]
    index: Mapping[ast.AST, int]
    values: Mapping[str, Sequence[Assigned]]
    params: frozenset[str]


def call_place(code: CodeType, offset: int, always: bool = False) -> CallPlace | None:
    """Look at the call that stands at an offset.

    None where no size in it can be followed, but for `always`: it may say how numbers are written.
    """
    if always and is_ours(code):
        return CallPlace(None, (), {}, {}, frozenset())
    span = span_at(code, offset)
    if span is None or not hasattr(code, "co_positions"):  # which came with Python 3.11
        return None
    tree = None if code.co_name.startswith("<") else function_of(code)
    function = next((n for n in ast.walk(tree) if isinstance(n, FUNCTIONS)), None) if tree else None
    if function is None:
        alone = expression_at(code, span)
        return CallPlace(alone, (), {}, {}, frozenset()) if _is_index(alone) else None
    kinds = ast.Call | ast.Subscript
    calls = [n for n in ast.walk(function) if isinstance(n, kinds) and _span(n) == span]
    if len(calls) != 1:
        return None
    call, finder = calls[0], _Finder(function)
    for part in _given(call):
        finder.follow(part)
    if not finder.reads and not finder.params and not always:
        return None
    offsets: dict[Any, list[int]] = {}
    places = list(code.co_positions())
    for instruction in dis.get_instructions(code):
        offset = instruction.offset
        offsets.setdefault(places[offset // 2], []).append(offset)
    reads = tuple(tuple(offsets.get(_span(node), ())) for node in finder.reads)
    index = {node: at for at, node in enumerate(finder.reads)}
    return CallPlace(call, reads, index, finder.values, frozenset(finder.params))


def _is_index(node: ast.expr | None) -> TypeGuard[ast.Subscript]:
    return isinstance(node, ast.Subscript)


def _given(call: ast.Call | ast.Subscript) -> list[ast.expr]:
    if isinstance(call, ast.Subscript):
        return [call.slice]
    return [*call.args, *(one.value for one in call.keywords)]


@dataclass(slots=True)
class _Finder:
    """Follows expressions to the readings that they are made of, in one function."""

    function: ast.FunctionDef | ast.AsyncFunctionDef
    values: dict[str, list[Assigned]] = field(default_factory=dict)
    reads: list[ast.AST] = field(default_factory=list)
    params: set[str] = field(default_factory=set)

    def follow(self, node: ast.expr) -> None:
        """Collect what an expression is made of."""
        match node:
            case _ if _reads(node):
                if node not in self.reads:
                    self.reads.append(node)
            case ast.Name(id=name) if name not in self.values and name not in self.params:
                self._variable(name)
            case ast.Subscript(value=value):
                self.follow(value)
            case (
                ast.Starred() | ast.Tuple() | ast.List() | ast.BinOp() | ast.UnaryOp() | ast.Slice()
            ):
                for part in ast.iter_child_nodes(node):
                    if isinstance(part, ast.expr):
                        self.follow(part)

    def _variable(self, name: str) -> None:
        """Follow a variable that is bound just once, or once in each branch.

        Elsewhere it may be anything.
        """
        bound = bindings(self.function, name)
        if len(bound) == 1 and isinstance(bound[0], ast.arg):
            if bound[0] in _own_arguments(self.function):
                self.params.add(name)
            return
        if len(bound) > 1 and not _exclude_each_other(self.function, bound):
            return
        for statement in own_syntax(self.function):
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                at = _place_in(statement.targets[0], name)
                if at is not None:
                    value = (statement.value, at if at != _WHOLE else None)
                    self.values.setdefault(name, []).append(value)
                    self.follow(statement.value)


def _exclude_each_other(function: ast.AST, nodes: Sequence[ast.AST]) -> bool:
    """Whether at most one of some pieces of syntax is reached: each is in its own branch."""
    for one in ast.walk(function):
        if isinstance(one, ast.If) and one.orelse:
            branches = [{*_inside(one.body)}, {*_inside(one.orelse)}]
            parts = [[node for node in nodes if node in branch] for branch in branches]
            if all(parts) and sum(map(len, parts)) == len(nodes):
                inner = zip((one.body, one.orelse), parts, strict=True)
                return all(
                    len(part) == 1 or _exclude_each_other(ast.Module(body, []), part)
                    for body, part in inner
                )
    return False


def _inside(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    for statement in body:
        yield from ast.walk(statement)


_WHOLE: Final = 1 << 20


def _place_in(target: ast.expr, name: str) -> int | None:
    """Return where among what is assigned a variable stands, `_WHOLE` if it is all of it."""
    if isinstance(target, ast.Name):
        return _WHOLE if target.id == name else None
    if not isinstance(target, ast.Tuple | ast.List):
        return None
    stars = [i for i, item in enumerate(target.elts) if isinstance(item, ast.Starred)]
    for i, item in enumerate(target.elts):
        if isinstance(item, ast.Name) and item.id == name:
            return i if not stars or i < stars[0] else i - len(target.elts)
    return None


def _own_arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    given = function.args
    return [*given.posonlyargs, *given.args, *given.kwonlyargs]


def _reads(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(attr="shape", ctx=ast.Load()):
            return True
        case ast.Call(func=ast.Attribute(attr="size"), args=args, keywords=[]):
            return len(args) < 2
        case _:
            return is_len(node)


def is_len(node: ast.AST) -> bool:
    """Whether an expression is `len(...)`."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[_], keywords=[]):
            return True
    return False


def _span(node: Any) -> tuple[int, int | None, int, int | None]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
