"""The parser of the annotation language."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Final, NoReturn

from shapecheck.spec.nodes import (
    Axis,
    Binary,
    Braces,
    Call,
    Entry,
    Expr,
    Group,
    Merge,
    Name,
    Negate,
    Number,
    Spec,
    Wild,
)


class SpecError(ValueError):
    """An annotation text that is not in the language.

    `reason` says what is wrong and what is allowed; `text[start:end]` is the offending token.
    """

    def __init__(self, reason: str, text: str, start: int, end: int) -> None:
        self.reason = reason
        self.text = text
        self.start = start
        self.end = max(end, start + 1)
        super().__init__(reason)

    def __str__(self) -> str:
        return f'in "{self.text}": {self.reason}'


@lru_cache(maxsize=4096)
def parse(text: str) -> Spec:
    """Parse an annotation text such as `"*batch h//2 3"`.

    Raises `SpecError`, which names the offending token and says what is allowed.
    """
    return _spec(text, 0, len(text), is_pattern=False)


@lru_cache(maxsize=1024)
def parse_pattern(text: str) -> tuple[tuple[Spec, ...], Spec | None]:
    """Parse an einops pattern `"b c, c d -> (b d)"` into its inputs and its output.

    The output is None where the pattern has no arrow. Raises `SpecError`.
    """
    head, arrow, tail = text.partition("->")
    if "->" in tail:
        at = text.index("->", len(head) + 2)
        raise SpecError("a pattern has one '->'", text, at, at + 2)
    inputs = []
    start = 0
    for piece in head.split(","):
        inputs.append(_spec(text, start, start + len(piece)))
        start += len(piece) + 1
    output = _spec(text, len(head) + 2, len(text)) if arrow else None
    return tuple(inputs), output


def _spec(text: str, start: int, stop: int, is_pattern: bool = True) -> Spec:
    return Spec(_Parser(text, is_pattern).entries(start, stop))


_TOKEN = re.compile(
    r"(?P<name>[^\W\d]\w*)|(?P<number>\d+(?:_\d+)*)|(?P<op>\*\*|//|\.\.\.|->|[-+*/%(),=#?{}.])|(?P<other>.)",
    re.DOTALL,
)
_BORDER: Final = re.compile(r"[\w.)]\(|\)\w")
"""Where einops has an axis end without a space, between two characters."""
_NAMED: Final = re.compile(r"[#?]*[^\W\d]\w*")
_ALLOWED: Final = (
    "allowed are names, integers, '+ - * // % **', 'min(a,b)', 'max(a,b)', '(a b)', "
    "'{expression}', '*name', '+name', '#name', '_' and '...'"
)
_INSTEAD: Final = {
    ",": "dimensions are separated by spaces, not commas",
    ":": "a dimension has no type; write names separated by spaces",
    ";": "dimensions are separated by spaces, not semicolons",
    "|": "alternatives aren't part of a shape; write a union of two annotations",
    "->": "'->' belongs into einops patterns; an annotation describes one tensor",
    "/": "sizes are integers: use '//' for division",
    "^": "use '**' for powers",
    "@": "'@' isn't arithmetic on sizes; use '*' for products",
    ".": "write '...' for any number of dimensions, or '{...}' around a Python expression",
    "...": "'...' stands alone; put a space before it",
    "[": "an index needs braces around the Python expression, such as '{sizes[0]}'",
    "]": "names need no brackets around them",
    "{": "'{...}' is a whole size; an operator or a space is missing before it",
    "}": "'}' without '{'",
    "'": "names need no quotes",
    '"': "names need no quotes",
    "<": "a condition isn't part of a shape; check it in the body",
    ">": "a condition isn't part of a shape; check it in the body",
    "#": "'#' stands before the whole dimension, once: '#b'",
    "?": "'?' stands before the whole dimension, once: '?b'",
    "=": "'=' takes a plain name on its left, and one size on its right: 'name=size'",
}
_BEFORE: Final = {
    ",": "a size is missing before ','; dimensions are separated by spaces, not commas",
    "=": "a name is missing before '='",
    "[": "names need no brackets around them",
    "<": "write a name, or '{...}' around a Python expression",
}
_NEGATIVE: Final = "a size can't be negative; arithmetic is written without spaces: 'h-1'"
_ONE_LABEL: Final = "one '=' is enough: 'name=size'"
_DIGITS: Final = 18
_MOST_OPERATORS: Final = 64
"""As many operators one dimension has: each is a step further down in the tree."""
_DEEPEST: Final = 24
"""As deep brackets stand in each other."""
_UNMARKED: Final = Group("")


def _spaced(operator: str) -> str:
    return f"arithmetic is written without spaces: 'h{operator}w'"


class _Parser:
    """A recursive-descent parser over one text; all positions are offsets into it.

    In a pattern of einops, a group needs a name.
    """

    def __init__(self, text: str, is_pattern: bool) -> None:
        self.text = text
        self.is_pattern = is_pattern
        self.at = 0
        self.stop = 0
        self.depth = 0
        self.operators = 0

    def fail(self, reason: str, start: int, end: int | None = None) -> NoReturn:
        raise SpecError(reason, self.text, start, start + 1 if end is None else end)

    def entries(self, start: int, stop: int) -> tuple[Entry, ...]:
        """Parse `text[start:stop]` as entries separated by white space."""
        return tuple(self.entry(first, last) for first, last in self.pieces(start, stop))

    def pieces(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges between white space that stands outside of brackets.

        In a pattern, brackets need no space before or behind them.
        """
        first: int | None = None
        open_at: list[int] = []
        at = start
        while at < stop:
            char = self.text[at]
            if first is not None and not open_at and self.is_pattern:
                if _BORDER.match(self.text, at - 1):
                    yield first, at
                    first = None
            if char == "{":
                if first is None:
                    first = at
                at = self.braces_end(at, stop)
            elif char == "(":
                open_at.append(at)
            elif char == ")":
                if not open_at:
                    self.fail("')' without '('", at)
                open_at.pop()
            if char.isspace() and not open_at:
                if first is not None:
                    yield first, at
                    first = None
            elif first is None:
                first = at
            at += 1
        if open_at:
            self.fail("'(' is never closed", open_at[-1])
        if first is not None:
            yield first, stop

    def braces_end(self, start: int, stop: int) -> int:
        """Return the offset of the '}' that closes the '{' at `start`."""
        depth = 0
        quote = ""
        escaped = False
        for at in range(start, stop):
            char = self.text[at]
            if quote:
                quote = "" if char == quote and not escaped else quote
                escaped = char == "\\" and not escaped
            elif char in "'\"":
                quote = char
            elif char == "{":
                depth += 1
            elif char == "}":
                depth -= 1
                if not depth:
                    return at
        self.fail("'{' is never closed", start)

    def entry(self, start: int, stop: int) -> Entry:
        """Parse one entry: modifiers and a label in any order, then an expression."""
        self.at, self.stop = start, stop
        star, marks = self.marks(start, stop)
        if self.at == stop:
            return self.nameless(start, stop, star, marks)
        if self.peek()[1] == "...":
            marked = star or marks.broadcast or marks.leaf
            return self.ellipsis(start, stop, marked, marks.label)
        if star or self.peek()[1] in ("*", "**"):
            return self.group(start, stop, marks)
        return self.axis(start, stop, marks)

    def marks(self, start: int, stop: int) -> tuple[bool, Group]:
        """Parse what stands before a name: whether it is a group, and what is said of it.

        The name is `_` so far where it is anonymous.
        """
        star = broadcast = leaf = anonymous = filled = False
        label: str | None = None
        while True:
            kind, token = self.peek()
            if token == "_" and self.text[self.at + 1 : stop][:1] in ("*", "?"):
                anonymous = True
            elif token == "*" and not star:
                star = True
            elif token == "+" and not star and self.is_group_of(stop):
                star = filled = True
            elif token == "#" and not broadcast:
                broadcast = True
            elif token == "?" and not leaf:
                leaf = True
            elif kind == "name" and self.text[self.at + len(token) : stop][:1] == "=":
                if label is not None:
                    self.fail(_ONE_LABEL, self.at, stop)
                label = self.label(token, start, stop)
                continue
            else:
                break
            self.at += 1
        if self.at == start:
            return False, _UNMARKED
        anonymous = anonymous or (label or "").startswith("_")
        return star, Group("_" * anonymous, broadcast, leaf, label, filled)

    def is_group_of(self, stop: int) -> bool:
        """Whether the `+` here stands before a name alone, and is no arithmetic."""
        named = _NAMED.fullmatch(self.text, self.at + 1, stop) is not None
        return named and not self.depth and not self.is_pattern

    def label(self, name: str, start: int, stop: int) -> str:
        self.at += len(name) + 1
        if self.at == stop:
            self.fail(f"'{name}=' needs a size after it", start, stop)
        if self.peek()[1] == "=":
            self.fail(_ONE_LABEL, self.at, stop)
        return name

    def axis(self, start: int, stop: int, marks: Group) -> Axis:
        """Parse an expression, and see that the marks before it go with it."""
        if not self.depth:
            self.operators = 0
        expr = self.sum()
        if marks.name and isinstance(expr, Name):
            expr = Wild(f"_{expr.id}")
        if self.at != stop:
            self.unexpected()
        if marks.broadcast and isinstance(expr, Wild):
            self.fail("'#' needs a name or a size: '_' is never checked", start, stop)
        if marks.leaf and not isinstance(expr, Name | Wild):
            self.fail("'?' takes one name, such as '?b'", start, stop)
        if isinstance(expr, Negate) and isinstance(expr.operand, Number) and not self.depth:
            self.fail(_NEGATIVE, start, stop)
        return Axis(expr, marks.broadcast, marks.leaf, marks.label)

    def ellipsis(self, start: int, stop: int, marked: bool, label: str | None) -> Group:
        if marked:
            self.fail("'...' takes no '*', '#' or '?'", start, stop)
        self.at += 3
        if self.at != stop:
            self.fail("'...' stands alone; put a space after it", start, stop)
        return Group(None, label=label)

    def nameless(self, start: int, stop: int, star: bool, group: Group) -> Group:
        """Return the group that a `*` is that stands alone: one whose name is empty."""
        if star and not self.depth and not self.is_pattern:
            return self.checked(start, stop, group)
        spaced = f"; {_spaced('*')}" if star else ""
        self.fail(f"'{self.text[start:stop]}' needs a name after it{spaced}", start, stop)

    def group(self, start: int, stop: int, marks: Group) -> Group:
        """Parse the name of a group, behind the `_` that it may begin with."""
        kind, token = self.peek()
        if kind != "name" or self.at + len(token) != stop:
            self.fail("'*' takes one name, such as '*batch'", start, stop)
        name = token if token.startswith("_") else f"{marks.name}{token}"
        return self.checked(start, stop, replace(marks, name=name))

    def checked(self, start: int, stop: int, group: Group) -> Group:
        if group.broadcast and group.anonymous:
            self.fail("'#' needs a name: an anonymous group is never checked", start, stop)
        return group

    def peek(self) -> tuple[str, str]:
        if self.at >= self.stop:
            return "end", ""
        match = _TOKEN.match(self.text, self.at, self.stop)
        assert match is not None and match.lastgroup is not None
        return match.lastgroup, match.group()

    def unexpected(self) -> NoReturn:
        kind, token = self.peek()
        start, end = self.at, self.at + len(token)
        if token in _INSTEAD:
            self.fail(_INSTEAD[token], start, end)
        if token in ("+", "*", "//", "%", "**"):
            self.fail(f"'{token}' needs a size before it; {_spaced(token)}", start, end)
        if kind in ("name", "number") or token == "(":
            self.fail(f"an operator or a space is missing before '{token}'", start, end)
        self.fail(f"'{token}' isn't part of the language; {_ALLOWED}", start, end)

    def sum(self) -> Expr:
        start = self.at
        left = self.product()
        while (token := self.peek()[1]) in ("+", "-"):
            left = self.binary(token, left, start)
        return left

    def product(self) -> Expr:
        start = self.at
        left = self.unary()
        while (token := self.peek()[1]) in ("*", "//", "%"):
            left = self.binary(token, left, start)
        return left

    def binary(self, token: str, left: Expr, start: int) -> Expr:
        """Parse an operator and its right operand."""
        self.scalar(left, start)
        self.operator(token)
        start = self.at
        right = self.product() if token in "+-" else self.unary()
        self.scalar(right, start)
        if token in ("//", "%") and right == Number(0):
            self.fail("no size can be divided by 0", start, self.at)
        return Binary(token, left, right)

    def unary(self) -> Expr:
        start = self.at
        if self.peek()[1] == "-":
            self.operator("-")
            return Negate(self.scalar(self.unary(), start + 1))
        base = self.atom()
        if self.peek()[1] != "**":
            return base
        self.scalar(base, start)
        self.operator("**")
        start = self.at
        return Binary("**", base, self.scalar(self.unary(), start))

    def operator(self, token: str) -> None:
        start = self.at
        self.at += len(token)
        self.operators += 1
        if self.at >= self.stop:
            self.fail(f"'{token}' needs a size after it; {_spaced(token)}", start, self.at)
        if self.operators > _MOST_OPERATORS:
            self.fail(f"a dimension has up to {_MOST_OPERATORS} operators", start, self.at)

    def scalar(self, expr: Expr, start: int) -> Expr:
        """Refuse what has no arithmetic, where an operand begins at `start`."""
        if isinstance(expr, Merge):
            self.fail(
                "an ordered composite '(a b)' takes no arithmetic; use 'a*b' for its size",
                start,
                self.at,
            )
        if isinstance(expr, Wild):
            self.fail("'_' takes no arithmetic: it is never checked", start, self.at)
        return expr

    def atom(self) -> Expr:
        kind, token = self.peek()
        start = self.at
        if kind == "number":
            return self.number(token)
        if kind == "name":
            self.at += len(token)
            if self.peek()[1] == "(":
                return self.call(token, start)
            return Wild(token) if token.startswith("_") else Name(token)
        if token == "{":
            return self.braces()
        if token == "(":
            return self.parentheses()
        if token in _BEFORE:
            self.fail(_BEFORE[token], start)
        self.unexpected()

    def number(self, token: str) -> Expr:
        start = self.at
        self.at += len(token)
        kind, word = self.peek()
        if kind == "name":
            self.fail(
                f"a name can't begin with a digit; write '{token}*{word}' for a product",
                start,
                self.at + len(word),
            )
        if word == ".":
            self.fail("a size is an integer", start, self.stop)
        if len(token) > _DIGITS:
            self.fail(
                f"no dimension is that large; a size has up to {_DIGITS} digits", start, self.at
            )
        return Number(int(token))

    def braces(self) -> Expr:
        start = self.at
        end = self.braces_end(start, self.stop)
        source = self.text[start + 1 : end].strip()
        self.at = end + 1
        if not source:
            self.fail("'{}' needs a Python expression in it", start, end + 1)
        try:
            ast.parse(source, mode="eval")
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            self.fail(f"'{source}' isn't a Python expression", start, end + 1)
        return Braces(source)

    def closing(self, start: int) -> int:
        """Return the offset of the ')' that closes the '(' at `start`."""
        depth = 0
        at = start
        while at < self.stop:
            char = self.text[at]
            if char == "{":
                at = self.braces_end(at, self.stop)
            elif char == "(":
                depth += 1
            elif char == ")":
                depth -= 1
                if not depth:
                    return at
            at += 1
        self.fail("'(' is never closed", start)

    def parentheses(self) -> Expr:
        """Parse `(h+w)` as grouping, and `(h d)`, `()` as an ordered composite."""
        start, outer = self.at, self.stop
        self.deeper(start)
        end = self.closing(start)
        parts = self.entries(start + 1, end)
        self.depth -= 1
        self.at, self.stop = end + 1, outer
        if any(part.broadcast or part.leaf or part.label is not None for part in parts):
            self.fail("'#', '?' and '=' stand before the parenthesis", start, end + 1)
        if len(parts) == 1 and isinstance(part := parts[0], Axis):
            return part.expr
        for part in parts:
            expr = part.expr if isinstance(part, Axis) else None
            if isinstance(expr, Negate) and isinstance(expr.operand, Number):
                self.fail(_NEGATIVE, start, end + 1)
        return Merge(parts)

    def call(self, function: str, start: int) -> Expr:
        if function not in ("min", "max"):
            self.fail(
                f"'{function}(...)' isn't known; use min, max, or '{{{function}(...)}}' "
                "for a Python expression",
                start,
                self.closing(self.at) + 1,
            )
        outer = self.stop
        self.deeper(start)
        end = self.closing(self.at)
        args: list[Expr] = []
        self.at, self.stop = self.at + 1, end
        while not args or self.at < end:
            self.space()
            first = self.at
            if self.peek()[1] in ("", ","):
                break
            args.append(self.scalar(self.sum(), first))
            self.space()
            if self.at < end and self.text[self.at] != ",":
                self.fail(f"the sizes in {function}() are separated by commas", first, self.at + 1)
            self.at += 1
        if len(args) < 2 or self.at < end or self.text[end - 1] == ",":
            self.fail(f"{function}() needs two sizes or more: '{function}(a,b)'", start, end + 1)
        self.depth -= 1
        self.at, self.stop = end + 1, outer
        return Call(function, tuple(args))

    def deeper(self, start: int) -> None:
        """Go into brackets that begin at `start`."""
        self.depth += 1
        if self.depth > _DEEPEST:
            self.fail("the expression is nested too deeply", start)

    def space(self) -> None:
        while self.at < self.stop and self.text[self.at].isspace():
            self.at += 1
