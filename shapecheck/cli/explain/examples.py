"""Examples of ops: arguments that fit a signature, and the shapes that the op's own rule gives.

Where a signature doesn't say which arguments make sense, its `@example` does, as `tensors |
arguments`: a shape for each tensor (`Int` before it where it holds indices), and the arguments as
in source text; names that are no tensor are sizes. Of a module, the constructor's arguments stand
first, `arguments | tensors`, and the tensors are what `forward` takes.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

import shapecheck.dims as dims
from shapecheck import dtypes, explain, spec
from shapecheck.analysis import Options, Source, inspect
from shapecheck.cli.explain.invented import invented
from shapecheck.cli.explain.lookup import Op
from shapecheck.cli.explain.programs import PROGRAMS
from shapecheck.dims import Size
from shapecheck.hints import Operand
from shapecheck.ops import UNKNOWN, DType, Repeated, Value
from shapecheck.ops import Scalar as Number
from shapecheck.shapes import Facts, Matcher, Mismatch, Shape, Tensor, has_run
from shapecheck.shapes.model import Item
from shapecheck.signatures import StubError, Table

_TRIES: Final = 300
_METHODS: Final = "torch.Tensor."
_HEADER: Final = """\
import torch
from torch import Tensor, nn
from shapecheck import Bool, Float, Int
"""
_SHORT: Final = {"torch.nn.functional.": "F.", "torch.nn.": "nn.", _METHODS: ""}
_OPERATORS: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
}


@dataclass(frozen=True, slots=True)
class Example:
    """A call with named tensors, and what comes out.

    `tensors`: the shapes of those that are given, by name. `call`: the source text. `result`: what
    the rule says of it, or where `is_error`, why it can't be; `notes`: what would help.
    """

    tensors: tuple[tuple[str, str], ...]
    call: str
    result: str
    is_error: bool = False
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Call:
    """A call as source text, `init` being the constructor's arguments, and its tensors by name."""

    op: Op
    init: str
    arguments: str
    tensors: dict[str, Tensor] = field(default_factory=dict)
    is_property: bool = False

    def label(self) -> str:
        """Return what messages call the op: as it is written."""
        if self.op.operator:
            return self.op.operator
        name = self.op.name
        for long, short in _SHORT.items():
            if name.startswith(long):
                name = short + name.removeprefix(long)
                break
        return f"{name}({self.init})" if self.op.is_class else name

    def text(self) -> str:
        """Return the call as people write it."""
        label = self.label()
        if self.op.operator and self.op.operator != "[]":
            left, comma, right = self.arguments.partition(", ")
            return f"{left} {label} {right}" if comma else f"{label}{left}"
        if self.op.name.startswith(_METHODS):
            first, _, rest = self.arguments.partition(",")
            if self.op.name.endswith(".__getitem__"):
                return f"{first}[:, 0]"
            return f"{first}.{label}" + ("" if self.is_property else f"({rest.strip()})")
        return f"{label}({self.arguments})"

    def apply(self, table: Table) -> Value:
        """Return what the op's own rule says; raises `Mismatch` where it can't be.

        None where the arguments don't fit the signature.
        """
        args, kwargs = self.evaluated(self.arguments)
        if not self.op.is_class:
            signature = table.signature(self.op.name)
            if signature is None:
                return None
            return signature.apply(Facts(), args, kwargs, self.label())
        module = table.lookup_class(self.op.name)
        attributes = None if module is None else module.construct(*self.evaluated(self.init))
        forward = None if module is None else module.method("forward")
        if attributes is None or forward is None:
            return None
        return forward.apply(Facts(), args, kwargs, self.label(), attributes)

    def evaluated(self, text: str) -> tuple[list[Value], dict[str, Value]]:
        """Return the values of arguments in source text."""
        call = ast.parse(f"f({text})", mode="eval").body
        assert isinstance(call, ast.Call)
        return (
            [self._value(node) for node in call.args],
            {str(keyword.arg): self._value(keyword.value) for keyword in call.keywords},
        )

    def _value(self, node: ast.expr) -> Value:
        match node:
            case ast.Name(id=name):
                return self.tensors.get(name) or dims.name(name)
            case ast.Attribute(attr=name):
                return DType(dtypes.of(name))
            case ast.BinOp(left=left, op=op, right=right):
                made: Value = _OPERATORS[type(op)](self._value(left), self._value(right))
                return made
            case ast.Tuple(elts=elts):
                return tuple(map(self._value, elts))
            case ast.List(elts=elts):
                return list(map(self._value, elts))
            case ast.Call(func=ast.Name(id="slice")):
                return slice(None)
        literal: Value = ast.literal_eval(node)
        return literal


def examples_of(table: Table, op: Op) -> list[Example]:
    """Return a call that fits and, where one is found, one that can't be; none if none fits."""
    is_property = not op.is_class and table.is_property(op.name)
    for call in islice(_calls(table, op), _TRIES):
        call.is_property = is_property
        try:
            found = call.apply(table)
        except Mismatch:
            continue
        if _is_known(found):
            good = Example(_shown(call), call.text(), describe(found))
            return [good, *islice(_failures(table, call), 1)]
    return followed(op.name)


def followed(name: str) -> list[Example]:
    """Return an example of what the analysis follows by itself, none if none is written down."""
    tensors, bar, call = PROGRAMS.get(name, "").partition(" | ")
    if not bar:
        return []
    given = [tuple(map(str.strip, part.split(":"))) for part in tensors.split(";")]
    takes = ", ".join(f"{name}: {_annotated(text)}" for name, text in given)
    text = f"{_HEADER}def f({takes}) -> None:\n    result = {call}\n    result\n"
    bodies = inspect(Source("example", "example.py", text), _Nowhere(), Options())
    for seen in (seen for body in bodies for seen in body.seen):
        if seen.span.line == text.count("\n") and seen.shape is not None:
            shown = tuple((name, describe(_tensor(text))) for name, text in given)
            return [Example(shown, call, f"({seen.shape})")]
    return []


class _Nowhere:
    """A host that has no other modules."""

    def source(self, module: str) -> None:
        """Return nothing for any module."""


def _annotated(text: str) -> str:
    kind, _, rest = text.partition(" ")
    known = kind in dtypes.CATEGORIES
    return f'{kind}[Tensor, "{rest}"]' if known else f'Float[Tensor, "{text}"]'


def _calls(table: Table, op: Op) -> Iterator[_Call]:
    """Yield calls that may make sense: the one that is written down, or else invented ones.

    Ops that one rule decides are called alike; those that only share a signature aren't.
    """
    is_by_rule = any("Rule[" in definition.text for definition in op.definitions)
    alike = (op.name, *(op.others if is_by_rule else ()))
    names = (spelled for name in alike for spelled in _spellings(name))
    written = next(filter(None, map(table.examples().get, names)), None)
    if written is not None:
        yield _read(op, written)
        return
    for parts in invented(op):
        yield _call(op, *parts)


def _read(op: Op, written: str) -> _Call:
    """Return the call that is written down; raises `StubError` where it can't be read."""
    try:
        call = _call(op, *_parts(op, written))
        for text in (call.init, call.arguments):
            call.evaluated(text)
    except (spec.SpecError, SyntaxError, ValueError, KeyError):
        at = op.definitions[0]
        raise StubError(at.path, at.line, f"the example can't be read: {written}") from None
    return call


def _call(op: Op, init: str, tensors: str, arguments: str) -> _Call:
    call = _Call(op, init, arguments)
    for part in filter(None, map(str.strip, tensors.split(";"))):
        name, _, text = part.partition(":")
        call.tensors[name] = _tensor(text.strip())
    return call


def _spellings(name: str) -> Iterator[str]:
    """Yield a name, and those of a method's function, and of the op that isn't in place."""
    for one in (name, name.removesuffix("_")):
        yield one
        if one.startswith(_METHODS):
            yield f"torch.{one.removeprefix(_METHODS)}"


def _parts(op: Op, written: str) -> tuple[str, str, str]:
    """Return the constructor's arguments, the tensors, and the arguments of a written example."""
    first, _, second = (part.strip() for part in written.partition(" | "))
    if not op.is_class:
        return "", first, second
    names = (part.partition(":")[0].strip() for part in second.split(";"))
    return first, second, ", ".join(names)


def _tensor(text: str) -> Tensor:
    """Return a tensor from `b t d` or `Int b t`."""
    kind, _, rest = text.partition(" ")
    dtype = dtypes.CATEGORIES.get(kind)
    parsed = spec.parse(text if dtype is None else rest)
    matcher = Matcher(Facts(), dims.own)
    shape = matcher.build(parsed, dims.name, lambda name: Shape.unknown().dims[0])
    return Tensor(shape, dtypes.FLOAT if dtype is None else dtype)


def _shown(call: _Call) -> tuple[tuple[str, str], ...]:
    return tuple((name, describe(tensor)) for name, tensor in call.tensors.items())


def _is_known(value: Value) -> bool:
    """Whether there is something to show in a value."""
    if isinstance(value, (tuple, list)):
        return any(map(_is_known, value))
    if isinstance(value, Repeated):
        return _is_known(value.element)
    if isinstance(value, Tensor):
        return not has_run(value.shape.dims)
    return isinstance(value, (int, Size, Number, DType)) or (
        isinstance(value, dict) and bool(value)
    )


def describe(value: Value) -> str:
    """Return a value as a reader of shapes sees it: `(b t d)`, `(n) Int64`, `[(b 3), (b 7)]`."""
    if isinstance(value, Tensor):
        kind = dtypes.describe(value.dtype)
        plain = value.dtype in (dtypes.FLOAT, dtypes.ANY) or value.dtype & dtypes.FLOAT
        return str(value) if plain else f"{value} {kind}"
    if isinstance(value, tuple):
        return f"({', '.join(map(describe, value))})"
    if isinstance(value, list):
        return f"[{', '.join(map(describe, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{k!r}: {describe(v)}' for k, v in value.items())}}}"
    if isinstance(value, Repeated):
        return f"{value.count} times {describe(value.element)}"
    if isinstance(value, DType):
        return dtypes.describe(value.dtypes)
    if isinstance(value, Number):
        return "a number"
    return "unknown" if value is UNKNOWN else str(value)


def _failures(table: Table, call: _Call) -> Iterator[Example]:
    """Yield calls that are like one that fits, and can't be."""
    for name, tensor in reversed(call.tensors.items()):
        for shape in _spoiled(tensor.shape.dims):
            tensors = {**call.tensors, name: Tensor(Shape(shape), tensor.dtype)}
            other = _Call(call.op, call.init, call.arguments, tensors)
            try:
                other.apply(table)
            except Mismatch as error:
                yield _explained(table, other, error)


def _spoiled(shape: tuple[Item, ...]) -> Iterator[tuple[Item, ...]]:
    """Yield shapes that are easily taken for one: transposed, or an axis short."""
    if len(shape) > 1 and shape[-1] != shape[-2]:
        yield (*shape[:-2], shape[-1], shape[-2])
    if len(shape) > 2 and shape[0] != shape[1]:
        yield (shape[1], shape[0], *shape[2:])
    if shape:
        yield shape[1:]
        yield shape[:-1]


def _explained(table: Table, call: _Call, error: Mismatch) -> Example:
    """Return the example of a mistake, with the error that the plugin has for it."""
    operands = [Operand("", tensor, name) for name, tensor in call.tensors.items()]

    def again(changes: Mapping[int, Tensor]) -> Tensor | None:
        names = list(call.tensors)
        tensors = {**call.tensors, **{names[at]: tensor for at, tensor in changes.items()}}
        try:
            found = _Call(call.op, call.init, call.arguments, tensors).apply(table)
        except Mismatch:
            return None
        return found if isinstance(found, Tensor) else None

    said = explain.operation(call.label(), error.problem, operands, again)
    text = f"error: {said.text}  [{said.code}]"
    return Example(_shown(call), call.text(), text, is_error=True, notes=said.notes)
