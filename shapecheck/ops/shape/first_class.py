"""First-class dimensions, after `functorch.dim`: objects that stand beside a tensor's axes.

Indexing binds them, `order` makes axes of them, and every other op is done for each of their
elements, as in a loop. So most rules needn't know of them: `batched` asks a rule about what is
inside of the loop, and gives its result the dimensions that the operands have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeGuard

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import Composite, DimExpr, Kind, Size, Sym
from shapecheck.dims.origins import LoopAxis
from shapecheck.ops.agree import listed
from shapecheck.ops.call import UNKNOWN, Call, Repeated, Unknown, Value, resolved, rule
from shapecheck.ops.saying import written
from shapecheck.ops.shape.reshape import regroup
from shapecheck.shapes import Facts, Free, Item, Run, Shape, Tensor, mismatch

Judge = Callable[[Sequence[Value], Mapping[str, Value]], Value]
"""Asks a rule: given positional arguments and keywords without first-class dimensions."""


def has_free(values: Iterable[Value]) -> bool:
    """Whether a first-class dimension is among arguments, or a tensor that has some."""
    for value in values:
        if isinstance(value, Tensor):
            if value.free or value.more:
                return True
        elif type(value) is Free or (
            (type(value) is tuple or type(value) is list) and has_free(value)
        ):
            return True
    return False


def is_pack(value: Value) -> TypeGuard[tuple[Free, ...] | list[Free]]:
    """Whether a value is a tuple or list of first-class dimensions, for one axis."""
    return isinstance(value, (tuple, list)) and bool(value) and all(type(v) is Free for v in value)


def is_unbound(facts: Facts, dim: Free) -> bool:
    """Whether a dimension certainly has no size as yet."""
    return facts.size(Size.of(dim.bound)) == 1


def refuse_unbound(facts: Facts, dim: Free) -> None:
    """Refuse to use a dimension that has no size as yet."""
    if is_unbound(facts, dim):
        reason = "no tensor was indexed with it before, nor its size set"
        raise mismatch(reason, f'can\'t use "{dim}", which is bound to no size')


def as_operand(facts: Facts, value: Value) -> Value:
    """Return a value as an operand: a dimension is the tensor of its indices."""
    if type(value) is not Free:
        return value
    refuse_unbound(facts, value)
    return Tensor(Shape(()), dtypes.INT64, free=(value,))


# Binding ----------------------------------------------------------------------------------------


def bound_to(facts: Facts, dim: Free) -> DimExpr:
    """Return what a dimension is bound to, its own size where that isn't known.

    What its size doesn't say, an ordered composite, is kept as if it were a run of this one axis.
    """
    (item,) = facts.shape(Shape(facts.runs.get(dim.symbol, (dim.size,)))).dims
    assert not isinstance(item, Run)
    return item


def bound_as(facts: Facts, dim: Free, item: DimExpr) -> None:
    """Take note that a dimension is bound to something of its size."""
    if isinstance(item, Composite) or facts.size(dim.size) == dim.size != item:
        facts.learn_run(dim.symbol, (item,))


def bind(call: Call, dim: Free, item: DimExpr, headline: str, what: str = "") -> None:
    """Bind a dimension to what it meets, an axis or a number; `what` is that in words."""
    known = bound_to(call.facts, dim)
    if not call.unify(known, item):
        found = f"{what} is {item}, and " if what else ""
        raise mismatch(
            f'{found}"{dim}" is bound to {known}',
            headline,
            about=(known, item) if what else (known,),
        )
    if known == dim.size:
        bound_as(call.facts, dim, item)
    call.facts.learn(dim.bound, 0)


def bind_axis(call: Call, shape: Shape, dim: Free, item: DimExpr, at: int) -> None:
    """Bind a dimension to an axis of a tensor."""
    bind(call, dim, item, f'can\'t bind "{dim}" to axis {at} of {shape}', "that")


def bind_pack(call: Call, pack: Sequence[Free], item: DimExpr, what: str) -> None:
    """Split a dimension over several others, of which one may have no size as yet.

    `what` is the dimension in words.
    """
    text = ", ".join(map(str, pack))
    headline = f"can't split {what} into ({text})"
    open_ = [dim for dim in pack if is_unbound(call.facts, dim)]
    if len(open_) > 1:
        raise mismatch(f"the sizes of {_names(open_)} aren't set; one can be inferred", headline)
    sizes: list[Value] = [-1 if dim in open_ else call.facts.size(dim.size) for dim in pack]
    parts = regroup(call, Shape((item,)), sizes, headline).dims
    for dim, part in zip(pack, parts, strict=True):
        assert not isinstance(part, Run)
        bind(call, dim, part, headline, "its part")


def loosen(facts: Facts, dim: Free) -> None:
    """Take note that a dimension may have been bound, where it isn't known."""
    if is_unbound(facts, dim):
        facts.learn(dim.bound, dims.unknown())


def union(*parts: Iterable[Free]) -> tuple[Free, ...]:
    """Return all dimensions, each once, in the order in which they are met."""
    return tuple(dict.fromkeys(dim for part in parts for dim in part))


def free_in(value: Value) -> tuple[Free, ...]:
    """Return the dimensions of the tensors in a value, and those that are in it themselves."""
    if type(value) is Tensor:
        return value.free
    if type(value) is Free:
        return (value,)
    return union(*map(free_in, value)) if isinstance(value, (tuple, list)) else ()


def has_more(value: Value) -> bool:
    """Whether what isn't known of a value may be, or may have, further dimensions."""
    if type(value) is Tensor:
        return value.more or value.shape.opaque
    if isinstance(value, (tuple, list)):
        return any(map(has_more, value))
    return isinstance(value, Unknown)


# Implicit batching ------------------------------------------------------------------------------


@dataclass(slots=True)
class _Loops:
    """The dimensions that one call is done for, and those that it works on as its axes.

    `leads` are what stands for the latter among the axes of the first operand.
    """

    facts: Facts
    free: tuple[Free, ...] = ()
    more: bool = False
    chosen: list[Free] = field(default_factory=list)

    @property
    def leads(self) -> dict[Item, Free]:
        return {Size.of(Sym(f.symbol.name, Kind.NAME, LoopAxis(f.symbol))): f for f in self.chosen}

    def inside(self, value: Value) -> Value:
        """Return an operand as it is inside of the loops."""
        value = as_operand(self.facts, value)
        if type(value) is Tensor:
            self.free = union(self.free, value.free)
            self.more |= has_more(value)
            return replace(value, free=(), more=False)
        if isinstance(value, (tuple, list)):
            parts = [self.inside(part) for part in value]
            return parts if isinstance(value, list) else tuple(parts)
        self.more |= isinstance(value, Unknown)
        return value

    def choose(self, tensor: Tensor, value: Value) -> Value:
        """Return an argument that says which axes, with numbers for first-class dimensions."""
        if isinstance(value, (tuple, list)):
            return tuple(self.choose(tensor, part) for part in value)
        if type(value) is not Free:
            return value
        if value not in tensor.free:
            raise missing(tensor, value)
        if value not in self.chosen:
            self.chosen.append(value)
        return self.chosen.index(value)

    def shifted(self, given: Value, chosen: Value) -> Value:
        """Return the same with the numbers of axes counted behind those that were put in front."""
        if isinstance(given, (tuple, list)) and isinstance(chosen, tuple):
            return tuple(map(self.shifted, given, chosen))
        if type(given) is int and given >= 0:
            return given + len(self.chosen)
        return chosen

    def outside(self, value: Value) -> Value:
        """Return a result as it is outside of the loops."""
        if isinstance(value, (tuple, list)):
            parts = [self.outside(part) for part in value]
            return parts if isinstance(value, list) else tuple(parts)
        if isinstance(value, Repeated):
            return replace(value, element=self.outside(value.element))
        if type(value) is not Tensor:
            return value
        leads = self.leads
        kept = [leads[item] for item in value.shape.dims if item in leads]
        items = tuple(item for item in value.shape.dims if item not in leads)
        free = tuple(dim for dim in self.free if dim in kept or dim not in self.chosen)
        return replace(value, shape=Shape(items), free=free, more=self.more)


def batched(
    judge: Judge,
    selects: Callable[[int | str], bool],
    facts: Facts,
    args: Sequence[Value],
    kwargs: Mapping[str, Value],
) -> Value:
    """Return what an op gives that is done for each element of its operands' dimensions.

    `selects` says whether an argument, by its position or name, says which axes the op works on.
    """
    loops = _Loops(facts)
    first = args[0] if args else UNKNOWN
    picked: dict[int | str, Value] = {}
    every: dict[int | str, Value] = dict(enumerate(args))
    every.update(kwargs)
    for key, value in every.items():
        if not selects(key) or not free_in(value):
            continue
        target = as_operand(facts, first)
        if not isinstance(target, Tensor) or not target.free or target.more:
            return UNKNOWN
        _refuse_keeping(target, value, kwargs)
        picked[key] = loops.choose(target, value)
    given = [loops.inside(a) if i not in picked else a for i, a in enumerate(args)]
    named = {k: loops.inside(v) if k not in picked else v for k, v in kwargs.items()}
    for key, chosen in picked.items():
        if isinstance(key, int):
            given[key] = loops.shifted(args[key], chosen)
        else:
            named[key] = loops.shifted(kwargs[key], chosen)
    if loops.chosen:
        operand = given[0]
        assert isinstance(operand, Tensor)
        shape = facts.shape(operand.shape)
        given[0] = operand.with_shape(Shape((*loops.leads, *shape.dims)))
    return loops.outside(judge(given, named))


def axis_there(call: Call, shape: Shape, dim: Value) -> int | None:
    """Return the position of an axis, None if unknown; to torch, a number has an axis 0."""
    found = call.axis(shape, dim)
    if found is not None and not shape.dims:
        raise mismatch("a 0-d tensor has no axis", f"has no axis {written(dim)} in {shape}")
    return found


def missing(tensor: Tensor, dim: Free) -> Exception:
    """Return what is said of a dimension that a tensor doesn't have."""
    there = _names(tensor.free) if tensor.free else "no first-class dimension"
    return mismatch(f"it has {there}", f'has no dimension "{dim}" in {tensor}')


def _names(dims: Sequence[Free]) -> str:
    return listed([f'"{dim}"' for dim in dims])


def _refuse_keeping(tensor: Tensor, dim: Value, kwargs: Mapping[str, Value]) -> None:
    if kwargs.get("keepdim") is True or kwargs.get("keepdims") is True:
        reason = "a first-class dimension isn't an axis, which could be 1"
        raise mismatch(reason, f"can't keep {_names(free_in(dim))} of {tensor}")


# Ordering ---------------------------------------------------------------------------------------


@rule("dim.order", takes_free=True)
def order(call: Call, input: Value, dims: Value, **rest: Value) -> Value:
    """Make axes of dimensions, in this order, in front of the others; a tuple merges."""
    tensor = as_operand(call.facts, input)
    if not isinstance(tensor, Tensor) or not isinstance(dims, tuple):
        return UNKNOWN
    tensor, shape = resolved(call, tensor)
    if not tensor.free:
        return Tensor(Shape.unknown(), tensor.dtype, more=True)
    taker = _Taker(call, tensor, shape)
    groups = [taker.take(entry) for entry in dims]
    free = tuple(dim for dim in tensor.free if dim not in taker.dims)
    if taker.lost:
        return Tensor(Shape.unknown(), tensor.dtype, free=free, more=True)
    left = shape.without(taker.axes)
    items = (*(_merged(group) for group in groups), *left)
    return Tensor(Shape(items), tensor.dtype, free=free, more=tensor.more)


def _merged(group: Sequence[DimExpr]) -> Item:
    return dims.merge(group) if len(group) != 1 else group[0]


@dataclass(slots=True)
class _Taker:
    """Takes dimensions and axes of a tensor, each once. `lost`: what is taken isn't known."""

    call: Call
    tensor: Tensor
    shape: Shape
    dims: list[Free] = field(default_factory=list)
    axes: list[int] = field(default_factory=list)
    lost: bool = False

    def take(self, entry: Value) -> list[DimExpr]:
        """Return the dimensions that one entry of an order stands for."""
        if isinstance(entry, (tuple, list)):
            return [item for part in entry for item in self.take(part)]
        if type(entry) is Free:
            return self._dim(entry)
        at = axis_there(self.call, self.shape, entry)
        item = None if at is None else self.shape.dims[at]
        if at is None or item is None or isinstance(item, Run):
            self.lost = True
            return []
        if at in self.axes:
            raise mismatch(f"axis {written(entry)} is given twice", f"can't order {self.tensor}")
        self.axes.append(at)
        return [item]

    def _dim(self, dim: Free) -> list[DimExpr]:
        if dim in self.dims:
            raise mismatch(f'"{dim}" is given twice', f"can't order {self.tensor}")
        if dim not in self.tensor.free:
            if not self.tensor.more:
                raise missing(self.tensor, dim)
            self.lost = True
            return []
        self.dims.append(dim)
        return [bound_to(self.call.facts, dim)]


@rule("dim.expand", takes_free=True)
def expand(call: Call, input: Value, dims: Value, **rest: Value) -> Value:
    """Give a tensor dimensions over which it is the same."""
    tensor = as_operand(call.facts, input)
    if not isinstance(tensor, Tensor) or not is_pack(dims):
        return UNKNOWN
    for dim in dims:
        refuse_unbound(call.facts, dim)
        if dim in tensor.free:
            raise mismatch("it is there already", f'can\'t expand {tensor} by "{dim}"')
    return replace(tensor, free=union(dims, tensor.free))
