"""Notes what each expression of a module is worth while a part of it is checked."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from operator import attrgetter
from typing import Final, TypeAlias

from shapecheck.analysis.findings import Group
from shapecheck.analysis.host import Span
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Function, Value
from shapecheck.analysis.program.modules import Module
from shapecheck.analysis.program.report import Reporter
from shapecheck.analysis.values.model import Argument, Content, OneOf
from shapecheck.analysis.values.state import State
from shapecheck.dims import Untold
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import only
from shapecheck.shapes import Facts, Item, Tensor, has_run, symbols_of


class Grade(IntEnum):
    """How much is known of a value, the worst last."""

    OTHER = 0
    KNOWN = 1
    PARTIAL = 2
    OPAQUE = 3
    BLANK = 4


@dataclass(slots=True)
class Observed:
    """The value that an expression had, how much was known of it, and in which state that was.

    `plain` is what was known as the annotations stand, where groups in them were spelled out.
    """

    grade: Grade
    value: Value
    state: State
    plain: Observed | None = None

    @property
    def is_lost(self) -> bool:
        """Whether it is a tensor of which something isn't known, or isn't known at all."""
        return self.grade >= Grade.PARTIAL

    @property
    def is_known(self) -> bool:
        """Whether it is a tensor of which all is known."""
        return self.grade is Grade.KNOWN

    @property
    def held(self) -> Content:
        """What the heap held for the value."""
        return self.state.content(self.value)

    @property
    def shape(self) -> str | None:
        """Its shape as text, as far as that is known."""
        plain = None if self.plain is None else self.plain.shape
        return plain or _shape(self.value, self.state.facts)


@dataclass(frozen=True, slots=True)
class Analysis:
    """A module, what its expressions were, and where its errors are.

    `too_long`: the functions that took too many steps to be looked into.
    """

    module: Module
    observed: Mapping[ast.AST, Observed]
    errors: frozenset[Span]
    too_long: frozenset[ast.AST]


_Checks: TypeAlias = dict[Reporter | None, tuple[Value, State]]
"""What an expression was last worth in each check of its function; each has its own reporter."""


class Watcher:
    """Notes what the expressions of a module are worth in bodies that are reported on.

    And which functions took too many steps to be looked into to their ends.
    """

    sees_all = False

    def __init__(self, module: Module) -> None:
        self._module = module
        self._seen: dict[ast.AST, _Checks] = {}
        self.too_long: set[ast.AST] = set()

    def evaluated(self, frame: Frame, node: ast.expr, value: Value) -> None:
        """Take note of what an expression is worth: in a loop, the last time."""
        if frame.budget.failed:
            self.too_long.update(frame.budget.failed)
        if (frame.quiet and frame.unsaid) or frame.module is not self._module:
            return  # a loop's last round may be quiet, and is asked whether there is anything
        checks = self._seen.get(node)
        if checks is None:
            checks = self._seen[node] = {}
        checks[self._module.reporter] = (value, frame.state)

    def called(self, frame: Frame, function: Function, bound: Mapping[str, Argument]) -> None:
        """Calls don't matter here."""

    def analysis(self, said: Iterable[Group]) -> Analysis:
        """Return what was seen of the module, of which errors are said."""
        errors = frozenset(group[0].span for group in said if group[0].severity == "error")
        observed = {node: _best(checks) for node, checks in self._seen.items()}
        return Analysis(self._module, observed, errors, frozenset(self.too_long))


def _best(checks: _Checks) -> Observed:
    """Return what is known of an expression: as it stands, or with the groups spelled out."""
    # decisions.md, "What counts as a known shape"
    first, *spelled_out = [
        Observed(_grade(value, state.facts), value, state) for value, state in checks.values()
    ]
    if not spelled_out:
        return first
    best = min(first, max(spelled_out, key=_GRADE), key=_GRADE)
    return Observed(best.grade, best.value, best.state, first)


_GRADE: Final = attrgetter("grade")


def _grade(value: Value, facts: Facts) -> Grade:
    match value:
        case OneOf(options=options):
            grades = (_grade(tensor, facts) for tensor in only(options, Tensor))
            return max(grades, default=Grade.OTHER)
        case Tensor(shape=shape):
            items = facts.items(shape.dims)
            if all(map(is_named, items)):
                return Grade.KNOWN
            opaque = not any(map(is_named, items)) and has_run(items)
            return Grade.OPAQUE if opaque else Grade.PARTIAL
    return Grade.BLANK if value is UNKNOWN else Grade.OTHER


def _shape(value: Value, facts: Facts) -> str | None:
    """Return what is known of a tensor's shape, None where nothing is or it is no tensor."""
    match value:
        case OneOf(options=options):
            shapes = (_shape(tensor, facts) for tensor in only(options, Tensor))
            return " | ".join(dict.fromkeys("..." if one is None else one for one in shapes))
        case Tensor():
            shape = facts.shape(value.shape)
            return None if shape.opaque else shape.text()
    return None


def is_named(item: Item) -> bool:
    """Whether a dimension is made of numbers and of symbols that have a name, or are as good.

    An axis of a parameter of which no annotation says any is as good as named: it is told from all
    others. So is a row of such axes, which an annotation would call `*batch`.
    """
    return all(one.has_name or isinstance(one.origin, Untold) for one in symbols_of(item))
