"""Straight-line code for single values: unpack a shape, compare, bind names to local variables."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from shapecheck import spec
from shapecheck.runtime.annotations.hints import Hint, MaybeHint, OtherHint, TensorHint, TupleHint
from shapecheck.runtime.annotations.plan import Plan
from shapecheck.spec.objects import ObjectName


class Unusual(Exception):
    """An annotation that straight-line code can't decide."""


class NoFit(Exception):
    """Raised by generated code where a value doesn't fit."""


def parameters(
    function: Callable[..., Any], mark: str | None = None
) -> tuple[str, str, dict[str, Any]]:
    """Return Python for a function's parameters, for passing them on, and the defaults in it.

    The names of the defaults begin with `mark`.
    """
    head: list[str] = []
    passed: list[str] = []
    defaults: dict[str, Any] = {}
    star = False
    given = list(inspect.signature(function).parameters.values())
    mark = mark_apart(parameter.name for parameter in given) if mark is None else mark
    for index, parameter in enumerate(given):
        name = parameter.name
        default = ""
        if parameter.default is not parameter.empty:
            holder = f"{mark}default_{name}"
            defaults[holder] = parameter.default
            default = f"={holder}"
        if parameter.kind is parameter.VAR_POSITIONAL:
            head.append(f"*{name}")
            passed.append(f"*{name}")
            star = True
        elif parameter.kind is parameter.VAR_KEYWORD:
            head.append(f"**{name}")
            passed.append(f"**{name}")
        elif parameter.kind is parameter.KEYWORD_ONLY:
            if not star:
                head.append("*")
                star = True
            head.append(name + default)
            passed.append(f"{name}={name}")
        else:
            head.append(name + default)
            passed.append(name)
            after = given[index + 1 : index + 2]
            only = parameter.POSITIONAL_ONLY
            if parameter.kind is only and not (after and after[0].kind is only):
                head.append("/")
    return ", ".join(head), ", ".join(passed), defaults


def mark_apart(names: Iterable[str]) -> str:
    """Return underscores that none of the names begins with."""
    mark = "_"
    taken = list(names)
    while any(name.startswith(mark) for name in taken):
        mark += "_"
    return mark


class Writer:
    """Collects lines of code, and the objects that they refer to.

    `bound` are the names that have a local variable (False: only where an optional value is
    given), `groups` likewise. `pending` are comparisons that wait for names.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.lines: list[str] = []
        self.depth = 0
        self.space: dict[str, Any] = {}
        self.mark = mark_apart(param.name for param in plan.params)
        self.bound: dict[str, bool] = {}
        self.groups: set[str] = set()
        self.count = 0
        self.pending: list[tuple[spec.Axis, str]] = []

    def emit(self, line: str) -> None:
        """Write a line at the depth at hand."""
        self.lines.append("    " * self.depth + line)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Write a head line; what is written inside of `with` is its block."""
        self.emit(head)
        self.depth += 1
        yield
        self.depth -= 1

    def give(self, value: Any, hint: str) -> str:
        """Return the name under which the code finds an object."""
        for name, known in self.space.items():
            if known is value:
                return name
        name = f"{self.mark}{hint}"
        if name in self.space:
            name += str(len(self.space))
        self.space[name] = value
        return name

    def fresh(self, hint: str = "t") -> str:
        """Return the name of a new local variable."""
        self.count += 1
        return f"{self.mark}{hint}{self.count}"

    # Values --------------------------------------------------------------------------------------

    def value(self, source: str, hint: Hint) -> None:
        """Check one value; raises `Unusual` where straight-line code can't."""
        if hint is not None:
            _CHECK[type(hint)](self, source, hint)

    def optional(self, source: str, hint: MaybeHint) -> None:
        """Check a tensor that may be None."""
        with self.block(f"if {source} is not None:"):
            self.tensor(source, hint.tensor, certain=False)

    def row(self, source: str, hint: TupleHint) -> None:
        """Check a tuple, and each of its items."""
        parts = [self.fresh("i") for _ in hint.items]
        no = self.give(NoFit, "NoFit")
        with self.block(f"if not isinstance({source}, tuple):"):
            self.emit(f"raise {no}")
        self.emit(f"{', '.join(parts)}, = {source}")
        for part, item in zip(parts, hint.items, strict=True):
            self.value(part, item)

    def other(self, source: str, hint: OtherHint) -> None:
        """Check the class of what isn't a tensor."""
        with self.block(f"if not isinstance({source}, {self.give(hint.quick, 'quick')}):"):
            self.emit(f"raise {self.give(NoFit, 'NoFit')}")

    def tensor(self, source: str, hint: TensorHint, certain: bool = True) -> None:
        """Check a tensor; `certain`: in any case, not only where an optional value is given."""
        entries = hint.spec.shape.entries
        wrong = [f"not isinstance({source}, {self.give(hint.cls, 'cls')})"]
        if hint.admits is not None:
            wrong.append(f"{source}.dtype not in {self.give(hint.admits, 'dtypes')}")
        targets: list[str] = []
        after: list[str] = []
        middle: str | None = None
        if hint.spec.shape.groups > 1 or any(entry.leaf for entry in entries):
            raise Unusual
        for entry in entries:
            if isinstance(entry, spec.Group):
                middle = self.run(entry, targets, after, certain)
            else:
                self.axis(entry, targets, wrong, after, certain)
        if not entries:
            wrong.append(f"{source}.ndim")
        elif middle is not None and len(entries) == 1:
            self.emit(f"{middle} = {source}.shape")
        else:
            self.emit(f"{', '.join(targets)}, = {source}.shape")
        with self.block(f"if {' or '.join(wrong)}:"):
            self.emit(f"raise {self.give(NoFit, 'NoFit')}")
        for line in after:
            self.emit(line)

    def run(self, entry: spec.Group, targets: list[str], after: list[str], certain: bool) -> str:
        """Take the dimensions of a group, and compare or bind them."""
        if entry.broadcast:
            raise Unusual
        run = self.fresh("g")
        targets.append(f"*{run}")
        if entry.filled:
            after.append(f"if not {run}: raise {self.give(NoFit, 'NoFit')}")
        name = entry.name
        if entry.anonymous or name is None:
            return run
        sizes = self.give(tuple, "tuple")
        if name in self.groups:
            no = self.give(NoFit, "NoFit")
            after.append(f"if {sizes}({run}) != {self.group(name)}: raise {no}")
        elif certain:
            self.groups.add(name)
            after.append(f"{self.group(name)} = {sizes}({run})")
        else:
            raise Unusual
        return run

    def axis(
        self,
        entry: spec.Axis,
        targets: list[str],
        wrong: list[str],
        after: list[str],
        certain: bool,
    ) -> None:
        """Take one dimension, and compare or bind it."""
        expr = entry.expr
        if isinstance(expr, spec.Wild):
            targets.append(self.fresh("_"))
            return
        if isinstance(expr, spec.Name) and not entry.broadcast:
            name = expr.id
            variable = self.var(name)
            if name not in self.bound and certain:
                self.bound[name] = True
                targets.append(variable)
                return
            taken = self.fresh()
            targets.append(taken)
            if self.bound.get(name):
                wrong.append(f"{taken} != {variable}")
                return
            self.bound.setdefault(name, False)
            after.append(f"if {variable} is None: {variable} = {taken}")
            after.append(f"elif {taken} != {variable}: raise {self.give(NoFit, 'NoFit')}")
            return
        taken = self.fresh()
        targets.append(taken)
        if isinstance(expr, spec.Number):
            one = f" and {taken} != 1" if entry.broadcast else ""
            wrong.append(f"{taken} != {expr.value}{one}")
            return
        self.later(entry, taken, certain)

    def later(self, entry: spec.Axis, taken: str, certain: bool) -> None:
        """Compare a dimension with an expression once all names are bound."""
        if not certain:
            raise Unusual
        self.pending.append((entry, taken))

    def finish(self) -> None:
        """Write the comparisons that had to wait for names."""
        pending, self.pending = self.pending, []
        wrong = []
        for entry, taken in pending:
            if any(not self.bound.get(name) for name in _names(entry.expr)):
                raise Unusual
            value = self.expression(entry.expr)
            one = f" and {taken} != 1" if entry.broadcast else ""
            wrong.append(f"{taken} != {value}{one}")
        if wrong:
            with self.block(f"if {' or '.join(wrong)}:"):
                self.emit(f"raise {self.give(NoFit, 'NoFit')}")

    def expression(self, expr: spec.Expr) -> str:
        """Return Python for the value of an expression whose names are bound."""
        write = _EXPRESSION.get(type(expr))
        if write is None:
            raise Unusual
        return write(self, expr)

    def binary(self, expr: spec.Binary) -> str:
        """Return Python for an operator with two operands."""
        return f"({self.expression(expr.left)} {expr.op} {self.expression(expr.right)})"

    def call(self, expr: spec.Call) -> str:
        """Return Python for `min` or `max`."""
        name = self.give({"min": min, "max": max}[expr.function], expr.function)
        return f"{name}({', '.join(map(self.expression, expr.args))})"

    def merge(self, expr: spec.Merge) -> str:
        """Return Python for the size of what is merged: a product."""
        factors = []
        for part in expr.parts:
            if isinstance(part, spec.Axis):
                factors.append(self.expression(part.expr))
            elif part.name in self.groups:
                factors.append(f"{self.give(math.prod, 'prod')}({self.group(part.name)})")
            else:
                raise Unusual
        return f"({' * '.join(factors) or '1'})"

    def braces(self, source: str) -> str:
        """Return Python for the value of a `{...}` expression over the arguments."""
        expression = self.plan.expression(source)
        name = self.give(expression.function, "braces")
        return f"{name}({', '.join(expression.names)})"

    def key_of(self, values: list[tuple[str, Hint]]) -> str | None:
        """Return Python for what decides whether values fit: shapes, dtypes, `{...}` values."""
        parts: list[str] = []
        sources: dict[str, None] = {}
        for source, hint in values:
            if isinstance(hint, TensorHint | MaybeHint):
                tensor = hint.tensor if isinstance(hint, MaybeHint) else hint
                one = f"{source}.shape, {source}.dtype, {self.give(type, 'type')}({source})"
                if isinstance(hint, MaybeHint):
                    one = f"None if {source} is None else ({one})"
                parts.append(one)
                for entry in tensor.spec.shape.entries:
                    braces = [one for one in spec.walk(entry) if isinstance(one, spec.Braces)]
                    sources.update(dict.fromkeys(one.source for one in braces))
            elif isinstance(hint, OtherHint) and not hint.tensors:
                continue  # checked by itself
            elif hint is not None:
                return None
        parts += [self.braces(source) for source in sources]
        kind = self.give(type, "type")
        parts += [f"{name} if {kind}({name}) is int else None" for _, name in self.plan.namesakes]
        return "(" + "".join(f"{part}, " for part in parts) + ")"

    def var(self, name: str) -> str:
        """Return the local variable of a dimension name; objects that are called alike have two."""
        which = name.symbol.serial if isinstance(name, ObjectName) else ""
        return f"{self.mark}v_{name}{which}"

    def key(self, name: str) -> str:
        """Return Python for a dimension name."""
        return self.give(name, "n") if isinstance(name, ObjectName) else repr(name)

    def group(self, name: str) -> str:
        """Return the local variable of a group."""
        return f"{self.mark}r_{name}"


def _names(expr: spec.Expr) -> Iterator[str]:
    """Yield the dimension names in an expression; those of groups are no dimensions."""
    if isinstance(expr, spec.Merge):
        for part in expr.parts:
            if isinstance(part, spec.Axis):
                yield from _names(part.expr)
    else:
        yield from spec.expr_names(expr)


_CHECK: Final[Mapping[type[object], Callable[[Writer, str, Any], None]]] = {
    TensorHint: Writer.tensor,
    MaybeHint: Writer.optional,
    TupleHint: Writer.row,
    OtherHint: Writer.other,
}
"""Writes the check of a value, by the kind of its hint."""
_EXPRESSION: Final[Mapping[type[object], Callable[[Writer, Any], str]]] = {
    spec.Number: lambda writer, expr: str(expr.value),
    spec.Name: lambda writer, expr: writer.var(expr.id),
    spec.Braces: lambda writer, expr: writer.braces(expr.source),
    spec.Negate: lambda writer, expr: f"(-{writer.expression(expr.operand)})",
    spec.Binary: Writer.binary,
    spec.Call: Writer.call,
    spec.Merge: Writer.merge,
}
"""Writes the value of an expression, by its kind; what isn't here straight-line code can't do."""
