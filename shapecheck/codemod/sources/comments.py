"""Which comment speaks of which value, and whether the analysis agrees with what it says."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import Final, TypeAlias

import shapecheck.dims as dims
from shapecheck import dtypes, spec
from shapecheck.analysis.annotations.declarations import arguments_of
from shapecheck.analysis.annotations.prose import (
    LONGEST,
    Said,
    are_components,
    are_letters,
    comment,
    is_of_result,
    named,
    names_in,
)
from shapecheck.analysis.program.syntax import nodes, nodes_of
from shapecheck.analysis.study.model import Study
from shapecheck.analysis.values.model import OneOf
from shapecheck.codemod.sources.static import tensors_in, variables
from shapecheck.dims import Kind, Size, Sym, symbol_of
from shapecheck.ops import UNKNOWN, Value
from shapecheck.shapes import Facts, Item, Matcher, Run, Tensor, has_run


@dataclass(frozen=True, slots=True)
class Claim:
    """A shape that the code is said to have somewhere, and the line that says so.

    `of_tensor`: it is said to be that of a tensor, and of no array. `category`: of which elements
    that is, where it is said.
    """

    text: spec.Spec
    line: int
    of_tensor: bool = False
    category: str = ""


@dataclass(slots=True)
class Claims:
    """What is said of one function: of parameters, of what it returns, of its locals.

    `results` is what is said of each item of a tuple that it returns. A local stands for its first
    assignment, with the expression that is assigned. `hints` are names for dimensions that have
    none in the code. `waits`: something is said of a value of which nothing is known, so that it
    may count once more is annotated.
    """

    params: dict[str, Claim] = field(default_factory=dict)
    result: Claim | None = None
    results: list[Claim] = field(default_factory=list)
    locals: dict[str, tuple[Claim, ast.expr]] = field(default_factory=dict)
    hints: dict[Sym, str] = field(default_factory=dict)
    waits: bool = False


@dataclass(frozen=True, slots=True)
class _Comment:
    line: int
    column: int
    text: str
    alone: bool


FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Comments:
    """The comments of a module, read once."""

    def __init__(self, text: str) -> None:
        self._said: dict[int, tuple[_Comment, Said]] = {}
        self._every = list(_tokens(text))
        self._names = {name for one in self._every for name in names_in(one.text)}
        open_ends = {one.line for one in self._every if one.text.rstrip().endswith("->")}
        self._becomes = {one.line for one in self._every if one.line - 1 in open_ends}
        self._naming = {one: some for one in self._every if (some := [*named(one.text)])}
        for one in self._every:
            said = comment(one.text, self._names)
            if said is not None:
                self._said[one.line] = one, said

    def of(self, study: Study) -> Claims:
        """Return what the comments in a function say, as far as the analysis doesn't object."""
        node = study.function.node
        found = Claims()
        if isinstance(node, ast.Lambda):
            return found
        spelling = Spelling(study)
        self._parameters(node, study, spelling, found)
        self._result(node, study, spelling, found)
        first, last = node.body[0].lineno, node.end_lineno or node.lineno
        read = set(self._named(node, study, spelling, found))
        lines = [n for n in self._said if first - 1 <= n <= last + 1 and n not in read]
        if not lines:
            return found
        statements, are_given = list(_statements(node.body)), _as_given(node, study)
        returned: list[Claim | None] = []
        undecided: list[ast.Assign] = []
        for line in lines:
            one, said = self._said[line]
            is_step = bool(said.inputs) or line in self._becomes
            beside = _beside(one, statements, is_step)
            near = [(s, v, study.values.get(v, UNKNOWN)) for s, v in beside]
            undecided += [
                statement
                for statement, _, known in near
                if isinstance(statement, ast.Assign) and judge(said.result, known) is None
            ]
            if one.alone:  # what the analysis says decides
                near = [(s, v, known) for s, v, known in near if judge(said.result, known)]
            if not near:
                continue
            statement, value, known = near[0]
            text = spelling.of(said.result)
            if isinstance(value, ast.Name) and value.id in are_given(line):  # shortcut = x
                is_sure = said.sure or are_letters(said.result)
                if judge(text, known) or (is_sure and judge(text, known) is None):
                    text = spelling.of(said.result, known)
                    found.params.setdefault(value.id, Claim(text, line, category=said.category))
                continue
            if not _agrees(text, said, known) or spelling.merges(text, known):
                continue
            found.hints.update(spelling.hints(text, known))
            if isinstance(statement, ast.Return):
                text = spelling.of_result(text, known)
                returned.append(Claim(text, line, category=said.category))
            elif isinstance(known, Tensor):  # and no array
                name = _first_bound(statement, node, study)
                if name is not None:
                    found.locals[name] = Claim(text, line, category=said.category), value
        waiting = (one.targets[0] for one in undecided if _is_first(one, node))
        found.waits |= any(ast.unparse(target) not in found.locals for target in waiting)
        returns = [s for s in statements if isinstance(s, ast.Return) and s.value is not None]
        if len(returned) == len(returns) == 1:
            found.result = found.result or returned[0]
        return found

    def behind(self, statement: ast.stmt) -> Claim | None:
        """Return the shape that is said behind a statement of which no value is known."""
        one, said = self._said.get(statement.end_lineno or 0, (None, None))
        if one is None or said is None or one.alone or said.inputs or not said.sure:
            return None
        return Claim(said.result, one.line, category=said.category)

    def _parameters(
        self, node: FunctionNode, study: Study, spelling: Spelling, found: Claims
    ) -> None:
        """Read the comments behind the parameters of a definition of several lines."""
        ends = Counter(line for _, line in _parameter_ends(node))
        for name, line in _parameter_ends(node):
            if line not in self._said or ends[line] > 1 or line >= node.body[0].lineno:
                continue
            one, said = self._said[line]
            value = study.params.get(name, UNKNOWN)
            text = spelling.of(said.result, value)
            is_other = one.alone or said.inputs or is_of_result(one.text)
            if is_other or judge(text, value) is False:
                continue
            if said.sure or not self._may_be_prose(said.result):
                found.params[name] = Claim(text, line, category=said.category)

    def _result(self, node: FunctionNode, study: Study, spelling: Spelling, found: Claims) -> None:
        """Read the comment behind the head of a definition: `# -> Float["b d"]`."""
        for line in range(node.lineno, node.body[0].lineno):
            one, said = self._said.get(line, (None, None))
            if one is None or said is None or not is_of_result(one.text) or not said.sure:
                continue
            text = spelling.of(said.result)
            if judge(text, study.result) is not False:
                text = spelling.of_result(text, study.result)
                found.result = Claim(text, line, category=said.category)

    def _named(
        self, node: FunctionNode, study: Study, spelling: Spelling, found: Claims
    ) -> Iterator[int]:
        """Read comments that name parameters, `# q: (b, t, d), k: (b, s, d)`; yield their lines.

        They do as long as the names stand for the arguments, and what is said for one case only
        isn't so in others.
        """
        last = node.end_lineno or node.lineno
        comments = [one for one in self._naming if node.lineno <= one.line <= last]
        if not comments:
            return
        are_given = _as_given(node, study)
        for one in comments:
            given_here = are_given(one.line)
            for name, said in self._naming[one]:
                may_be_prose = not said.category and self._may_be_prose(said.result)
                if name not in given_here or may_be_prose:
                    continue
                yield one.line
                value = study.params.get(name, UNKNOWN)
                text = spelling.of(said.result, value)
                if judge(text, value) is not False:
                    claim = Claim(text, one.line, category=said.category)
                    found.params.setdefault(name, claim)

    def _may_be_prose(self, text: spec.Spec) -> bool:
        """Whether what stands behind a parameter may be a remark: a word, numbers, components."""
        names = list(text.names())
        if not names or are_components(text):
            return True
        is_told = names[0].isupper() or "_" in names[0] or names[0] in self._names
        return len(text.entries) < 2 and not is_told


class Spelling:
    """How the code of a function spells dimensions that a text speaks of.

    `B` is `b` where the code has it so, and `*B` where that is several sizes: `B = x.shape[:-1]`.
    """

    def __init__(self, study: Study) -> None:
        self._study = study

    @cached_property
    def _code(self) -> frozenset[str]:
        """What sizes may be called in the code: no variable that is a tensor, no name of one."""
        node = self._study.function.node
        attributes = {n.attr for n in nodes(node) if isinstance(n, ast.Attribute)}
        return (variables(node) - tensors_in(self._study)) | attributes

    @cached_property
    def _labels(self) -> dict[str, str]:
        """The names that dimensions have in the code, by what they are in small letters."""
        found: dict[str, str] = {}
        for value in (*self._study.params.values(), *self._study.values.values()):
            for item in value.shape.dims if isinstance(value, Tensor) else ():
                symbols = () if isinstance(item, Run) else dims.symbols(item)
                for name in (symbol.name for symbol in symbols if symbol.has_name):
                    if name in self._code:  # and of no op's signature
                        is_one = found.get(name.lower(), name) == name
                        found[name.lower()] = name if is_one else ""
        return found

    @cached_property
    def _groups(self) -> set[str]:
        return _groups(self._study)

    @cached_property
    def _given(self) -> dict[Sym, str]:
        """The dimensions of the parameters, with the names that they have, if any."""
        found: dict[Sym, str] = {}
        for value in self._study.params.values():
            for item in value.shape.dims if isinstance(value, Tensor) else ():
                symbol = symbol_of(item)
                if symbol is not None:
                    is_told = symbol.kind is Kind.NAME or symbol.name in self._code
                    found[symbol] = symbol.name if is_told else ""
        return found

    def of(self, text: spec.Spec, value: Value = UNKNOWN) -> spec.Spec:
        """Return a shape as the code would spell it, as far as this is what the value has."""
        others = self._others(text, value)
        renamed = {n: self._labels.get(n.lower()) or n for n in text.names()}
        renamed |= {n: n for n in others}
        groups = [entry for entry in text.entries if str(entry) in self._groups]
        if len(groups) + text.groups > 1 or len(set(renamed.values())) < len(renamed):
            return text
        renamed |= {str(entry): f"*{entry}" for entry in groups}
        ints = {text for text in self._study.sizes.values() if text.isidentifier()}
        renamed |= {name: f"{{{name}}}" for name in text.names() if name in ints}
        words = (renamed.get(word, word) for word in re.split(r"(\{[^}]*\}|\w+)", str(text)))
        return spec.parse("".join(words))

    def _others(self, text: spec.Spec, value: Value) -> set[str]:
        """Return the names in a text of axes that are none of those that the code has names for.

        `H` is no `h` after `h = x.shape[2] // 16`.
        """
        found: set[str] = set()
        items = value.shape.dims if isinstance(value, Tensor) else ()
        for entry, item in zip(text.entries, items, strict=False):
            if isinstance(item, Run):
                break
            symbol = symbol_of(item)
            if isinstance(entry, spec.Axis) and isinstance(entry.expr, spec.Name):
                if symbol is not None and not symbol.has_name:
                    found.add(entry.expr.id)
        return found

    def of_result(self, text: spec.Spec, value: Value) -> spec.Spec:
        """Return a shape of what a function gives, its axes called as they are in the parameters.

        In `# (B, tokens, C)` behind `return x.flatten(2)`, `B` and `C` may be `b` and `c`.
        """
        found = self._axes(text, value)
        named = {name: self._given[next(iter(some))] for name, some in found.items()}
        renamed = {name: named.get(name) or name for name in text.names()}
        if len({*renamed.values()}) < len(renamed) or self.merges(text, value):
            return text
        words = re.split(r"(\{[^}]*\}|\w+)", str(text))
        return spec.parse("".join(renamed.get(word, word) for word in words))

    def merges(self, text: spec.Spec, value: Value) -> bool:
        """Whether a text has one name for what are several dimensions of the parameters."""
        return any(len(symbols) > 1 for symbols in self._axes(text, value).values())

    def _axes(self, text: spec.Spec, value: Value) -> dict[str, set[Sym]]:
        """Return the dimensions of parameters that a text has names for in this value."""
        found: dict[str, set[Sym]] = {}
        if isinstance(value, Tensor) and len(text.entries) == len(value.shape.dims):
            for entry, item in zip(text.entries, value.shape.dims, strict=True):
                symbol = symbol_of(item)
                if isinstance(entry, spec.Axis) and isinstance(entry.expr, spec.Name):
                    if symbol in self._given:
                        found.setdefault(entry.expr.id, set()).add(symbol)
        return found

    def hints(self, text: spec.Spec, value: Value) -> dict[Sym, str]:
        """Return the names that a text has for dimensions which the code has no names for."""
        if not isinstance(value, Tensor) or text.groups:
            return {}
        if len(text.entries) != len(value.shape.dims):
            return {}
        found = {}
        for entry, item in zip(text.entries, value.shape.dims, strict=True):
            symbol = symbol_of(item)
            if symbol is None or symbol.kind is not Kind.UNKNOWN:
                continue
            if symbol.has_name and symbol.name.rpartition(".")[2] in self._code:
                continue
            if isinstance(entry, spec.Axis) and isinstance(entry.expr, spec.Name):
                found[symbol] = entry.expr.id
        return found


def _groups(study: Study) -> set[str]:
    """Return the variables that are several sizes wherever they are assigned."""
    found: dict[str, bool] = {}
    for node in nodes(study.function.node):
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Name):
                is_several = _are_sizes(study.values.get(node.value))  # type: ignore[attr-defined]
                found[target.id] = is_several and found.get(target.id, True)
            else:
                starred = {id(n.value) for n in ast.walk(target) if isinstance(n, ast.Starred)}
                for one in ast.walk(target):
                    if isinstance(one, ast.Name):
                        found[one.id] = id(one) in starred and found.get(one.id, True)
    return {name for name, is_several in found.items() if is_several}


def _are_sizes(value: Value) -> bool:
    sizes = value if isinstance(value, tuple) else ()
    return bool(sizes) and all(isinstance(one, (int, Size, Run)) for one in sizes)


def _tokens(text: str) -> Iterator[_Comment]:
    if "#" not in text:
        return
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and len(token.string) <= LONGEST:
                line, column = token.start
                alone = not token.line[:column].strip()
                yield _Comment(line, column, token.string, alone)
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return


def _as_given(node: FunctionNode, study: Study) -> Callable[[int], set[str]]:
    """Return what says which parameters are what a call has given, whatever the case, on a line."""
    until = dict.fromkeys(study.params, node.end_lineno or node.lineno)
    for name in nodes_of(ast.Name, node):
        if not isinstance(name.ctx, ast.Load) and name.id in until:
            until[name.id] = min(until[name.id], name.lineno - 1)
    apart = (*_SCOPES, ast.If, ast.Match, ast.ExceptHandler)
    inside = [one for one in nodes(node) if isinstance(one, apart) and one is not node]

    def on(line: int) -> set[str]:
        is_apart = any(one.lineno <= line <= (one.end_lineno or one.lineno) for one in inside)
        return set() if is_apart else {name for name, last in until.items() if line <= last}

    return on


def _parameter_ends(node: FunctionNode) -> Iterator[tuple[str, int]]:
    """Yield the parameters with the lines on which they end, defaults included."""
    for one, default in _defaults(node):
        yield one.arg, (default or one).end_lineno or one.lineno


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a body in order, without those of nested functions and classes."""
    for node in body:
        yield node
        if isinstance(node, _SCOPES):
            continue
        for part in ("body", "orelse", "handlers", "finalbody", "cases"):
            for child in getattr(node, part, ()):
                inner = [child] if isinstance(child, ast.stmt) else child.body
                yield from _statements(inner)


def _beside(
    one: _Comment, statements: list[ast.stmt], is_step: bool
) -> list[tuple[ast.stmt, ast.expr]]:
    """Return the statements that a comment can speak of, the likeliest first, with their values.

    `is_step`: it says what becomes of what, and so speaks of what is done below.
    """
    if one.alone:
        near = [s for s in statements if s.col_offset == one.column]
        after = [s for s in near if s.lineno > one.line]
        before = [s for s in near if (s.end_lineno or 0) < one.line and not is_step]
        found = [
            *sorted(after, key=lambda s: s.lineno)[:1],
            *sorted(before, key=lambda s: s.lineno)[-1:],
        ]
        return [(s, value) for s in found if (value := _value(s)) is not None]
    ending = [s for s in statements if s.end_lineno == one.line]
    return [(s, value) for s in ending[::-1] if (value := _value(s)) is not None][:1]


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
    for inner in nodes(node):
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


def _first_bound(statement: ast.stmt, node: FunctionNode, study: Study) -> str | None:
    """Return the variable that a statement is the first to bind, and that is only for tensors."""
    if not isinstance(statement, ast.Assign) or not _is_first(statement, node):
        return None
    return ast.unparse(statement.targets[0]) if _stays_tensor(statement, node, study) else None


def _stays_tensor(statement: ast.Assign, node: FunctionNode, study: Study) -> bool:
    """Whether a variable isn't None, or another thing than a tensor, anywhere else."""
    name = ast.unparse(statement.targets[0])
    others = [
        one.value
        for one in nodes(node)
        if isinstance(one, ast.Assign) and any(ast.unparse(t) == name for t in one.targets)
    ]
    values = [study.values.get(one, UNKNOWN) for one in others]
    return not any(isinstance(one, ast.Constant) for one in others) and all(
        value is UNKNOWN or isinstance(value, Tensor) for value in values
    )


# What the analysis says of it ---------------------------------------------------------------------


def _agrees(text: spec.Spec, said: Said, value: Value) -> bool:
    """Whether the analysis confirms a comment, or leaves it open where the comment is sure."""
    agrees = judge(text, value)
    return said.sure if agrees is None else agrees


def judge(text: spec.Spec, value: Value) -> bool | None:
    """Return whether a value has this shape; None where the analysis doesn't know enough."""
    if isinstance(value, OneOf):
        some = [option for option in value.options if option is not None]
        value = some[0] if len(some) == 1 else UNKNOWN
    if not isinstance(value, Tensor):
        return None if value is UNKNOWN else False
    matcher = Matcher(Facts())
    if matcher.match(text, value.shape) is not None or matcher.settle() is not None:
        return False
    items = value.shape.dims
    if has_run(items):
        return None
    if any(_is_number(entry) and _is_chosen(item) for entry, item in _paired(text, items)):
        return False
    if items and all(map(_is_number, text.entries)):  # it may be a value: a shape has them
        return all(isinstance(item, int) for item in items)
    return True


def _paired(text: spec.Spec, items: Sequence[Item]) -> Iterator[tuple[spec.Entry, Item]]:
    """Yield the axes of a text that no group stands before, or behind, each with what it fits."""
    yield from zip(takewhile(_is_axis, text.entries), items, strict=False)
    yield from zip(takewhile(_is_axis, reversed(text.entries)), reversed(items), strict=False)


def _is_axis(entry: spec.Entry) -> bool:
    return isinstance(entry, spec.Axis)


def _is_number(entry: spec.Entry) -> bool:
    return isinstance(entry, spec.Axis) and isinstance(entry.expr, spec.Number)


def _is_chosen(item: Item) -> bool:
    """Whether a size is as a caller has it, so that a number says what it is by default."""
    return not isinstance(item, Run) and any(one.kind is Kind.OWN for one in dims.symbols(item))


def given(claims: Mapping[str, Claim], study: Study) -> dict[str, Value]:
    """Return values for parameters that have the shapes that are claimed."""
    matcher = Matcher(Facts())
    found: dict[str, Value] = {}
    for name, claim in claims.items():
        known = study.params.get(name, UNKNOWN)
        options = known.options if isinstance(known, OneOf) else (known,)
        dtype = next((o.dtype for o in options if isinstance(o, Tensor)), None)
        if claim.category:
            said = dtypes.CATEGORIES[claim.category]
            dtype = (dtype or dtypes.ANY) & said or said
        shape = matcher.build(claim.text, dims.name, _run)
        tensor = Tensor(shape) if dtype is None else Tensor(shape, dtype)
        found[name] = OneOf((tensor, None)) if may_be_none(study, name) else tensor
    return found


def _run(name: str) -> Item:
    return Run(Sym.fresh(name))


def may_be_none(study: Study, name: str) -> bool:
    """Whether a parameter may be None: by its annotation, or because that is its default."""
    value = study.params.get(name)
    if isinstance(value, OneOf) and None in value.options:
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
