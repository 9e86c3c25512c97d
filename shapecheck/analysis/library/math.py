"""What Python's, numpy's and the math module's functions do with numbers and sizes."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeGuard

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.analysis.interpreter.by_name import elementwise
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import another, as_list, iterate, length
from shapecheck.analysis.interpreter.op_calls import Site
from shapecheck.analysis.interpreter.operators import integers, operate
from shapecheck.analysis.interpreter.registry import MANY, LibraryCall, function
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.values.model import (
    Array,
    ByName,
    ListContent,
)
from shapecheck.dims import Size
from shapecheck.ops import UNKNOWN, Scalar
from shapecheck.ops.call import as_size, is_number, is_size, is_whole, is_within
from shapecheck.shapes import Tensor


@function("builtins.min", "builtins.max", takes=(1, MANY))
def _extreme(frame: Frame, call: LibraryCall) -> Value:
    values = call.args
    if len(values) == 1:
        values = list(iterate(frame, values[0])[0] or ())
    plain = values and "key" not in call.kwargs
    sizes = [one for one in values if is_size(one)]
    if plain and len(sizes) == len(values):
        return dims.extreme(call.name, sizes)
    numbers = [one for one in values if _is_plain(one)]
    if plain and len(numbers) == len(values):
        return min(numbers) if call.name == "min" else max(numbers)
    if values:
        return frame.state.either(*values)
    found = another(frame, iterate(frame, call.args[0])[1])
    return frame.state.either(found, call.kwargs["default"]) if "default" in call.kwargs else found


@function("builtins.int", "operator.index", takes=(0, 2))
def _int(frame: Frame, call: LibraryCall) -> Value:
    value = call.args[0] if call.args else 0
    match value:
        case int() | Size():
            return as_size(value)
        case float() if math.isfinite(value):
            return int(value)
        case Scalar(above=above, below=below) if above is not None:
            return dims.floordiv(above, below)
    return dims.unknown()


def _is_plain(value: Value) -> TypeGuard[int | float]:
    return isinstance(value, (int, float))


@function("builtins.float", takes=(0, 1))
def _float(frame: Frame, call: LibraryCall) -> Value:
    value = call.args[0] if call.args else 0.0
    try:
        return float(value) if _is_plain(value) else Scalar(dtypes.DEFAULT_FLOAT)
    except OverflowError:
        return UNKNOWN


_REAL: Final = (
    "math.sqrt math.log math.log2 math.log10 math.log1p math.exp math.expm1 math.sin math.cos "
    "math.tan math.asin math.acos math.atan math.atan2 math.sinh math.cosh math.tanh math.pow "
    "math.hypot math.radians math.degrees math.fabs math.fmod"
).split()
_ARRAYS: Final = (
    "numpy.arcsin numpy.arccos numpy.arctan numpy.arctan2 numpy.power numpy.deg2rad "
    "numpy.rad2deg numpy.floor numpy.ceil numpy.clip"
).split()


@function(*_REAL)
def _math(frame: Frame, call: LibraryCall) -> Value:
    if all(map(_is_plain, call.args)) and hasattr(math, call.name):
        try:
            return float(getattr(math, call.name)(*call.args))
        except (ValueError, TypeError, ArithmeticError):
            return UNKNOWN
    return Scalar(dtypes.DEFAULT_FLOAT)


@function(*(name.replace("math.", "numpy.") for name in _REAL), *_ARRAYS)
def _numpy(frame: Frame, call: LibraryCall) -> Value:
    numbers = bool(call.args) and all(map(_may_be_float, call.args))
    return Scalar(dtypes.DEFAULT_FLOAT) if numbers else NOTHING


def _may_be_float(value: Value) -> bool:
    return is_number(value) or isinstance(value, Scalar)


@function("builtins.round", takes=(1, 2))
def _round(frame: Frame, call: LibraryCall) -> Value:
    if len(call.args) > 1 or call.kwargs or not _may_be_float(call.args[0]):
        return UNKNOWN
    return _to_whole(call.args[0], round)


@function("math.ceil", "math.floor", takes=1)
def _whole(frame: Frame, call: LibraryCall) -> Value:
    is_ceil = call.name == "ceil"
    match call.args[0]:
        case Scalar(above=above, below=below) if above is not None:
            return dims.floordiv(above + below - 1 if is_ceil else above, below)
    return _to_whole(call.args[0], math.ceil if is_ceil else math.floor)


def _to_whole(value: Value, rounded: Callable[[float], int]) -> Value:
    """Return a number made whole, a new unknown where it isn't known."""
    match value:
        case int() | Size():
            return value
        case float() if math.isfinite(value):
            return rounded(value)
    return dims.unknown()


@function("numpy.prod", takes=1)
def _numpy_prod(frame: Frame, call: LibraryCall) -> Value:
    array = call.kwargs or isinstance(call.args[0], Array)
    return NOTHING if array else product(iterate(frame, call.args[0])[0])


@function("math.prod", takes=(1, MANY))
def _prod(frame: Frame, call: LibraryCall) -> Value:
    return product(iterate(frame, call.args[0])[0])


def product(items: tuple[Value, ...] | None) -> Value:
    """Return the product of the items of a list, a tuple or a shape, where they are known."""
    if items is None or not all(map(is_whole, items)):
        return dims.unknown()
    return dims.product(map(as_size, items))


@function("builtins.sum", takes=(1, 2))
def _sum(frame: Frame, call: LibraryCall) -> Value:
    start = call.get(1, "start", 0)
    items, element = iterate(frame, call.args[0])
    count = length(frame, call.args[0]) if items is None else len(items)
    total = start
    for item in (element, element) if items is None else items:
        first = total == 0 and item is not UNKNOWN and not isinstance(item, Array)
        total = item if first else _plus(frame, total, item, call.node)
    if items is None and is_size(total):
        return dims.unknown()
    return total if items is not None or count != 0 else start


def _plus(frame: Frame, left: Value, right: Value, node: ast.Call) -> Value:
    source = node.args[0]
    nodes = (source, source)
    return operate(frame, node, ast.Add(), left, right, nodes, label="sum")


@function("builtins.next", takes=(1, 2))
def _next(frame: Frame, call: LibraryCall) -> Value:
    items, element = iterate(frame, call.args[0])
    found = frame.state.either(*items) if items else element
    return frame.state.either(found, call.args[1]) if len(call.args) > 1 else found


@function("builtins.divmod", takes=2)
def _divmod(frame: Frame, call: LibraryCall) -> Value:
    left, right = call.args
    if is_size(left) and is_size(right):
        return integers(ast.FloorDiv(), left, right), integers(ast.Mod(), left, right)
    return UNKNOWN


@function("random.randrange", "random.randint", "random.getrandbits", "os.cpu_count")
def _some_int(frame: Frame, call: LibraryCall) -> Value:
    return dims.unknown()


@function("random.random", "random.uniform", "random.gauss", "time.time", "time.perf_counter")
def _some_float(frame: Frame, call: LibraryCall) -> Value:
    return Scalar(dtypes.DEFAULT_FLOAT)


@function("random.choice", takes=1)
def _choice(frame: Frame, call: LibraryCall) -> Value:
    return frame.state.element(as_list(frame, call.args[0]))


@function("random.sample", takes=(1, 2))
def _sample(frame: Frame, call: LibraryCall) -> Value:
    count = call.get(1, "k")
    element = frame.state.element(as_list(frame, call.args[0]))
    return frame.state.new(ListContent(None, element, count=as_size(count)))


@function("builtins.pow", takes=2)
def _pow(frame: Frame, call: LibraryCall) -> Value:
    left, right = call.args
    if is_size(left) and is_size(right):
        return integers(ast.Pow(), left, right)
    return UNKNOWN


@function("math.isqrt", takes=1)
def _isqrt(frame: Frame, call: LibraryCall) -> Value:
    value = call.args[0]
    return math.isqrt(value) if is_within(value, 0) else dims.unknown()


@function("builtins.abs", takes=1)
def _abs(frame: Frame, call: LibraryCall) -> Value:
    if isinstance(call.args[0], ByName):
        site = Site(call.node, call.label, args=call.arguments.args)
        return elementwise(frame, "torch.abs", call.args, {}, site)
    match call.args[0]:
        case int() as whole:
            return abs(whole)
        case float() as value:
            return abs(value)
        case Tensor():
            torchs = frame.program.table.signature("torch.abs")
            return UNKNOWN if torchs is None else torchs.apply(frame.state.facts, call.args, {})
        case Array(tensor=tensor):
            return Array(replace(tensor, dtype=dtypes.to_real(tensor.dtype)))
    return UNKNOWN
