"""What is known of a decorated function once its annotations are read."""

from __future__ import annotations

import ast
import builtins
import inspect
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shapecheck import spec
from shapecheck.dims import Composite, Dim, DimExpr, Size, Sym
from shapecheck.runtime.annotations.hints import (
    Hint,
    MaybeHint,
    OtherHint,
    TensorHint,
    TupleHint,
    surroundings,
)
from shapecheck.shapes import Facts, Matcher
from shapecheck.tensor_spec import ShapeAnnotationError


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter: its name, kind and default (as in `inspect.Parameter`), what it must be.

    The default is right whatever the annotation says, as in `mask: Float[Tensor, "b"] = None`.
    """

    name: str
    kind: Any
    hint: Hint
    default: Any = inspect.Parameter.empty


_RECEIVERS = frozenset(("self", "cls"))


@dataclass(eq=False, slots=True)
class Plan:
    """Everything about one decorated function.

    `own` are names that belong to the instance, `dims` those that are `Dim` objects, `enclosing`
    what `{...}` mentions of where it stands. `entries` remembers, by the arguments' shapes and
    names, what a call's names are (see `boundary.frames`).
    `variables`: its annotated local variables are checked. `namesakes` are the parameters without
    a shape that are called like a dimension, and their places; `merged` are the ordered composites
    in the annotations. `code` is that of the function as it is written, `numbers` says whether it
    may take sizes.
    """

    function: types.FunctionType
    label: str
    params: tuple[Param, ...]
    result: Hint
    own: frozenset[str] = frozenset()
    dims: Mapping[str, Dim] = field(default_factory=dict)
    enclosing: Mapping[str, Any] = field(default_factory=dict)
    expressions: dict[str, Expression] = field(default_factory=dict)
    entries: dict[object, Any] = field(default_factory=dict)
    steady: bool = True
    variables: bool = False
    namesakes: tuple[tuple[int, str], ...] = field(init=False)
    merged: tuple[Composite, ...] = field(init=False)
    code: types.CodeType | None = field(init=False)
    numbers: bool = field(init=False)

    def __post_init__(self) -> None:
        self.code = getattr(inspect.unwrap(self.function), "__code__", None)
        self.numbers = any(
            not isinstance(param.hint, TensorHint | MaybeHint) and param.name not in _RECEIVERS
            for param in self.params
        )
        hints = [self.result, *(param.hint for param in self.params)]
        shapes = [tensor.spec.shape for hint in hints for tensor in tensor_hints(hint)]
        names = {name for shape in shapes for name in shape.names()}
        self.namesakes = tuple(
            (index, param.name)
            for index, param in enumerate(self.params)
            if param.name in names and not tensor_hints(param.hint) and param.kind not in _STARS
        )

        found = (
            Matcher(Facts(), names=self._names(entry.expr)).value(entry.expr)
            for shape in shapes
            for entry in shape.entries
            if isinstance(entry, spec.Axis) and isinstance(entry.expr, spec.Merge)
        )
        self.merged = tuple(dict.fromkeys(one for one in found if isinstance(one, Composite)))

    def _names(self, expr: spec.Expr) -> dict[str, DimExpr]:
        return {name: self.size(name) for name in spec.expr_names(expr)}

    def lengths(self, values: Sequence[Any]) -> dict[str, int]:
        """Return the arguments that are ints and are called like a dimension."""
        given = ((name, values[index]) for index, name in self.namesakes)
        return {name: value for name, value in given if type(value) is int}

    def symbol(self, name: str) -> Sym:
        """Return what a dimension name of this function is inside of shapes."""
        dim = self.dims.get(name)
        size = None if dim is None else dim.dim
        symbol = size.symbol if isinstance(size, Size) else None
        return Sym(name) if symbol is None else symbol

    @property
    def fixed(self) -> dict[str, int]:
        """The names whose size is the same in all calls: `Dim("vocab", size=50257)`."""
        sizes = {name: dim.size for name, dim in self.dims.items()}
        return {name: size for name, size in sizes.items() if isinstance(size, int)}

    def shared(self, values: Mapping[Sym, int]) -> dict[str, DimExpr]:
        """Return the names that mean the same dimension where these symbols have a value."""
        return {name: self.size(name) for name in self.dims if self.symbol(name) in values}

    def size(self, name: str) -> Size:
        """Return a dimension name of this function as a size."""
        return Size.of(self.symbol(name))

    def expression(self, source: str) -> Expression:
        """Return a `{...}` expression, compiled. Raises `ShapeAnnotationError`."""
        found = self.expressions.get(source)
        if found is None:
            found = self.expressions[source] = Expression(self, source)
        return found


class Expression:
    """A `{...}` expression, compiled once; `names` are the parameters in it."""

    def __init__(self, plan: Plan, source: str) -> None:
        self.source = source
        self.label = plan.label
        params = {param.name for param in plan.params}
        tree = ast.parse(source, mode="eval")
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        self.names = sorted(used & params)
        around: Mapping[str, Any] = {}
        if used - params:
            around = {**surroundings(plan.function), **plan.enclosing}
            missing = [n for n in used - params if n not in around and not hasattr(builtins, n)]
            if missing:
                raise ShapeAnnotationError(
                    f'"{{{source}}}" in the annotations of "{plan.label}" mentions '
                    f'"{missing[0]}", which is no argument of it and no global name'
                )
        # No more than it asks for: what else is around may be a tensor that is let go later.
        scope = {name: around[name] for name in (used - params) & around.keys()}
        code = compile(f"lambda {', '.join(self.names)}: ({source}\n)", "<shapecheck>", "eval")
        self.function: Callable[..., Any] = eval(code, scope)

    def __call__(self, scope: Mapping[str, Any]) -> int:
        """Return the value over the call's arguments."""
        try:
            return operator.index(self.function(*(scope[name] for name in self.names)))
        except Exception as error:
            raise ShapeAnnotationError(
                f'"{{{self.source}}}" in the annotations of "{self.label}" has no size here: '
                f"{type(error).__name__}: {error}"
            ) from error


def tensor_hints(hint: Hint) -> tuple[TensorHint, ...]:
    """Return the tensors with declared shapes that stand in a hint at known places."""
    match hint:
        case TensorHint():
            return (hint,)
        case MaybeHint(tensor=tensor):
            return (tensor,)
        case TupleHint(items=items):
            return tuple(tensor for item in items for tensor in tensor_hints(item))
        case _:
            return ()


def is_wrapper(function: Callable[..., Any]) -> bool:
    """Whether a function stands for another, whose signature it shows but may not have."""
    return hasattr(function, "__wrapped__") or hasattr(function, "__signature__")


def kind_of(function: Callable[..., Any]) -> str:
    """Return whether a function is `plain`, `async`, a `generator` or an `async generator`."""
    if inspect.iscoroutinefunction(function):
        return "async"
    if inspect.isgeneratorfunction(function):
        return "generator"
    return "async generator" if inspect.isasyncgenfunction(function) else "plain"


def gives_its_result(function: Callable[..., Any]) -> bool:
    """Whether a function gives what its annotation says, as one that wraps another may not.

    `@contextmanager` makes no generator of one, and a plain function around an async one returns a
    coroutine.
    """
    kind, written = kind_of(function), kind_of(inspect.unwrap(function))
    return kind == written or (kind == "async" and written == "plain")


def is_steady(params: tuple[Param, ...]) -> bool:
    """Whether the shapes of the plain tensor arguments decide all names of a call."""
    return not any(
        (isinstance(param.hint, OtherHint) and param.hint.tensors)
        or isinstance(param.hint, TupleHint)
        or (param.hint is not None and param.kind in _STARS)
        for param in params
    )


def says_names(plan: Plan) -> bool:
    """Whether a function has dimension names of its own; in one without, its caller's count."""
    hints = [plan.result, *(param.hint for param in plan.params)]
    said = any(h is not None and (not isinstance(h, OtherHint) or h.tensors) for h in hints)
    code = getattr(inspect.unwrap(plan.function), "__code__", None)
    return (
        said
        or bool(plan.own)
        or plan.variables
        or not _SAYING.isdisjoint(getattr(code, "co_names", ()))
    )


_SAYING = frozenset(("assert_shape", "named", "isinstance"))
"""What gives names in a body."""

_STARS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def entry_spread(
    text: spec.Spec, rank: int, lengths: Mapping[str, int]
) -> list[tuple[spec.Entry, int, int]] | None:
    """Say which axes each entry of an annotation stands for; None where it isn't certain.

    `lengths` are those of the groups that are known.
    """
    counts: list[int | None] = []
    for entry in text.entries:
        if isinstance(entry, spec.Axis):
            counts.append(1)
        else:
            exact = not entry.anonymous and not entry.broadcast and text.groups > 1
            counts.append(lengths.get(entry.name or "") if exact else None)
    if counts.count(None) > 1:
        return None
    rest = rank - sum(count for count in counts if count is not None)
    if rest < 0 or (None not in counts and rest):
        return None
    found: list[tuple[spec.Entry, int, int]] = []
    at = 0
    for entry, count in zip(text.entries, counts, strict=True):
        width = rest if count is None else count
        found.append((entry, at, at + width))
        at += width
    return found
