"""Operators, indexing and augmented assignment."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.analysis.interpreter import first_class
from shapecheck.analysis.interpreter.dict_contents import (
    united,
)
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import as_list
from shapecheck.analysis.interpreter.kinds import held_by, kind_of, special
from shapecheck.analysis.interpreter.op_calls import Site, apply
from shapecheck.analysis.interpreter.truth import compared, truth
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.values.model import (
    DictContent,
    ListContent,
    OneOf,
    Path,
    Ref,
    own_size,
)
from shapecheck.dims import Composite, Dim, IntSize, Size, Sym, size_of
from shapecheck.explain import Message
from shapecheck.ops import UNKNOWN, DType, Scalar, Sizes, like
from shapecheck.ops.call import as_shape, as_tensor, is_number, is_size
from shapecheck.shapes import Free, Shape, Tensor

_SYMBOLS: Final[Mapping[type[ast.operator], tuple[str, str]]] = {
    ast.Add: ("+", "add"),
    ast.Sub: ("-", "sub"),
    ast.Mult: ("*", "mul"),
    ast.Div: ("/", "truediv"),
    ast.FloorDiv: ("//", "floordiv"),
    ast.Mod: ("%", "mod"),
    ast.Pow: ("**", "pow"),
    ast.MatMult: ("@", "matmul"),
    ast.BitAnd: ("&", "and"),
    ast.BitOr: ("|", "or"),
    ast.BitXor: ("^", "xor"),
    ast.LShift: ("<<", "lshift"),
    ast.RShift: (">>", "rshift"),
}
_COMPARE: Final[Mapping[type[ast.cmpop], tuple[str, str]]] = {
    ast.Eq: ("==", "eq"),
    ast.NotEq: ("!=", "ne"),
    ast.Lt: ("<", "lt"),
    ast.LtE: ("<=", "le"),
    ast.Gt: (">", "gt"),
    ast.GtE: (">=", "ge"),
}
_ROLES: Final = ("left operand", "right operand")


def binary(frame: Frame, node: ast.BinOp) -> Value:
    """Return the value of `left op right`."""
    left, right = frame.eval(node.left), frame.eval(node.right)
    return operate(frame, node, node.op, left, right, (node.left, node.right))


def operate(
    frame: Frame,
    node: ast.expr | ast.stmt,
    op: ast.operator,
    left: Value,
    right: Value,
    nodes: tuple[ast.expr, ast.expr],
    inplace: bool = False,
    label: str | None = None,
) -> Value:
    """Apply a binary operator to two values; `nodes` are their expressions.

    `label` is what messages call it, if not by its symbol.
    """
    ways = [(a, b) for a in _options(left) for b in _options(right)]
    if 1 < len(ways) <= 4:
        results = [frame.hush(operate, node, op, a, b, nodes, inplace) for a, b in ways]
        return frame.state.either(*results)
    left, right = certain(left, right), certain(right, left)
    symbol, name = _SYMBOLS[type(op)]
    if isinstance(left, (Tensor, Free)) or isinstance(right, (Tensor, Free)):
        if isinstance(left, (Tensor, Free)):
            method = f"torch.Tensor.__i{name}__" if inplace else f"torch.Tensor.__{name}__"
            if frame.program.table.signature(method) is None:  # `x @= y` makes a new tensor
                method, inplace = f"torch.Tensor.__{name}__", False
            args = [left, right]
        else:
            method, args = f"torch.Tensor.__{name}__", [left, right]
        signature = frame.program.table.signature(method)
        if signature is None:
            return UNKNOWN
        label = label or (symbol + "=" if inplace else symbol)
        operands = tuple(zip(_ROLES, nodes, strict=True))
        return apply(frame, signature, args, {}, Site(node, label, operands))
    if isinstance(left, bool) and isinstance(right, bool) and type(op) in _LOGIC:
        return _LOGIC[type(op)](left, right)
    if is_size(left) and is_size(right):
        return integers(op, left, right)
    if isinstance(left, Dim) or isinstance(right, Dim):
        return _dimensions(op, left, right)
    for one, other, method in ((left, right, f"__{name}__"), (right, left, f"__r{name}__")):
        made = special(frame, one, method, [other], nodes[0])
        if made is not NOTHING:
            return made
    return _others(frame, op, left, right)


def _options(value: Value) -> Iterable[Value]:
    """Return the tensors and numbers that an operand may be, or what it is."""
    if isinstance(value, OneOf):
        some = [option for option in value.options if option is not None]
        if all(type(option) in _OPERANDS for option in some):
            return some
    return (value,)


_OPERANDS: Final = frozenset((Tensor, bool, int, float, Size, Scalar))


def certain(value: Value, beside: Value) -> Value:
    """Read a value as what it is here: not None, a path beside a size or a tensor as a number."""
    if isinstance(value, OneOf):
        some = [option for option in value.options if option is not None]
        return some[0] if len(some) == 1 else UNKNOWN
    if isinstance(value, Path) and (is_size(beside) or isinstance(beside, Path)):
        return own_size(value.text)
    if isinstance(value, Composite):
        return size_of(value)
    if isinstance(value, Path) and isinstance(beside, Tensor):
        return Scalar(dtypes.ANY)
    return value


def integers(op: ast.operator, left: IntSize, right: IntSize) -> Value:
    """Apply an operator to two integers, known or symbolic; no number grows beyond all measure."""
    try:
        match op:
            case ast.Add():
                return dims.measured(left + right)
            case ast.Sub():
                return dims.measured(left - right)
            case ast.Mult():
                return dims.measured(left * right)
            case ast.FloorDiv():
                return dims.floordiv(left, right)
            case ast.Mod():
                return left % right
            case ast.Pow():
                if dims.nonnegative(-1 - right):
                    return Scalar(dtypes.DEFAULT_FLOAT)
                return dims.power(left, right)
            case ast.LShift() | ast.RShift() if dims.nonnegative(-1 - right):
                return UNKNOWN  # which raises
            case ast.LShift():
                return dims.measured(left * dims.power(2, right))
            case ast.RShift() if isinstance(left, int) and isinstance(right, int):
                return left >> right
            case ast.RShift():
                return dims.floordiv(left, dims.power(2, right))
            case ast.Div():
                if isinstance(left, int) and isinstance(right, int):
                    return left / right
                return Scalar(dtypes.DEFAULT_FLOAT)
    except (ZeroDivisionError, OverflowError):
        return UNKNOWN
    if isinstance(left, int) and isinstance(right, int) and type(op) in _BITWISE:
        return _BITWISE[type(op)](left, right)
    return dims.unknown()


_BITWISE: Final[Mapping[type[ast.operator], Callable[[int, int], int]]] = {
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}


def _dimensions(op: ast.operator, left: Value, right: Value) -> Value:
    """Apply an operator to dimension objects, or to one and a number."""
    calculate = _ALGEBRA.get(type(op))
    if calculate is None or not all(isinstance(one, (Dim, int)) for one in (left, right)):
        return UNKNOWN
    found: Value = calculate(left, right)
    return found


_ALGEBRA: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def _others(frame: Frame, op: ast.operator, left: Value, right: Value) -> Value:
    numbers = (bool, int, float, Size, Scalar)
    if isinstance(left, numbers) and isinstance(right, numbers):
        if isinstance(left, (int, float)) and isinstance(right, (int, float)):
            return _floats(op, left, right)
        kind = dtypes.DEFAULT_FLOAT if isinstance(op, ast.Div) else _kind(left) | _kind(right)
        return Scalar(kind)
    if isinstance(op, ast.Add):
        return _concatenate(frame, left, right)
    if isinstance(op, ast.BitOr):
        a, b = frame.state.content(left), frame.state.content(right)
        if isinstance(a, DictContent) and isinstance(b, DictContent):
            return frame.state.new(united(frame.state, a, b, {}))
    if isinstance(op, ast.Mult):
        for items, count in ((left, right), (right, left)):
            if is_size(count):
                return _repeat(frame, items, count)
    return UNKNOWN


def _kind(value: Value) -> dtypes.DTypes:
    return as_tensor(value).dtype


def _floats(op: ast.operator, left: float, right: float) -> Value:
    calculate: Mapping[type[ast.operator], Callable[[float, float], float]] = {
        ast.Add: lambda a, b: a + b,
        ast.Sub: lambda a, b: a - b,
        ast.Mult: lambda a, b: a * b,
        ast.Div: lambda a, b: a / b,
        ast.FloorDiv: lambda a, b: a // b,
        ast.Mod: lambda a, b: a % b,
        ast.Pow: lambda a, b: a**b,
    }
    try:
        result = calculate[type(op)](left, right)
    except (KeyError, ZeroDivisionError, OverflowError):
        return UNKNOWN
    return result if isinstance(result, (int, float)) else UNKNOWN


def _concatenate(frame: Frame, left: Value, right: Value) -> Value:
    if isinstance(left, tuple) and isinstance(right, tuple):
        sizes = isinstance(left, Sizes) or isinstance(right, Sizes)
        return Sizes((*left, *right)) if sizes else (*left, *right)
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    a, b = frame.state.content(left), frame.state.content(right)
    if isinstance(a, ListContent) and isinstance(b, ListContent):
        return frame.state.new(frame.state.extended(a, b))
    return UNKNOWN


def _repeat(frame: Frame, items: Value, count: IntSize) -> Value:
    if isinstance(items, tuple) and isinstance(count, int):
        return like(items, tuple(items) * count) if count * len(items) <= 64 else UNKNOWN
    content = frame.state.list_of(items)
    if content is not None:
        if (
            content.items is not None
            and isinstance(count, int)
            and count * len(content.items) <= 64
        ):
            return frame.state.new(ListContent(content.items * count, kind=content.kind))
        if content.items is not None and len(content.items) == 1:
            return frame.state.new(ListContent(None, content.items[0], content.kind, count))
    return UNKNOWN


_LOGIC: Final[Mapping[type[ast.operator], Callable[[bool, bool], bool]]] = {
    ast.BitAnd: lambda a, b: a and b,
    ast.BitOr: lambda a, b: a or b,
    ast.BitXor: lambda a, b: a is not b,
}


def unary(frame: Frame, node: ast.UnaryOp) -> Value:
    """Return the value of `-x`, `~x`, `+x`, `not x`."""
    return signed(frame, node, node.op, frame.eval(node.operand), node.operand)


def signed(
    frame: Frame, node: ast.expr, op: ast.unaryop, operand: Value, source: ast.expr
) -> Value:
    """Apply a unary operator to a value; `source` is its expression."""
    if isinstance(operand, (Tensor, Free)):
        names = {ast.USub: "neg", ast.Invert: "invert", ast.UAdd: "pos"}
        name = names.get(type(op))
        signature = name and frame.program.table.signature(f"torch.Tensor.__{name}__")
        if not signature:
            return UNKNOWN
        site = Site(node, "-" if name == "neg" else "~", (("operand", source),))
        return apply(frame, signature, [operand], {}, site)
    if isinstance(op, ast.USub) and is_number(operand):
        return -operand
    if isinstance(op, ast.Not) and (known := truth(frame, operand)) is not None:
        return not known
    return operand if isinstance(operand, Scalar) else UNKNOWN


def compare(frame: Frame, node: ast.Compare) -> Value:
    """Return the value of a comparison; of tensors, the tensor of its results."""
    left = frame.eval(node.left)
    values = [frame.eval(right) for right in node.comparators]
    if len(values) == 1 and type(node.ops[0]) in _COMPARE:
        ways = [(a, b) for a in _options(left) for b in _options(values[0])]
        nodes = node.left, node.comparators[0]
        if 1 < len(ways) <= 4:
            each = [frame.hush(compared_values, node, node.ops[0], a, b, nodes) for a, b in ways]
            return frame.state.either(*each)
        left, right = certain(left, values[0]), certain(values[0], left)
        return compared_values(frame, node, node.ops[0], left, right, nodes)
    links = zip(node.ops, (left, *values), values, strict=False)
    found = [compared(frame, op, a, b) for op, a, b in links]
    if False in found:
        return False
    if None not in found:
        return True
    if isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
        return Scalar(dtypes.BOOL)
    return _truth_value(left, *values)


def compared_values(
    frame: Frame,
    node: ast.expr,
    op: ast.cmpop,
    left: Value,
    right: Value,
    nodes: tuple[ast.expr, ast.expr],
) -> Value:
    """Return the value of `left == right` and the like; `nodes` are the operands' expressions."""
    if isinstance(left, (Tensor, Free)) or isinstance(right, (Tensor, Free)):
        symbol, name = _COMPARE[type(op)]
        signature = frame.program.table.signature(f"torch.Tensor.__{name}__")
        if signature is None or left is None or right is None:
            return UNKNOWN
        pairs = tuple(zip(_ROLES, nodes, strict=True))
        return apply(frame, signature, [left, right], {}, Site(node, symbol, pairs))
    known = compared(frame, op, left, right)
    return _truth_value(left, right) if known is None else known


def _truth_value(*values: Value) -> Value:
    """Return a bool that isn't known, if none of the values compared can be a tensor."""
    plain = all(isinstance(value, _COMPARED) or value is None for value in values)
    return Scalar(dtypes.BOOL) if plain else UNKNOWN


_COMPARED: Final = (bool, int, float, str, tuple, Size, Scalar, DType, Ref)
"""What compares to a bool; of anything else it isn't known whether it is a tensor."""


def subscript(frame: Frame, node: ast.Subscript) -> Value:
    """Return the value of `owner[index]`."""
    owner = certain(frame.eval(node.value), None)
    if isinstance(owner, Tensor):
        index = first_class.spread(frame, owner, index_value(frame, node.slice), node)
        found = item(frame, node, owner, index, node.value)
        return _counted(frame, node, owner, index, found)
    index = frame.eval(node.slice)
    if isinstance(owner, tuple):
        _check_index(frame, node, owner, index)
    return item(frame, node, owner, index, node.value)


def _counted(frame: Frame, node: ast.Subscript, owner: Tensor, index: Value, found: Value) -> Value:
    """Call the number of items that a mask takes after the mask."""
    parts = index if isinstance(index, tuple) else (index,)
    masks = [i for i, p in enumerate(parts) if isinstance(p, Tensor) and p.dtype == dtypes.BOOL]
    if len(masks) != 1 or not isinstance(found, Tensor):
        return found
    source = node.slice
    if isinstance(source, ast.Tuple) and len(source.elts) == len(parts):
        source = source.elts[masks[0]]
    text = frame.segment(source).replace(" ", "")
    made = {
        size.symbol
        for size in found.shape.dims
        if isinstance(size, Size) and size not in owner.shape.dims and size.symbol is not None
    }
    if len(made) != 1 or not (symbol := made.pop()).is_anonymous:
        return found
    label = f"sum({text if len(text) <= _LONGEST_MASK else 'mask'})"
    count = Size.of(Sym.count(label))
    shape = Shape(tuple(count if one == Size.of(symbol) else one for one in found.shape.dims))
    return replace(found, shape=shape)


_LONGEST_MASK: Final = 24


def item(frame: Frame, node: ast.expr, owner: Value, index: Value, source: ast.expr) -> Value:
    """Return an item of a value; `source` is the value's expression."""
    held = held_by(frame, owner)
    return kind_of(held).item(frame, owner, held, index, node, source)


def _check_index(frame: Frame, node: ast.Subscript, shape: tuple[Value, ...], index: Value) -> None:
    """Report an index beyond the axes of a shape."""
    asked = node.value.func if isinstance(node.value, ast.Call) else node.value
    if not isinstance(asked, ast.Attribute) or asked.attr not in ("shape", "size"):
        return
    known = as_shape(shape)
    if is_size(index) and isinstance(index, int) and known.rank is not None:
        if not -known.rank <= index < known.rank:
            axes = f"{known.rank} {'axis' if known.rank == 1 else 'axes'}"
            text = f'"{frame.segment(node)}" is out of range: {known} has {axes}'
            frame.error(node, Message(text))


def index_value(frame: Frame, node: ast.expr) -> Value:
    """Return the value of a tensor's index."""
    if isinstance(node, ast.Tuple):
        parts: list[Value] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                inner = frame.eval(element.value)
                if not isinstance(inner, tuple):
                    return UNKNOWN
                parts.extend(inner)
            else:
                parts.append(frame.eval(element))
        return tuple(parts)
    return frame.eval(node)


def store_item(frame: Frame, target: ast.Subscript, value: Value, source: ast.expr) -> Value:
    """Assign to `owner[index]`; return the owner."""
    owner = frame.eval(target.value)
    if isinstance(owner, Tensor):
        index = first_class.spread(frame, owner, index_value(frame, target.slice), target)
    elif isinstance(owner, Ref):
        index = frame.eval(target.slice)
    else:
        return owner
    held = held_by(frame, owner)  # which the index may have changed
    kind_of(held).set_item(frame, owner, held, index, value, target, source)
    return owner


def delete_item(frame: Frame, target: ast.Subscript) -> None:
    """Delete `owner[index]`."""
    owner, index = frame.eval(target.value), frame.eval(target.slice)
    held = held_by(frame, owner)
    kind_of(held).delete_item(frame, owner, held, index)


def augmented(frame: Frame, node: ast.AugAssign) -> Value:
    """Return the value that `target op= value` assigns."""
    target: ast.expr = node.target
    load = ast.copy_location(_as_load(target), target)
    left, right = frame.eval(load), frame.eval(node.value)
    content = frame.state.content(left)
    if isinstance(content, ListContent) and isinstance(node.op, ast.Add):
        frame.state.put(left, frame.state.extended(content, as_list(frame, right)))
        return left
    other = frame.state.dict_of(right)
    if isinstance(content, DictContent) and other is not None and isinstance(node.op, ast.BitOr):
        frame.state.put(left, united(frame.state, content, other, {}))
        return left
    return operate(frame, node, node.op, left, right, (load, node.value), isinstance(left, Tensor))


def _as_load(target: ast.expr) -> ast.expr:
    match target:
        case ast.Name(id=name):
            return ast.Name(name, ast.Load())
        case ast.Attribute(value=value, attr=attr):
            return ast.Attribute(value, attr, ast.Load())
        case ast.Subscript(value=value, slice=index):
            return ast.Subscript(value, index, ast.Load())
    return target
