"""How the shapes of several operands are made to agree, axis by axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import Composite, DimExpr, IntSize, Kind, is_name, size_of
from shapecheck.ops.call import Call, Repeated, Unknown, Value, as_dim, as_tensor
from shapecheck.shapes import Clash, Facts, Item, Run, Shape, Tensor, has_run, mismatch

MANY = 256
"""The largest number of tensors that a rule returns one by one."""


def size(value: Value) -> IntSize:
    """Return a value as a size, that of a composite included; what isn't known is an unknown."""
    return size_of(as_dim(value))


def loose(dim: Item) -> bool:
    """Whether a dimension isn't known, or only in part."""
    if isinstance(dim, Run):
        return True
    return any(symbol.kind is Kind.UNKNOWN for symbol in dims.symbols(dim))


def apart(facts: Facts, a: Item, b: Item) -> bool:
    """Whether two dimensions are names that annotations keep apart."""
    if isinstance(a, Run) or isinstance(b, Run) or not (is_name(a) and is_name(b)):
        return False
    return facts.differ(a, b)


def fits_bias(call: Call, bias: Value, out: DimExpr, headline: str) -> None:
    """Refuse a bias that has another number of elements than there are outputs."""
    if not isinstance(bias, Tensor):
        return
    vector = call.facts.shape(bias.shape)
    only = vector.at(0) if vector.rank == 1 else None
    if only is not None and call.facts.dim(only) != 1 and not call.unify(only, out):
        raise mismatch(
            f'"bias" has {only} elements, where {out} are expected', headline, about=(only, out)
        )


def fits_axis(
    call: Call,
    name: str,
    axis: int,
    found: DimExpr | None,
    wanted: DimExpr,
    headline: str,
    *hints: str,
) -> None:
    """Refuse an axis of the argument `name` that is another size; `found` None isn't known."""
    if found is not None and not call.unify(found, wanted):
        raise mismatch(
            f'axis {axis} of "{name}" is {found}, where {wanted} is expected',
            headline,
            "shape",
            *hints,
            about=(found, wanted),
        )


def meet(call: Call, a: DimExpr, b: DimExpr) -> DimExpr:
    """Make two dimensions equal and return the one that says more; raises `Clash`."""
    if not call.unify(a, b):
        raise Clash(0, a, b)
    if loose(a) or loose(b):
        return b if loose(a) else a
    if isinstance(b, Composite) and not isinstance(a, Composite):
        return b
    return b if isinstance(a, int) else a


def spell(shape: Shape, rank: int) -> Shape | None:
    """Return a shape with its runs spelled out for a rank, None where it can't have that rank."""
    if shape.rank is not None:
        return shape if shape.rank == rank else None
    missing = rank - shape.least_rank
    if missing < 0:
        return None
    runs = sum(isinstance(item, Run) for item in shape.dims)
    if runs > 1 and missing:
        return Shape.of_rank(rank)
    found: list[Item] = []
    for item in shape.dims:
        found += Shape.of_rank(missing).dims if isinstance(item, Run) else (item,)
    return Shape(tuple(found))


def rank_of(shapes: Sequence[Shape]) -> int | None:
    """Return the rank that shapes of one rank have, where any of them tells."""
    return next((shape.rank for shape in shapes if shape.rank is not None), None)


def meet_items(call: Call, a: Sequence[Item], b: Sequence[Item]) -> tuple[Item, ...]:
    """Make two rows of dimensions equal, runs included.

    Raises `Clash` with the position from the front (or, behind a run, negative from the end).
    """
    left: list[Item] = []
    right: list[Item] = []
    start, stop = 0, 0
    while start < min(len(a), len(b)):
        x, y = a[start], b[start]
        if isinstance(x, Run) or isinstance(y, Run):
            break
        left.append(_meet_at(call, x, y, start))
        start += 1
    while stop < min(len(a), len(b)) - start:
        x, y = a[-1 - stop], b[-1 - stop]
        if isinstance(x, Run) or isinstance(y, Run):
            break
        stop += 1
        right.append(_meet_at(call, x, y, -stop))
    middle = _middle(a[start : len(a) - stop], b[start : len(b) - stop])
    return (*left, *middle, *reversed(right))


def _meet_at(call: Call, x: DimExpr, y: DimExpr, axis: int) -> DimExpr:
    try:
        return meet(call, x, y)
    except Clash:
        raise Clash(axis, x, y) from None


def _middle(a: Sequence[Item], b: Sequence[Item]) -> Sequence[Item]:
    if tuple(a) == tuple(b):
        return a
    for row in (a, b):
        if not has_run(row):
            return row
    named = [
        row
        for row in (a, b)
        if all(not isinstance(i, Run) or i.symbol.kind is not Kind.UNKNOWN for i in row)
    ]
    return named[0] if named else Shape.unknown().dims


def one_or_more(value: Value) -> tuple[Value, ...] | list[Value] | None:
    """Return an argument that is one item or several, None where it isn't known how many."""
    if isinstance(value, (tuple, list)):
        return None if has_run(value) else value
    return None if isinstance(value, Unknown) else (value,)


def tensors_of(value: Value) -> tuple[Tensor, ...] | None:
    """Return the tensors of a list argument, None where they aren't known."""
    if not isinstance(value, (tuple, list)) or any(
        isinstance(item, (Run, Repeated)) for item in value
    ):
        return None
    return tuple(as_tensor(item) for item in value)


def promote_all(tensors: Sequence[Tensor]) -> dtypes.DTypes:
    """Return the dtypes that torch's promotion gives for tensors of at least one axis."""
    kind = tensors[0].dtype
    for tensor in tensors[1:]:
        kind = dtypes.promote(kind, tensor.dtype)
    return kind


def float_of(tensor: Tensor) -> dtypes.DTypes:
    """Return the dtypes of a floating result of an input; refuses an input of integers."""
    found = tensor.dtype & (dtypes.FLOAT | dtypes.COMPLEX)
    if not found:
        raise mismatch(
            '"input" must be Float', f"doesn't take {dtypes.describe(tensor.dtype)}", "shape-dtype"
        )
    return found


def mixed(left: Tensor, right: Tensor) -> bool:
    """Whether one tensor holds integers or doubles, and the other doesn't.

    Autocast may convert other floats.
    """
    whole, double = dtypes.BOOL | dtypes.INTEGER, dtypes.of("float64")
    return any(
        not a.dtype & whole
        and (not b.dtype & ~whole or (b.dtype == double and not a.dtype & double))
        for a, b in ((left, right), (right, left))
    )


def one_kind(left: Tensor, right: Tensor, headline: str) -> None:
    """Refuse a product of integers and floats, or of doubles and other floats."""
    if mixed(left, right):
        kinds = (dtypes.describe(one.dtype) for one in (left, right))
        raise mismatch("the elements are {} and {}".format(*kinds), headline, "shape-dtype")


def tidy(call: Call, found: IntSize) -> IntSize:
    """Return a sum as it is, or with what is known put in where that says it in fewer names."""
    resolved = call.facts.size(found)
    fewer = len(dims.symbols(resolved)) < len(dims.symbols(found))
    return resolved if fewer else found


def trailing(shape: Shape, count: int) -> tuple[DimExpr, ...] | None:
    """Return the last `count` dimensions, None where not all of them are known."""
    if count > len(shape.dims):
        return None
    found = shape.dims[len(shape.dims) - count :]
    known = tuple(item for item in found if not isinstance(item, Run))
    return known if len(known) == count else None


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, `1 axis`, `3 axes`."""
    plural = {"axis": "axes", "index": "indices"}.get(noun, noun + "s")
    return f"{count} {noun if count == 1 else plural}"


def are_given(count: int, noun: str = "") -> str:
    """Say how many of something a call has, `1 size is given`, or `1 is given`."""
    said = counted(count, noun) if noun else str(count)
    return f"{said} {'is' if count == 1 else 'are'} given"


def listed(words: Sequence[object]) -> str:
    """Return words as a person lists them: `a`, `a and b`, `a, b and c`."""
    texts = [str(word) for word in words]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def pairs(count: int) -> Iterator[tuple[int, int]]:
    """Yield all pairs of positions below `count`, the first one lower."""
    for second in range(count):
        for first in range(second):
            yield first, second
