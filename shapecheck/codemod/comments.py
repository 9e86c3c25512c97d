"""Which comment speaks of which value, and whether the analysis agrees with what it says."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import shapecheck.dims as dims
from shapecheck import spec
from shapecheck.analysis.declarations import arguments_of
from shapecheck.analysis.inference import Study
from shapecheck.analysis.values import Union
from shapecheck.codemod.said import Said, comment
from shapecheck.dims import Kind, Size, Sym
from shapecheck.ops import UNKNOWN, Value
from shapecheck.shapes import Facts, Item, Matcher, Run, Tensor


@dataclass(frozen=True, slots=True)
class Claim:
    """A shape that the code is said to have somewhere, and the line that says so."""

    text: spec.Spec
    line: int


@dataclass(slots=True)
class Claims:
    """What is said of one function: of parameters, of what it returns, of its locals.

    A local stands for its first assignment, with the expression that is assigned. `hints` are names
    for dimensions that have none in the code.
    """

    params: dict[str, Claim] = field(default_factory=dict)
    result: Claim | None = None
    locals: dict[str, tuple[Claim, ast.expr]] = field(default_factory=dict)
    hints: dict[Sym, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Comment:
    line: int
    column: int
    text: str
    alone: bool


FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class Comments:
    """The comments of a module, read once."""

    def __init__(self, text: str) -> None:
        self._said: dict[int, tuple[_Comment, Said]] = {}
        for one in _tokens(text):
            said = comment(one.text)
            if said is not None:
                self._said[one.line] = one, said

    def of(self, study: Study) -> Claims:
        """Return what the comments in a function say, as far as the analysis doesn't object."""
        node = study.function.node
        found = Claims()
        if isinstance(node, ast.Lambda):
            return found
        self._parameters(node, study, found)
        labels = _labels(study)
        first = node.body[0].lineno
        lines = [n for n in self._said if first - 1 <= n <= (node.end_lineno or n) + 1]
        if not lines:
            return found
        statements = list(_statements(node.body))
        returned: list[Claim | None] = []
        for line in lines:
            one, said = self._said[line]
            statement = _beside(one, said, statements, study)
            if statement is None:
                continue
            value = _value(statement)
            agrees = None if value is None else judge(said.result, study.values.get(value, UNKNOWN))
            if value is None or agrees is False or (agrees is None and not said.sure):
                continue
            claim = Claim(_spelled(said.result, labels), line)
            found.hints.update(_hints(said.result, study.values.get(value, UNKNOWN)))
            if isinstance(statement, ast.Return):
                returned.append(claim)
            elif (
                isinstance(statement, ast.Assign)
                and isinstance(study.values.get(value), Tensor)  # and no array
                and _is_first(statement, node)
            ):
                target = statement.targets[0]
                assert isinstance(target, ast.Name)
                found.locals[target.id] = claim, value
        returns = [s for s in statements if isinstance(s, ast.Return) and s.value is not None]
        if len(returned) == len(returns) == 1:
            found.result = returned[0]
        return found

    def behind(self, statement: ast.stmt) -> Claim | None:
        """Return the shape that is said behind a statement of which no value is known."""
        one, said = self._said.get(statement.end_lineno or 0, (None, None))
        if one is None or said is None or one.alone or said.inputs or not said.sure:
            return None
        return Claim(said.result, one.line)

    def _parameters(self, node: FunctionNode, study: Study, found: Claims) -> None:
        """Read the comments behind the parameters of a definition of several lines."""
        ends = Counter(line for _, line in _parameter_ends(node))
        labels = _labels(study)
        for name, line in _parameter_ends(node):
            if line not in self._said or ends[line] > 1 or line >= node.body[0].lineno:
                continue
            one, said = self._said[line]
            value = study.params.get(name, UNKNOWN)
            if one.alone or said.inputs or judge(said.result, value) is False:
                continue
            if said.sure or not _may_be_prose(said.result):
                found.params[name] = Claim(_spelled(said.result, labels), line)


def _labels(study: Study) -> dict[str, str]:
    """Return what the code of a function calls dimensions, by these names in lower case."""
    found: dict[str, str] = {}
    for value in (*study.params.values(), *study.values.values()):
        for item in value.shape.dims if isinstance(value, Tensor) else ():
            symbols = () if isinstance(item, Run) else dims.symbols(item)
            for name in (symbol.name for symbol in symbols if symbol.telling):
                found[name.lower()] = name if found.get(name.lower(), name) == name else ""
    return found


def _spelled(text: spec.Spec, labels: Mapping[str, str]) -> spec.Spec:
    """Return a shape with its names in the case that they have in the code: `B` is its `b`."""
    renamed = {n: labels.get(n.lower()) or n for n in text.names()}
    if len(set(renamed.values())) < len(renamed):
        return text
    words = (renamed.get(word, word) for word in re.split(r"(\{[^}]*\}|\w+)", str(text)))
    return spec.parse("".join(words))


def _may_be_prose(text: spec.Spec) -> bool:
    """Whether what stands behind a parameter may be a remark: one word, or only numbers."""
    names = list(text.names())
    if not names:
        return True
    return len(text.entries) < 2 and not (names[0].isupper() or "_" in names[0])


def _tokens(text: str) -> Iterator[_Comment]:
    if "#" not in text:
        return
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                line, column = token.start
                alone = not token.line[:column].strip()
                yield _Comment(line, column, token.string, alone)
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return


def _parameter_ends(node: FunctionNode) -> Iterator[tuple[str, int]]:
    """Yield the parameters with the lines on which they end, defaults included."""
    for one, default in _defaults(node):
        yield one.arg, (default or one).end_lineno or one.lineno


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a body in order, without those of nested functions and classes."""
    for node in body:
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        for part in ("body", "orelse", "handlers", "finalbody", "cases"):
            for child in getattr(node, part, ()):
                inner = [child] if isinstance(child, ast.stmt) else child.body
                yield from _statements(inner)


def _beside(one: _Comment, said: Said, statements: list[ast.stmt], study: Study) -> ast.stmt | None:
    """Return the statement that a comment speaks of; what the analysis says decides."""
    if not one.alone:
        ending = [s for s in statements if s.end_lineno == one.line and _value(s) is not None]
        return ending[-1] if ending else None
    near = [s for s in statements if s.col_offset == one.column]
    after = min((s for s in near if s.lineno > one.line), key=lambda s: s.lineno, default=None)
    before = max(
        (s for s in near if (s.end_lineno or 0) < one.line), key=lambda s: s.lineno, default=None
    )
    agreeing = [
        s
        for s in (after, before)
        if s is not None
        and (value := _value(s)) is not None
        and judge(said.result, study.values.get(value, UNKNOWN))
    ]
    return agreeing[0] if agreeing else None


def _value(statement: ast.stmt) -> ast.expr | None:
    """Return the expression whose shape a comment at a statement can be about."""
    if isinstance(statement, (ast.Assign, ast.Return, ast.AnnAssign)):
        return statement.value
    return None


def _is_first(statement: ast.Assign, node: FunctionNode) -> bool:
    """Whether an assignment is to one local variable, and the first to bind it."""
    if len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
        return False
    target = statement.targets[0]
    if any(one.arg == target.id for one in arguments_of(node, stars=True)):
        return False
    first = None
    for inner in ast.walk(node):
        if isinstance(inner, (ast.Global, ast.Nonlocal)) and target.id in inner.names:
            return False
        if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
            if inner.target.id == target.id:
                return False
        if isinstance(inner, ast.Name) and inner.id == target.id:
            if not isinstance(inner.ctx, ast.Load):
                place = (inner.lineno, inner.col_offset)
                first = place if first is None else min(first, place)
    return first == (target.lineno, target.col_offset)


# What the analysis says of it ---------------------------------------------------------------------


def judge(text: spec.Spec, value: Value) -> bool | None:
    """Return whether a value has this shape; None where the analysis doesn't know enough."""
    if isinstance(value, Union):
        some = [option for option in value.options if option is not None]
        value = some[0] if len(some) == 1 else UNKNOWN
    if not isinstance(value, Tensor):
        return None if value is UNKNOWN else False
    matcher = Matcher(Facts())
    if matcher.match(text, value.shape) is not None or matcher.settle() is not None:
        return False
    items = value.shape.dims
    if any(isinstance(item, Run) for item in items):
        return None
    values = [
        e for e in text.entries if isinstance(e, spec.Axis) and isinstance(e.expr, spec.Number)
    ]
    if values and len(values) == len(text.entries):  # it may be a value: a shape has these sizes
        return all(isinstance(item, int) for item in items)
    return True


def _hints(text: spec.Spec, value: Value) -> dict[Sym, str]:
    """Return the names that a comment has for dimensions without one."""
    if not isinstance(value, Tensor) or text.groups or len(text.entries) != len(value.shape.dims):
        return {}
    found = {}
    for entry, item in zip(text.entries, value.shape.dims, strict=True):
        symbol = item.symbol if isinstance(item, Size) else None
        if symbol is None or symbol.kind is not Kind.UNKNOWN or symbol.telling:
            continue
        if isinstance(entry, spec.Axis) and isinstance(entry.expr, spec.Name):
            found[symbol] = entry.expr.id
    return found


def given(claims: Mapping[str, Claim], study: Study) -> dict[str, Value]:
    """Return values for parameters that have the shapes that are claimed."""
    matcher = Matcher(Facts())
    found: dict[str, Value] = {}
    for name, claim in claims.items():
        known = study.params.get(name, UNKNOWN)
        options = known.options if isinstance(known, Union) else (known,)
        dtype = next((o.dtype for o in options if isinstance(o, Tensor)), None)
        shape = matcher.build(claim.text, dims.name, _run)
        tensor = Tensor(shape) if dtype is None else Tensor(shape, dtype)
        found[name] = Union((tensor, None)) if may_be_none(study, name) else tensor
    return found


def _run(name: str) -> Item:
    return Run(Sym.fresh(name))


def may_be_none(study: Study, name: str) -> bool:
    """Whether a parameter may be None: by its annotation, or because that is its default."""
    value = study.params.get(name)
    if isinstance(value, Union) and None in value.options:
        return True
    for param, default in _defaults(study.function.node):
        if param.arg == name:
            return isinstance(default, ast.Constant) and default.value is None
    return False


def _defaults(node: ast.AST) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """Yield the parameters of a function, but for `*args` and `**kwargs`, with their defaults."""
    arguments: ast.arguments = node.args  # type: ignore[attr-defined]  # of a function
    positional = [*arguments.posonlyargs, *arguments.args]
    missing: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    yield from zip(positional, [*missing, *arguments.defaults], strict=True)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
