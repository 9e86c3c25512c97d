"""What names in a program mean: functions, classes, modules, and what libraries call theirs."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from shapecheck.analysis.program.syntax import names_in
from shapecheck.ops.call import UNKNOWN, Opaque
from shapecheck.ops.call import Value as _Value
from shapecheck.ops.saying import a_function

if TYPE_CHECKING:
    from shapecheck.analysis.program.modules import Module
    from shapecheck.dims import DimExpr


Value: TypeAlias = _Value
"""A value of the interpreter: one that rules see (`ops.Value`), or one of its own kinds."""


class Nothing(Opaque):
    """The absence of a value, where None is one."""

    __slots__ = ()


NOTHING: Final = Nothing()


@dataclass(frozen=True, slots=True, repr=False)
class Dotted(Opaque):
    """A name of a library that isn't analysed: `torch.nn.functional`, `math.sqrt`, `len`."""

    name: str

    def __repr__(self) -> str:
        return self.name.removeprefix("builtins.")


def dotted(value: Value) -> str | None:
    """Return what a library calls a value of its own; None for any other."""
    return value.name if isinstance(value, Dotted) else None


@dataclass(frozen=True, slots=True, repr=False)
class ModuleRef(Opaque):
    """A module whose source the analysis has."""

    name: str

    def __repr__(self) -> str:
        return self.name


class Scope(Protocol):
    """The variables around a nested function, as they are when it is called."""

    def find(self, name: str) -> Value:
        """Return the value of a variable here or further out, `NOTHING` if there is none."""
        ...

    def dimension(self, name: str) -> DimExpr | None:
        """Return what a dimension name stands for here or further out."""
        ...


class Function(Opaque):
    """A function or lambda of analysed source; `owner` is the class that it is a method of.

    `home` holds the variables of the function around it, `defaults` the values of the parameters'
    defaults as they were at the definition, where there is such a function. `manages`: it is
    under `@contextmanager`.
    """

    __slots__ = ("defaults", "home", "manages", "module", "node", "owner")

    def __init__(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        module: Module,
        owner: Class | None = None,
        home: Scope | None = None,
        defaults: tuple[Value, ...] = (),
        manages: bool = False,
    ) -> None:
        self.node, self.module, self.owner = node, module, owner
        self.home, self.defaults, self.manages = home, defaults, manages

    @property
    def name(self) -> str:
        """The function's name as it is defined."""
        return getattr(self.node, "name", "lambda")

    def managing(self, manages: bool) -> Function:
        """Return the function under `@contextmanager`, or without it."""
        return Function(self.node, self.module, self.owner, self.home, self.defaults, manages)

    def default(self, node: ast.expr) -> Value:
        """Return the value of a default as it was at the definition; `NOTHING` if not kept."""
        arguments = self.node.args
        for one, value in zip(default_nodes(arguments), self.defaults, strict=False):
            if one is node:
                return value
        return NOTHING

    def captured(self) -> list[Value]:
        """Return the values of the variables around it that the function mentions."""
        return [*self.defaults, *(value for value in self.around() if value is not NOTHING)]

    def around(self) -> list[Value]:
        """Return the variables around it that the function may mention, `NOTHING` for others."""
        home = self.home
        return [] if home is None else [home.find(name) for name in sorted(names_in(self.node))]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Function)
            and self.node is other.node
            and self.home is other.home
            and self.defaults == other.defaults
            and self.manages == other.manages
        )

    def __hash__(self) -> int:
        return hash(self.node)

    def __repr__(self) -> str:
        return a_function(self.name)


def literal(node: ast.AST | None) -> Value:
    """Return the constant that an expression spells out, `UNKNOWN` where it is anything else."""
    match node:
        case ast.Constant(value=value):
            return value
    return UNKNOWN


def default_nodes(arguments: ast.arguments) -> list[ast.expr]:
    """Return the expressions of all defaults."""
    return [*arguments.defaults, *(node for node in arguments.kw_defaults if node is not None)]


class Class(Opaque):
    """A class of analysed source; `home` holds the variables of the function around it."""

    __slots__ = ("home", "module", "node")

    def __init__(self, node: ast.ClassDef, module: Module, home: Scope | None = None) -> None:
        self.node, self.module, self.home = node, module, home

    @property
    def name(self) -> str:
        """The class' name as it is defined."""
        return self.node.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Class) and self.node is other.node and self.home is other.home

    def __hash__(self) -> int:
        return hash(self.node)

    def __repr__(self) -> str:
        return f"the class {self.name}"
