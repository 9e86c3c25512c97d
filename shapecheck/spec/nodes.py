"""What an annotation text is made of, and its text again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Number:
    """A fixed size: `3`."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class Name:
    """A named size: `channels`."""

    id: str

    def __str__(self) -> str:
        return self.id


@dataclass(frozen=True, slots=True)
class Wild:
    """Any one size, unchecked: `_` or `_anything`."""

    id: str = "_"

    def __str__(self) -> str:
        return self.id


@dataclass(frozen=True, slots=True)
class Braces:
    """The value of a Python expression over the call's arguments: `{self.d_model}`."""

    source: str

    def __str__(self) -> str:
        return "{" + self.source + "}"


@dataclass(frozen=True, slots=True)
class Negate:
    """`-x`, as in the ceiling division `-(-h//2)`."""

    operand: Expr

    def __str__(self) -> str:
        return "-" + _wrap(self.operand, _PRECEDENCE["neg"])


@dataclass(frozen=True, slots=True)
class Binary:
    """`left op right`, with op one of `+ - * // % **`."""

    op: str
    left: Expr
    right: Expr

    def __str__(self) -> str:
        rank = _PRECEDENCE[self.op]
        if self.op == "**":
            return f"{_wrap(self.left, rank + 1)}**{_wrap(self.right, rank)}"
        return f"{_wrap(self.left, rank)}{self.op}{_wrap(self.right, rank + 1)}"


@dataclass(frozen=True, slots=True)
class Call:
    """`min(a,b)` or `max(a,b)`."""

    function: str
    args: tuple[Expr, ...]

    def __str__(self) -> str:
        return f"{self.function}({','.join(map(str, self.args))})"


@dataclass(frozen=True, slots=True)
class Merge:
    """An ordered composite `(h d)`: the dimension that merging `h` and `d` in this order gives."""

    parts: tuple[Entry, ...]

    def __str__(self) -> str:
        return "(" + " ".join(map(str, self.parts)) + ")"


Expr: TypeAlias = Number | Name | Wild | Braces | Negate | Binary | Call | Merge

_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2, "neg": 3, "**": 4}


def _wrap(expr: Expr, rank: int) -> str:
    own = 9
    if isinstance(expr, Binary):
        own = _PRECEDENCE[expr.op]
    elif isinstance(expr, Negate):
        own = _PRECEDENCE["neg"]
    return f"({expr})" if own < rank else str(expr)


@dataclass(frozen=True, slots=True)
class Axis:
    """Exactly one dimension.

    `broadcast`: written `#b`, may also be 1. `leaf`: written `?b`, jaxtyping's per-leaf name.
    `label`: what stands left of `=` in `rgb=3`, for the reader.
    """

    expr: Expr
    broadcast: bool = False
    leaf: bool = False
    label: str | None = None

    def __str__(self) -> str:
        label = f"{self.label}=" if self.label is not None else ""
        return label + "#" * self.broadcast + "?" * self.leaf + str(self.expr)


@dataclass(frozen=True, slots=True)
class Group:
    """Any number of dimensions: `...` (`name` is None), `*batch`, `*#batch`, `*_rest`.

    A `*` alone is a group like any other, whose name is empty. `filled`: written `+batch`, it is
    one dimension at least.
    """

    name: str | None
    broadcast: bool = False
    leaf: bool = False
    label: str | None = None
    filled: bool = False

    @property
    def anonymous(self) -> bool:
        """Whether the group links nothing: `...` and `*_name`."""
        return self.name is None or self.name.startswith("_")

    def __str__(self) -> str:
        label = f"{self.label}=" if self.label is not None else ""
        if self.name is None:
            return label + "..."
        marks = "#" * self.broadcast + "?" * self.leaf
        star = "+" if self.filled else "*"
        return f"{label}{star}{marks}{self.name}" if self.name else f"{label}{marks}*"


Entry: TypeAlias = Axis | Group


@dataclass(frozen=True, slots=True)
class Spec:
    """A parsed annotation: one entry a dimension or group of dimensions."""

    entries: tuple[Entry, ...]

    def __str__(self) -> str:
        return " ".join(map(str, self.entries))

    @property
    def groups(self) -> int:
        """How many entries stand for any number of dimensions."""
        return sum(isinstance(entry, Group) for entry in self.entries)

    @property
    def least(self) -> int:
        """How many dimensions there are at least."""
        return sum(isinstance(entry, Axis) or entry.filled for entry in self.entries)

    def names(self) -> Iterator[str]:
        """Yield the dimension and group names in the order in which they are written."""
        for entry in self.entries:
            yield from expr_names(entry)


def bare_names(text: Spec) -> Iterator[str]:
    """Yield the names that are a dimension or a group by themselves, which says what they are."""
    for entry in text.entries:
        if not isinstance(entry, Axis) or isinstance(entry.expr, Name):
            yield from expr_names(entry)


def composed_names(text: Spec) -> Iterator[str]:
    """Yield the names that are a part of a dimension: `h` and `d` in `(h d)`, `n` in `2*n`."""
    for entry in text.entries:
        if isinstance(entry, Axis) and not isinstance(entry.expr, Name):
            yield from expr_names(entry)


def expr_names(node: Entry | Expr) -> Iterator[str]:
    """Yield the dimension and group names in one entry or expression, as they are written."""
    for part in walk(node):
        if isinstance(part, Name):
            yield part.id
        elif isinstance(part, Group) and not part.anonymous and part.name is not None:
            yield part.name


def walk(node: Entry | Expr) -> Iterator[Entry | Expr]:
    """Yield an entry or an expression and all that is in it, as it is written."""
    yield node
    match node:
        case Axis(expr=inner) | Negate(operand=inner):
            yield from walk(inner)
        case Binary(left=left, right=right):
            yield from walk(left)
            yield from walk(right)
        case Call(args=parts) | Merge(parts=parts):
            for part in parts:
                yield from walk(part)
        case _:
            pass
