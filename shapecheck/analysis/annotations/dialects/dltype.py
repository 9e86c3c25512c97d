"""dltype's `Annotated[Tensor, FloatTensor["b c"]]`, and its shapes of axis objects."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Final

from shapecheck import dtypes, spec
from shapecheck.analysis.annotations.dialects.reading import Reading, Said, known_as
from shapecheck.analysis.program.syntax import elements, last_word
from shapecheck.spec import dialects

DTYPES: Final[Mapping[str, dtypes.DTypes]] = {
    "TensorTypeBase": dtypes.ANY,
    "FloatTensor": dtypes.FLOAT,
    "Float16Tensor": dtypes.of("float16") | dtypes.of("bfloat16"),
    "IEEE754HalfFloatTensor": dtypes.of("float16"),
    "BFloat16Tensor": dtypes.of("bfloat16"),
    "Float32Tensor": dtypes.of("float32"),
    "Float64Tensor": dtypes.of("float64"),
    "DoubleTensor": dtypes.of("float64"),
    "IntTensor": dtypes.INTEGER,
    "SignedIntTensor": dtypes.SIGNED,
    "UnsignedIntTensor": dtypes.UNSIGNED,
    "BoolTensor": dtypes.BOOL,
    **{f"Int{bits}Tensor": dtypes.of(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"UInt{bits}Tensor": dtypes.of(f"uint{bits}") for bits in (8, 16, 32, 64)},
}
"""dltype's types, and the dtypes that each takes."""

_EXTREMES: Final = {"Max": "max", "Min": "min", "ISqrt": "isqrt", "Group": ""}
_OPERATORS: Final[Mapping[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "/",
    ast.Pow: "^",
}


def tensor(reading: Reading, node: ast.expr) -> Said:
    """Read `FloatTensor["b c"]` and `IntTensor("b c", constraints={...})`."""
    head, given = _parts(node)
    kind = known_as(reading.resolve(head)).rpartition(".")[2]
    dtype = DTYPES.get(kind, dtypes.ANY)
    text = None if given is None else _text(reading, given)
    if text is None:
        return Said(None, dtype)
    try:
        return Said(dialects.of_dltype(text), dtype)
    except spec.SpecError as error:
        reading.malformed(given or node, error)
        return Said(None, dtype)


def _parts(node: ast.expr) -> tuple[ast.expr, ast.expr | None]:
    """Return the type of dltype, and the shape in its brackets or parentheses."""
    match node:
        case ast.Subscript(value=head, slice=given):
            return head, given
        case ast.Call(func=head, args=[given, *_]):
            return head, given
        case ast.Call(func=head, keywords=keywords):
            return head, next((one.value for one in keywords if one.arg == "shape"), None)
    return node, None


def _text(reading: Reading, node: ast.expr) -> str | None:
    """Return the text of a shape of dltype: its own, or what `Shape[...]` comes to."""
    found = reading.value(node)
    if found is None or isinstance(found, str):
        return found or ""
    match reading.written(node):
        case ast.Subscript(value=head, slice=inner) if last_word(head) == "Shape":
            axes = [_axis(reading, axis) for axis in elements(inner) or [inner]]
            return " ".join(filter(None, axes)) if all(axes) else None
    return None


def _axis(reading: Reading, node: ast.expr) -> str | None:
    """Return how dltype writes one of its axis objects."""
    value = reading.value(node)
    if isinstance(value, int) or value is ...:
        return "..." if value is ... else str(value)
    match reading.written(node):
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            ends = _axis(reading, left), _axis(reading, right)
            return None if None in ends else f"{ends[0]}{_OPERATORS[type(op)]}{ends[1]}"
        case ast.Call(func=func, args=args):
            return _axis_object(reading, last_word(func), args)
    return None


def _axis_object(reading: Reading, kind: str, args: Sequence[ast.expr]) -> str | None:
    if kind in _EXTREMES:
        inner = [_axis(reading, arg) for arg in args]
        return None if None in inner else f"{_EXTREMES[kind]}({','.join(map(str, inner))})"
    given = [reading.value(arg) for arg in args]
    match kind, given:
        case (("VariableAxis" | "LiteralAxis"), [str() | int() as name]):
            return str(name)
        case "ConstantAxis", [str(name), int(size)]:
            return f"{name}={size}"
        case "AnonymousAxis", [name]:
            return f"*{name}" if isinstance(name, str) else "..."
    return None
