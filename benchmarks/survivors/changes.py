"""The small changes of a source text that a test should notice."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Final

from mutation.edits import Edit, Places

_COMPARED: Final = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
_COMPUTED: Final = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "+"),
    ast.BitOr: ("|", "&"),
    ast.BitAnd: ("&", "|"),
    ast.LShift: ("<<", ">>"),
}
_ASSIGNED: Final = (ast.Attribute, ast.Subscript)
_LEFT_OUT: Final = ("__slots__", "__all__", "__match_args__", "__hash__")

Part = tuple[tuple[int, int], str]
Make = Callable[[ast.AST, Places], Iterator[Part]]


def changes(text: str) -> list[Edit]:
    """Return all changes of a module, by their place.

    What doesn't run is left alone: docstrings, annotations, decorators, imports, and assertions,
    which are there to narrow types, as `zip(..., strict=True)` is there for who reads it. Few make
    a text that can't be parsed.
    """
    tree = ast.parse(text)
    places = Places(text)
    found: dict[tuple[int, int, str], Edit] = {}
    for node in _running(tree):
        for kind, make in _KINDS.items():
            for (start, stop), new in make(node, places):
                if new == text[start:stop]:
                    continue
                line = text.count("\n", 0, start) + 1
                found.setdefault((start, stop, new), Edit(kind, line, start, stop, new))
    return sorted(found.values(), key=lambda edit: (edit.start, edit.stop, edit.kind, edit.new))


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below one that do something when the program runs."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_still(child):
                yield child
                yield from _running(child)


def _is_still(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom() | ast.Assert():
            return True
        case ast.If(test=ast.Name("TYPE_CHECKING")):
            return True
        case ast.Assign(targets=[ast.Name(name)]):
            return name in _LEFT_OUT
        case ast.AnnAssign(annotation=ast.Name("TypeAlias")):
            return True
        case ast.Call(func=ast.Name("TypeVar")) | ast.keyword(arg="strict"):
            return True
        case ast.Raise(exc=ast.Call(func=ast.Name("AssertionError"))):
            return True
    return False


def _comparison(node: ast.AST, places: Places) -> Iterator[Part]:
    if isinstance(node, ast.Compare):
        for left, op, right in zip(
            (node.left, *node.comparators), node.ops, node.comparators, strict=False
        ):
            if type(op) in _COMPARED:
                yield from _between(left, right, *_COMPARED[type(op)], places)


def _arithmetic(node: ast.AST, places: Places) -> Iterator[Part]:
    if isinstance(node, ast.BinOp) and type(node.op) in _COMPUTED:
        yield from _between(node.left, node.right, *_COMPUTED[type(node.op)], places)


def _logic(node: ast.AST, places: Places) -> Iterator[Part]:
    if isinstance(node, ast.BoolOp):
        word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            yield from _between(left, right, word, other, places)


def _between(left: ast.AST, right: ast.AST, old: str, new: str, places: Places) -> Iterator[Part]:
    """Yield the change of an operator, which is the first of its text between its operands."""
    start, stop = places.of(left)[1], places.of(right)[0]
    at = places.text.find(old, start, stop)
    if at >= 0:
        yield (at, at + len(old)), new


def _negation(node: ast.AST, places: Places) -> Iterator[Part]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        if not isinstance(node.operand, ast.Constant):
            yield places.of(node), f"({places.source(node.operand)})"


def _number(node: ast.AST, places: Places) -> Iterator[Part]:
    match node:
        case ast.Constant(value=bool(value)):
            yield places.of(node), str(not value)
        case ast.Constant(value=int(value)):
            yield places.of(node), str(value + 1)


def _text(node: ast.AST, places: Places) -> Iterator[Part]:
    """Yield the change of a text for people, which has several words."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
        start, stop = places.of(node)  # those of the whole text, if this is a part of one
        word = re.search(r"[a-z]{2,}", node.value)
        at = places.text.find(word[0], start, stop) if word else -1
        if at >= 0:
            yield (at, at), "XX"


def _condition(node: ast.AST, places: Places) -> Iterator[Part]:
    tests: list[ast.expr] = []
    if isinstance(node, ast.If | ast.IfExp):
        tests = [node.test]
    elif isinstance(node, ast.comprehension):
        tests = node.ifs
    for test in tests:
        names = [one.target.id for one in ast.walk(test) if isinstance(one, ast.NamedExpr)]
        if not names:
            yield places.of(test), "True"
            yield places.of(test), "False"
    if isinstance(node, ast.While) and not isinstance(node.test, ast.Constant):
        yield places.of(node.test), "False"


def _branches(node: ast.AST, places: Places) -> Iterator[Part]:
    if isinstance(node, ast.IfExp):
        one, test, other = map(places.source, (node.body, node.test, node.orelse))
        yield places.of(node), f"{other} if {test} else {one}"


def _statement(node: ast.AST, places: Places) -> Iterator[Part]:
    """Yield the removal of a statement after which every name is still bound."""
    match node:
        case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Delete():
            yield places.of(node), "pass"
        case ast.Break():
            yield places.of(node), "pass"
        case ast.Assign(targets=targets) if all(isinstance(one, _ASSIGNED) for one in targets):
            yield places.of(node), "pass"


def _result(node: ast.AST, places: Places) -> Iterator[Part]:
    if isinstance(node, ast.Return) and node.value is not None:
        if not isinstance(node.value, ast.Constant):
            yield places.of(node), "return None"


def _argument(node: ast.AST, places: Places) -> Iterator[Part]:
    """Yield a call without one of its arguments that are given by name, and so have a default."""
    if isinstance(node, ast.Call):
        named = {places.of(one.value) for one in node.keywords if one.arg != "strict"}
        behind = sorted(map(places.of, [*node.args, *(one.value for one in node.keywords)]))
        for at, given in enumerate(behind):
            if at and given in named:
                yield (behind[at - 1][1], given[1]), ""


_KINDS: Final[dict[str, Make]] = {
    "comparison": _comparison,
    "arithmetic": _arithmetic,
    "and/or": _logic,
    "negation": _negation,
    "constant": _number,
    "text": _text,
    "condition": _condition,
    "branches": _branches,
    "statement": _statement,
    "result": _result,
    "argument": _argument,
}
