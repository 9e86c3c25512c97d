"""The expressions where sizes or bounds are passed, and the readings that they are made of."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any, Final, TypeAlias, TypeGuard

from shapecheck.ops.outer_products import bindings, binds
from shapecheck.runtime.source import (
    FUNCTIONS,
    expression_at,
    function_of,
    hands_all_on,
    is_ours,
    lambda_of,
    own_syntax,
    span_at,
    value_at,
)

Assigned = tuple[ast.expr, int | None]
"""What a variable gets: an expression, and which item of it, None for all of it."""


@dataclass(frozen=True, eq=False, slots=True)
class CallPlace:
    """A call in the source, or an index: what is given, and which readings its sizes come from.

    `call` is None in our own code, which is given what the user wrote.

    `reads` are the offsets in the bytecode at which each reading may stand, `index` says which
    expression is which. `calls` and `called` are the same for calls that return sizes. `values` are
    the local variables that are assigned once, or once in each branch, with the place of each among
    what is assigned, and `params` parameters that never are.
    """

    call: ast.Call | ast.Subscript | None
    reads: tuple[tuple[int, ...], ...]
    index: Mapping[ast.AST, int]
    values: Mapping[str, Sequence[Assigned]]
    params: frozenset[str]
    calls: tuple[tuple[int, ...], ...] = ()
    called: Mapping[ast.AST, int] = field(default_factory=dict)


def call_place(code: CodeType, offset: int, always: bool = False) -> CallPlace | None:
    """Look at the call that stands at an offset.

    None where no size in it can be followed, but for `always`: it may say how numbers are written.
    """
    if always and is_ours(code):
        return CallPlace(None, (), {}, {}, frozenset())
    span = span_at(code, offset)
    if span is None or not hasattr(code, "co_positions"):  # which came with Python 3.11
        return None
    function = _body(code)
    if function is None:
        alone = expression_at(code, span)
        return CallPlace(alone, (), {}, {}, frozenset()) if _is_index(alone) else None
    kinds = ast.Call | ast.Subscript
    calls = [n for n in ast.walk(function) if isinstance(n, kinds) and span in _spans(n)]
    if len(calls) != 1:
        return None
    call, finder = calls[0], _Finder(function)
    for part in _given(call):
        finder.follow(part)
    if not finder.reads and not finder.calls and not finder.params and not always:
        return None
    return finder.place(code, call)


@dataclass(frozen=True, eq=False, slots=True)
class Handed:
    """A call in the source that led to a function, and what it gives to its parameters."""

    place: CallPlace
    given: Mapping[str, ast.expr]


def handed(caller: FrameType, callee: FrameType) -> Handed | bool:
    """Return what a call gives to the parameters of the function that it led to.

    True where a wrapper hands on what it is given itself, False where nothing can be said.
    """
    code = caller.f_code
    if hands_all_on(code, caller.f_lasti):
        return True
    place, function = call_place(code, caller.f_lasti, always=True), _function(callee.f_code)
    if place is None or not isinstance(place.call, ast.Call) or function is None:
        return False
    call, bound = place.call, _is_bound(place.call, caller, callee)
    if bound is None:
        return False
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    given = {} if any(one.arg is None for one in call.keywords) else _defaults(function.args)
    for name, node in zip(names[bound:], call.args, strict=False):
        if isinstance(node, ast.Starred):
            given.clear()  # it may be among what isn't written
            break
        given[name] = node
    given.update((one.arg, one.value) for one in call.keywords if one.arg is not None)
    return Handed(place, given)


def _is_bound(call: ast.Call, caller: FrameType, callee: FrameType) -> bool | None:
    """Whether the first parameter is what a method is called of; None if that isn't known."""
    code = callee.f_code
    first = callee.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    match call.func:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super"))):
            return True
        case ast.Attribute(value=owner):
            found = value_at(caller, owner)
            if found is None:
                return None
            return first is not None and (found is first or value_at(caller, call.func) is first)
    found = value_at(caller, call.func)
    if isinstance(found, FunctionType | MethodType):
        return isinstance(found, MethodType)
    return True if first is not None and found is first else None


Body: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module"


def _body(code: CodeType) -> Body | None:
    """Return the function, or the module, that code was made of."""
    if code.co_name == "<lambda>":
        return lambda_of(code)
    if code.co_name == "<module>":
        tree = function_of(code)
        return tree if isinstance(tree, ast.Module) else None
    return _function(code)


def _function(code: CodeType) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    tree = None if code.co_name.startswith("<") else function_of(code)
    return next((n for n in ast.walk(tree) if isinstance(n, FUNCTIONS)), None) if tree else None


def _defaults(args: ast.arguments) -> dict[str, ast.expr]:
    """Return the defaults that are numbers, by parameter."""
    names = [one.arg for one in (*args.posonlyargs, *args.args)]
    found = dict(zip(reversed(names), reversed(args.defaults), strict=False))
    pairs = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    found.update((one.arg, default) for one, default in pairs if default is not None)
    return {
        name: node
        for name, node in found.items()
        if isinstance(node, ast.Constant) and type(node.value) is int
    }


@dataclass(frozen=True, eq=False, slots=True)
class Returning:
    """What a function returns, and the readings that it is made of."""

    place: CallPlace
    results: tuple[ast.expr, ...]


def returning(code: CodeType) -> Returning | None:
    """Look at what a function returns; None where no reading of a shape is in it."""
    function = _function(code)
    if function is None:
        return None
    finder, results = _Finder(function), list[ast.expr]()
    for node in own_syntax(function):
        if isinstance(node, ast.Return) and node.value is not None:
            results.append(node.value)
            finder.follow(node.value)
    finder.calls.clear()
    return Returning(finder.place(code, None), tuple(results)) if finder.reads else None


def _is_index(node: ast.expr | None) -> TypeGuard[ast.Subscript]:
    return isinstance(node, ast.Subscript)


def _given(call: ast.Call | ast.Subscript) -> list[ast.expr]:
    if isinstance(call, ast.Subscript):
        return [call.slice]
    return [*call.args, *(one.value for one in call.keywords)]


@dataclass(slots=True)
class _Finder:
    """Follows expressions to the readings that they are made of, in one function or module."""

    function: Body
    values: dict[str, list[Assigned]] = field(default_factory=dict)
    reads: list[ast.AST] = field(default_factory=list)
    calls: list[ast.AST] = field(default_factory=list)
    params: set[str] = field(default_factory=set)

    def place(self, code: CodeType, call: ast.Call | ast.Subscript | None) -> CallPlace:
        """Return what was found, with the offsets in the function's bytecode."""
        offsets: dict[Any, list[int]] = {}
        for unit, span in enumerate(code.co_positions() if hasattr(code, "co_positions") else ()):
            offsets.setdefault(span, []).append(2 * unit)
        reads, calls = (
            tuple(
                tuple(at for span in _spans(node) for at in offsets.get(span, ())) for node in nodes
            )
            for nodes in (self.reads, self.calls)
        )
        index = {node: at for at, node in enumerate(self.reads)}
        called = {node: at for at, node in enumerate(self.calls)}
        return CallPlace(call, reads, index, self.values, frozenset(self.params), calls, called)

    def follow(self, node: ast.expr) -> None:
        """Collect what an expression is made of."""
        match node:
            case _ if _reads(node):
                if node not in self.reads:
                    self.reads.append(node)
            case ast.Call() if node not in self.calls:
                self.calls.append(node)
                for arg in node.args if is_rounding(node) else ():
                    self.follow(arg)
            case ast.Name(id=name) if name not in self.values and name not in self.params:
                self._variable(name)
            case ast.Subscript(value=value):
                self.follow(value)
            case ast.IfExp(body=body, orelse=orelse):
                self.follow(body)
                self.follow(orelse)
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
        bound = _bindings(self.function, name)
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


def _bindings(body: Body, name: str) -> Sequence[ast.AST]:
    """Return what gives a variable a value; a module's isn't that of a function in it."""
    if not isinstance(body, ast.Module):
        return bindings(body, name)
    own = [node for node in own_syntax(body) if binds(node, name)]
    taken = (node for node in ast.walk(body) if isinstance(node, ast.Global))
    return [*own, *(node for node in taken if name in node.names and node not in own)]


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
_ROUNDING: Final = frozenset(("abs", "ceil", "floor", "int", "max", "min", "round"))


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


def _own_arguments(function: Body) -> list[ast.arg]:
    if isinstance(function, ast.Module):
        return []
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


def is_rounding(node: ast.expr) -> TypeGuard[ast.Call]:
    """Whether an expression makes a whole number of others: `math.ceil(h / 2)`, `int(...)`."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), keywords=[]):
            return name in _ROUNDING
    return False


def is_len(node: ast.AST) -> bool:
    """Whether an expression is `len(...)`."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[_], keywords=[]):
            return True
    return False


def _spans(node: Any) -> list[tuple[int, int | None, int, int | None]]:
    """Return where an expression may be said to stand.

    Of `.method(...)` whose object begins on another line, only what is on its own counts to Python.
    """
    last = node.end_lineno, node.end_col_offset
    found = [(node.lineno, last[0], node.col_offset, last[1])]
    asked = node.func if isinstance(node, ast.Call) else node
    if isinstance(asked, ast.Attribute) and asked.lineno != asked.end_lineno:
        line, end = asked.end_lineno, asked.end_col_offset
        if line is not None and end is not None:
            found.append((line, last[0], end - len(asked.attr.encode()), last[1]))
    return found
