"""Several tensors by the names that they share: products, joins, and alignment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import shapecheck.dims as dims
from shapecheck.dims import Composite, Kind, Size, size_of
from shapecheck.ops.agree import counted, listed, tensors_of
from shapecheck.ops.call import UNKNOWN, Call, Unknown, Value, as_tensor, replace, resolved, rule
from shapecheck.ops.named.naming import (
    REST,
    called,
    fresh,
    matches,
    position,
    positions,
    wanted,
)
from shapecheck.ops.named.operations import only
from shapecheck.ops.patterns.einsum import contract
from shapecheck.ops.shape.axes import of_rank, permute
from shapecheck.ops.shape.joining import concatenate
from shapecheck.ops.shape.joining import stack as stacked
from shapecheck.shapes import Item, Run, Shape, Tensor, mismatch


class Product(NamedTuple):
    """A sum of products: the letters of each operand and of the result, and the equation."""

    inputs: tuple[str, ...]
    output: str
    equation: str


def unsure(shape: Shape) -> bool:
    """Whether there are dimensions of which the names aren't known."""
    return shape.known is None or any(
        symbol.kind is not Kind.NAME for item in shape.known for symbol in dims.symbols(item)
    )


_LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def product(call: Call, shapes: Sequence[Shape], over: Value) -> Product | None:
    """Return the equation that sums over named dimensions, batched over the others shared.

    Those of the result: the first operand's, then what the others have besides.
    """
    many = wanted(over)
    if many is None or any(map(unsure, shapes)):
        return None
    summed: list[list[int | None]] = []
    for index, shape in enumerate(shapes):
        found = [position(call, shape, one, f"operand {index}") for one in many]
        if len({at for at in found if at is not None}) < len(found) and None not in found:
            raise mismatch("a dimension is named twice", f"can't sum over it in {shape}")
        summed.append(found)
    if any(None in found for found in summed):
        return None
    letters = iter(_LETTERS)
    over_letters = [next(letters) for _ in many]
    shared: list[tuple[object, str]] = []
    terms: list[str] = []
    for shape, found in zip(shapes, summed, strict=True):
        term = ""
        seen: list[object] = []
        for at, item in enumerate(shape.dims):
            if at in found:
                term += over_letters[found.index(at)]
                continue
            if isinstance(item, (int, Size, Composite)) and dims.symbols(item):
                if item in seen:
                    raise mismatch(
                        f"{item} is twice in {shape}; rename one of them before",
                        "can't sum over products by name",
                        about=(item, shape),
                    )
                seen.append(item)
                letter = next((one for other, one in shared if other == item), None)
                if letter is None:
                    letter = next(letters)
                    shared.append((item, letter))
            else:
                letter = next(letters)
            term += letter
        terms.append(term)
    output = "".join(
        dict.fromkeys(one for term in terms for one in term if one not in over_letters)
    )
    return Product(tuple(terms), output, f"{','.join(terms)}->{output}")


@rule("named.dot")
def dot(call: Call, tensors: Value, dim: Value, **rest: Value) -> Value:
    """Multiply, and sum over named dimensions; all other names that are shared are batched."""
    parts = tensors_of(tensors)
    if parts is None:
        return Tensor.unknown()
    shapes = [call.facts.shape(part.shape) for part in parts]
    plan = product(call, shapes, dim)
    if plan is None:
        return Tensor.unknown()
    said = " with ".join(map(str, shapes))
    return contract(call, plan.inputs, plan.output, parts, f"can't contract {said}")


# Joining ----------------------------------------------------------------------------------------


def of_each(given: Value, count: int) -> Sequence[Any]:
    """Return along which dimension each of some tensors is joined: one for all, or its own."""
    many = wanted(given)
    if many is None or len(many) == 1:
        return (given,) * count
    if len(many) != count:
        raise mismatch(
            f"there are {counted(count, 'tensor')} and {counted(len(many), 'dimension')}",
            "takes a dimension, or one for each tensor",
        )
    return [(one,) for one in many]


def alike(
    call: Call, shapes: Sequence[Shape], buts: Sequence[Any] = ()
) -> list[tuple[int, ...]] | None:
    """Return for each shape the order in which its dimensions are those of the first one.

    `buts` are the dimensions of each that stand for one another, if there are any.
    """
    first = shapes[0]
    if first.rank is None:
        return None
    buts = buts or ((),) * len(shapes)
    joined = positions(call, first, buts[0])
    if joined is None:
        return None
    found: list[tuple[int, ...]] = [tuple(range(first.rank))]
    loose = [at % first.rank for at in joined]
    for index, shape in enumerate(shapes[1:], 1):
        if shape.rank is None:
            return None
        if shape.rank != first.rank:
            raise mismatch(
                f"operand {index} {shape} has other dimensions than operand 0",
                f"can't join {first} and {shape}",
                about=(shape,),
            )
        also = positions(call, shape, buts[index], f"operand {index}")
        if also is None:
            return None
        axes = []
        for at, item in enumerate(first.dims):
            if at in loose:
                axes.append(also[loose.index(at)] % shape.rank)
            elif isinstance(item, (Size, Composite)):
                there = position(call, shape, item, f"operand {index}")
                if there is None:
                    return None
                axes.append(there % shape.rank)
            else:
                axes.append(at)
        if len(set(axes)) < len(axes):
            return None
        found.append(tuple(axes))
    return found


def _aligned(call: Call, parts: Sequence[Tensor], buts: Sequence[Any]) -> list[Tensor] | None:
    if not parts:
        return None
    orders = alike(call, [call.facts.shape(part.shape) for part in parts], buts)
    if orders is None:
        return None
    return [permute(call, part, axes) for part, axes in zip(parts, orders, strict=True)]


@rule("named.cat")
def cat(call: Call, tensors: Value, dim: Value, **rest: Value) -> Value:
    """Put tensors one behind the other along a dimension; the others are brought into order."""
    given = tensors_of(tensors)
    if not given:
        return Tensor.unknown()
    along_each = of_each(dim, len(given))
    parts = _aligned(call, given, along_each)
    if parts is None:
        return Tensor.unknown()
    at = only(call, parts[0].shape, along_each[0])
    found = concatenate(call, parts, at)
    if isinstance(at, Unknown):
        return found
    items = [one for part in parts if isinstance(one := part.shape.at(at), (Size, Composite))]
    if len(items) < len(parts):
        return found
    return Tensor(replace(found.shape, at, dims.joined(map(size_of, items))), found.dtype)


@rule("named.stack_new")
def stack_new(call: Call, tensors: Value, name: Value, **rest: Value) -> Value:
    """Put tensors beside each other along a new dimension in front."""
    parts = _aligned(call, tensors_of(tensors) or (), ())
    if parts is None:
        return Tensor.unknown()
    result = stacked(call, tuple(parts), 0)
    if isinstance(name, Unknown):
        return result
    new = fresh(call, Shape(result.shape.dims[1:]), name)
    return Tensor(replace(result.shape, 0, called(call, result.shape.dims[0], new)), result.dtype)


# Broadcasting -----------------------------------------------------------------------------------


def onto(call: Call, shape: Shape, target: Shape) -> tuple[int | None, ...] | None:
    """Return for each dimension of a target which axis of a shape it is, None for a new one.

    An axis of size 1 without a name stands for any that the shape hasn't, as in a mask.
    """
    if unsure(shape) or unsure(target):
        return None
    found: list[int | None] = []
    for item in target.dims:
        at = [i for i, one in enumerate(shape.dims) if one == item and not isinstance(one, int)]
        found.append(at[0] if at else None)
    used = {at for at in found if at is not None}
    ones = [i for i, item in enumerate(shape.dims) if item == 1 and i not in used]
    if len(ones) <= found.count(None):
        spare = iter(ones)
        found = [next(spare, None) if at is None else at for at in found]
        used.update(ones)
    rest = shape.without(used)
    left = [f'"{item}"' for item in rest if not isinstance(item, int)]
    if rest and not left:
        raise mismatch("a dimension of it has no name", f"can't align {shape} with {target}")
    if left:
        raise mismatch(
            f"{target} has no {listed(left)}", f"can't align {shape} with {target}", about=(target,)
        )
    return tuple(found)


def union(call: Call, shapes: Sequence[Shape]) -> Shape | None:
    """Return all dimensions of some shapes, each once: the longest shape's first."""
    if any(map(unsure, shapes)):
        return None
    items: list[Item] = []
    for shape in sorted(shapes, key=lambda one: -len(one.dims)):
        new = [item for item in shape.dims if isinstance(item, int) or item not in items]
        if any(isinstance(item, int) for item in new):
            raise mismatch("a dimension has no name", f"can't align {shape} by name")
        items = [*new, *items] if items else new
    return Shape(tuple(items))


Plan: TypeAlias = "tuple[int | None, ...] | None"
"""For each dimension which axis it is, None for a new one; None for a shape as it stands."""


def meeting(call: Call, shapes: Sequence[Shape]) -> tuple[Plan, ...] | None:
    """Return how the operands of an elementwise op are laid so that they meet by name.

    In the order of the longest one, behind the dimensions that only others have. One without a
    name meets one of its size, and of size 1 any. Raises `Mismatch` where it meets none.
    """
    longest = max(shapes, key=lambda shape: (len(shape.dims), -shape.dims.count(1)))
    if all(not shape.dims or shape.dims == longest.dims for shape in shapes):
        return (None,) * len(shapes)
    if any(map(unsure, shapes)):
        return None
    names = [item for shape in shapes for item in shape.dims if not isinstance(item, int)]
    new = [item for item in dict.fromkeys(names) if item not in longest.dims]
    spare = min(len(new), longest.dims.count(1))
    inner = iter(new[len(new) - spare :])
    filled = (next(inner, 1) if item == 1 else item for item in longest.dims)
    whole = Shape((*new[: len(new) - spare], *filled))
    return tuple(_met(shape, whole, longest) for shape in shapes)


def _met(shape: Shape, whole: Shape, longest: Shape) -> Plan:
    """Return how one operand is laid on all dimensions."""
    if not shape.dims:
        return None
    left = dict(reversed([*enumerate(shape.dims)]))
    found: list[int | None] = [None] * len(whole.dims)
    for place, item in reversed([*enumerate(whole.dims)]):
        found[place] = next((at for at, one in left.items() if one == item), None)
        left.pop(-1 if (at := found[place]) is None else at, None)
    return _with_ones(found, left, shape, f"can't align {shape} with {longest}")


def _with_ones(found: list[int | None], left: dict[int, Item], shape: Shape, headline: str) -> Plan:
    """Return a plan in which axes of size 1 stand for any that a shape hasn't."""
    for at in [at for at, item in left.items() if item == 1]:
        if None in found:
            found[len(found) - 1 - found[::-1].index(None)] = at
            del left[at]
    if left:
        items = listed([str(left[at]) for at in sorted(left)])
        raise mismatch(f"{items} of {shape} has no name to meet by", headline, about=(shape,))
    return tuple(found)


def fitting(call: Call, shape: Shape, part: Shape) -> Plan:
    """Return how what is written is laid on the part that it is written into.

    A plain name means also what is computed from it: `t` may be written where `t-1` is. Raises
    `Mismatch` where the part has no such dimension, or one of another size.
    """
    if unsure(shape) or unsure(part):
        return None
    found: list[int | None] = [None] * len(part.dims)
    left: dict[int, Item] = {}
    headline = f"can't write {shape} into {part}"
    for at, item in enumerate(shape.dims):
        if isinstance(item, (int, Run)):
            left[at] = item
            continue
        place = matches(call.facts, part, item) or matches(
            call.facts, part, (wanted(str(item)) or [])[0]
        )
        if len(place) != 1 or found[place[0]] is not None:
            raise mismatch(f'it has no "{item}"', headline, about=(part,))
        there = part.dims[place[0]]
        if isinstance(there, Run) or not call.unify(item, there):
            raise mismatch(f"{item} isn't {there}", headline, about=(item, there))
        found[place[0]] = at
    for place_, there in reversed([*enumerate(part.dims)]):
        same = [at for at, item in left.items() if item == there and found[place_] is None]
        if same:
            found[place_] = same[-1]
            del left[same[-1]]
    return _with_ones(found, left, shape, headline)


def within(call: Call, shapes: Sequence[Shape]) -> tuple[Plan, ...] | None:
    """Return how shapes are laid on the one that has all their names; as they stand without one."""
    longest = max(shapes, key=lambda shape: len(shape.dims))
    mine = {1, *longest.dims}
    others = (item for shape in shapes for item in shape.dims if item not in mine)
    unnamed = any(isinstance(item, int) for shape in shapes for item in shape.dims if item != 1)
    if not any(map(unsure, shapes)) and (unnamed or any(others)):
        return (None,) * len(shapes)
    return meeting(call, shapes)


def onto_first(call: Call, shapes: Sequence[Shape]) -> tuple[Plan, ...] | None:
    """Return how the operands of what works in place are laid on the first one.

    Raises `Mismatch` where that lacks a dimension of another.
    """
    first, *others = shapes
    if any(map(unsure, shapes)):
        return None
    for shape in others:
        lost = [one for one in shape.dims if not isinstance(one, int) and one not in first.dims]
        if lost:
            quoted = listed([f'"{one}"' for one in lost])
            headline = f"can't align {shape} with {first}"
            raise mismatch(f"{first} has no {quoted}", headline, about=(first,))
    return (None, *(_met(shape, first, first) for shape in others))


@rule("named.meet")
def meet(call: Call, tensors: Value, **rest: Value) -> Value:
    """Return the operands of an elementwise op, laid so that they meet by name."""
    return _all_laid(call, tensors, meeting)


@rule("named.within")
def meet_within(call: Call, tensors: Value, **rest: Value) -> Value:
    """Return tensors, laid on the one that has all their names."""
    return _all_laid(call, tensors, within)


def _all_laid(
    call: Call,
    tensors: Value,
    plan_of: Callable[[Call, Sequence[Shape]], tuple[Plan, ...] | None],
) -> Value:
    parts = tensors_of(tensors)
    if not parts:
        return UNKNOWN
    plans = plan_of(call, [call.facts.shape(part.shape) for part in parts])
    if plans is None:
        return tuple(Tensor(Shape.unknown(), part.dtype) for part in parts)
    return tuple(
        part if plan is None else Tensor(_placed(part.shape, plan, (1,) * len(plan)), part.dtype)
        for part, plan in zip(parts, plans, strict=True)
    )


def _placed(shape: Shape, plan: Sequence[int | None], fill: Sequence[Item]) -> Shape:
    pairs = zip(plan, fill, strict=True)
    return Shape(
        tuple(new if at is None or shape.dims[at] == 1 else shape.dims[at] for at, new in pairs)
    )


@rule("named.align_as")
def align_as(call: Call, x: Value, other: Value, **rest: Value) -> Value:
    """Bring a tensor's dimensions into another's order; `expand` it to the others, or put 1s."""
    tensor, shape = resolved(call, x)
    target = call.facts.shape(as_tensor(other).shape)
    plan = onto(call, shape, target)
    (expand,) = call.extra
    if plan is None:
        return Tensor(of_rank(target), tensor.dtype)
    return Tensor(_placed(shape, plan, target.dims if expand else (1,) * len(plan)), tensor.dtype)


@rule("named.onto")
def meet_onto_first(call: Call, tensors: Value, **rest: Value) -> Value:
    """Return the operands of what works in place, the others laid on the first."""
    return _all_laid(call, tensors, onto_first)


@rule("named.align")
def align(call: Call, tensors: Value, **rest: Value) -> Value:
    """Bring tensors into one order of all their dimensions, so that they broadcast by name."""
    parts = tensors_of(tensors)
    if not parts:
        return UNKNOWN
    shapes = [call.facts.shape(part.shape) for part in parts]
    whole = union(call, shapes)
    if whole is None:
        return tuple(Tensor(Shape.unknown(), part.dtype) for part in parts)
    ones = (1,) * len(whole.dims)
    plans = [onto(call, shape, whole) for shape in shapes]
    return tuple(
        Tensor(Shape.unknown() if plan is None else _placed(shape, plan, ones), part.dtype)
        for part, shape, plan in zip(parts, shapes, plans, strict=True)
    )


@rule("named.align_to")
def align_to(call: Call, x: Value, dims: Value, **rest: Value) -> Value:
    """Bring a tensor's dimensions into an order, with a 1 for each name that it hasn't."""
    tensor, shape = resolved(call, x)
    plan = along(call, shape, dims)
    if plan is None:
        return Tensor(Shape.unknown(), tensor.dtype)
    return Tensor(_placed(shape, plan, (1,) * len(plan)), tensor.dtype)


def along(call: Call, shape: Shape, given: Value) -> tuple[int | None, ...] | None:
    """Return for each entry of an order which axis of a shape it is, None for a new one."""
    many = wanted(given)
    if many is None or shape.rank is None:
        return None
    found: list[int | None] = []
    for one in many:
        if one != REST:
            at = matches(call.facts, shape, one)
            found.append(at[0] if at else None)
    left = [at for at in range(shape.rank) if at not in found]
    if REST in many:
        cut = many.index(REST)
        return (*found[:cut], *left, *found[cut:])
    if left:
        lost = listed([f'"{shape.dims[at]}"' for at in left])
        said = " ".join(map(str, many))
        raise mismatch(
            f"{lost} {'is' if len(left) == 1 else 'are'} left out",
            f'can\'t align {shape} to "{said}"',
            about=tuple(shape.dims[at] for at in left),
        )
    return tuple(found)
