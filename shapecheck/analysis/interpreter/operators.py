"""Operators, indexing and augmented assignment."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias, TypeGuard

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.analysis.interpreter import first_class
from shapecheck.analysis.interpreter.by_name import METHOD, elementwise
from shapecheck.analysis.interpreter.dict_contents import united
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import as_list
from shapecheck.analysis.interpreter.kinds import held_by, kind_of, mapping_of, special
from shapecheck.analysis.interpreter.op_calls import Site, apply
from shapecheck.analysis.interpreter.truth import compared, is_constant, truth
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.program.syntax import called, elements, names_in, nodes
from shapecheck.analysis.values.model import (
    Array,
    Attributes,
    ByName,
    DictContent,
    ListContent,
    OneOf,
    Path,
    Ref,
    Table,
    each_of,
)
from shapecheck.analysis.values.parts import numbers_in
from shapecheck.dims import Composite, Dim, IntSize, Size, Sym, size_of, symbol_of
from shapecheck.explain import Message
from shapecheck.ops import UNKNOWN, DType, Scalar, Sizes, Unknown, like
from shapecheck.ops.call import as_shape, as_tensor, is_number, is_size
from shapecheck.ops.named.views import NO_PRODUCT
from shapecheck.shapes import Free, Shape, Tensor

_METHODS: Final[Mapping[str, str]] = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "**": "pow",
    "@": "matmul",
    "&": "and",
    "|": "or",
    "^": "xor",
    "<<": "lshift",
    ">>": "rshift",
}
"""The methods of the operators, without the underscores."""
_COMPARE: Final[Mapping[type[ast.cmpop], tuple[str, str]]] = {
    ast.Eq: ("==", "eq"),
    ast.NotEq: ("!=", "ne"),
    ast.Lt: ("<", "lt"),
    ast.LtE: ("<=", "le"),
    ast.Gt: (">", "gt"),
    ast.GtE: (">=", "ge"),
}
_ROLES: Final = ("left operand", "right operand")
_Quotient: TypeAlias = tuple[IntSize, IntSize]
_LARGEST_PART: Final = 2**16


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
    symbol = dims.SYMBOLS[type(op)]
    if symbol == "@" and any(isinstance(one, Path) for one in (left, right)):
        return UNKNOWN  # no number
    left, right = certain(left, right), certain(right, left)
    if isinstance(left, ByName) or isinstance(right, ByName):
        pairs = tuple(zip(_ROLES, nodes, strict=True))
        site = Site(node, label or (symbol + "=" if inplace else symbol), pairs)
        if symbol == "@":
            if all(isinstance(one, (Tensor, ByName)) for one in (left, right)):
                frame.error(node, Message(NO_PRODUCT))
            return UNKNOWN
        method = f"{METHOD}__{'i' if inplace else ''}{_METHODS[symbol]}__"
        return elementwise(frame, method, [left, right], {}, site)
    made = _by_instance(frame, symbol, left, right, nodes[0])
    if made is not NOTHING:
        return made
    if _is_tensor(left) or _is_tensor(right):
        return _of_tensors(frame, node, symbol, left, right, nodes, inplace, label)
    match left, right:
        case bool(), bool() if symbol in _BITWISE:
            return _BITWISE[symbol](left, right)
        case (Dim(), _) | (_, Dim()):
            return _dimensions(symbol, left, right)
    if is_size(left) and is_size(right):
        return integers(op, left, right)
    return _others(frame, symbol, left, right)


def _by_instance(frame: Frame, symbol: str, left: Value, right: Value, node: ast.expr) -> Value:
    """Return what a method of an operand's class gives, `NOTHING` where there is none."""
    name = _METHODS[symbol]
    for one, other, method in ((left, right, f"__{name}__"), (right, left, f"__r{name}__")):
        if not _is_tensor(one):
            made = special(frame, one, method, [other], node)
            if made is not NOTHING:
                return made
    return NOTHING


def _is_tensor(value: Value) -> TypeGuard[Tensor | Free | Array]:
    """Whether operators on a value are ops: it is a tensor or an array, or a dimension of one."""
    return isinstance(value, (Tensor, Free, Array))


def _owner(left: Value, right: Value) -> str | None:
    """Return whose operator takes two values, None where that isn't known.

    A tensor on the left takes an array; an array on the left refuses a tensor, or not.
    """
    if not isinstance(left, Array) and not isinstance(right, Array):
        return "torch.Tensor"
    if isinstance(left, Tensor):
        return "torch.Tensor"
    return None if any(isinstance(one, _NO_ARRAYS) for one in (left, right)) else "numpy.ndarray"


_NO_ARRAYS: Final = (Tensor, Free, Unknown)


def _beside_tensor(value: Value, beside: Value) -> Value:
    """Return an array beside a tensor as that takes it: one of no axes is a number."""
    if not isinstance(value, Array) or not isinstance(beside, Tensor):
        return value
    return value.tensor if value.tensor.shape.dims else Scalar(value.tensor.dtype)


def _of_tensors(
    frame: Frame,
    node: ast.expr | ast.stmt,
    symbol: str,
    left: Value,
    right: Value,
    nodes: tuple[ast.expr, ast.expr],
    inplace: bool,
    label: str | None,
) -> Value:
    name, table = _METHODS[symbol], frame.program.table
    left, right = _beside_tensor(left, right), _beside_tensor(right, left)
    owner = _owner(left, right)
    method = f"{owner}.__{name}__"
    if inplace and _is_tensor(left) and not _is_number(left):
        changing = f"{owner}.__i{name}__"
        inplace = table.has(changing)  # `x @= y` makes a new tensor
        method = changing if inplace else method
    signature = table.signature(method)
    if signature is None:
        return UNKNOWN
    label = label or (symbol + "=" if inplace else symbol)
    operands = tuple(zip(_ROLES, nodes, strict=True))
    return apply(frame, signature, [left, right], {}, Site(node, label, operands))


def _is_number(value: Value) -> bool:
    """Whether an array has no axes, so that what works in place may make one of it."""
    return isinstance(value, Array) and not value.tensor.shape.least_rank


def _options(value: Value) -> Iterable[Value]:
    """Return the tensors and numbers that an operand may be, or what it is."""
    if isinstance(value, OneOf):
        some = [option for option in value.options if option is not None]
        if all(type(option) in _OPERANDS for option in some):
            return some
    return (value,)


_OPERANDS: Final = frozenset((Tensor, Array, ByName, bool, int, float, Size, Scalar))


def certain(value: Value, beside: Value) -> Value:
    """Read a value as what it is here: not None, a path beside a size or a tensor as a number."""
    match value:
        case OneOf(options=options):
            some = [option for option in options if option is not None]
            return some[0] if len(some) == 1 else UNKNOWN
        case Composite():
            return size_of(value)
        case Path():
            return _path_beside(value, beside)
    return value


def _path_beside(path: Path, beside: Value) -> Value:
    match beside:
        case Tensor() | Array() | ByName():
            return Scalar(dtypes.ANY)
        case Path():
            return path.size
    return path.size if is_number(beside) or is_size(beside) else path


def integers(op: ast.operator, left: IntSize, right: IntSize) -> Value:
    """Apply an operator to two integers, known or symbolic; no number grows beyond all measure."""
    calculate = _INTEGERS.get(dims.SYMBOLS[type(op)])
    if calculate is None:
        return dims.unknown()
    try:
        found = calculate(left, right)
    except (ZeroDivisionError, OverflowError):
        return UNKNOWN
    return dims.measured(found) if is_size(found) else found


def _true_quotient(left: IntSize, right: IntSize) -> Value:
    match left, right:
        case int(), int():
            return left / right
    return Scalar(dtypes.DEFAULT_FLOAT, left, right) if right != 0 else UNKNOWN


def _power(left: IntSize, right: IntSize) -> Value:
    negative = dims.nonnegative(-1 - right)
    return Scalar(dtypes.DEFAULT_FLOAT) if negative else dims.power(left, right)


def _shifted_left(left: IntSize, right: IntSize) -> Value:
    raises = dims.nonnegative(-1 - right)
    return UNKNOWN if raises else left * dims.power(2, right)


def _shifted_right(left: IntSize, right: IntSize) -> Value:
    match left, right:
        case _ if dims.nonnegative(-1 - right):
            return UNKNOWN  # which raises
        case int(), int():
            return left >> right
    return dims.floordiv(left, dims.power(2, right))


def _bitwise(calculate: Callable[[int, int], int]) -> Callable[[IntSize, IntSize], Value]:
    def applied(left: IntSize, right: IntSize) -> Value:
        match left, right:
            case int(), int():
                return calculate(left, right)
        return dims.unknown()

    return applied


_BITWISE: Final[Mapping[str, Callable[[int, int], int]]] = {
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
_ALGEBRA: Final[Mapping[str, Callable[..., Value]]] = {
    symbol: calculate for symbol, calculate in dims.ARITHMETIC.items() if symbol != "**"
}
"""What means the same of sizes, dimension objects and real numbers."""
_INTEGERS: Final[Mapping[str, Callable[[IntSize, IntSize], Value]]] = {
    **_ALGEBRA,
    "/": _true_quotient,
    "**": _power,
    "<<": _shifted_left,
    ">>": _shifted_right,
    **{symbol: _bitwise(calculate) for symbol, calculate in _BITWISE.items()},
}
_REAL: Final[Mapping[str, Callable[..., Value]]] = {
    **_ALGEBRA,
    "/": operator.truediv,
    "**": operator.pow,
}


def _dimensions(symbol: str, left: Value, right: Value) -> Value:
    """Apply an operator to dimension objects, or to one and a number."""
    calculate = _ALGEBRA.get(symbol)
    match left, right:
        case ((Dim() | int()), (Dim() | int())) if calculate is not None:
            return calculate(left, right)
    return UNKNOWN


def _others(frame: Frame, symbol: str, left: Value, right: Value) -> Value:
    match left, right:
        case ((int() | float()), (int() | float())):
            return _floats(symbol, left, right)
        case ((int() | float() | Size() | Scalar()), (int() | float() | Size() | Scalar())):
            made = dtypes.DEFAULT_FLOAT if symbol == "/" else _kind(left) | _kind(right)
            return _quotients(symbol, made, _as_quotient(left), _as_quotient(right))
    combine = _COMBINING.get(symbol)
    return UNKNOWN if combine is None else combine(frame, left, right)


def _as_quotient(value: Value) -> _Quotient | None:
    """Return a number as a quotient of sizes, if it is one: 0.25 is, and 0.1 isn't quite."""
    match value:
        case int() | Size():
            return value, 1
        case float() if math.isfinite(value):
            over, under = value.as_integer_ratio()
            return (over, under) if max(abs(over), under) <= _LARGEST_PART else None
        case Scalar(above=(int() | Size()) as above, below=below):
            return above, below
    return None


def _quotients(
    symbol: str, made: dtypes.DTypes, left: _Quotient | None, right: _Quotient | None
) -> Value:
    """Calculate with numbers of which one isn't known, each of them a quotient of sizes or None."""
    if left is None or right is None:
        return Scalar(made)
    (a, b), (c, d) = left, right
    match symbol:
        case "*":
            return Scalar(made, a * c, b * d)
        case "/" if c != 0:
            return Scalar(made, a * d, b * c)
        case "+":
            return Scalar(made, a * d + c * b, b * d)
        case "-":
            return Scalar(made, a * d - c * b, b * d)
    return Scalar(made)


def _kind(value: Value) -> dtypes.DTypes:
    return as_tensor(value).dtype


def _floats(symbol: str, left: int | float, right: int | float) -> Value:
    try:
        result = _REAL[symbol](left, right)
    except (KeyError, ZeroDivisionError, OverflowError):
        return UNKNOWN
    return result if is_number(result) else UNKNOWN  # of complex ones nothing is kept


def _concatenate(frame: Frame, left: Value, right: Value) -> Value:
    match left, right:
        case str(), str():
            return left + right
        case Sizes(), tuple():
            return like(left, (*left, *right))
        case tuple(), tuple():
            return like(right, (*left, *right))
    a, b = frame.state.list_of(left), frame.state.list_of(right)
    if a is None or b is None:
        return UNKNOWN
    return frame.state.new(frame.state.extended(a, b))


def _filled_in(frame: Frame, left: Value, right: Value) -> Value:
    """Return a text in which constants are put in the place of `%d` and its like."""
    given = right if isinstance(right, tuple) else (right,)
    return filled_in(left, given, lambda: left % tuple(given)) if isinstance(left, str) else UNKNOWN


def filled_in(text: str, given: Iterable[Value], fill: Callable[[], str]) -> Value:
    """Return a text with what is given in its gaps, as `fill` makes it; UNKNOWN where it can't."""
    if not all(map(is_constant, given)) or _WIDTH.search(text):
        return UNKNOWN
    try:
        return fill()
    except (LookupError, TypeError, ValueError, AttributeError):
        return UNKNOWN


def _unite(frame: Frame, left: Value, right: Value) -> Value:
    a, b = mapping_of(frame, left), mapping_of(frame, right)
    if a is None or b is None:
        return UNKNOWN
    return frame.state.new(united(frame.state, a, b, {}))


def _multiply(frame: Frame, left: Value, right: Value) -> Value:
    if is_size(left):
        left, right = right, left
    return _repeat(frame, left, right) if is_size(right) else UNKNOWN


def _repeat(frame: Frame, items: Value, count: IntSize) -> Value:
    content = frame.state.list_of(items)
    held = items if content is None else content.items
    match held, count:
        case tuple(), int() if count * len(held) <= _MOST_REPEATED:
            made = like(held, tuple(held) * (max(count, 0) if held else 0))
            if content is None:
                return made
            return frame.state.new(ListContent(made, kind=content.kind))
    if content is None or content.items is None or len(content.items) != 1:
        return UNKNOWN
    return frame.state.new(ListContent(None, content.items[0], content.kind, count))


_MOST_REPEATED: Final = 64
_WIDTH: Final = re.compile(r"\d{4}|\*")
"""A text with more than a few characters of padding, as the program that is read may ask for."""

_COMBINING: Final[Mapping[str, Callable[[Frame, Value, Value], Value]]] = {
    "+": _concatenate,
    "|": _unite,
    "*": _multiply,
    "%": _filled_in,
}
"""What operators make of containers."""


def unary(frame: Frame, node: ast.UnaryOp) -> Value:
    """Return the value of `-x`, `~x`, `+x`, `not x`."""
    return signed(frame, node, node.op, frame.eval(node.operand), node.operand)


def signed(
    frame: Frame, node: ast.expr, op: ast.unaryop, operand: Value, source: ast.expr
) -> Value:
    """Apply a unary operator to a value; `source` is its expression."""
    if isinstance(operand, ByName) and type(op) in _UNARY:
        method, symbol = _UNARY[type(op)]
        site = Site(node, symbol, (("operand", source),))
        return elementwise(frame, f"{METHOD}__{method}__", [operand], {}, site)
    if _is_tensor(operand):
        names = {ast.USub: "neg", ast.Invert: "invert", ast.UAdd: "pos"}
        name = names.get(type(op))
        owner = _owner(operand, operand)
        signature = name and frame.program.table.signature(f"{owner}.__{name}__")
        if not signature:
            return UNKNOWN
        site = Site(node, "-" if name == "neg" else "~", (("operand", source),))
        return apply(frame, signature, [operand], {}, site)
    match op, operand:
        case ast.USub(), _ if is_number(operand):
            return -operand
        case ast.Not(), _ if (known := truth(frame, operand)) is not None:
            return not known
        case _, Scalar():
            return operand
    return UNKNOWN


_UNARY: Final[Mapping[type[ast.unaryop], tuple[str, str]]] = {
    ast.USub: ("neg", "-"),
    ast.Invert: ("invert", "~"),
}


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
    if type(node.ops[0]) not in _COMPARE:
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
    if isinstance(left, ByName) or isinstance(right, ByName):
        symbol, name = _COMPARE[type(op)]
        pairs = tuple(zip(_ROLES, nodes, strict=True))
        return elementwise(
            frame, f"{METHOD}__{name}__", [left, right], {}, Site(node, symbol, pairs)
        )
    if _is_tensor(left) or _is_tensor(right):
        symbol, name = _COMPARE[type(op)]
        left, right = _beside_tensor(left, right), _beside_tensor(right, left)
        signature = frame.program.table.signature(f"{_owner(left, right)}.__{name}__")
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
    match owner:
        case Tensor():
            index = first_class.spread(frame, owner, index_value(frame, node.slice), node)
            match item(frame, node, owner, index, node.value):
                case Tensor() as found:
                    return _counted(frame, node, owner, index, found)
                case found:
                    return found
        case Array(tensor=whole):
            index = index_value(frame, node.slice)
            match item(frame, node, owner, index, node.value):
                case Array(tensor=tensor):
                    return Array(_counted(frame, node, whole, index, tensor))
                case found:
                    return found
        case tuple():
            index = frame.eval(node.slice)
            _check_index(frame, node, owner, index)
        case _:
            index = frame.eval(node.slice)
    return item(frame, node, owner, index, node.value)


def _counted(
    frame: Frame, node: ast.Subscript, owner: Tensor, index: Value, found: Tensor
) -> Tensor:
    """Call the number of items that a mask takes after the mask."""
    parts = each_of(index)
    masks = [at for at, part in enumerate(parts) if _is_mask(part)]
    if len(masks) != 1:
        return found
    source, each = node.slice, elements(node.slice)
    if each is not None and len(each) == len(parts):
        source = each[masks[0]]
    text = frame.segment(source).replace(" ", "")
    made = {symbol_of(size) for size in found.shape.dims if size not in owner.shape.dims} - {None}
    symbol = made.pop() if len(made) == 1 else None
    if symbol is None or not symbol.is_anonymous:
        return found
    label = f"sum({text if len(text) <= _LONGEST_MASK else 'mask'})"
    count = _taken(frame, source, Size.of(Sym.count(label)))
    shape = Shape(tuple(count if one == Size.of(symbol) else one for one in found.shape.dims))
    return found.with_shape(shape)


_LONGEST_MASK: Final = 24


def _taken(frame: Frame, mask: ast.expr, count: Size) -> Size:
    """Return how many items a mask takes: as many as before, where it is the same variables."""
    if not all(isinstance(node, _OF_VARIABLES) for node in nodes(mask)):
        return count
    names = sorted(names_in(mask))
    key = ast.dump(mask), *((name, frame.state.since.get(name)) for name in names)
    return frame.taken.setdefault(key, count)


_OF_VARIABLES: Final = (ast.Name, ast.Compare, ast.UnaryOp, ast.BinOp, ast.Constant)


def _is_mask(index: Value) -> bool:
    match index:
        case Tensor(dtype=dtypes.BOOL) | Array(tensor=Tensor(dtype=dtypes.BOOL)):
            return True
    return False


def item(frame: Frame, node: ast.expr, owner: Value, index: Value, source: ast.expr) -> Value:
    """Return an item of a value; `source` is the value's expression."""
    held = held_by(frame, owner)
    return kind_of(held).item(frame, owner, held, index, node, source)


def _check_index(frame: Frame, node: ast.Subscript, shape: tuple[Value, ...], index: Value) -> None:
    """Report an index beyond the axes of a shape."""
    known = as_shape(shape)
    match called(node.value), index, known.rank:
        case ast.Attribute(attr="shape" | "size"), int(at), int(rank) if is_size(index):
            if not -rank <= at < rank:
                axes = f"{rank} {'axis' if rank == 1 else 'axes'}"
                text = f'"{frame.segment(node)}" is out of range: {known} has {axes}'
                frame.error(node, Message(text, numbers=numbers_in(shape)))


def index_value(frame: Frame, node: ast.expr) -> Value:
    """Return the value of a tensor's index."""
    match node:
        case ast.Tuple(elts=elements):
            return _index_parts(frame, elements)
    return frame.eval(node)


def _index_parts(frame: Frame, nodes: Sequence[ast.expr]) -> Value:
    parts: list[Value] = []
    for element in nodes:
        match element:
            case ast.Starred(value=inner):
                items = frame.eval(inner)
                if not isinstance(items, tuple):
                    return UNKNOWN
                parts.extend(items)
            case _:
                parts.append(frame.eval(element))
    return tuple(parts)


def store_item(frame: Frame, target: ast.Subscript, value: Value, source: ast.expr) -> Value:
    """Assign to `owner[index]`; return the owner."""
    owner = frame.eval(target.value)
    match owner:
        case Tensor():
            index = first_class.spread(frame, owner, index_value(frame, target.slice), target)
        case Array() | Table() | ByName():
            index = index_value(frame, target.slice)
        case Ref() | Attributes():
            index = frame.eval(target.slice)
        case _:
            return owner
    held = held_by(frame, owner)  # which the index may have changed
    kind_of(held).set_item(frame, owner, held, index, value, target, source)
    return owner


def delete_item(frame: Frame, target: ast.Subscript) -> None:
    """Delete `owner[index]`."""
    owner, index = frame.eval(target.value), frame.eval(target.slice)
    if isinstance(owner, Table):
        store_item(frame, target, UNKNOWN, target)
        return
    held = held_by(frame, owner)
    kind_of(held).delete_item(frame, owner, held, index)


def augmented(frame: Frame, node: ast.AugAssign) -> Value:
    """Return the value that `target op= value` assigns."""
    target: ast.expr = node.target
    load = ast.copy_location(_as_load(target), target)
    left, right = frame.eval(load), frame.eval(node.value)
    content = frame.state.content(left)
    match node.op, content, frame.state.content(right):
        case ast.Add(), ListContent(), _:
            frame.state.put(left, frame.state.extended(content, as_list(frame, right)))
            return left
        case ast.BitOr(), DictContent(), DictContent() as other:
            frame.state.put(left, united(frame.state, content, other, {}))
            return left
    return operate(
        frame,
        node,
        node.op,
        left,
        right,
        (load, node.value),
        isinstance(left, (Tensor, Array, ByName)),
    )


def _as_load(target: ast.expr) -> ast.expr:
    match target:
        case ast.Name(id=name):
            return ast.Name(name, ast.Load())
        case ast.Attribute(value=value, attr=attr):
            return ast.Attribute(value, attr, ast.Load())
        case ast.Subscript(value=value, slice=index):
            return ast.Subscript(value, index, ast.Load())
    return target
