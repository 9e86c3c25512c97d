"""What is found out about a function by running its body."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shapecheck.analysis.interpreter.budget import Effort
from shapecheck.analysis.program.answers import Place
from shapecheck.analysis.program.model import Function, Value
from shapecheck.analysis.program.syntax import nodes
from shapecheck.analysis.values.state import State
from shapecheck.dims import IntSize, Sym
from shapecheck.ops.call import Opaque


@dataclass(frozen=True, slots=True)
class Subject:
    """A function to be studied, with its qualified name; `nth` counts those that have it.

    `around` is the state in which a function in another one is called. `alike`: sizes that every
    construction in the module gives one expression are taken for one. `effort` is that of all that
    are studied with it.
    """

    function: Function
    qualname: str
    nth: int
    around: State | None = None
    alike: bool = False
    effort: Effort = field(default_factory=Effort)


@dataclass(slots=True)
class Study:
    """One function as the analysis sees it when it is called with any tensors.

    `params` and `result` are with all that was learned by the end, `values` what the expressions
    of the body were worth, `sizes` the sizes that an attribute of the instance or an int parameter
    has, with the expression for it. `bare` are the parameters that something shows to be tensors
    though no annotation says so, `clashes` how many errors there were on the way, `calls` the
    functions that it calls, with their arguments. `given` is what it was studied with. `nested` are
    the functions in it, with the states in which they are called. `rests_on` are the functions of
    which annotations were read, each a path and a line. `labels` are what the body calls dimensions
    that have no name where they come from.
    """

    subject: Subject
    params: dict[str, Value]
    result: Value
    values: dict[ast.expr, Value]
    sizes: dict[IntSize, str]
    bare: set[str] = field(default_factory=set)
    clashes: int = 0
    calls: list[tuple[Function, dict[str, Value]]] = field(default_factory=list)
    given: Mapping[str, Value] = field(default_factory=dict)
    nested: list[tuple[Function, State]] = field(default_factory=list)
    rests_on: frozenset[Place] = frozenset()
    labels: Mapping[Sym, str] = field(default_factory=dict)

    @property
    def function(self) -> Function:
        """The function."""
        return self.subject.function

    @property
    def nodes(self) -> Sequence[ast.AST]:
        """The nodes of its syntax."""
        return nodes(self.function.node)

    @property
    def qualname(self) -> str:
        """Its name, with the classes and functions around it."""
        return self.subject.qualname

    @property
    def nth(self) -> int:
        """How many functions of that name are above it."""
        return self.subject.nth


@dataclass(frozen=True, slots=True)
class ListOf(Opaque):
    """A list of which each item is this."""

    element: Value
