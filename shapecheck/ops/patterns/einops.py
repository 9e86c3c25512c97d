"""einops: `rearrange`, `reduce` and `repeat` over a pattern, and what is built on them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import size_of
from shapecheck.ops.agree import listed, tensors_of
from shapecheck.ops.call import UNKNOWN, Call, Repeated, Unknown, Value, as_mapping, as_tensor, rule
from shapecheck.ops.patterns.einsum import ELLIPSIS, contract
from shapecheck.ops.patterns.pattern import Binding, Side, as_length, read
from shapecheck.ops.shape.joining import same_shape
from shapecheck.shapes import Shape, Tensor, mismatch


class Operation(NamedTuple):
    """What einops is asked to do; `problems` are those that a pattern has whatever the tensor.

    The first of them is said.
    """

    name: str
    problems: Callable[[Side, Side, Mapping[str, Value]], Iterator[str]]


def apply_pattern(
    call: Call,
    tensor: Value,
    pattern: Value,
    lengths: Mapping[str, Value],
    operation: Operation,
) -> Tensor:
    """Judge one of `rearrange`, `reduce`, `repeat` and return the result's shape and dtype."""
    whole = _stacked(call, tensor, operation.name)
    if not isinstance(pattern, str):
        return Tensor(Shape.unknown(), whole.dtype)
    shape = call.facts.shape(whole.shape)
    shown = str(shape) if not shape.opaque else "a tensor"
    headline = f'can\'t {operation.name} {shown} by "{pattern}"'
    inputs, right = read(pattern, headline)
    if right is None:
        raise mismatch("the pattern has no '->'", headline)
    if len(inputs) > 1:
        raise mismatch("the pattern has a ','", headline)
    left = inputs[0]
    _check(left, right, operation, lengths, headline)
    state = Binding(call, shape, headline)
    state.sizes = {
        name: dims.unknown(name) if isinstance(value, Unknown | Tensor) else as_length(value)
        for name, value in lengths.items()
    }
    state.bind(left)
    inserted = right.axes.count(()) > left.axes.count(())
    return Tensor(state.build(right), whole.dtype, inserted)


def _stacked(call: Call, tensor: Value, operation: str) -> Tensor:
    """Return the tensor, or what a list of tensors makes when stacked at the front."""
    if isinstance(tensor, Repeated) and isinstance(element := tensor.element, Tensor):
        return Tensor(Shape((tensor.count, *element.shape.dims)), element.dtype)
    if not isinstance(tensor, (tuple, list)):
        return as_tensor(tensor)
    parts = tensors_of(tensor)
    if not parts:
        return Tensor.unknown()
    shape = same_shape(call, parts, f"can't {operation} a list of {{}}")
    return Tensor(Shape((len(parts), *shape.dims)), parts[0].dtype)


def _check(
    left: Side, right: Side, operation: Operation, lengths: Mapping[str, Value], headline: str
) -> None:
    """Refuse what einops refuses of a pattern, whatever the tensor."""
    own = operation.problems(left, right, lengths)
    given = (
        f'"{name}" is given and isn\'t in the pattern'
        for name in lengths
        if name not in left.names and name not in right.names
    )
    for reason in itertools.chain(_of_names(left, right), _of_ellipsis(left, right), own, given):
        raise mismatch(reason, headline)


def _of_names(left: Side, right: Side) -> Iterator[str]:
    for one, label in ((left, "left"), (right, "right")):
        for name in one.names:
            if one.names.count(name) > 1:
                yield f'"{name}" is twice on the {label} side'
            if name == "_":
                yield "'_' isn't a name here; only parse_shape has it"


def _of_ellipsis(left: Side, right: Side) -> Iterator[str]:
    if ELLIPSIS in right.parts and ELLIPSIS not in left.parts:
        yield "'...' is on the right side only"
    if ELLIPSIS in left.parts and left.ellipsis is None:
        yield "'...' can't stand in parentheses on the left side"


def _of_rearrange(left: Side, right: Side, lengths: Mapping[str, Value]) -> Iterator[str]:
    if strays := [*_only(left, right), *_only(right, left)]:
        yield f"{_quoted(strays)} on one side only"
    if _has_number(left) or _has_number(right):
        yield "a number other than 1 can't stand in the pattern of rearrange"
    if ELLIPSIS in left.parts and ELLIPSIS not in right.parts:
        yield "'...' is on one side only"


def _of_repeat(left: Side, right: Side, lengths: Mapping[str, Value]) -> Iterator[str]:
    if lost := _only(left, right):
        yield f"{_quoted(lost)} on the left side only"
    if ELLIPSIS in left.parts and ELLIPSIS not in right.parts:
        yield "'...' is on one side only"
    if _has_number(left):
        yield "a number can't stand on the left side of repeat"
    if unsized := [name for name in _only(right, left) if name not in lengths]:
        yield f"the size of {listed(_quotes(unsized))} isn't given"


def _of_reduce(left: Side, right: Side, lengths: Mapping[str, Value]) -> Iterator[str]:
    if new := _only(right, left):
        yield f"{_quoted(new)} on the right side only"
    if _has_number(right):
        yield "a number can't stand on the right side of reduce"


def _only(one: Side, other: Side) -> list[str]:
    return [name for name in one.names if name not in other.names]


def _has_number(side: Side) -> bool:
    return any(isinstance(part, int) for part in side.parts)


def _quotes(names: Sequence[str]) -> list[str]:
    return [f'"{name}"' for name in dict.fromkeys(names)]


def _quoted(names: Sequence[str]) -> str:
    return f"{listed(_quotes(names))} {'is' if len(set(names)) == 1 else 'are'}"


_REARRANGE: Final = Operation("rearrange", _of_rearrange)
_REPEAT: Final = Operation("repeat", _of_repeat)
_REDUCE: Final = Operation("reduce", _of_reduce)


@rule("einops.rearrange")
def rearrange(call: Call, tensor: Value, pattern: Value, kwargs: Mapping[str, Value]) -> Value:
    """Judge `rearrange(x, "b (h d) -> b h d", h=8)`."""
    return apply_pattern(call, tensor, pattern, kwargs, _REARRANGE)


@rule("einops.repeat")
def repeat(call: Call, tensor: Value, pattern: Value, kwargs: Mapping[str, Value]) -> Value:
    """Judge `repeat(x, "d -> b d", b=2)`."""
    return apply_pattern(call, tensor, pattern, kwargs, _REPEAT)


@rule("einops.reduce")
def reduce(
    call: Call, tensor: Value, pattern: Value, reduction: Value, kwargs: Mapping[str, Value]
) -> Value:
    """Judge `reduce(x, "b t d -> b d", "mean")`."""
    if isinstance(reduction, str) and reduction not in _REDUCED:
        raise mismatch(f"there are {listed(list(_REDUCED))}", f'has no reduction "{reduction}"')
    result = apply_pattern(call, tensor, pattern, kwargs, _REDUCE)
    if not isinstance(reduction, str):
        return Tensor(result.shape)
    if isinstance(pattern, str) and not _drops(pattern):
        return result
    exact = not result.dtype & dtypes.FLOAT
    if reduction == "mean" and exact:
        raise mismatch(
            f"the tensor is {dtypes.describe(result.dtype)}, a mean needs Float",
            "can't take the mean",
            "shape-dtype",
        )
    return Tensor(result.shape, _REDUCED[reduction](result.dtype))


def _drops(pattern: str) -> bool:
    """Whether a pattern of two sides has an axis on the left that isn't on the right."""
    inputs, right = read(pattern, "")
    assert right is not None
    return any(part not in right.parts for part in inputs[0].parts)


_REDUCED: Final[Mapping[str, Callable[[dtypes.DTypes], dtypes.DTypes]]] = {
    "min": lambda dtype: dtype,
    "max": lambda dtype: dtype,
    "sum": dtypes.accumulate,
    "mean": lambda dtype: dtype,
    "prod": dtypes.accumulate,
    "any": lambda dtype: dtypes.BOOL,
    "all": lambda dtype: dtypes.BOOL,
}


@rule("einops.rearrange layer")
def rearrange_layer(call: Call, input: Value, self: Mapping[str, Value]) -> Value:
    """Judge `Rearrange("b c h w -> b (c h w)")(x)`."""
    return rearrange(call, input, self.get("pattern"), as_mapping(self.get("kwargs")))


@rule("einops.reduce layer")
def reduce_layer(call: Call, input: Value, self: Mapping[str, Value]) -> Value:
    """Judge `Reduce("b c h w -> b c", "mean")(x)`."""
    lengths = as_mapping(self.get("kwargs"))
    return reduce(call, input, self.get("pattern"), self.get("reduction"), lengths)


@rule("einops.einsum")
def einsum(call: Call, tensors_and_pattern: Value) -> Value:
    """Judge `einsum(a, b, "b i d, b j d -> b i j")`."""
    if not isinstance(tensors_and_pattern, tuple) or not tensors_and_pattern:
        return Tensor.unknown()
    *operands, pattern = tensors_and_pattern
    parts = tensors_of(operands)
    if not isinstance(pattern, str) or parts is None:
        return Tensor.unknown()
    headline = f'can\'t sum "{pattern}"'
    inputs, output = read(pattern, headline)
    if output is None:
        raise mismatch("the pattern has no '->'", headline)
    terms = [_single(one, headline) for one in (*inputs, output)]
    return contract(call, terms[:-1], terms[-1], parts, headline, " ")


@rule("einops.einsum, equation first")
def equation_first(call: Call, equation: Value, operands: Value) -> Value:
    """Judge `fancy_einsum.einsum("batch i, i j -> batch j", a, b)`."""
    given = operands if isinstance(operands, (tuple, list)) else ()
    return einsum(call, (*given, equation)) if given else Tensor.unknown()


def _single(one: Side, headline: str) -> list[str]:
    found = []
    for index, axis in enumerate(one.axes):
        if len(axis) != 1 or index in one.merged:
            raise mismatch("einsum takes no '1' and no '(a b)'; rearrange before", headline)
        if isinstance(axis[0], int):
            raise mismatch(f"'{axis[0]}' isn't a name", headline)
        found.append(axis[0])
    return found


@rule("einops.mix")
def mix(call: Call, input: Value, self: Mapping[str, Value]) -> Value:
    """Judge `EinMix("b t (h c) -> b t d", weight_shape="h c d", h=8, c=64, d=512)(x)`."""
    pattern, weight = self.get("pattern"), self.get("weight_shape")
    tensor = as_tensor(input)
    if not isinstance(pattern, str) or not isinstance(weight, str):
        return Tensor(Shape.unknown(), tensor.dtype)
    shape = call.facts.shape(tensor.shape)
    headline = f'can\'t mix {shape} by "{pattern}"'
    inputs, right = read(pattern, headline)
    if right is None:
        raise mismatch("the pattern has no '->'", headline)
    (weights,), _ = read(weight, headline)
    left = inputs[0]
    strays = [n for n in right.names if n not in left.names and n not in weights.names]
    if strays:
        raise mismatch(f"{_quoted(strays)} on the right side only", headline)
    lengths = self.get("kwargs")
    bare = [name for name in weights.names if name not in as_mapping(lengths)]
    if bare and isinstance(lengths, Mapping):
        raise mismatch(
            f'{_quoted(bare)} given no length, which an axis of the weight "{weight}" needs',
            headline,
        )
    state = Binding(call, shape, headline)
    state.sizes = {name: as_length(value) for name, value in as_mapping(lengths).items()}
    state.bind(left)
    return Tensor(state.build(right), tensor.dtype)


@rule("einops.parse_shape")
def parse_shape(call: Call, x: Value, pattern: Value) -> Value:
    """Judge `parse_shape(x, "b _ h w")`: a dict from names to sizes."""
    shape = call.facts.shape(as_tensor(x).shape)
    if not isinstance(pattern, str):
        return UNKNOWN
    headline = f'can\'t parse {shape} by "{pattern}"'
    inputs, _ = read(pattern, headline)
    one = inputs[0]
    if any(len(axis) > 1 for axis in one.axes):
        raise mismatch("there can't be a '(a b)' in it", headline)
    state = Binding(call, shape, headline)
    renamed = [
        tuple(f"_{i}" if part == "_" else part for part in axis) for i, axis in enumerate(one.axes)
    ]
    state.bind(Side(tuple(renamed), frozenset()))
    return {n: size_of(d) for n, d in state.sizes.items() if not n.startswith("_")}
